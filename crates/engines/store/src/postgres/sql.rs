//! The statements: few in number, the same text for every call of a kind, so that each connection prepares each once.

use tokio_postgres::types::{ToSql, Type};

use crate::{ColumnType, Schema, TableId, TableSpec};

/// Which statement. A scan's text depends on how many columns its bounds have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Query {
    LockShard,
    ReadOnly,
    Get(TableId),
    GetOfShards(TableId),
    Put(TableId),
    Delete(TableId),
    Scan(TableId, Shape),
    ScanShards(TableId, Shape),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) from: Edge,
    pub(super) to: Edge,
    pub(super) reverse: bool,
}

/// A bound of so many columns; none of them bounds nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Edge {
    pub(super) columns: usize,
    pub(super) included: bool,
}

pub(super) type Value = Box<dyn ToSql + Sync + Send>;

/// A statement with its parameters.
pub(super) struct Call {
    pub(super) query: Query,
    pub(super) parameters: Vec<(Value, Type)>,
}

impl Call {
    pub(super) fn values(&self) -> impl ExactSizeIterator<Item = &(dyn ToSql + Sync)> {
        self.parameters.iter().map(|(value, _)| &**value as &(dyn ToSql + Sync))
    }

    pub(super) fn typed_values(&self) -> impl Iterator<Item = (&(dyn ToSql + Sync), Type)> {
        self.parameters.iter().map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone()))
    }
}

/// How a key column is kept. `U32` does not fit int4. `Time` is microseconds since 1970: timestamptz holds no time before
/// 4713 BC, and a key may be any number of microseconds.
pub(super) fn column_type(column: ColumnType) -> &'static str {
    match column {
        ColumnType::Str => "text",
        ColumnType::I64 | ColumnType::U32 | ColumnType::Time => "bigint",
        ColumnType::Bytes => "bytea",
    }
}

/// The text of a statement; the order of the parameters is that of `read.rs` and `write.rs`.
pub(super) fn text(schema: &Schema, query: Query) -> String {
    match query {
        Query::LockShard => "SELECT shard FROM dvor.shards WHERE shard = $1 FOR UPDATE".to_owned(),
        Query::ReadOnly => "SELECT current_setting('transaction_read_only')".to_owned(),
        Query::Get(id) => get(schema.table(id)),
        Query::GetOfShards(id) => get_of_shards(schema.table(id)),
        Query::Put(id) => put(schema.table(id)),
        Query::Delete(id) => delete(schema.table(id)),
        Query::Scan(id, shape) => scan(schema.table(id), shape),
        Query::ScanShards(id, shape) => scan_shards(schema.table(id), shape),
    }
}

/// `$1` the shard, `$2…` an array per key column.
fn get(table: &TableSpec) -> String {
    get_each(table, "$1", &parameters(2, table.columns.len()), &aliases(table))
}

/// `$1` an array of shards, `$2…` an array per key column.
fn get_of_shards(table: &TableSpec) -> String {
    let names = format!("shard, {}", aliases(table));
    get_each(table, "k.shard", &parameters(1, 1 + table.columns.len()), &names)
}

/// One lookup in the primary key for each key.
fn get_each(table: &TableSpec, shard: &str, arrays: &str, names: &str) -> String {
    format!(
        "SELECT k.place, f.value FROM unnest({arrays}) WITH ORDINALITY AS k ({names}, place) CROSS JOIN LATERAL \
         (SELECT r.value FROM {} AS r WHERE r.shard = {shard} AND {} LIMIT 1) AS f",
        name(table),
        same_key(table)
    )
}

/// `$1` the shard, `$2…` an array per key column, the last one an array of values.
fn put(table: &TableSpec) -> String {
    let columns = columns(table, "");
    format!(
        "INSERT INTO {} (shard, {columns}, value) SELECT $1, {}, k.value FROM unnest({}) AS k ({}, value) \
         ON CONFLICT (shard, {columns}) DO UPDATE SET value = excluded.value",
        name(table),
        list(table, |index, _| format!("k.k{index}")),
        parameters(2, table.columns.len() + 1),
        aliases(table)
    )
}

/// `$1` the shard, `$2…` the key columns. One row for each statement: the planner of a young table, which knows nothing of
/// it, would join an array of keys the wrong way round and read the whole shard. With all columns given there is one way.
fn delete(table: &TableSpec) -> String {
    let pairs: Vec<_> = table
        .columns
        .iter()
        .enumerate()
        .map(|(index, name)| format!("{} = ${}", quote(name), index + 2))
        .collect();
    format!("DELETE FROM {} WHERE shard = $1 AND {}", name(table), pairs.join(" AND "))
}

