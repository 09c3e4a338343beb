//! Numbers with units, as people write them: «1 299,50 кг», `12.5kg`, «10 000 км».

use crate::model::Unit;

/// A number at the beginning of a folded text, and what follows it.
pub(super) fn leading(folded: &str) -> Option<(f64, &str)> {
    let text = folded.trim_start();
    let bytes = text.as_bytes();
    let mut digits = String::new();
    let mut at = 0;
    if matches!(bytes.first(), Some(b'-' | b'+')) {
        digits.push(char::from(bytes[0]));
        at = 1;
    }
    let run =
        |from: usize| bytes[from.min(bytes.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let first = run(at);
    if first == 0 {
        return None;
    }
    digits.push_str(&text[at..at + first]);
    at += first;
    // Groups of exactly three digits after a space or an apostrophe belong to the number.
    while matches!(bytes.get(at), Some(b' ' | b'\''))
        && run(at + 1) == 3
        && digits.trim_start_matches(['-', '+']).len() <= 12
        && first <= 3
    {
        digits.push_str(&text[at + 1..at + 4]);
        at += 4;
    }
    if matches!(bytes.get(at), Some(b',' | b'.')) {
        let decimals = run(at + 1);
        if decimals > 0 {
            digits.push('.');
            digits.push_str(&text[at + 1..=at + decimals]);
            at += 1 + decimals;
        }
    }
    digits.parse().ok().map(|number| (number, &text[at..]))
}

/// One spelling of a unit, as it is looked for.
pub(super) struct UnitSpelling {
    folded: String,
    /// Without dots and spaces.
    bare: String,
    factor: f64,
}

pub(super) fn spellings(units: &[Unit]) -> Vec<UnitSpelling> {
    let all = units.iter().flat_map(|unit| unit.spellings.iter().map(|one| (one, unit.factor)));
    all.map(|(one, factor)| {
        let folded = words::fold(one);
        let bare = bare(&folded);
        UnitSpelling { folded, bare, factor }
    })
    .collect()
}

/// The factor of a unit by one of its spellings; dots and spaces do not matter.
pub(super) fn factor(spellings: &[UnitSpelling], text: &str) -> Option<f64> {
    let wanted = bare(&words::fold(text));
    spellings.iter().find(|one| one.bare == wanted).map(|one| one.factor)
}

fn bare(folded: &str) -> String {
    folded.chars().filter(|c| !c.is_whitespace() && *c != '.').collect()
}

/// The numbers of a folded title that do not belong to a word, each with what follows it.
pub(super) fn numbers(folded: &str) -> Vec<(f64, &str)> {
    let mut found = Vec::new();
    let mut rest = folded;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let inside_word = rest[..at].ends_with(|c: char| c.is_alphanumeric());
        let Some((number, after)) = leading(&rest[at..]) else { break };
        if !inside_word {
            found.push((number, after));
        }
        rest = after;
    }
    found
}

/// Those that stand before one of these units, with the factor applied.
pub(super) fn with_units(numbers: &[(f64, &str)], spellings: &[UnitSpelling]) -> impl Iterator<Item = f64> {
    numbers.iter().filter_map(|(number, after)| Some(number * unit_after(after, spellings)?))
}

/// The longest spelling that the text begins with as a whole word.
fn unit_after(text: &str, spellings: &[UnitSpelling]) -> Option<f64> {
    let text = text.trim_start();
    let ends = |rest: &str| !rest.starts_with(char::is_alphanumeric);
    let fits = |one: &&UnitSpelling| text.strip_prefix(one.folded.as_str()).is_some_and(ends);
    spellings.iter().filter(fits).max_by_key(|one| one.folded.len()).map(|one| one.factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_written() {
        for (text, number, rest) in [
            ("1 299,50 кг", 1299.5, " кг"),
            ("12.5kg", 12.5, "kg"),
            ("10 000 км", 10_000.0, " км"),
            ("-5", -5.0, ""),
            ("5, красный", 5.0, ", красный"),
            ("2012 256 гб", 2012.0, " 256 гб"),
            ("1 2", 1.0, " 2"),
        ] {
            assert_eq!(leading(text), Some((number, rest)), "{text}");
        }
        assert_eq!(leading("около 5"), None);
    }

    #[test]
    fn units_bring_their_factor() {
        let unit = |spellings: &[&str], factor| Unit {
            spellings: spellings.iter().map(|one| (*one).to_owned()).collect(),
            factor,
        };
        let units = [unit(&["см", "cm"], 10.0), unit(&["мм", "mm"], 1.0), unit(&["м", "m"], 1000.0)];
        let units = spellings(&units);
        assert_eq!(factor(&units, "См."), Some(10.0));
        assert_eq!(factor(&units, "дюйм"), None);
        let numbers = numbers("доска 150мм x 2,5 м, 20 мест, м20 см");
        assert_eq!(with_units(&numbers, &units).collect::<Vec<_>>(), [150.0, 2500.0]);
    }
}
