//! What is made of content. A convertor is made once, when the configuration is read.

mod jq;
mod offer_card;
mod protobuf;

use bytes::Bytes;

use crate::Format;
use crate::content::Content;
use crate::error::Refusal;

pub(crate) use jq::{Jq, Reader};
pub(crate) use offer_card::OfferCards;
pub(crate) use protobuf::{Protobuf, described};

/// What a convertor makes of content in one language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Document {
    Put(Bytes),
    /// There is nothing to be shown: a document that was there goes.
    Delete,
}

/// Makes documents of content.
pub trait Convertor: Send + Sync {
    /// Whether it can make the one format of the other; asked when the configuration is read.
    fn supports(&self, input: Format, output: Format) -> bool;

    /// Whether it knows this language.
    fn speaks(&self, language: &str) -> bool;

    /// A document for each of the languages, in their order. Where the snippet has no languages of its own, there is one,
    /// which is the request's and may be empty.
    fn convert(
        &self,
        content: &Content,
        output: Format,
        languages: &[&str],
    ) -> Result<Vec<Document>, Refusal>;
}

/// Leaves content as it is.
pub(crate) struct Identity;

impl Convertor for Identity {
    fn supports(&self, input: Format, output: Format) -> bool {
        input == output
    }

    fn speaks(&self, _: &str) -> bool {
        false
    }

    fn convert(&self, content: &Content, _: Format, languages: &[&str]) -> Result<Vec<Document>, Refusal> {
        Ok(vec![Document::Put(content.bytes.clone()); languages.len()])
    }
}
