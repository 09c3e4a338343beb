//! Settings that people change while everything runs: typed keys, validation, history.
//!
//! A setting is a row in the shard of its key, its value JSON of a fixed type. What cannot hold is refused when it is
//! written, so whoever reads a setting finds one that holds. Every change adds a row to the history, in the same
//! transaction. Importers read all settings at once, and one reading serves a whole batch.

use std::collections::BTreeSet;

use kit::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use store::{Range, Read as _, Shard, Store, Tx};
use wire::silver::SettingRow;

use crate::steps::{self, DbsMode};
use crate::tables::{SETTINGS, SETTINGS_HISTORY};
use crate::{Error, Result, gold};

pub const FORBIDDEN_BUSINESSES: &str = "silver.forbidden_businesses";
pub const DBS_MODE: &str = "silver.dbs_mode";
pub const DBS_BUSINESS_RANGES: &str = "silver.dbs_business_ranges";
pub const GOLD_RULES: &str = "gold.rules";
/// Shipments of one field in an hour that are still no flapping; 0: as many as there are.
pub const FLAPPING: &str = "united.flapping_shipments_per_hour";

pub const KEYS: [&str; 5] = [FORBIDDEN_BUSINESSES, DBS_MODE, DBS_BUSINESS_RANGES, GOLD_RULES, FLAPPING];

/// Longest value.
const MAX_VALUE_BYTES: usize = 256 << 10;
const MAX_RANGES: usize = 10_000;

/// All settings at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub import: steps::Rules,
    pub gold: gold::Rules,
    /// Of `gold.rules`; gold of older ones is made again.
    pub gold_version: i64,
    pub flapping: u64,
    /// Grows with every change of any of them.
    pub version: i64,
    /// When one of them was changed last.
    pub changed_at: i64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            import: steps::Rules::default(),
            gold: gold::Rules::default(),
            gold_version: 0,
            flapping: united::stats::USUAL_FLAPPING,
            version: 0,
            changed_at: 0,
        }
    }
}

type Problems = Vec<(String, String)>;

/// The settings as they are now; what was never set has its default.
pub async fn read(store: &Store) -> Result<Settings> {
    let rows = store.get_many(&SETTINGS, KEYS.map(|key| (Shard::of(key), (key,)))).await?;
    let mut settings = Settings::default();
    for (key, row) in KEYS.into_iter().zip(rows) {
        let Some(row) = row else { continue };
        settings.version += row.version;
        if key == GOLD_RULES {
            settings.gold_version = row.version;
        }
        settings.changed_at = settings.changed_at.max(row.changed_at);
        put_into(&mut settings, key, &row.value)
            .map_err(|problems| Error::Setting { key: key.to_owned(), problems })?;
    }
    Ok(settings)
}

/// Checks a value and takes it over.
fn put_into(settings: &mut Settings, key: &str, value: &str) -> Result<(), Problems> {
    match key {
        FORBIDDEN_BUSINESSES => settings.import.forbidden = typed::<BTreeSet<u32>>(value)?,
        DBS_MODE => settings.import.dbs_mode = typed::<DbsMode>(value)?,
        DBS_BUSINESS_RANGES => {
            let ranges: Vec<(u32, u32)> = typed(value)?;
            let wrong = ranges.iter().enumerate().filter(|(_, (first, last))| first > last);
            let mut problems: Problems = wrong
                .map(|(at, _)| (format!("[{at}]"), "a range ends before it begins".to_owned()))
                .collect();
            if ranges.len() > MAX_RANGES {
                problems.push((String::new(), format!("{} ranges; the limit is {MAX_RANGES}", ranges.len())));
            }
            if !problems.is_empty() {
                return Err(problems);
            }
            settings.import.dbs_ranges = ranges;
        }
        GOLD_RULES => {
            let rules: gold::Rules = typed(value)?;
            let problems = rules.problems();
            if !problems.is_empty() {
                return Err(problems);
            }
            settings.gold = rules;
        }
        FLAPPING => settings.flapping = typed(value)?,
        _ => {
            return Err(vec![(
                String::new(),
                format!("there is no such setting; there are {}", KEYS.join(", ")),
            )]);
        }
    }
    Ok(())
}

