//! A server's tables: made where they are missing, checked where they are there.
//!
//! Several processes may start at once on an empty server. The first tables are made with `IF NOT EXISTS` and tried again
//! when somebody else was faster; everything after that happens under the lock of the one row in `dvor.meta`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use kit::Backoff;
use tokio_postgres::Client;
use tokio_postgres::error::Error as PgError;

use super::address::Address;
use super::failure;
use super::sql::{column_type, name, quote};
use crate::{ColumnType, Error, Kind, Result, SHARDS, Schema, TableSpec};

/// Raised when stored rows change so that another version would misread them. Any other format is refused.
const FORMAT: i32 = 2;
/// PostgreSQL cuts longer names.
const MAX_NAME: usize = 63;
const TRIES: u32 = 30;

const FIRST_TABLES: &str = "CREATE SCHEMA IF NOT EXISTS dvor; \
    CREATE TABLE IF NOT EXISTS dvor.meta (id int2 PRIMARY KEY, format int4 NOT NULL, server int4 NOT NULL, \
        servers int4 NOT NULL, first_shard int2 NOT NULL, last_shard int2 NOT NULL); \
    CREATE TABLE IF NOT EXISTS dvor.shards (shard int2 PRIMARY KEY)";

const COLUMNS: &str = "SELECT n.nspname::text, c.relname::text, a.attnum, a.attname::text, \
        format_type(a.atttypid, NULL), coalesce(l.collname::text, ''), coalesce(array_to_string(i.indkey, ','), '') \
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
    LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation \
    LEFT JOIN pg_catalog.pg_index i ON i.indrelid = c.oid AND i.indisprimary \
    WHERE n.nspname = ANY ($1) AND c.relkind IN ('r', 'p', 'f', 'v') ORDER BY 1, 2, 3";

/// Which part of the shards a server keeps: the `index`th of `count` equal ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) index: usize,
    pub(super) count: usize,
}

impl Part {
    pub(super) fn of(shard: usize, count: usize) -> usize {
        // The inverse of `first`: the last server whose first shard is not behind this one.
        (0..count).rfind(|index| Part { index: *index, count }.first() <= shard).unwrap_or(0)
    }

    pub(super) fn first(self) -> usize {
        self.index * usize::from(SHARDS) / self.count
    }

    pub(super) fn last(self) -> usize {
        (self.index + 1) * usize::from(SHARDS) / self.count - 1
    }
}

/// Tables whose names a server could not tell from its own, or would cut.
pub(super) fn check_names(schema: &Schema) -> Result<()> {
    for (_, table) in schema.tables() {
        let names = [table.system, table.name].into_iter().chain(table.columns.iter().copied());
        let taken = table.columns.iter().any(|column| ["shard", "value"].contains(column));
        if table.system == "dvor"
            || taken
            || names.clone().any(|name| name.is_empty() || name.len() > MAX_NAME)
        {
            let table = table.full_name();
            return Err(Error::invalid(format!("table {table} has a name that PostgreSQL cannot take")));
        }
    }
    Ok(())
}

pub(super) async fn prepare(client: &Client, address: &Address, schema: &Schema, part: Part) -> Result<()> {
    let mut backoff = Backoff::new(Duration::from_millis(5), Duration::from_millis(500));
    loop {
        let error = match try_prepare(client, &address.place, schema, part).await {
            Ok(()) => return Ok(()),
            Err(Trouble::Ours(error)) => return Err(error),
            Err(Trouble::Server(error)) => error,
        };
        if !failure::is_race(&error) || backoff.failures() >= TRIES {
            return Err(failure::did_not_happen(&address.place, &error));
        }
        tokio::time::sleep(backoff.next_wait()).await;
        // Nothing to roll back is nothing to complain about either.
        let _ = client.batch_execute("ROLLBACK").await;
    }
}

enum Trouble {
    Ours(Error),
    Server(PgError),
}

impl From<PgError> for Trouble {
    fn from(error: PgError) -> Self {
        Self::Server(error)
    }
}

fn incompatible(text: String) -> Trouble {
    Trouble::Ours(Error::new(Kind::Incompatible, text))
}

async fn try_prepare(client: &Client, place: &str, schema: &Schema, part: Part) -> Result<(), Trouble> {
    let encoding: String = client.query_one("SHOW server_encoding", &[]).await?.try_get(0)?;
    if !["UTF8", "UTF-8"].contains(&encoding.to_uppercase().as_str()) {
        return Err(incompatible(format!("the database at {place} is in {encoding}, but must be in UTF8")));
    }
    // Looked up first, so that a user who may not create anything can open what is there.
    let there = client.query(COLUMNS, &[&["dvor"].as_slice()]).await?;
    if there.is_empty() {
        client.batch_execute(FIRST_TABLES).await?;
    }
    client
        .batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '60s'; SET LOCAL statement_timeout = '5min'")
        .await?;
    check_meta(client, place, part).await?;
    let existing = existing_columns(client, schema).await?;
    for (_, table) in schema.tables() {
        match existing.get(&(table.system.to_owned(), table.name.to_owned())) {
            None => client.batch_execute(&definition(table)).await?,
            Some(found) if *found == expected_columns(table) => {}
            Some(found) => {
                let (table, expected) = (table.full_name(), expected_columns(table));
                return Err(incompatible(format!(
                    "table {table} in PostgreSQL at {place} is ({found}), but this version of Dvor needs ({expected})"
                )));
            }
        }
    }
    client.batch_execute("COMMIT").await?;
    Ok(())
}

