//! The map of key prefixes as the store keeps it: processes whose files differ would write over each other.

use store::{Range, Read as _, Shard, Store};

use crate::config::Config;
use crate::error::{ConfigError, Error, Result};
use crate::prefixes::{FILE, Prefixes};
use crate::tables::{DOCUMENTS, EXPIRIES, PREFIXES, PrefixRow, RETIRED};

const MOST_PREFIXES: usize = 1_000_000;
/// Documents removed in one transaction.
const BATCH: usize = 500;

fn shard() -> Shard {
    Shard::of("snippets.prefixes")
}

/// Compares the file with the store's map, and adds what is new. Refuses what differs.
pub(crate) async fn agree(store: &Store, config: &Config, prefixes: &Prefixes) -> Result<()> {
    let service_of = |name: &str| {
        config.snippets().find(|snippet| snippet.name == name)?.work.as_ref().map(|work| work.service.clone())
    };
    store
        .transact(shard(), async |tx| {
            let known = tx.scan(&PREFIXES, Range::all(MOST_PREFIXES)).await?;
            for ((name,), row) in &known {
                match prefixes.number(name) {
                    Some(number) if number == row.number => {}
                    Some(number) => return Err(differs(&format!("{name} has number {number} there and {} here", row.number))),
                    None => {
                        return Err(differs(&format!(
                            "{name} {} is missing there; put it back, or remove its documents with `dvor snippets drop {name}`",
                            row.number
                        )));
                    }
                }
            }
            for (name, number) in prefixes.active() {
                let row = known.iter().find(|((known,), _)| known == name).map(|(_, row)| row);
                if row.is_none() {
                    if let Some(old) = tx.get(&RETIRED, (number,)).await? {
                        return Err(differs(&format!("number {number} of {name} was that of {old} and never comes back")));
                    }
                    if let Some(((other,), _)) = known.iter().find(|(_, row)| row.number == number) {
                        return Err(differs(&format!("number {number} of {name} is that of {other} here")));
                    }
                }
                let mut new = row.cloned().unwrap_or(PrefixRow { number, services: Vec::new() });
                if let Some(service) = service_of(name).filter(|service| !new.services.contains(service)) {
                    new.services.push(service);
                }
                if row != Some(&new) {
                    tx.put(&PREFIXES, (name,), &new)?;
                }
            }
            Ok(())
        })
        .await
}

fn differs(detail: &str) -> Error {
    ConfigError::new(format!("{FILE} differs from what this installation knows: {detail}")).into()
}

/// Deletes all documents of a snippet that is configured no longer, then retires its number for ever. Says how many.
pub(crate) async fn drop_snippet(store: &Store, name: &str) -> Result<usize> {
    let row = store.get(&PREFIXES, shard(), (name,)).await?;
    let row = row.ok_or_else(|| Error::NotFound(format!("this installation knows no snippet {name:?}")))?;
    let mut removed = 0;
    for service in &row.services {
        for shard in Shard::all() {
            removed += drop_from(store, shard, service, row.number).await?;
        }
    }
    store
        .transact(shard(), async |tx| {
            tx.delete(&PREFIXES, (name,))?;
            tx.put(&RETIRED, (row.number,), &name.to_owned())?;
            Ok::<_, Error>(())
        })
        .await?;
    Ok(removed)
}

async fn drop_from(store: &Store, shard: Shard, service: &str, number: u32) -> Result<usize> {
    let mut removed = 0;
    let range = || Range::prefix((service, number), BATCH);
    // An empty shard costs no transaction.
    while !store.snapshot(shard).await?.scan(&DOCUMENTS, range()?).await?.is_empty() {
        removed += store
            .transact(shard, async |tx| {
                let rows = tx.scan(&DOCUMENTS, range()?).await?;
                for ((service, number, key, language), row) in &rows {
                    tx.delete(&DOCUMENTS, (service, *number, key, language))?;
                    if let Some(at) = row.expires_at {
                        tx.delete(&EXPIRIES, (kit::Timestamp(at), service, *number, key, language))?;
                    }
                }
                Ok::<_, Error>(rows.iter().filter(|(_, row)| !row.deleted).count())
            })
            .await?;
    }
    Ok(removed)
}
