//! What failed, kept until it goes through or somebody drops it: what, why, after how many tries, since when.
//!
//! There are two forms. What exists nowhere else is kept **with its bytes**: records of topics ([`dead_letters`]), and the
//! messages that snippets could not store. What can be read again from its source is **owed under its key** ([`debts`]):
//! pairs of an offer and a stage, SSKUs of silver. Both are listed, tried again and dropped, one or all that a filter takes; what a
//! retry does is its owner's.

pub mod dead_letters;
pub mod debts;
