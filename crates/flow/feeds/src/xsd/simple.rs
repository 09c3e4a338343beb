//! Simple types: the texts of elements and attributes.

use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    String,
    Token,
    Decimal,
    DateTime,
}

/// A built-in type with the facets that restrict it.
#[derive(Clone, Debug)]
pub struct Simple {
    pub base: Base,
    pub min_length: usize,
    pub max_length: usize,
    pub options: Vec<String>,
    pub min: Option<f64>,
    pub max: Option<f64>,
}

/// Why a text is not of a type, as the code of an issue with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub code: &'static str,
    pub parameters: Vec<String>,
}

impl Simple {
    pub fn of(base: Base) -> Self {
        Self { base, min_length: 0, max_length: usize::MAX, options: Vec::new(), min: None, max: None }
    }

    /// The text without the white space that does not count, if it is of the type.
    pub fn check<'a>(&self, text: &'a str) -> Result<Cow<'a, str>, Refused> {
        let text = match self.base {
            Base::String => Cow::Borrowed(text),
            _ => collapsed(text),
        };
        match self.base {
            Base::Decimal => self.check_number(&text)?,
            Base::DateTime if !is_date_time(&text) => {
                return Err(Refused { code: "wrong_type", parameters: vec!["2026-03-01T09:00:00".into()] });
            }
            _ => {}
        }
        self.check_length(&text)?;
        if !self.options.is_empty() && !self.options.iter().any(|option| *option == *text) {
            return Err(Refused { code: "not_an_option", parameters: vec![self.options.join(", ")] });
        }
        Ok(text)
    }

    fn check_length(&self, text: &str) -> Result<(), Refused> {
        // Characters are counted only where bytes do not decide.
        if text.len() <= self.max_length && text.len() / 4 >= self.min_length {
            return Ok(());
        }
        let length = text.chars().count();
        if length < self.min_length {
            let code = if length == 0 { "required" } else { "too_short" };
            return Err(Refused { code, parameters: vec![length.to_string(), self.min_length.to_string()] });
        }
        if length > self.max_length {
            let parameters = vec![length.to_string(), self.max_length.to_string()];
            return Err(Refused { code: "too_long", parameters });
        }
        Ok(())
    }

    fn check_number(&self, text: &str) -> Result<(), Refused> {
        let value: f64 = match is_decimal(text).then(|| text.parse()) {
            Some(Ok(value)) => value,
            _ => return Err(Refused { code: "not_a_number", parameters: Vec::new() }),
        };
        let low = self.min.is_some_and(|min| value < min);
        let high = self.max.is_some_and(|max| value > max);
        if low || high {
            let bound = |bound: Option<f64>| bound.map_or(String::from("…"), |bound| bound.to_string());
            return Err(Refused { code: "out_of_range", parameters: vec![bound(self.min), bound(self.max)] });
        }
        Ok(())
    }
}

/// `[+-]?(d+(.d*)?|.d+)`; no exponent, no spaces.
fn is_decimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty())
}

/// `2026-03-01T09:00:00`, with a fraction and an offset if there is one.
fn is_date_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let shape = b"dddd-dd-ddTdd:dd:dd";
    let fits = |(byte, shape): (&u8, &u8)| if *shape == b'd' { byte.is_ascii_digit() } else { byte == shape };
    if bytes.len() < shape.len() || !bytes.iter().zip(shape).all(fits) {
        return false;
    }
    let number = |at: usize| u32::from(bytes[at] - b'0') * 10 + u32::from(bytes[at + 1] - b'0');
    let (year, month, day) = (number(0) * 100 + number(2), number(5), number(8));
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let sane = (1..=12).contains(&month) && (1..=days).contains(&day) && year > 0;
    sane && number(11) < 24 && number(14) < 60 && number(17) < 60 && is_time_end(&text[shape.len()..])
}

fn is_time_end(text: &str) -> bool {
    let rest = match text.strip_prefix('.') {
        Some(fraction) => {
            let end = fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len());
            if end == 0 {
                return false;
            }
            &fraction[end..]
        }
        None => text,
    };
    match rest.as_bytes() {
        [] | [b'Z'] => true,
        [b'+' | b'-', a, b, b':', c, d] => {
            [a, b, c, d].iter().all(|byte| byte.is_ascii_digit())
                && (*a, *b) <= (b'1', b'4')
                && *c < b'6'
                && ((*a, *b) != (b'1', b'4') || (*c, *d) == (b'0', b'0'))
        }
        _ => false,
    }
}

/// White space at the ends goes, and what is between becomes single spaces.
pub(crate) fn collapsed(text: &str) -> Cow<'_, str> {
    // Most texts are one word. A loop without a way out is done many bytes at a time.
    if text.bytes().fold(u8::MAX, u8::min) > b' ' {
        return Cow::Borrowed(text);
    }
    let space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r');
    let trimmed = text.trim_matches(space);
    let bytes = trimmed.as_bytes();
    let odd = |one: u8, next: u8| matches!(one, b'\t' | b'\n' | b'\r') || (one == b' ' && next == b' ');
    let pairs = bytes.iter().zip(bytes.get(1..).unwrap_or_default());
    // The last byte is no space: it was trimmed.
    let plain = !pairs.fold(false, |any, (one, next)| any | odd(*one, *next));
    if plain {
        return Cow::Borrowed(trimmed);
    }
    Cow::Owned(trimmed.split(space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
}
