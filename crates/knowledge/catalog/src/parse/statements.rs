//! The single statements, each a function from a line to what it says, or to a sentence about what is wrong.

use super::{
    At, AttributeDraft, CategoryDraft, KindDraft, MeasureDraft, Named, Statement, ValueDraft, Versions,
    Wording,
};

/// A text attribute without a limit of its own.
const TEXT_CHARS: usize = 1000;

pub(super) fn first_word(line: &str) -> (&str, &str) {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (word, rest.trim())
}

/// `[since 2]`, `[until 1]` or `[since 2 until 3]` in front of any statement.
pub(super) fn versions(line: &str) -> Result<(Versions, &str), String> {
    let Some((inside, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) else {
        return Ok((Versions::default(), line));
    };
    let wrong = || format!("`[{inside}]` should be like [since 2], [until 1] or [since 2 until 3]");
    let mut versions = Versions::default();
    let parts: Vec<&str> = inside.split_whitespace().collect();
    for pair in parts.chunks(2) {
        let [word, number] = pair else { return Err(wrong()) };
        let number = Some(number.parse().map_err(|_| wrong())?);
        match *word {
            "since" => versions.since = number,
            "until" => versions.until = number,
            _ => return Err(wrong()),
        }
    }
    if versions.since.zip(versions.until).is_some_and(|(since, until)| since > until) {
        return Err(format!("`[{inside}]` is upside down: it ends before it begins"));
    }
    Ok((versions, rest.trim_start()))
}

pub(super) fn id(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    if text.is_empty() {
        return Err("an id is missing".into());
    }
    if !text.chars().all(fits) || text.len() > 80 {
        return Err(format!("`{text}` is not an id: at most 80 of a–z, 0–9, `-`, `_` and `.`"));
    }
    Ok(text.to_owned())
}

/// `ID` or `ID < PARENT`.
pub(super) fn category(at: &At, versions: Versions, rest: &str) -> Result<CategoryDraft, String> {
    let (own, parent) = match rest.split_once('<') {
        Some((own, parent)) => (own, Some(id(parent.trim())?)),
        None => (rest, None),
    };
    Ok(CategoryDraft { at: at.clone(), versions, id: id(own.trim())?, parent, ..CategoryDraft::default() })
}

/// `ID KIND …`.
pub(super) fn attribute(at: &At, versions: Versions, rest: &str) -> Result<AttributeDraft, String> {
    let (own, kind) = first_word(rest);
    let (word, options) = first_word(kind);
    let kind = match word {
        "enum" => KindDraft::Enum,
        "brands" => KindDraft::Brands,
        "bool" => KindDraft::Bool,
        "text" if options.is_empty() => KindDraft::Text { max_chars: TEXT_CHARS },
        "text" => KindDraft::Text {
            max_chars: options.parse().map_err(|_| format!("`{options}` is not a number of characters"))?,
        },
        "number" => number(options)?,
        other => return Err(format!("`{other}` is not a kind; it is enum, brands, number, text or bool")),
    };
    Ok(AttributeDraft {
        at: at.clone(),
        versions,
        id: id(own)?,
        kind,
        wording: Wording::default(),
        required: false,
        values: Vec::new(),
        means: None,
        ssku: None,
        now: None,
    })
}

/// `number`, `number km`, `number 1..20` or `number km 0..1000`; either end of the range may be left open.
fn number(options: &str) -> Result<KindDraft, String> {
    let (mut measure, mut min, mut max) = (None, None, None);
    for part in options.split_whitespace() {
        let Some((low, high)) = part.split_once("..") else {
            measure = Some(id(part)?);
            continue;
        };
        let end = |text: &str| match text {
            "" => Ok(None),
            text => text.parse::<f64>().map(Some).map_err(|_| format!("`{part}` is not a range like 0..100")),
        };
        (min, max) = (end(low)?, end(high)?);
    }
    if min.zip(max).is_some_and(|(min, max)| min > max) {
        return Err(format!("the range `{options}` is upside down: its first number is the larger one"));
    }
    Ok(KindDraft::Number { measure, min, max })
}

pub(super) fn in_category(
    category: &mut CategoryDraft,
    at: &At,
    versions: Versions,
    word: &str,
    rest: &str,
) -> Result<(), String> {
    match word {
        "ru" | "en" => name(&mut category.wording, at, versions, word, rest),
        "has" => {
            for part in list(rest) {
                let required = part.ends_with('!');
                let says = (id(part.trim_end_matches('!'))?, required);
                category.has.push(Statement { at: at.clone(), versions, says });
            }
            Ok(())
        }
        "key" => {
            for part in list(rest) {
                category.keys.push(Statement { at: at.clone(), versions, says: id(part)? });
            }
            Ok(())
        }
        "now" => {
            category.now = Some(Statement { at: at.clone(), versions, says: id(rest)? });
            Ok(())
        }
        other => Err(format!("a category has no `{other}`; it has ru, en, has, key and now")),
    }
}

pub(super) fn in_attribute(
    attribute: &mut AttributeDraft,
    at: &At,
    versions: Versions,
    word: &str,
    rest: &str,
) -> Result<(), String> {
    match word {
        "ru" | "en" => return name(&mut attribute.wording, at, versions, word, rest),
        "required" => attribute.required = true,
        "value" => {
            if !matches!(attribute.kind, KindDraft::Enum | KindDraft::Brands) {
                return Err(format!("`{}` is neither enum nor brands, so it has no values", attribute.id));
            }
            attribute.values.push(Statement { at: at.clone(), versions, says: value(rest)? });
        }
        "means" => attribute.means = Some(Statement { at: at.clone(), versions, says: id(rest)? }),
        "now" => attribute.now = Some(Statement { at: at.clone(), versions, says: id(rest)? }),
        "ssku" => {
            let (parameter, unit) = first_word(rest);
            attribute.ssku = Some((id(parameter)?, (!unit.is_empty()).then(|| unit.to_owned())));
        }
        other => {
            return Err(format!(
                "an attribute has no `{other}`; it has ru, en, required, value, means, ssku and now"
            ));
        }
    }
    Ok(())
}

/// `unit км, km = 1`.
pub(super) fn in_measure(measure: &mut MeasureDraft, word: &str, rest: &str) -> Result<(), String> {
    let unit = (word == "unit").then(|| rest.rsplit_once('=')).flatten();
    let (spellings, factor) = unit.ok_or("a measure has lines like: unit км, km = 1")?;
    let factor = factor.trim().parse::<f64>().ok().filter(|factor| *factor > 0.0);
    let factor = factor.ok_or_else(|| format!("`{rest}` should end with = and a number above 0"))?;
    measure.units.push((list(spellings).map(str::to_owned).collect(), factor));
    Ok(())
}

/// `Name | synonym, synonym`.
fn name(
    wording: &mut Wording,
    at: &At,
    versions: Versions,
    language: &str,
    rest: &str,
) -> Result<(), String> {
    let (own, synonyms) = rest.split_once('|').unwrap_or((rest, ""));
    if own.trim().is_empty() {
        return Err(format!("the name after `{language}` is missing"));
    }
    let says = Named { name: own.trim().to_owned(), synonyms: list(synonyms).map(str::to_owned).collect() };
    let names = if language == "ru" { &mut wording.ru } else { &mut wording.en };
    names.push(Statement { at: at.clone(), versions, says });
    Ok(())
}

/// `ID Имя, синоним | Name, synonym`; without `|` the name is the same in both languages.
fn value(rest: &str) -> Result<ValueDraft, String> {
    let (own, names) = first_word(rest);
    let (ru, en) = names.split_once('|').unwrap_or((names, names));
    let named = |text: &str| {
        let mut words = list(text).map(str::to_owned);
        words.next().map(|name| Named { name, synonyms: words.collect() })
    };
    let (Some(ru), Some(en)) = (named(ru), named(en)) else {
        return Err(format!("the value `{own}` needs a name in both languages: value black Чёрный | Black"));
    };
    Ok(ValueDraft { id: id(own)?, ru, en })
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty())
}
