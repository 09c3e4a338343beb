use std::marker::PhantomData;

use bytes::Buf;

use crate::key::{ColumnType, Decode};
use crate::{Error, Result};

/// What a row can hold: any protobuf message (plain `()`, integers and bytes are messages too), shown as JSON by
/// `dvor table scan`.
pub trait Value: prost::Message + Default + serde::Serialize {}
impl<V: prost::Message + Default + serde::Serialize> Value for V {}

/// How a table's rows are used, so that the embedded engine can keep them well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Rows of up to a few hundred bytes.
    Small,
    /// Values of a kilobyte and more.
    Large,
    /// Rows that are appended at one end and consumed at the other.
    Queue,
}

/// A declared table: `Table::<(String, i64), Offer>::new("offers", "content", &["seller", "offer"], Space::Large)`.
#[derive(Debug)]
pub struct Table<K, V> {
    system: &'static str,
    name: &'static str,
    columns: &'static [&'static str],
    space: Space,
    row: PhantomData<fn() -> (K, V)>,
}

impl<K: Decode, V: Value> Table<K, V> {
    /// Checked at compile time: as many column names as key columns.
    pub const fn new(
        system: &'static str,
        name: &'static str,
        columns: &'static [&'static str],
        space: Space,
    ) -> Self {
        assert!(columns.len() == K::TYPES.len(), "a table needs a name for each key column");
        Self { system, name, columns, space, row: PhantomData }
    }

    pub const fn system(&self) -> &'static str {
        self.system
    }

    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The declaration without its Rust types, as engines and tools see it.
    pub const fn spec(&self) -> TableSpec {
        TableSpec {
            system: self.system,
            name: self.name,
            columns: self.columns,
            types: K::TYPES,
            space: self.space,
            to_json: to_json::<V>,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct TableSpec {
    pub system: &'static str,
    pub name: &'static str,
    pub columns: &'static [&'static str],
    pub types: &'static [ColumnType],
    pub space: Space,
    pub to_json: fn(&[u8]) -> Result<serde_json::Value>,
}

impl TableSpec {
    /// `system.name`, as people write it.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.system, self.name)
    }
}

pub(crate) fn decode_value<V: Value>(bytes: impl Buf) -> Result<V> {
    V::decode(bytes)
        .map_err(|error| Error::with_source(crate::Kind::Corrupt, "a row's value cannot be read", error))
}

fn to_json<V: Value>(bytes: &[u8]) -> Result<serde_json::Value> {
    serde_json::to_value(decode_value::<V>(bytes)?)
        .map_err(|error| Error::with_source(crate::Kind::Corrupt, "a row's value cannot be shown", error))
}
