//! Whom a buyer calls.

use model::limits::{MAX_CONTACT_NAME_CHARS, MAX_EMAIL_CHARS, MAX_PHONES};
use model::{Contacts, Issue};

use crate::issue;
use crate::offer::FeedOffer;

pub(super) fn contacts(offer: &FeedOffer, issues: &mut Vec<Issue>) -> Option<Contacts> {
    let mut phones = Vec::new();
    for phone in offer.phones.iter().take(MAX_PHONES) {
        match number(phone) {
            Some(number) if !phones.contains(&number) => phones.push(number),
            Some(_) => {}
            None => issues.push(issue::warning("bad_phone", "phone", phone)),
        }
    }
    let mut email = offer.email.trim().to_owned();
    if !email.is_empty() && !is_email(&email) {
        issues.push(issue::warning("bad_email", "email", &email));
        email.clear();
    }
    let name =
        super::limited(super::html::line(&offer.contact_name), "contact", MAX_CONTACT_NAME_CHARS, issues);
    let any = !name.is_empty() || !phones.is_empty() || !email.is_empty();
    any.then_some(Contacts { name, phones, email })
}

/// `8 (900) 123-45-67` → `+79001234567`.
fn number(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let strange = text.chars().any(|c| !(c.is_ascii_digit() || c.is_whitespace() || "+()-–.".contains(c)));
    if strange || !(5..=15).contains(&digits.len()) {
        return None;
    }
    let russian = digits.len() == 11 && digits.starts_with('8') && !text.trim_start().starts_with('+');
    Some(match (russian, digits.len()) {
        (true, _) => format!("+7{}", &digits[1..]),
        (_, 10) if digits.starts_with('9') => format!("+7{digits}"),
        (_, 11..) => format!("+{digits}"),
        _ => digits,
    })
}

fn is_email(text: &str) -> bool {
    let parts = text.split_once('@');
    parts.is_some_and(|(name, host)| {
        !name.is_empty()
            && host.contains('.')
            && !host.starts_with('.')
            && !text.contains(char::is_whitespace)
            && text.chars().count() <= MAX_EMAIL_CHARS
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phones_have_one_form() {
        for (text, expected) in [
            ("8 (900) 123-45-67", Some("+79001234567")),
            ("+7 900 123 45 67", Some("+79001234567")),
            ("9001234567", Some("+79001234567")),
            ("+49 30 1234567", Some("+49301234567")),
            ("call me", None),
            ("12", None),
        ] {
            assert_eq!(number(text).as_deref(), expected, "{text}");
        }
    }
}
