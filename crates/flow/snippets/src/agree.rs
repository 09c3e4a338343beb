//! The map of key prefixes as the store keeps it: processes whose files differ would write over each other.

use std::path::Path;

use futures::stream::{self, StreamExt as _};
use store::{Range, Read as _, Shard, Store};

use crate::config::Config;
use crate::error::{ConfigError, Error, Result};
use crate::prefixes::{FILE, Prefixes};
use crate::snippets::prefixes_file;
use crate::tables::{DOCUMENTS, DocumentRow, EXPIRIES, PREFIXES, PrefixRow, RETIRED, RetiredRow};

const MAX_PREFIXES: usize = 1_000_000;
/// Documents removed in one transaction.
const BATCH: usize = 500;
/// Shards that are cleared side by side.
const SHARDS_AT_ONCE: usize = 32;

fn shard() -> Shard {
    Shard::of("snippets.prefixes")
}

/// Compares the file with the store's map, and adds what is new. Refuses what differs.
pub(crate) async fn agree(
    store: &Store,
    path: Option<&Path>,
    config: &Config,
    prefixes: &Prefixes,
) -> Result<()> {
    let differs = |detail: String| -> Error {
        ConfigError::new(format!("{} differs from the store: {detail}", file(path))).into()
    };
    let service_of = |name: &str| {
        config.snippets().find(|snippet| snippet.name == name)?.work.as_ref().map(|work| work.service.clone())
    };
    store
        .transact(shard(), async |tx| {
            let known = tx.scan(&PREFIXES, Range::all(MAX_PREFIXES)).await?;
            for ((name,), row) in &known {
                refuse_other_number(name, row.number, path, prefixes).map_err(differs)?;
            }
            for (name, number) in prefixes.active() {
                let row = known.iter().find(|((known,), _)| known == name).map(|(_, row)| row);
                if row.is_none() {
                    if let Some(old) = tx.get(&RETIRED, (number,)).await? {
                        return Err(differs(was_retired(name, number, &old.name, path)));
                    }
                    if let Some(((other,), _)) = known.iter().find(|(_, row)| row.number == number) {
                        return Err(differs(format!(
                            "number {number} is that of {name} in the file and that of {other} in the store"
                        )));
                    }
                }
                let mut new = row.cloned().unwrap_or(PrefixRow { number, services: Vec::new() });
                if let Some(service) = service_of(name).filter(|service| new.services.last() != Some(service))
                {
                    refuse_old_service(name, &service, &new.services)?;
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

/// What a snippet left behind in a service is not deleted when it is deleted elsewhere, and would come back with the
/// service. A process with an older file must not bring it back either.
fn refuse_old_service(name: &str, service: &str, services: &[String]) -> Result<(), ConfigError> {
    let Some(now) = services.last().filter(|_| services.iter().any(|other| other == service)) else {
        return Ok(());
    };
    Err(ConfigError::new(format!(
        "snippet {name} was moved from service {service:?} to {now:?}, and what it left behind would come back: \
         give it {now:?}, or a Service that it has not had"
    )))
}

/// Why a name that the store knows is not the same in the file.
fn refuse_other_number(
    name: &str,
    number: u32,
    path: Option<&Path>,
    prefixes: &Prefixes,
) -> Result<(), String> {
    match prefixes.number(name) {
        Some(same) if same == number => Ok(()),
        Some(other) => Err(format!("{name} has number {other} in the file and {number} in the store")),
        None => Err(format!(
            "{name} {number} of the store is missing in the file; put it back, or remove its documents with {}",
            command(name, path)
        )),
    }
}

fn was_retired(name: &str, number: u32, old: &str, path: Option<&Path>) -> String {
    if old != name {
        return format!("number {number} of {name} was that of {old} and never comes back");
    }
    format!(
        "{name} was dropped, and its number {number} never comes back; {} marks it as retired in the file too",
        command(name, path)
    )
}

fn file(path: Option<&Path>) -> String {
    path.map_or_else(|| format!("{FILE} of the program"), |path| prefixes_file(path).display().to_string())
}

fn command(name: &str, path: Option<&Path>) -> String {
    let flag = path.map_or_else(String::new, |path| format!(" --snippets-config {}", path.display()));
    format!("`dvor snippets drop {name}{flag}`")
}

/// What became of a snippet that is no more.
pub(crate) struct Dropped {
    pub(crate) documents: usize,
    /// Those that are retired now; several, when there were several of this name one after another.
    pub(crate) numbers: Vec<u32>,
}

/// Deletes all documents of a snippet that is configured no longer, then retires its number for ever. In each shard a fence
/// comes first: whoever has not heard of it writes no more. Broken off, it is repeated; for one that was dropped before it
/// looks once more.
pub(crate) async fn drop_snippet(
    store: &Store,
    path: Option<&Path>,
    prefixes: &Prefixes,
    name: &str,
) -> Result<Dropped> {
    let snapshot = store.snapshot(shard()).await?;
    let known = snapshot.scan(&PREFIXES, Range::all(MAX_PREFIXES)).await?;
    let retired = snapshot.scan(&RETIRED, Range::all(MAX_PREFIXES)).await?;
    drop(snapshot);
    let retired = retired.into_iter().filter(|(_, old)| old.name == name);
    let mut places: Vec<(u32, Vec<String>)> =
        retired.map(|((number,), old)| (number, old.services)).collect();
    let row = known.iter().find(|((known,), _)| known == name).map(|(_, row)| row.clone());
    places.extend(row.as_ref().map(|row| (row.number, row.services.clone())));
    let numbers: Vec<u32> = places.iter().map(|(number, _)| *number).collect();
    let in_file = prefixes.number(name);
    if numbers.is_empty() || row.is_none() && in_file.is_some_and(|number| !numbers.contains(&number)) {
        return Err(Error::NotFound(format!("this installation knows no snippet {name:?}")));
    }
    refuse_file_of_others(&known, &numbers, path, prefixes, name)?;
    let mut documents = 0;
    for (number, services) in &places {
        for service in services {
            let shards = Shard::all().map(|shard| drop_from(store, shard, service, *number));
            let mut shards = stream::iter(shards).buffer_unordered(SHARDS_AT_ONCE);
            while let Some(removed) = shards.next().await {
                documents += removed?;
            }
        }
    }
    let Some(PrefixRow { number, services }) = row else { return Ok(Dropped { documents, numbers }) };
    let retired = RetiredRow { name: name.to_owned(), services };
    store
        .transact(shard(), async |tx| {
            tx.delete(&PREFIXES, (name,))?;
            tx.put(&RETIRED, (number,), &retired)?;
            Ok::<_, Error>(())
        })
        .await?;
    Ok(Dropped { documents, numbers })
}

/// Whoever names a wrong configuration, or none, would drop what another one still has. The file tells: it is the store's
/// if it has the store's other names, and this one; where it has lost this one, if it has no others at all.
fn refuse_file_of_others(
    known: &[((String,), PrefixRow)],
    numbers: &[u32],
    path: Option<&Path>,
    prefixes: &Prefixes,
    name: &str,
) -> Result<()> {
    let refuse = |detail: String| {
        Err(Error::BadRequest(format!(
            "{} does not belong to this store: {detail}. Name the configuration of the server with --snippets-config",
            file(path)
        )))
    };
    for ((other,), row) in known.iter().filter(|((other,), _)| other != name) {
        if prefixes.number(other) != Some(row.number) {
            return refuse(format!("{other} {} is missing there", row.number));
        }
    }
    let mut here = prefixes.active().chain(prefixes.retired()).peekable();
    if here.peek().is_none() {
        return refuse("it is empty, or not there".to_owned());
    }
    if here.filter(|(other, _)| *other == name).any(|(_, number)| numbers.contains(&number)) {
        return Ok(());
    }
    let foreign = prefixes.active().find(|(other, _)| known.iter().all(|((known,), _)| known != other));
    match foreign {
        Some((other, number)) => {
            refuse(format!("{other} {number} is not in the store, and {name} not in the file"))
        }
        None if prefixes.number(name).is_some() => refuse(format!("{name} has another number there")),
        None => Ok(()),
    }
}

/// Puts up the fence, and removes what is behind it.
async fn drop_from(store: &Store, shard: Shard, service: &str, number: u32) -> Result<usize> {
    let mut removed = 0;
    let fence = (service, number, "", "");
    loop {
        let (rows, alive) = store
            .transact(shard, async |tx| {
                if tx.get(&DOCUMENTS, fence).await?.is_none() {
                    tx.put(&DOCUMENTS, fence, &DocumentRow { deleted: true, ..DocumentRow::default() })?;
                }
                let range = Range::prefix((service, number), BATCH)?.after(fence)?;
                let rows = tx.scan(&DOCUMENTS, range).await?;
                for ((service, number, key, language), row) in &rows {
                    tx.delete(&DOCUMENTS, (service, *number, key, language))?;
                    if let Some(at) = row.expires_at {
                        tx.delete(&EXPIRIES, (kit::Timestamp(at), service, *number, key, language))?;
                    }
                }
                Ok::<_, Error>((rows.len(), rows.iter().filter(|(_, row)| !row.deleted).count()))
            })
            .await?;
        removed += alive;
        if rows < BATCH {
            return Ok(removed);
        }
    }
}
