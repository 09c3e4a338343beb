use std::ops::Bound;

use axum::Json;
use axum::extract::{Path, Query, State};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::engine::{from_parts, parts};
use store::{ColumnType, KeyBytes, Part, Range, Shard, Store, TableId, TableSpec};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::config::closest;
use web::Access;
use web::{Page, limit};
use web::{Problem, Result};

const USUAL_ROWS: usize = 100;
const MOST_ROWS: usize = 10_000;
/// Shards asked at a time when the rows of all are wanted.
const SHARDS_AT_ONCE: usize = 64;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(scan))
}

#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct TableInfo {
    /// `system.name`.
    pub table: String,
    /// The key's columns with their types.
    pub columns: Vec<String>,
}

/// A row, decoded.
#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct Row {
    pub shard: u16,
    #[schema(value_type = Object)]
    pub key: Map<String, Value>,
    #[schema(value_type = Object)]
    pub value: Value,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
struct ScanQuery {
    /// The first key columns as a JSON list, such as `["seller-1",5]`.
    prefix: Option<String>,
    /// This shard only.
    #[param(maximum = 1_023)]
    shard: Option<u16>,
    #[param(minimum = 1, maximum = 10_000)]
    limit: Option<usize>,
    cursor: Option<String>,
}

/// All tables of this program.
#[utoipa::path(get, path = "/tables", tag = "admin", responses((status = 200, body = Page<TableInfo>)))]
async fn list(State(app): State<App>, access: Access) -> Result<Json<Page<TableInfo>>> {
    access.require_admin()?;
    let column = |(name, kind): (&&str, &ColumnType)| format!("{name} {kind:?}");
    let info = |(_, spec): (TableId, &TableSpec)| TableInfo {
        table: spec.full_name(),
        columns: spec.columns.iter().zip(spec.types).map(column).collect(),
    };
    Ok(Json(Page::whole(app.store.schema().tables().map(info).collect())))
}

/// Rows of a table, by shard and key, decoded.
#[utoipa::path(get, path = "/tables/{system}/{name}", tag = "admin", params(ScanQuery), responses(
    (status = 200, body = Page<Row>),
))]
async fn scan(
    State(app): State<App>,
    access: Access,
    Path((system, name)): Path<(String, String)>,
    Query(query): Query<ScanQuery>,
) -> Result<Json<Page<Row>>> {
    access.require_admin()?;
    let limit = limit(query.limit, USUAL_ROWS, MOST_ROWS)?;
    let id = find(&app.store, &system, &name)?;
    let spec = *app.store.schema().table(id);
    let mut range = Range::all(limit);
    if let Some(prefix) = &query.prefix {
        let prefix = parse_prefix(&spec, prefix)?;
        (range.from, range.to) = (Bound::Included(prefix.clone()), Bound::Included(prefix));
    }
    let cursor = query.cursor.as_deref().map(parse_cursor).transpose()?;
    let shards = shards(query.shard, cursor.as_ref())?;
    let found = rows(&app.store, id, &shards, &range, cursor).await?;
    let next_cursor =
        (found.len() == limit).then(|| found.last().map(|(shard, (key, _))| write_cursor(*shard, key)));
    let items = found
        .into_iter()
        .map(|(shard, (key, value))| decode(&spec, shard, &key, &value))
        .collect::<Result<_>>()?;
    Ok(Json(Page { items, next_cursor: next_cursor.flatten() }))
}

type Found = (Shard, (KeyBytes, bytes::Bytes));

/// At most the range's limit of rows over all the shards, from behind the cursor on.
async fn rows(
    store: &Store,
    table: TableId,
    shards: &[Shard],
    range: &Range,
    cursor: Option<(Shard, KeyBytes)>,
) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    let mut shards = shards;
    if let (Some((shard, key)), [first, rest @ ..]) = (cursor, shards)
        && shard == *first
    {
        let beyond = range.clone().beyond(key);
        found.extend(store.engine().scan_shards(table, &[shard], &beyond).await?);
        shards = rest;
    }
    for some in shards.chunks(SHARDS_AT_ONCE) {
        if found.len() >= range.limit {
            break;
        }
        let mut range = range.clone();
        range.limit -= found.len();
        found.extend(store.engine().scan_shards(table, some, &range).await?);
    }
    found.truncate(range.limit);
    Ok(found)
}

fn find(store: &Store, system: &str, name: &str) -> Result<TableId> {
    store.schema().id(system, name).map_err(|_| {
        let names: Vec<_> = store.schema().tables().map(|(_, spec)| spec.full_name()).collect();
        let asked = format!("{system}.{name}");
        Problem::not_found(match closest(&asked, names.iter().map(String::as_str), 0.7) {
            Some(like) => format!("there is no table {asked}; did you mean {like}?"),
            None => format!("there is no table {asked}"),
        })
    })
}

fn shards(only: Option<u16>, cursor: Option<&(Shard, KeyBytes)>) -> Result<Vec<Shard>> {
    let from = cursor.map_or(0, |(shard, _)| shard.number());
    match only {
        None => Ok(Shard::all().filter(|shard| shard.number() >= from).collect()),
        Some(number) => match Shard::new(number) {
            Some(shard) => Ok(vec![shard]),
            None => Err(Problem::field(
                "shard",
                "out_of_range",
                format!("shards are numbered 0 to {}", store::SHARDS - 1),
            )),
        },
    }
}

