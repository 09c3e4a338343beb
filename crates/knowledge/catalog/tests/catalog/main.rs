//! The catalog as its users see it.

mod shipped;
mod titles;
