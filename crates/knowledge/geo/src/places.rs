//! The places themselves, unpacked once and shared.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::index::Index;
use crate::nearest::Grid;
use crate::pack::{self, Error};

#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The GeoNames id.
    pub id: u32,
    pub name: String,
    pub name_ru: String,
    /// Two letters, ISO 3166.
    pub country: String,
    /// The region's code, like `RU.53`.
    pub region: String,
    pub lat: f64,
    pub lon: f64,
    pub population: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    pub code: String,
    pub name: String,
    pub name_ru: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Country {
    pub code: String,
    pub name: String,
    pub name_ru: String,
}

/// All places and the ways to find them. Clones share them.
#[derive(Clone)]
pub struct Places {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) places: Vec<Place>,
    pub(crate) regions: Vec<Region>,
    pub(crate) countries: Vec<Country>,
    pub(crate) index: Index,
    pub(crate) grid: Grid,
    by_id: FxHashMap<u32, u32>,
}

static SHIPPED: &[u8] = include_bytes!("../data/places.bin");

impl Places {
    /// The places that are compiled into the program. Unpacking takes a moment, so keep them.
    pub fn shipped() -> Self {
        Self::unpack(SHIPPED).expect("the shipped places are checked by a test")
    }

    /// Places that [`crate::pack`] made.
    pub fn unpack(packed: &[u8]) -> Result<Self, Error> {
        let unpacked = pack::unpack(packed)?;
        let index = Index::build(&unpacked);
        let pack::Unpacked { places, regions, countries, .. } = unpacked;
        let grid = Grid::build(&places);
        let by_id = places.iter().enumerate().map(|(index, place)| (place.id, index as u32)).collect();
        Ok(Self { inner: Arc::new(Inner { places, regions, countries, index, grid, by_id }) })
    }

    pub fn all(&self) -> &[Place] {
        &self.inner.places
    }

    pub fn place(&self, id: u32) -> Option<&Place> {
        self.inner.by_id.get(&id).map(|index| &self.inner.places[*index as usize])
    }

    pub fn region(&self, code: &str) -> Option<&Region> {
        let regions = &self.inner.regions;
        regions.binary_search_by(|region| region.code.as_str().cmp(code)).ok().map(|index| &regions[index])
    }

    pub fn country(&self, code: &str) -> Option<&Country> {
        self.inner.countries.iter().find(|country| country.code == code)
    }
}
