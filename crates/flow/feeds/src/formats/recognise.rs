//! Which format a file has, from its content.

use super::listed::Listed;
use super::own::OwnXml;
use super::skeleton::{self, Token};
use super::{Source, avito, google, json, table, yml};
use crate::fatal::Fatal;
use crate::limits::Limits;
use crate::window::Window;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Own,
    Yml,
    Avito,
    GoogleRss,
    GoogleAtom,
    GoogleTsv,
    Csv,
    Json,
    JsonLines,
    Parsed,
}

impl Format {
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "Dvor XML",
            Self::Yml => "YML",
            Self::Avito => "Avito XML",
            Self::GoogleRss => "Google RSS",
            Self::GoogleAtom => "Google Atom",
            Self::GoogleTsv => "Google TSV",
            Self::Csv => "CSV",
            Self::Json => "JSON",
            Self::JsonLines => "JSON Lines",
            Self::Parsed => "parsed JSON",
        }
    }
}

pub(super) fn recognise(window: &mut Window, limits: &Limits) -> Result<(Format, Box<dyn Source>), Fatal> {
    skip_space(window)?;
    let Some(first) = window.data().first().copied() else {
        return Err(Fatal::new("feed_empty", &[]));
    };
    match first {
        b'<' => xml(window, limits),
        b'{' | b'[' => json::recognise(window, limits),
        _ => table::recognise(window, limits),
    }
}

/// Blank lines before `<?xml` are forbidden and common.
fn skip_space(window: &mut Window) -> Result<(), Fatal> {
    loop {
        let data = window.at_least(1)?;
        let blank = data.len() - data.trim_ascii_start().len();
        if blank == 0 {
            return Ok(());
        }
        window.consume(blank);
    }
}

fn xml(window: &mut Window, limits: &Limits) -> Result<(Format, Box<dyn Source>), Fatal> {
    loop {
        match skeleton::token(window, limits)? {
            Token::Start { name, len, .. } => {
                let atom = skeleton::text(&window.data()[..len]).contains("http://www.w3.org/2005/Atom");
                return match name.as_str() {
                    "yml_catalog" => Ok((Format::Yml, Box::new(yml::reader()))),
                    "Ads" => Ok((Format::Avito, Box::new(Listed::new("Ad", "Ads", avito::offer)))),
                    "rss" => Ok((Format::GoogleRss, Box::new(Listed::new("item", "channel", google::offer)))),
                    "feed" if atom => {
                        Ok((Format::GoogleAtom, Box::new(Listed::new("entry", "feed", google::offer))))
                    }
                    "feed" => Ok((Format::Own, Box::new(OwnXml::new()))),
                    _ => Err(Fatal::new("xml_root_unknown", &[&name]).at(window.place(0))),
                };
            }
            Token::Other(len) | Token::Doctype(len) | Token::Text(len) => window.consume(len),
            Token::End { .. } | Token::CData(_) | Token::Eof => return Err(unknown(window)),
        }
    }
}

pub(super) fn unknown(window: &mut Window) -> Fatal {
    let shown = window.excerpt(0, 40).replace(char::is_control, "·");
    Fatal::new("format_unknown", &[&shown]).at(window.place(0))
}
