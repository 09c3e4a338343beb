//! References: the five of XML, numbers, and the names of HTML that feeds use without declaring them.

use std::borrow::Cow;

use super::events::Rigour;

const HTML: &[(&str, &str)] = &[
    ("nbsp", "\u{A0}"),
    ("laquo", "«"),
    ("raquo", "»"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("bdquo", "„"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("ndash", "–"),
    ("mdash", "—"),
    ("hellip", "…"),
    ("bull", "•"),
    ("middot", "·"),
    ("copy", "©"),
    ("reg", "®"),
    ("trade", "™"),
    ("deg", "°"),
    ("plusmn", "±"),
    ("times", "×"),
    ("frac12", "½"),
    ("frac14", "¼"),
    ("frac34", "¾"),
    ("sup2", "²"),
    ("sup3", "³"),
    ("micro", "µ"),
    ("euro", "€"),
    ("pound", "£"),
    ("sect", "§"),
    ("shy", ""),
    ("ensp", " "),
    ("emsp", " "),
    ("thinsp", " "),
    ("zwnj", ""),
    ("rarr", "→"),
    ("larr", "←"),
    ("eacute", "é"),
    ("auml", "ä"),
    ("ouml", "ö"),
    ("uuml", "ü"),
    ("szlig", "ß"),
];

/// The text of a reference without its `&` and `;`.
pub(crate) fn resolve(name: &str, rigour: Rigour) -> Option<Cow<'static, str>> {
    let known = match name {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "apos" => "'",
        _ => {
            if let Some(number) = name.strip_prefix('#') {
                return character(number, rigour).map(|c| Cow::Owned(c.to_string()));
            }
            if rigour == Rigour::Strict {
                return None;
            }
            return HTML.iter().find(|(html, _)| *html == name).map(|(_, text)| Cow::Borrowed(*text));
        }
    };
    Some(Cow::Borrowed(known))
}

fn character(number: &str, rigour: Rigour) -> Option<char> {
    let value = match number.strip_prefix('x') {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    let character = char::from_u32(value)?;
    let legal = value >= 0x20 || matches!(character, '\t' | '\n' | '\r');
    if legal && !(0xFFFE..=0xFFFF).contains(&value) {
        return Some(character);
    }
    (rigour == Rigour::Lenient).then_some(' ')
}