fn decode(spec: &TableSpec, shard: Shard, key: &KeyBytes, value: &[u8]) -> Result<Row> {
    let columns = spec.columns.iter().map(|name| (*name).to_owned());
    let key = columns.zip(parts(spec.types, key.as_slice())?.into_iter().map(show)).collect();
    // A value that cannot be read should not hide the others.
    let value =
        (spec.to_json)(value).unwrap_or_else(|error| serde_json::json!({ "unreadable": error.to_string() }));
    Ok(Row { shard: shard.number(), key, value })
}

fn show(part: Part) -> Value {
    match part {
        Part::Str(text) => Value::from(text),
        Part::I64(number) => Value::from(number),
        Part::U32(number) => Value::from(number),
        Part::Bytes(bytes) => Value::from(BASE64_URL_SAFE_NO_PAD.encode(bytes)),
        Part::Time(time) => Value::from(time.to_string()),
    }
}

/// The first columns of a key; the inverse of [`show`].
fn parse_prefix(spec: &TableSpec, text: &str) -> Result<KeyBytes> {
    let wrong = |message: String| Problem::field("prefix", "bad_prefix", message);
    let values: Vec<Value> =
        serde_json::from_str(text).map_err(|error| wrong(format!("not a JSON list: {error}")))?;
    if values.len() > spec.types.len() {
        return Err(wrong(format!("the key of {} has {} columns", spec.full_name(), spec.types.len())));
    }
    let part = |((kind, column), value): ((&ColumnType, &&str), &Value)| {
        // Text in place of a number serves those who type it in a shell.
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let parsed = match kind {
            ColumnType::Str => Some(Part::Str(text)),
            ColumnType::I64 => text.parse().ok().map(Part::I64),
            ColumnType::U32 => text.parse().ok().map(Part::U32),
            ColumnType::Bytes => BASE64_URL_SAFE_NO_PAD.decode(&text).ok().map(Part::Bytes),
            ColumnType::Time => text.parse().ok().map(Part::Time),
        };
        parsed.ok_or_else(|| wrong(format!("{value} is not a value of the column {column} ({kind:?})")))
    };
    let parts: Vec<_> = spec.types.iter().zip(spec.columns).zip(&values).map(part).collect::<Result<_>>()?;
    Ok(from_parts(&parts)?)
}

fn write_cursor(shard: Shard, key: &KeyBytes) -> String {
    let mut bytes = shard.number().to_be_bytes().to_vec();
    bytes.extend_from_slice(key.as_slice());
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn parse_cursor(text: &str) -> Result<(Shard, KeyBytes)> {
    let wrong =
        || Problem::field("cursor", "bad_cursor", "this is not a cursor that a page of this list gave");
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| wrong())?;
    let (number, key) = bytes.split_first_chunk::<2>().ok_or_else(wrong)?;
    let shard = Shard::new(u16::from_be_bytes(*number)).ok_or_else(wrong)?;
    Ok((shard, KeyBytes(key.to_vec())))
}

#[cfg(test)]
mod tests {
    use store::{Schema, Space, Table};

    use super::*;

    const THINGS: Table<(String, i64), String> =
        Table::new("test", "things", &["owner", "number"], Space::Small);

    #[tokio::test]
    async fn pages_over_all_shards_give_every_row_once() {
        let store = Store::memory(Schema::new([THINGS.spec()]));
        for owner in 0..20 {
            let owner = format!("owner {owner}");
            let put = store.transact(Shard::of(&owner), async |tx| {
                (0..5_i64).try_for_each(|number| {
                    tx.put(&THINGS, (owner.as_str(), number), &format!("{owner} {number}"))
                })
            });
            put.await.unwrap();
        }
        let id = find(&store, "test", "things").unwrap();
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let from = cursor.as_deref().map(|text: &str| parse_cursor(text).unwrap());
            let shards = shards(None, from.as_ref()).unwrap();
            let page = rows(&store, id, &shards, &Range::all(7), from).await.unwrap();
            let Some((shard, (key, _))) = page.last() else { break };
            cursor = Some(write_cursor(*shard, key));
            seen.extend(page);
        }
        assert_eq!(seen.len(), 100);
        assert!(seen.is_sorted_by(|a, b| (a.0, &a.1.0) < (b.0, &b.1.0)), "some row twice or out of order");
    }

    #[test]
    fn prefixes_are_columns_of_the_key() {
        let check = |text: &str, parts: &[Part]| {
            assert_eq!(parse_prefix(&THINGS.spec(), text).unwrap(), from_parts(parts).unwrap(), "{text}");
        };
        check("[]", &[]);
        check("[\"a,b\"]", &[Part::Str("a,b".to_owned())]);
        check("[\"a\", -5]", &[Part::Str("a".to_owned()), Part::I64(-5)]);
        check("[\"a\", \"-5\"]", &[Part::Str("a".to_owned()), Part::I64(-5)]);
        for wrong in ["", "a", "[\"a\",\"b\"]", "[\"a\",1,2]", "{}"] {
            assert!(parse_prefix(&THINGS.spec(), wrong).is_err(), "{wrong}");
        }
    }
}