fn typed<T: DeserializeOwned>(value: &str) -> Result<T, Problems> {
    if value.len() > MAX_VALUE_BYTES {
        return Err(vec![(String::new(), format!("{} bytes; the limit is {MAX_VALUE_BYTES}", value.len()))]);
    }
    serde_json::from_str(value).map_err(|error| vec![(String::new(), error.to_string())])
}

/// Whether a value could be set.
pub fn check(key: &str, value: &str) -> Result<()> {
    put_into(&mut Settings::default(), key, value)
        .map_err(|problems| Error::Setting { key: key.to_owned(), problems })
}

/// A setting as people see it.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct Setting {
    pub key: String,
    #[schema(value_type = Object)]
    pub value: serde_json::Value,
    /// 0: it was never set, and this is the default.
    pub version: i64,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub changed_at: Option<Timestamp>,
    pub changed_by: String,
}

/// One setting, or its default.
pub async fn get(store: &Store, key: &str) -> Result<Setting> {
    let default = default_of(key)?;
    let row = store.get(&SETTINGS, Shard::of(key), (key,)).await?;
    Ok(row.map_or_else(
        || Setting {
            key: key.to_owned(),
            value: default,
            version: 0,
            changed_at: None,
            changed_by: String::new(),
        },
        |row| shown(key, row),
    ))
}

/// Changes a setting. `expected` is the version that the caller has seen; `None` changes whatever is there.
pub async fn set(
    store: &Store,
    key: &str,
    value: &str,
    expected: Option<i64>,
    who: &str,
    now: Timestamp,
) -> Result<Setting> {
    check(key, value)?;
    let transaction = async |tx: &mut Tx| {
        let before = tx.get(&SETTINGS, (key,)).await?;
        let version = before.as_ref().map_or(0, |before| before.version);
        if expected.is_some_and(|expected| expected != version) {
            return Err(Error::Stale(version));
        }
        if let Some(before) = before.filter(|before| before.value == value) {
            return Ok(shown(key, before));
        }
        let row = SettingRow {
            value: value.to_owned(),
            version: version + 1,
            changed_at: now.0,
            changed_by: who.to_owned(),
        };
        tx.put(&SETTINGS, (key,), &row)?;
        tx.put(&SETTINGS_HISTORY, (key, row.version), &row)?;
        tx.wake(crate::CHANNEL);
        Ok(shown(key, row))
    };
    store.transact(Shard::of(key), transaction).await
}

/// What a setting was, the newest first.
pub async fn history(store: &Store, key: &str, below: Option<i64>, limit: usize) -> Result<Vec<Setting>> {
    default_of(key)?;
    let mut range = Range::prefix((key,), limit)?.reversed();
    if let Some(below) = below {
        range = range.before((key, below))?;
    }
    let rows = store.snapshot(Shard::of(key)).await?.scan(&SETTINGS_HISTORY, range).await?;
    Ok(rows.into_iter().map(|(_, row)| shown(key, row)).collect())
}

fn default_of(key: &str) -> Result<serde_json::Value> {
    let defaults = Settings::default();
    let value = match key {
        FORBIDDEN_BUSINESSES => serde_json::to_value(defaults.import.forbidden),
        DBS_MODE => serde_json::to_value(defaults.import.dbs_mode),
        DBS_BUSINESS_RANGES => serde_json::to_value(defaults.import.dbs_ranges),
        GOLD_RULES => serde_json::to_value(defaults.gold),
        FLAPPING => serde_json::to_value(defaults.flapping),
        _ => {
            return Err(Error::NotFound(format!("there is no setting {key}; there are {}", KEYS.join(", "))));
        }
    };
    Ok(value.expect("plain data is JSON"))
}

