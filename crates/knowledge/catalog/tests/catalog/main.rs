//! The catalog as its users see it.

mod attributes;
mod imports;
mod rules;
mod shipped;
mod titles;
