//! Prices as sellers write them, and the condition of the goods.

use model::money::{self, BadMoney};
use model::{Condition, Issue, Money};

use super::Settings;
use crate::issue;
use crate::offer::FeedOffer;

/// Other names of currencies, in lower case.
const CURRENCIES: &[(&str, &str)] = &[
    ("rur", "RUB"),
    ("руб", "RUB"),
    ("руб.", "RUB"),
    ("р", "RUB"),
    ("р.", "RUB"),
    ("₽", "RUB"),
    ("$", "USD"),
    ("€", "EUR"),
    ("uae", "UAH"),
    ("byr", "BYN"),
    ("₸", "KZT"),
    ("тг", "KZT"),
];

pub(super) fn price(offer: &FeedOffer, settings: &Settings, issues: &mut Vec<Issue>) -> Option<Money> {
    let text = offer.price.trim();
    if text.is_empty() {
        issues.push(issue::warning("price_missing", "price", ""));
        return None;
    }
    let cleaned = clean(text);
    let named = if offer.currency.trim().is_empty() { cleaned.currency } else { offer.currency.trim() };
    let named = if named.is_empty() { &settings.currency } else { named };
    let currency = known(named).map_or_else(|| named.to_uppercase(), str::to_owned);
    let (amount, rounded) = rounded(&cleaned.amount, &currency);
    match money::parse(&amount, &currency) {
        Err(BadMoney::Currency) => {
            issues.push(issue::error("bad_currency", "currency", named));
            None
        }
        Err(_) => {
            issues.push(issue::error("bad_amount", "price", text));
            None
        }
        Ok(money) if money.minor == 0 => {
            issues.push(issue::warning("price_missing", "price", text));
            None
        }
        Ok(money) => {
            if cleaned.guessed || rounded {
                let read = format!("{} {}", money::amount(&money), money.currency);
                issues.push(issue::with(issue::warning("price_guessed", "price", text), &[&read]));
            }
            Some(money)
        }
    }
}

/// The code of a currency by another name of it.
fn known(name: &str) -> Option<&'static str> {
    let same = |other: &str| {
        if name.is_ascii() { other.eq_ignore_ascii_case(name) } else { other == name.to_lowercase() }
    };
    CURRENCIES.iter().find(|(other, _)| same(other)).map(|(_, code)| *code)
}

struct Cleaned<'a> {
    amount: String,
    currency: &'a str,
    /// Words around the number were left out, or a comma could mean two things.
    guessed: bool,
}

fn clean(text: &str) -> Cleaned<'_> {
    // By far the most prices.
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Cleaned { amount: text.to_owned(), currency: "", guessed: false };
    }
    let first = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
    let last = text.rfind(|c: char| c.is_ascii_digit()).map_or(first, |last| last + 1);
    let (before, after) = (text[..first].trim(), text[last..].trim());
    let currency = [before, after].into_iter().find(|word| known(word).is_some()).unwrap_or_default();
    let sign = |word: &str| word.is_empty() || known(word).is_some() || word == ".-" || word == "-";
    let negative = before.ends_with('-');
    let number: String = text[first..last]
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '\'' && *c != '’' && *c != '_')
        .collect();
    let (amount, unclear) = decimal(&number);
    let amount = if negative { format!("-{amount}") } else { amount };
    Cleaned { amount, currency, guessed: unclear || !sign(before) || !sign(after) }
}

/// Which of `.` and `,` divides thousands, and which the fraction.
fn decimal(number: &str) -> (String, bool) {
    match (number.rfind(','), number.rfind('.')) {
        (None, _) => (number.to_owned(), false),
        (Some(comma), Some(point)) if comma < point => (number.replace(',', ""), false),
        (Some(_), Some(_)) => (number.replace('.', "").replace(',', "."), false),
        (Some(comma), None) => {
            let groups = number.matches(',').count() > 1 || number.len() - comma - 1 == 3;
            if groups { (number.replace(',', ""), true) } else { (number.replace(',', "."), false) }
        }
    }
}

/// Prices are computed by programs, with more digits than the currency has.
fn rounded(amount: &str, currency: &str) -> (String, bool) {
    let Some((whole, fraction)) = amount.split_once('.') else { return (amount.to_owned(), false) };
    let digits = money::exponent(currency) as usize;
    let significant = fraction.trim_end_matches('0');
    if fraction.is_empty() {
        return (whole.to_owned(), false);
    }
    let numeric = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if significant.len() <= digits || !numeric(whole) || !numeric(fraction) {
        return (amount.to_owned(), false);
    }
    match amount.parse::<f64>() {
        Ok(value) => (format!("{value:.digits$}"), true),
        Err(_) => (amount.to_owned(), false),
    }
}

const CONDITIONS: &[(Condition, &str)] = &[
    (Condition::New, "new новое новый новая новые"),
    (Condition::Used, "used б/у бу preowned likenew подержанное подержанный second-hand showcasesample"),
    (Condition::Refurbished, "refurbished восстановленное восстановленный reduction"),
];

pub(super) fn condition(text: &str, issues: &mut Vec<Issue>) -> Condition {
    let text = text.trim();
    if text.is_empty() {
        return Condition::Unspecified;
    }
    let lower = text.to_lowercase();
    let known = CONDITIONS.iter().find(|(_, names)| names.split_whitespace().any(|name| name == lower));
    match known {
        Some((condition, _)) => *condition,
        None => {
            let mut issue = issue::warning("unknown_condition", "condition", text);
            issue.suggestion = "new, used, refurbished".into();
            issues.push(issue);
            Condition::Unspecified
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_understood() {
        let check = |text: &str, currency: &str, expected: Option<&str>, said: Option<&str>| {
            let offer = FeedOffer { price: text.into(), currency: currency.into(), ..FeedOffer::default() };
            let mut issues = Vec::new();
            let found = price(&offer, &Settings::default(), &mut issues);
            let found = found.map(|money| format!("{} {}", money::amount(&money), money.currency));
            assert_eq!(found.as_deref(), expected, "{text}");
            assert_eq!(issues.first().map(|issue| issue.code.as_str()), said, "{text}");
        };
        check("1299", "", Some("1299.00 RUB"), None);
        check("1299.00", "RUR", Some("1299.00 RUB"), None);
        check("1 299,50", "RUB", Some("1299.50 RUB"), None);
        check("1\u{A0}299 ₽", "", Some("1299.00 RUB"), None);
        check("12.50 $", "", Some("12.50 USD"), None);
        check("1,299.00", "usd", Some("1299.00 USD"), None);
        check("1.299,00", "EUR", Some("1299.00 EUR"), None);
        check("1,299", "USD", Some("1299.00 USD"), Some("price_guessed"));
        check("от 500", "RUB", Some("500.00 RUB"), Some("price_guessed"));
        check("99.999", "RUB", Some("100.00 RUB"), Some("price_guessed"));
        check("0", "RUB", None, Some("price_missing"));
        check("", "RUB", None, Some("price_missing"));
        check("договорная", "RUB", None, Some("bad_amount"));
        check("-5", "RUB", None, Some("bad_amount"));
        check("5", "pounds", None, Some("bad_currency"));
    }
}
