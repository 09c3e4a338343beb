//! What is sold: the tree of categories, their attributes, and how they are recognised in what sellers write.
//!
//! A [`Catalog`] is immutable and cheap to clone. One is compiled into the program ([`Catalog::shipped`], with its
//! earlier versions), any other is a folder of text files ([`Catalog::load`]). The format is made to be read and compared by
//! people: a statement per line, blocks of `category`, `attribute` and `measure`; `docs/catalog.md` describes it. All
//! versions of a catalog live in the same files, each line saying since or until which version it holds, so that the
//! history of a category is in one place and a moved or renamed one names its successor ([`Catalog::replaced_by`]).
//!
//! Categories form a tree; attributes are inherited: what a category `has` its descendants have too. Ids are stable
//! short text, never reused for another meaning.
//!
//! Recognition ([`Catalog::recogniser`]) is built once per catalog and then only read. A title is folded, split and
//! stemmed (crate `words`); the longest known phrases are found in one pass of an automaton whose letters are whole
//! words; brand names are set aside, since a brand is not a category. With no phrase at all, an inverted index weighs
//! single words by their rarity. What sellers call their categories is stronger than titles: all categories of a seller
//! are decided together ([`Recogniser::decide`]) by their paths, their titles and each other, with a probability and with
//! what it rests on. The answer says whether it is good enough to act on, and has up to three suggestions for the person
//! who has to correct it.
//!
//! Attribute values come typed: an enum value by its id, a number in the attribute's own unit whatever unit it was
//! written in, a text, a bool. What does not fit is a problem with the field, the value and, where there is one, a
//! suggestion; it is data for whoever unifies a feed, not an error of the program.
//!
//! Guarantees: the same catalog and the same text give the same answer on every machine; nothing here does I/O except
//! `load` and `import`; a catalog that breaks a rule is refused with the file and line of each broken rule.
//!
//! Not done here: which offers have which category, moving offers between versions (the `catalog` stage), places.

mod check;
mod error;
mod import;
mod load;
mod model;
mod parse;
mod recognise;
mod resolve;
mod shipped;
mod versions;
mod write;

pub use check::check;
pub use error::{Error, Problem};
pub use import::{Imported, import};
pub use load::SourceFile;
pub use model::{
    Attribute, AttributeKind, Catalog, Category, EnumValue, Language, Names, SskuParameter, Synonyms, Unit,
};
pub use recognise::{
    AttributeProblem, Decision, Evidence, EvidenceKind, Given, MAX_TITLES, ProblemKind, Recognised,
    RecognisedAttributes, Recogniser, SUGGESTED, SellerCategory, Source, Suggestion, TAKEN, Typed, Value,
};