/// Locks and checks the server's own record, writing it and the shards' rows if this is the first time.
async fn check_meta(client: &Client, place: &str, part: Part) -> Result<(), Trouble> {
    let select =
        "SELECT format, server, servers, first_shard, last_shard FROM dvor.meta WHERE id = 0 FOR UPDATE";
    let mut found = client.query_opt(select, &[]).await?;
    if found.is_none() {
        let (first, last) = (part.first() as i16, part.last() as i16);
        let insert = "INSERT INTO dvor.meta (id, format, server, servers, first_shard, last_shard) \
            VALUES (0, $1, $2, $3, $4, $5) ON CONFLICT (id) DO NOTHING";
        client.execute(insert, &[&FORMAT, &(part.index as i32), &(part.count as i32), &first, &last]).await?;
        found = client.query_opt(select, &[]).await?;
        let seed = "INSERT INTO dvor.shards (shard) SELECT unnest($1::int2[]) ON CONFLICT (shard) DO NOTHING";
        client.execute(seed, &[&(first..=last).collect::<Vec<i16>>()]).await?;
    }
    let Some(row) = found else {
        return Err(incompatible(format!("dvor.meta in PostgreSQL at {place} cannot be written")));
    };
    let format: i32 = row.try_get(0)?;
    if format != FORMAT {
        let age = if format > FORMAT { "a newer" } else { "an older" };
        return Err(incompatible(format!(
            "the store in PostgreSQL at {place} has format {format}, made by {age} version of Dvor; this one knows \
             format {FORMAT}"
        )));
    }
    let (server, servers): (i32, i32) = (row.try_get(1)?, row.try_get(2)?);
    let (first, last): (i16, i16) = (row.try_get(3)?, row.try_get(4)?);
    let record = (server as usize, servers as usize, first as usize, last as usize);
    if record != (part.index, part.count, part.first(), part.last()) {
        return Err(incompatible(format!(
            "PostgreSQL at {place} keeps shards {first} to {last} as server {} of {servers}, but is given here as server \
             {} of {}",
            server + 1,
            part.index + 1,
            part.count
        )));
    }
    Ok(())
}

fn definition(table: &TableSpec) -> String {
    let mut text = format!("CREATE SCHEMA IF NOT EXISTS {}; ", quote(table.system));
    // Writing into a String cannot fail.
    let _ = write!(text, "CREATE TABLE IF NOT EXISTS {} (shard int2 NOT NULL, ", name(table));
    for (column, kind) in table.columns.iter().zip(table.types) {
        let collation = if *kind == ColumnType::Str { " COLLATE \"C\"" } else { "" };
        let _ = write!(text, "{} {}{collation} NOT NULL, ", quote(column), column_type(*kind));
    }
    let key: Vec<_> = table.columns.iter().map(|column| quote(column)).collect();
    let _ = write!(text, "value bytea NOT NULL, PRIMARY KEY (shard, {}))", key.join(", "));
    for (column, kind) in table.columns.iter().zip(table.types) {
        if *kind == ColumnType::Time {
            let _ = write!(
                text,
                "; COMMENT ON COLUMN {}.{} IS 'microseconds since 1970, as in to_timestamp({} / 1e6)'",
                name(table),
                quote(column),
                quote(column)
            );
        }
    }
    text
}

/// `name type [collation]…, primary key …` of a table that is there.
async fn existing_columns(
    client: &Client,
    schema: &Schema,
) -> Result<BTreeMap<(String, String), String>, Trouble> {
    let mut systems: Vec<&str> = schema.tables().map(|(_, table)| table.system).collect();
    systems.sort_unstable();
    systems.dedup();
    let mut tables: BTreeMap<(String, String), Found> = BTreeMap::new();
    for row in client.query(COLUMNS, &[&systems]).await? {
        let (number, column): (i16, String) = (row.try_get(2)?, row.try_get(3)?);
        let (kind, collation): (String, String) = (row.try_get(4)?, row.try_get(5)?);
        let table = tables.entry((row.try_get(0)?, row.try_get(1)?)).or_default();
        table.columns.push(describe(&column, &kind, &collation));
        table.numbers.push((number, column));
        table.key = row.try_get(6)?;
    }
    Ok(tables.into_iter().map(|(table, found)| (table, found.describe())).collect())
}

/// A table as the server knows it: its primary key is given by the numbers of the columns.
#[derive(Default)]
struct Found {
    columns: Vec<String>,
    numbers: Vec<(i16, String)>,
    key: String,
}

impl Found {
    fn describe(&self) -> String {
        let named = |number: &str| {
            let number: i16 = number.parse().ok()?;
            self.numbers.iter().find(|(other, _)| *other == number).map(|(_, name)| name.as_str())
        };
        let key: Vec<&str> = self.key.split(',').filter_map(named).collect();
        format!("{}, primary key {}", self.columns.join(", "), key.join(" "))
    }
}

fn expected_columns(table: &TableSpec) -> String {
    let mut columns = vec![describe("shard", "smallint", "")];
    for (column, kind) in table.columns.iter().zip(table.types) {
        columns.push(describe(column, column_type(*kind), if *kind == ColumnType::Str { "C" } else { "" }));
    }
    columns.push(describe("value", "bytea", ""));
    format!("{}, primary key shard {}", columns.join(", "), table.columns.join(" "))
}

fn describe(column: &str, kind: &str, collation: &str) -> String {
    if collation.is_empty() { format!("{column} {kind}") } else { format!("{column} {kind} {collation}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shard_has_one_server() {
        for count in [1, 2, 3, 7, 16, 1_024] {
            let mut next = 0;
            for index in 0..count {
                let part = Part { index, count };
                assert_eq!(part.first(), next);
                assert!((part.first()..=part.last()).all(|shard| Part::of(shard, count) == index));
                next = part.last() + 1;
            }
            assert_eq!(next, usize::from(SHARDS));
        }
    }
}
