//! Names of other languages and taxonomies: `id = name; name`, a line for each category.

use super::{At, Draft};

/// Names of a category that are not its own.
#[derive(Debug)]
pub(crate) struct ForeignDraft {
    pub(crate) at: At,
    pub(crate) id: String,
    /// A name, or a path with `>` between its parts.
    pub(crate) names: Vec<String>,
}

pub(super) fn line(draft: &mut Draft, at: &At, line: &str) -> Result<(), String> {
    let (id, names) = line
        .split_once('=')
        .ok_or_else(|| format!("`{line}` maps nothing; write for example: shoes = Schuhe; Damenschuhe"))?;
    let id = super::statements::id(id.trim())?;
    let names: Vec<String> = names.split(';').map(|name| name.trim().to_owned()).collect();
    if names.iter().any(String::is_empty) {
        return Err(format!("`{id}` has an empty name"));
    }
    draft.foreign.push(ForeignDraft { at: at.clone(), id, names });
    Ok(())
}
