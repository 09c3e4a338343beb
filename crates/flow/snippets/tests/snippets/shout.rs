//! The convertor of `docs/snippets.md`; a test compares the two.

use snippets::{Content, Convertor, Document, Format, Invalid, Refusal};

pub struct Shout;

impl Convertor for Shout {
    fn supports(&self, input: Format, output: Format) -> bool {
        (input, output) == (Format::Text, Format::Text)
    }
    fn speaks(&self, _: &str) -> bool {
        false
    }
    fn convert(&self, content: &Content, _: Format, languages: &[&str]) -> Result<Vec<Document>, Refusal> {
        let text = std::str::from_utf8(&content.bytes).map_err(|_| Invalid::new("this is not UTF-8"))?;
        Ok(vec![Document::Put(text.to_uppercase().into()); languages.len()])
    }
}
