//! The words of a text as people write it, brought to one form.
//!
//! Sellers write «Ёлка», «ЕЛКА» and «ёлки», `iPhone15` and `iPhone 15`, full-width digits and ligatures. Whoever
//! looks such words up (categories, attribute values, names of towns) must fold what it has and what it is given in
//! the same way, so the folding lives here, below both.
//!
//! [`fold`] is NFKC, lower case and ё→е. [`split`] cuts folded text into words: a word is a run of letters or a run of
//! digits, so `256gb` is two words, and everything else is a border. [`stem`] takes the ending off a word by the rules
//! of its script: Russian for Cyrillic letters, English for Latin ones, nothing for the rest.
//!
//! A stem is a key to look up by, never something to show. Two different words may have one stem, and two forms of
//! a word may have different ones; those who look up place names therefore try the word itself first.
//!
//! Not here: what a word means. This crate knows no categories, places or units.

mod language;

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfkc_quick};

pub use language::Language;

/// NFKC, lower case, ё→е. Accents that stand as marks of their own are left out (stress marks of dictionaries).
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    if fold_common(text, &mut folded) {
        return folded;
    }
    folded.clear();
    if is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        fold_chars(text.chars(), &mut folded);
    } else {
        fold_chars(text.nfkc(), &mut folded);
    }
    folded
}

/// Text of Russian and English letters alone, which is nearly all there is: normalised as it stands, and lowered without
/// the tables of Unicode. False: there is something else in it.
fn fold_common(text: &str, folded: &mut String) -> bool {
    for c in text.chars() {
        folded.push(match c {
            _ if c.is_ascii() => c.to_ascii_lowercase(),
            'а'..='я' | '«' | '»' | '–' | '—' => c,
            'А'..='Я' => char::from_u32(c as u32 + 32).unwrap_or(c),
            'ё' | 'Ё' => 'е',
            _ => return false,
        });
    }
    true
}

fn fold_chars(chars: impl Iterator<Item = char>, folded: &mut String) {
    for c in chars {
        match c {
            'ё' | 'Ё' => folded.push('е'),
            'а'..='я' | 'a'..='z' | ' ' | '0'..='9' => folded.push(c),
            'А'..='Я' => folded.push(char::from_u32(c as u32 + 32).unwrap_or(c)),
            'A'..='Z' => folded.push(c.to_ascii_lowercase()),
            '\u{300}'..='\u{36f}' => {}
            _ => folded.extend(c.to_lowercase()),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Letter,
    Digit,
    Border,
}

fn kind(c: char) -> Kind {
    match c {
        'a'..='z' | 'а'..='я' => Kind::Letter,
        '0'..='9' => Kind::Digit,
        _ if c.is_ascii() => Kind::Border,
        _ if c.is_alphabetic() => Kind::Letter,
        _ => Kind::Border,
    }
}

/// The words of folded text, in order, each a part of it.
pub fn split(folded: &str) -> Split<'_> {
    Split { rest: folded }
}

pub struct Split<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Split<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let mut chars = self.rest.char_indices();
        let (start, first) = chars.by_ref().find(|(_, c)| kind(*c) != Kind::Border)?;
        let of = kind(first);
        let end = chars.find(|(_, c)| kind(*c) != of).map_or(self.rest.len(), |(at, _)| at);
        let word = &self.rest[start..end];
        self.rest = &self.rest[end..];
        Some(word)
    }
}

/// A folded word without its ending.
pub fn stem(word: &str) -> Cow<'_, str> {
    // Two letters have no ending to lose, and brand names of two letters must stay themselves.
    match word.chars().next() {
        Some('а'..='я') if word.len() > 4 => Stemmer::create(Algorithm::Russian).stem(word),
        Some('a'..='z') if word.len() > 2 => Stemmer::create(Algorithm::English).stem(word),
        _ => Cow::Borrowed(word),
    }
}

/// The stems of a text that is not folded yet.
pub fn stems(text: &str) -> Vec<String> {
    split(&fold(text)).map(|word| stem(word).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_words() {
        for (text, expected) in [
            ("Ёлка искусственная 180см", "елка искусственная 180 см"),
            ("iPhone15 Pro Max/256GB", "iphone 15 pro max 256 gb"),
            ("ＡＢＣ １２３ ﬁlm", "abc 123 film"),
            ("Но\u{301}вый дом", "новый дом"),
            ("«Lada» — Granta", "lada granta"),
            ("Й й й", "й й й"),
            ("  ", ""),
            ("Ещё «ЁЖ» – Ё", "еще еж е"),
            ("Е\u{308}ж и е\u{308}лка", "еж и елка"),
            ("Łódź, 東京", "łódź 東京"),
        ] {
            assert_eq!(split(&fold(text)).collect::<Vec<_>>().join(" "), expected, "{text}");
        }
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in
            [["телефоны", "телефона"], ["детская", "детские"], ["phones", "phone"], ["машины", "машине"]]
        {
            assert_eq!(stem(forms[0]), stem(forms[1]), "{forms:?}");
        }
        assert_eq!(stem("lg"), "lg");
        assert_eq!(stem("15"), "15");
    }
}
