//! The console as a browser sees it, in one process: every route, every form, as everybody who may come.
#![allow(clippy::unwrap_used)]

mod access;
mod browser;
mod forms;
mod pages;
mod silver;
mod stages;
mod world;
