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

/// The factor of a unit by one of its spellings; dots and spaces do not matter.
pub(super) fn factor(units: &[Unit], text: &str) -> Option<f64> {
    let wanted = bare(text);
    units.iter().find(|unit| unit.spellings.iter().any(|one| bare(one) == wanted)).map(|unit| unit.factor)
}

fn bare(text: &str) -> String {
    words::fold(text).chars().filter(|c| !c.is_whitespace() && *c != '.').collect()
}

/// The spellings of units as [`with_units`] looks for them, each with its factor.
pub(super) fn spellings(units: &[Unit]) -> Vec<(String, f64)> {
    let of =
        |unit: &Unit| unit.spellings.iter().map(|one| (words::fold(one), unit.factor)).collect::<Vec<_>>();
    units.iter().flat_map(of).collect()
}

/// The numbers of a folded title that stand before one of these units, with the factor applied.
pub(super) fn with_units(folded: &str, spellings: &[(String, f64)]) -> Vec<f64> {
    let mut found = Vec::new();
    let mut rest = folded;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let inside_word = rest[..at].ends_with(|c: char| c.is_alphanumeric());
        let Some((number, after)) = leading(&rest[at..]) else { break };
        if !inside_word && let Some(factor) = unit_after(after, spellings) {
            found.push(number * factor);
        }
        rest = after;
    }
    found
}

/// The longest spelling that the text begins with as a whole word.
fn unit_after(text: &str, spellings: &[(String, f64)]) -> Option<f64> {
    let text = text.trim_start();
    let ends = |rest: &str| !rest.starts_with(char::is_alphanumeric);
    let fits = |(spelling, _): &&(String, f64)| text.strip_prefix(spelling.as_str()).is_some_and(ends);
    spellings.iter().filter(fits).max_by_key(|(spelling, _)| spelling.len()).map(|(_, factor)| *factor)
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
        assert_eq!(factor(&units, "См."), Some(10.0));
        assert_eq!(factor(&units, "дюйм"), None);
        assert_eq!(with_units("доска 150мм x 2,5 м, 20 мест", &spellings(&units)), [150.0, 2500.0]);
    }
}
