use anyhow::Result;
use clap::{Args, Subcommand};
use geo::{Answer, Place, Places};
use serde_json::{Value, json};

use super::{Common, exit, print, print_json};

/// Find places by address or coordinates
#[derive(Subcommand)]
pub enum GeoCommand {
    Find(Find),
}

/// Print the place that an address or a point lies in
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dvor geo find \"Московская обл., г. Химки, ул. Ленина 5\"\n  dvor geo find \"в Новосибирске\"\n  \
                  dvor geo find 55.89,37.44\n\nContains data from GeoNames (geonames.org), CC BY 4.0."
)]
pub struct Find {
    /// An address, or LAT,LON
    #[arg(required_unless_present = "about", allow_hyphen_values = true, value_name = "TEXT|LAT,LON")]
    what: Option<String>,
    /// Say where the places come from
    #[arg(long)]
    about: bool,
}

impl GeoCommand {
    pub fn run(self, common: &Common) -> Result<()> {
        let Self::Find(find) = self;
        let places = Places::shipped();
        if find.about {
            return print(&format!("{} places. {}", places.all().len(), geo::ATTRIBUTION));
        }
        let what = find.what.unwrap_or_default();
        match point(&what) {
            Some((lat, lon)) => nearest(common, &places, lat, lon),
            None => by_text(common, &places, &what),
        }
    }
}

/// `55.89,37.44`, with or without a space.
fn point(text: &str) -> Option<(f64, f64)> {
    let (lat, lon) = text.split_once(',')?;
    Some((lat.trim().parse().ok()?, lon.trim().parse().ok()?))
}

fn nearest(common: &Common, places: &Places, lat: f64, lon: f64) -> Result<()> {
    if !(-90.0..=90.0).contains(&lat) || !(-180.0..=180.0).contains(&lon) {
        let message = format!("{lat},{lon} is no point on Earth: the latitude is first, from -90 to 90");
        return Err(exit::Failure::of(exit::USAGE, message));
    }
    let Some((place, distance_km)) = places.nearest(lat, lon) else {
        return Err(exit::Failure::of(exit::NOT_FOUND, format!("no place is near {lat},{lon}")));
    };
    if common.json {
        return print_json(&json!({ "place": object(places, place), "distance_km": distance_km }));
    }
    print(&format!("{}, {distance_km:.1} km from its centre", line(places, place)))
}

fn by_text(common: &Common, places: &Places, text: &str) -> Result<()> {
    let list = |all: &[&Place]| {
        all.iter().map(|place| format!("\n  {}", line(places, place))).collect::<Vec<_>>().concat()
    };
    match places.find_text(text) {
        Answer::Found(place) if common.json => print_json(&json!({ "place": object(places, place) })),
        Answer::Found(place) => print(&line(places, place)),
        Answer::Ambiguous(all) => {
            if common.json {
                let candidates: Vec<Value> = all.iter().map(|place| object(places, place)).collect();
                print_json(&json!({ "place": null, "candidates": candidates }))?;
            } else {
                print(&format!("«{text}» may be any of:{}", list(&all)))?;
            }
            Err(exit::Failure::of(
                exit::FAILED,
                format!("«{text}» is ambiguous: add the region or the country"),
            ))
        }
        Answer::NotFound { suggestions } => {
            if !suggestions.is_empty() && !common.json {
                print(&format!("The largest places there:{}", list(&suggestions)))?;
            }
            Err(exit::Failure::of(exit::NOT_FOUND, format!("no place is named in «{text}»")))
        }
    }
}

fn line(places: &Places, place: &Place) -> String {
    let region = places
        .region(&place.region)
        .map(|region| region.name_ru.as_str())
        .filter(|name| *name != place.name_ru);
    let country = places.country(&place.country).map(|country| country.name_ru.as_str());
    let names =
        [Some(place.name_ru.as_str()), region, country].into_iter().flatten().collect::<Vec<_>>().join(", ");
    format!("{} {names} ({:.3},{:.3}, {} people)", place.id, place.lat, place.lon, place.population)
}

fn object(places: &Places, place: &Place) -> Value {
    json!({
        "geo_id": place.id.to_string(),
        "name": place.name_ru,
        "name_en": place.name,
        "region": places.region(&place.region).map(|region| &region.name_ru),
        "region_code": place.region,
        "country": place.country,
        "lat": place.lat,
        "lon": place.lon,
        "population": place.population,
    })
}
