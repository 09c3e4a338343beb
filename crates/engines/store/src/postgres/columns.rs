//! Keys as typed columns, there and back.

use std::error::Error as StdError;

use bytes::{Bytes, BytesMut};
use kit::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use super::sql::Value;
use crate::key::{EncodePart as _, KeyBytes, Part, parts};
use crate::{ColumnType, Error, Result, Shard};

/// The shard as a parameter.
pub(super) fn shard(shard: Shard) -> (Value, Type) {
    (Box::new(shard.number() as i16), Type::INT2)
}

pub(super) fn shards(shards: impl Iterator<Item = Shard>) -> (Value, Type) {
    (Box::new(shards.map(|shard| shard.number() as i16).collect::<Vec<_>>()), Type::INT2_ARRAY)
}

pub(super) fn number(number: i64) -> (Value, Type) {
    (Box::new(number), Type::INT8)
}

/// Whole keys as one array per column.
pub(super) fn key_arrays<'a>(
    types: &[ColumnType],
    keys: impl Iterator<Item = &'a KeyBytes>,
) -> Result<Vec<(Value, Type)>> {
    let mut arrays: Vec<Array> = types.iter().map(|column| Array::of(*column)).collect();
    for key in keys {
        let key = parts(types, key.as_slice())?;
        if key.len() != types.len() {
            return Err(Error::invalid("a key has fewer columns than its table"));
        }
        for (array, part) in arrays.iter_mut().zip(key) {
            array.push(part);
        }
    }
    Ok(arrays.into_iter().map(Array::parameter).collect())
}

pub(super) fn value_array(values: Vec<Bytes>) -> (Value, Type) {
    (Box::new(values.into_iter().map(Blob).collect::<Vec<_>>()), Type::BYTEA_ARRAY)
}

/// A whole key, each column as a parameter.
pub(super) fn key(types: &[ColumnType], key: &KeyBytes) -> Result<Vec<(Value, Type)>> {
    let columns = bound(types, key.as_slice())?;
    if columns.len() != types.len() {
        return Err(Error::invalid("a key has fewer columns than its table"));
    }
    Ok(columns)
}

/// The columns of a bound, each as a parameter.
pub(super) fn bound(types: &[ColumnType], bytes: &[u8]) -> Result<Vec<(Value, Type)>> {
    Ok(parts(types, bytes)?.into_iter().map(scalar).collect())
}

/// The key in the first columns of a row, and the value behind them.
pub(super) fn key_and_value(types: &[ColumnType], row: &Row) -> Result<(KeyBytes, Bytes)> {
    let mut out = Vec::with_capacity(48);
    for (index, column) in types.iter().enumerate() {
        match column {
            ColumnType::Str => cell::<&str>(row, index)?.encode_part(&mut out)?,
            ColumnType::I64 => cell::<i64>(row, index)?.encode_part(&mut out)?,
            ColumnType::Time => Timestamp(cell(row, index)?).encode_part(&mut out)?,
            ColumnType::Bytes => cell::<&[u8]>(row, index)?.encode_part(&mut out)?,
            ColumnType::U32 => u32::try_from(cell::<i64>(row, index)?)
                .map_err(|_| Error::corrupt("a key's number is out of its range"))?
                .encode_part(&mut out)?,
        }
    }
    Ok((KeyBytes(out), value(row, types.len())?))
}

pub(super) fn value(row: &Row, index: usize) -> Result<Bytes> {
    cell::<&[u8]>(row, index).map(Bytes::copy_from_slice)
}

pub(super) fn cell<'a, T: FromSql<'a>>(row: &'a Row, index: usize) -> Result<T> {
    row.try_get(index)
        .map_err(|error| Error::with_source(crate::Kind::Corrupt, "a row's column cannot be read", error))
}

fn scalar(part: Part) -> (Value, Type) {
    match part {
        Part::Str(text) => (Box::new(text), Type::TEXT),
        Part::I64(value) | Part::Time(Timestamp(value)) => number(value),
        Part::U32(value) => number(value.into()),
        Part::Bytes(bytes) => (Box::new(bytes), Type::BYTEA),
    }
}

enum Array {
    Texts(Vec<String>),
    Numbers(Vec<i64>),
    Blobs(Vec<Vec<u8>>),
}

impl Array {
    fn of(column: ColumnType) -> Self {
        match column {
            ColumnType::Str => Self::Texts(Vec::new()),
            ColumnType::I64 | ColumnType::U32 | ColumnType::Time => Self::Numbers(Vec::new()),
            ColumnType::Bytes => Self::Blobs(Vec::new()),
        }
    }

    fn push(&mut self, part: Part) {
        match (self, part) {
            (Self::Texts(texts), Part::Str(text)) => texts.push(text),
            (Self::Numbers(numbers), Part::I64(number) | Part::Time(Timestamp(number))) => {
                numbers.push(number);
            }
            (Self::Numbers(numbers), Part::U32(number)) => numbers.push(number.into()),
            (Self::Blobs(blobs), Part::Bytes(blob)) => blobs.push(blob),
            (_, part) => unreachable!("{part:?} does not come from a column of this type"),
        }
    }

    fn parameter(self) -> (Value, Type) {
        match self {
            Self::Texts(texts) => (Box::new(texts), Type::TEXT_ARRAY),
            Self::Numbers(numbers) => (Box::new(numbers), Type::INT8_ARRAY),
            Self::Blobs(blobs) => (Box::new(blobs), Type::BYTEA_ARRAY),
        }
    }
}

/// A value that goes out without being copied first.
#[derive(Debug)]
struct Blob(Bytes);

impl ToSql for Blob {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        (&*self.0).to_sql(kind, out)
    }

    fn accepts(kind: &Type) -> bool {
        <&[u8] as ToSql>::accepts(kind)
    }

    to_sql_checked!();
}