/// `$1` the shard, `$2` the limit, then the columns of `from` and of `to`.
fn scan(table: &TableSpec, shape: Shape) -> String {
    let wanted = columns(table, "r.");
    format!(
        "SELECT {wanted}, r.value FROM {} AS r WHERE r.shard = $1{} ORDER BY {} LIMIT $2",
        name(table),
        bounds(table, shape, 3),
        order(table, shape)
    )
}

/// `$1` shards and `$2` their places in the question (arrays), `$3` the limit in each, then the columns of `from` and `to`.
fn scan_shards(table: &TableSpec, shape: Shape) -> String {
    let wanted = columns(table, "r.");
    format!(
        "SELECT f.*, s.place FROM unnest($1, $2) AS s (shard, place) CROSS JOIN LATERAL \
         (SELECT {wanted}, r.value FROM {} AS r WHERE r.shard = s.shard{} ORDER BY {} LIMIT $3) AS f",
        name(table),
        bounds(table, shape, 4),
        order(table, shape)
    )
}

fn bounds(table: &TableSpec, shape: Shape, first: usize) -> String {
    let edge = |edge: Edge, sign: &str, first: usize| {
        if edge.columns == 0 {
            return String::new();
        }
        let names: Vec<_> =
            table.columns[..edge.columns].iter().map(|name| format!("r.{}", quote(name))).collect();
        let or_equal = if edge.included { "=" } else { "" };
        format!(" AND ({}) {sign}{or_equal} ({})", names.join(", "), parameters(first, edge.columns))
    };
    edge(shape.from, ">", first) + &edge(shape.to, "<", first + shape.from.columns)
}

fn order(table: &TableSpec, shape: Shape) -> String {
    let direction = if shape.reverse { " DESC" } else { "" };
    list(table, |_, name| format!("r.{name}{direction}"))
}

fn same_key(table: &TableSpec) -> String {
    let pairs: Vec<_> = table
        .columns
        .iter()
        .enumerate()
        .map(|(index, name)| format!("r.{} = k.k{index}", quote(name)))
        .collect();
    pairs.join(" AND ")
}

fn columns(table: &TableSpec, before: &str) -> String {
    list(table, |_, name| format!("{before}{name}"))
}

fn aliases(table: &TableSpec) -> String {
    list(table, |index, _| format!("k{index}"))
}

fn list(table: &TableSpec, item: impl Fn(usize, String) -> String) -> String {
    let items: Vec<_> =
        table.columns.iter().enumerate().map(|(index, name)| item(index, quote(name))).collect();
    items.join(", ")
}

fn parameters(first: usize, count: usize) -> String {
    let numbers: Vec<_> = (first..first + count).map(|number| format!("${number}")).collect();
    numbers.join(", ")
}

pub(super) fn name(table: &TableSpec) -> String {
    format!("{}.{}", quote(table.system), quote(table.name))
}

pub(super) fn quote(identifier: &str) -> String {
    format!("\"{}\"", identifier.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Space, Table};

    const WORDS: Table<(String, i64), ()> =
        Table::new("test", "words", &["language", "number"], Space::Small);

    #[test]
    fn texts() {
        let schema = Schema::new([WORDS.spec()]);
        let id = TableId(0);
        let shape = Shape {
            from: Edge { columns: 2, included: false },
            to: Edge { columns: 1, included: true },
            reverse: true,
        };
        assert_eq!(
            text(&schema, Query::Scan(id, shape)),
            "SELECT r.\"language\", r.\"number\", r.value FROM \"test\".\"words\" AS r WHERE r.shard = $1 \
             AND (r.\"language\", r.\"number\") > ($3, $4) AND (r.\"language\") <= ($5) \
             ORDER BY r.\"language\" DESC, r.\"number\" DESC LIMIT $2"
        );
        assert_eq!(
            text(&schema, Query::Put(id)),
            "INSERT INTO \"test\".\"words\" (shard, \"language\", \"number\", value) SELECT $1, k.k0, k.k1, k.value \
             FROM unnest($2, $3, $4) AS k (k0, k1, value) ON CONFLICT (shard, \"language\", \"number\") \
             DO UPDATE SET value = excluded.value"
        );
        assert_eq!(
            text(&schema, Query::Delete(id)),
            "DELETE FROM \"test\".\"words\" WHERE shard = $1 AND \"language\" = $2 AND \"number\" = $3"
        );
    }
}
