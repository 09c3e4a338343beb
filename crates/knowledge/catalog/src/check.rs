//! Every rule of a catalog, over all of its versions.

use std::path::Path;

use crate::error::{Error, Problem};
use crate::load::read_folder;
use crate::parse::{Draft, parse};
use crate::resolve::resolve;

/// The broken rules of the catalog in a folder, in the order of files and lines; none when it is in order.
pub fn check(folder: impl AsRef<Path>) -> Result<Vec<Problem>, Error> {
    let (draft, problems) = parse(&read_folder(folder.as_ref())?);
    Ok(check_all(&draft, problems))
}

pub(crate) fn check_all(draft: &Draft, mut problems: Vec<Problem>) -> Vec<Problem> {
    for version in 1..=draft.version {
        problems.extend(resolve(draft, version).1);
    }
    let retired = draft.categories.iter().map(|one| (&one.versions, &one.id, &one.now));
    let retired = retired.chain(draft.attributes.iter().map(|one| (&one.versions, &one.id, &one.now)));
    for (versions, id, now) in retired {
        if let Some(now) = now.as_ref().filter(|_| versions.until.is_none()) {
            problems.push(now.at.problem(format!(
                "`{id}` is still there, so nothing replaces it; put [until …] in front of its block"
            )));
        }
    }
    let empty = draft.measures.iter().filter(|measure| measure.units.is_empty());
    problems.extend(
        empty.map(|measure| measure.at.problem(format!("the measure `{}` has no units", measure.id))),
    );
    problems.sort();
    problems.dedup();
    problems
}