fn shown(key: &str, row: SettingRow) -> Setting {
    let value = serde_json::from_str(&row.value).unwrap_or(serde_json::Value::String(row.value));
    let (version, changed_at) = (row.version, Some(Timestamp(row.changed_at)));
    Setting { key: key.to_owned(), value, version, changed_at, changed_by: row.changed_by }
}

#[cfg(test)]
mod tests {
    use store::Schema;

    use super::*;

    fn store() -> Store {
        Store::memory(Schema::new(crate::tables()))
    }

    #[tokio::test]
    async fn what_holds_is_kept_with_its_history() {
        let store = store();
        assert_eq!(read(&store).await.unwrap(), Settings::default());
        assert_eq!(get(&store, DBS_MODE).await.unwrap().version, 0);
        let put = async |key, value, expected| set(&store, key, value, expected, "ann", Timestamp(5)).await;
        put(DBS_MODE, "\"BLUE_AND_SOME_DBS\"", None).await.unwrap();
        put(DBS_BUSINESS_RANGES, "[[1, 5], [9, 9]]", Some(0)).await.unwrap();
        put(FORBIDDEN_BUSINESSES, "[666]", None).await.unwrap();
        put(GOLD_RULES, r#"{"parameters": {"weight": {"choose": "max"}}}"#, None).await.unwrap();
        let settings = read(&store).await.unwrap();
        assert_eq!(settings.import.dbs_mode, DbsMode::BlueAndSomeDbs);
        assert_eq!(settings.import.dbs_ranges, [(1, 5), (9, 9)]);
        assert!(settings.import.forbidden.contains(&666));
        assert_eq!((settings.version, settings.gold_version), (4, 1));

        put(DBS_MODE, "\"BLUE_AND_SOME_DBS\"", None).await.unwrap();
        let second = put(DBS_MODE, "\"BLUE_AND_DBS\"", Some(1)).await.unwrap();
        assert_eq!((second.version, second.changed_by.as_str()), (2, "ann"));
        assert!(matches!(put(DBS_MODE, "\"BLUE_AND_SOME_DBS\"", Some(1)).await, Err(Error::Stale(2))));
        let versions = |settings: Vec<Setting>| settings.iter().map(|row| row.version).collect::<Vec<_>>();
        assert_eq!(versions(history(&store, DBS_MODE, None, 10).await.unwrap()), [2, 1]);
        assert_eq!(versions(history(&store, DBS_MODE, Some(2), 10).await.unwrap()), [1]);
        assert_eq!(versions(history(&store, DBS_BUSINESS_RANGES, None, 10).await.unwrap()), [1]);
    }

    #[tokio::test]
    async fn what_cannot_hold_is_refused_and_changes_nothing() {
        let store = store();
        for (key, value) in [
            (DBS_MODE, "\"GREEN\""),
            (DBS_MODE, "BLUE_AND_DBS"),
            (DBS_BUSINESS_RANGES, "[[5, 1]]"),
            (DBS_BUSINESS_RANGES, "[[1]]"),
            (FORBIDDEN_BUSINESSES, "[-1]"),
            (FLAPPING, "-5"),
            (FLAPPING, "\"many\""),
            (GOLD_RULES, r#"{"parameters": {"name": {"choose": "max"}}}"#),
            ("silver.unknown", "1"),
            (FORBIDDEN_BUSINESSES, &format!("[{}]", "1,".repeat(200_000))),
        ] {
            let refused = set(&store, key, value, None, "ann", Timestamp(5)).await;
            assert!(matches!(refused, Err(Error::Setting { .. })), "{key}");
        }
        assert_eq!(read(&store).await.unwrap(), Settings::default());
        assert!(matches!(get(&store, "silver.unknown").await, Err(Error::NotFound(_))));
    }
}
