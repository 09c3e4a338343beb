//! The library of jq programs, with what could run for ever or overflow the stack without a step made anew.

use std::cmp::Ordering;

use jaq_core::native::{Filter, Fun, bome, v};
use jaq_core::{Error, Exn, Native, RunPtr, ValR, ValX};
use jaq_json::{Val, read};

use super::Kind;
use super::budget::Budget;
use crate::json::parse_json;

/// Every function that is not defined in jq itself.
pub(super) fn all() -> impl Iterator<Item = Fun<Kind>> {
    let own: [Filter<RunPtr<Kind>>; 2] = [
        ("range", v(3), |mut cv| {
            let (by, to, from) = (cv.0.pop_var(), cv.0.pop_var(), cv.0.pop_var());
            Box::new(numbers(from, to, by, cv.0.data().budget))
        }),
        ("fromjson", v(0), |cv| bome(from_json(&cv.1))),
    ];
    let replaced = own.each_ref().map(|(name, arguments, _)| (*name, arguments.len()));
    let library = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
    library
        .filter(move |(name, arguments, _)| !replaced.contains(&(*name, arguments.len())))
        .chain(own.into_iter().map(|(name, arguments, run)| (name, arguments, Native::<Kind>::new(run))))
}

/// `range($from; $to; $by)`, a step for each number.
fn numbers<'a>(from: Val, to: Val, by: Val, budget: &'a Budget) -> impl Iterator<Item = ValX<'a, Val>> + 'a {
    let direction = by.cmp(&Val::from(0_isize));
    let mut next: Option<ValX<'a, Val>> = Some(Ok(from));
    std::iter::from_fn(move || {
        budget.step();
        let number = match next.take()? {
            Ok(number) => number,
            error => return Some(error),
        };
        let is_within = match direction {
            Ordering::Greater => number < to,
            Ordering::Less => number > to,
            Ordering::Equal => number != to,
        };
        if !is_within {
            return None;
        }
        next = Some((number.clone() + by.clone()).map_err(Exn::from));
        Some(Ok(number))
    })
}

/// `fromjson` of one JSON value, no more nested than content may be.
fn from_json(text: &Val) -> ValR<Val> {
    let text = text.try_as_utf8_bytes_owned()?;
    parse_json(&text).map_err(|invalid| Error::str(invalid.message))?;
    read::parse_single(&text).map_err(Error::str)
}
