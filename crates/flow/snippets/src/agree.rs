//! The map of key prefixes as the store keeps it: processes whose files differ would write over each other.

use std::path::Path;

use store::{Range, Read as _, Shard, Store};

use crate::config::Config;
use crate::error::{ConfigError, Error, Result};
use crate::prefixes::{FILE, Prefixes};
use crate::snippets::prefixes_file;
use crate::tables::{DOCUMENTS, EXPIRIES, PREFIXES, PrefixRow, RETIRED};

const MOST_PREFIXES: usize = 1_000_000;
/// Documents removed in one transaction.
const BATCH: usize = 500;

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
            let known = tx.scan(&PREFIXES, Range::all(MOST_PREFIXES)).await?;
            for ((name,), row) in &known {
                refuse_other_number(name, row.number, path, prefixes).map_err(differs)?;
            }
            for (name, number) in prefixes.active() {
                let row = known.iter().find(|((known,), _)| known == name).map(|(_, row)| row);
                if row.is_none() {
                    if let Some(old) = tx.get(&RETIRED, (number,)).await? {
                        return Err(differs(was_retired(name, number, &old, path)));
                    }
                    if let Some(((other,), _)) = known.iter().find(|(_, row)| row.number == number) {
                        return Err(differs(format!(
                            "number {number} is that of {name} in the file and that of {other} in the store"
                        )));
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

/// Deletes all documents of a snippet that is configured no longer, then retires its number for ever. For one that was
/// dropped before, nothing is left to do: the file may not know it yet.
pub(crate) async fn drop_snippet(
    store: &Store,
    path: Option<&Path>,
    prefixes: &Prefixes,
    name: &str,
) -> Result<Dropped> {
    let snapshot = store.snapshot(shard()).await?;
    let known = snapshot.scan(&PREFIXES, Range::all(MOST_PREFIXES)).await?;
    let retired = snapshot.scan(&RETIRED, Range::all(MOST_PREFIXES)).await?;
    drop(snapshot);
    let retired = retired.into_iter().filter(|(_, old)| old == name).map(|((number,), _)| number);
    let mut numbers: Vec<u32> = retired.collect();
    let row = known.iter().find(|((known,), _)| known == name).map(|(_, row)| row.clone());
    numbers.extend(row.as_ref().map(|row| row.number));
    let in_file = prefixes.number(name);
    if numbers.is_empty() || row.is_none() && in_file.is_some_and(|number| !numbers.contains(&number)) {
        return Err(Error::NotFound(format!("this installation knows no snippet {name:?}")));
    }
    refuse_file_of_others(&known, &numbers, path, prefixes, name)?;
    let Some(row) = row else { return Ok(Dropped { documents: 0, numbers }) };
    let mut documents = 0;
    for service in &row.services {
        for shard in Shard::all() {
            documents += drop_from(store, shard, service, row.number).await?;
        }
    }
    store
        .transact(shard(), async |tx| {
            tx.delete(&PREFIXES, (name,))?;
            tx.put(&RETIRED, (row.number,), &name.to_owned())?;
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
