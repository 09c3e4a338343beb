//! From coordinates to a place.

use rustc_hash::FxHashMap;

use crate::places::{Place, Places};

/// The radius of a place grows with the root of its population: 13 km for ten million, 2 km for a quarter of a million.
const KM_PER_ROOT_OF_PEOPLE: f64 = 0.004;
const KM_PER_DEGREE: f64 = 111.2;
/// A point farther than this from every place belongs to none.
const FAR_KM: f64 = 250.0;

/// Places by the square degree they lie in.
pub(crate) struct Grid {
    cells: FxHashMap<(i32, i32), Vec<u32>>,
}

impl Grid {
    pub(crate) fn build(places: &[Place]) -> Self {
        let mut cells: FxHashMap<(i32, i32), Vec<u32>> = FxHashMap::default();
        for (index, place) in places.iter().enumerate() {
            cells.entry(cell(place.lat, place.lon)).or_default().push(index as u32);
        }
        Self { cells }
    }
}

fn cell(lat: f64, lon: f64) -> (i32, i32) {
    (lat.floor() as i32, lon.floor() as i32)
}

impl Places {
    /// The place that a point belongs to, and how far its centre is in kilometres. None for what is no point on Earth
    /// and for points far from any place.
    pub fn nearest(&self, lat: f64, lon: f64) -> Option<(&Place, f64)> {
        if !(-90.0..=90.0).contains(&lat) || !(-180.0..=180.0).contains(&lon) {
            return None;
        }
        [40.0, FAR_KM].into_iter().find_map(|km| self.nearest_within(lat, lon, km))
    }

    fn nearest_within(&self, lat: f64, lon: f64, km: f64) -> Option<(&Place, f64)> {
        let high = km / KM_PER_DEGREE;
        // Degrees of longitude are shorter away from the equator; at the poles all of them meet.
        let wide = (high / lat.to_radians().cos().max(0.02)).min(180.0);
        let (from, to) = (cell(lat - high, lon - wide), cell(lat + high, lon + wide));
        let mut best: Option<(&Place, f64, f64)> = None;
        for row in from.0..=to.0 {
            for column in from.1..=to.1 {
                let around = (column + 180).rem_euclid(360) - 180;
                for &index in self.inner.grid.cells.get(&(row, around)).into_iter().flatten() {
                    let place = &self.inner.places[index as usize];
                    let distance = distance_km((lat, lon), (place.lat, place.lon));
                    let edge = distance - KM_PER_ROOT_OF_PEOPLE * f64::from(place.population).sqrt();
                    if distance <= km && best.is_none_or(|(_, _, nearest)| edge < nearest) {
                        best = Some((place, distance, edge));
                    }
                }
            }
        }
        best.map(|(place, distance, _)| (place, distance))
    }
}

/// Along the great circle.
pub(crate) fn distance_km(a: (f64, f64), b: (f64, f64)) -> f64 {
    const RADIUS_KM: f64 = 6371.0;
    let (lat_a, lat_b) = (a.0.to_radians(), b.0.to_radians());
    let half = |from: f64, to: f64| ((to - from).to_radians() / 2.0).sin().powi(2);
    let inside = half(a.0, b.0) + lat_a.cos() * lat_b.cos() * half(a.1, b.1);
    2.0 * RADIUS_KM * inside.sqrt().min(1.0).asin()
}
