//! jq programs, within limits. The programs are those of whoever wrote the configuration, the content is anybody's, and
//! neither may stop the server.
//!
//! The interpreter asks its data for the compiled program at every step ([`HasLut`]), and there `budget.rs` counts:
//! steps, time, and how deep the calls are. What goes beyond a limit is unwound from right there, which the interpreter
//! (it has no unsafe code and keeps nothing between runs) does not mind. Values can be nested as deeply as there are
//! steps, and Rust drops and prints them by recursion, so programs run on threads with a stack for that, a few at
//! once (`threads.rs`).
//! Two functions of the library that could take long without a step have their own here (`builtins.rs`).
//!
//! Not bounded is what a single operation makes: `"x" * .n` with a number from the content can ask for more memory than
//! there is, and `..` over a value of ten thousand levels takes minutes, of which only the first seconds are waited for. A
//! program that multiplies texts or nests values must bound how often.

mod budget;
mod builtins;
mod output;
mod threads;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, Ctx, DataT, Filter, Lut, Vars, data::HasLut};
use jaq_json::Val;
use serde_json::Value;

use self::budget::{Budget, Limit, MAX_TIME};
pub(crate) use self::threads::Threads;
use crate::config::Assets;
use crate::error::{Invalid, Refusal};

/// A compiled jq program.
pub(crate) struct Program {
    filter: Arc<Filter<Kind>>,
    threads: Arc<Threads>,
}

/// Programs over JSON that carry a budget.
struct Kind;

impl DataT for Kind {
    type V<'a> = Val;
    type Data<'a> = Metered<'a>;
}

#[derive(Clone)]
struct Metered<'a> {
    lut: &'a Lut<Kind>,
    budget: &'a Budget,
}

impl<'a> HasLut<'a, Kind> for Metered<'a> {
    fn lut(&self) -> &'a Lut<Kind> {
        self.budget.step();
        self.lut
    }
}

impl Program {
    pub(crate) fn load(assets: &Arc<Assets>, file: &str, threads: &Arc<Threads>) -> Result<Self, String> {
        if file.is_empty() {
            return Err("it needs a file: jq:FILE".to_owned());
        }
        let code = assets.read_text(file)?;
        let definitions = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
        let arena = Arena::default();
        let modules =
            Loader::new(definitions).load(&arena, File { code: &code, path: () }).map_err(|errors| {
                errors.iter().map(|(_, error)| load_error(&code, error)).collect::<Vec<_>>().join("; ")
            })?;
        let compiler = Compiler::default().with_funs(builtins::all()).with_global_vars(["$lang"]);
        let filter = compiler.compile(modules).map_err(|errors| {
            let each = errors.iter().flat_map(|(_, errors)| errors);
            let texts: Vec<_> = each
                .map(|(name, kind)| format!("{}: there is no {} {name}", line(&code, name), kind.as_str()))
                .collect();
            texts.join("; ")
        })?;
        Ok(Self { filter: Arc::new(filter), threads: threads.clone() })
    }

    /// The first outputs of the program, at most `most`, for each of the languages.
    pub(crate) fn run(
        &self,
        input: Val,
        languages: &[&str],
        most: usize,
    ) -> Result<Vec<Vec<Value>>, Refusal> {
        let languages: Vec<String> = languages.iter().map(|&language| language.to_owned()).collect();
        let filter = self.filter.clone();
        // A single operation that is long is not interrupted, only no longer waited for.
        let patience = MAX_TIME.saturating_mul(languages.len() as u32 + 1);
        self.threads.run(patience, move || {
            let each = languages.into_iter().map(|language| bounded(&filter, &input, language, most));
            each.collect()
        })
    }
}

/// Runs the program once; a panic in it, ours at a limit or one of its own, is a refusal of the content.
fn bounded(filter: &Filter<Kind>, input: &Val, language: String, most: usize) -> Result<Vec<Value>, Invalid> {
    let budget = Budget::new();
    let run = AssertUnwindSafe(|| {
        let data = Metered { lut: &filter.lut, budget: &budget };
        let context = Ctx::<Kind>::new(data, Vars::new([Val::from(language)]));
        let outputs = filter.id.run((context, input.clone())).take(most);
        outputs.map(output::value).collect::<Result<Vec<Value>, Invalid>>()
    });
    catch_unwind(run).unwrap_or_else(|payload| {
        Err(Invalid::new(match payload.downcast_ref::<Limit>() {
            Some(limit) => format!("the jq program was stopped: {limit}"),
            None => "the jq program failed".to_owned(),
        }))
    })
}

fn load_error(code: &str, error: &load::Error<&str>) -> String {
    match error {
        load::Error::Io(files) => {
            files.iter().map(|(file, reason)| format!("{file}: {reason}")).collect::<Vec<_>>().join("; ")
        }
        load::Error::Lex(errors) => errors
            .iter()
            .map(|(expected, rest)| format!("{}: expected {}", line(code, rest), expected.as_str()))
            .collect::<Vec<_>>()
            .join("; "),
        load::Error::Parse(errors) => errors
            .iter()
            .map(|(expected, rest)| format!("{}: expected {}", line(code, rest), expected.as_str()))
            .collect::<Vec<_>>()
            .join("; "),
    }
}

/// The line of a part of the code.
fn line(code: &str, part: &str) -> String {
    let offset = (part.as_ptr() as usize).wrapping_sub(code.as_ptr() as usize);
    match code.as_bytes().get(..offset) {
        Some(before) => format!("line {}", before.split(|byte| *byte == b'\n').count()),
        None => "in the library".to_owned(),
    }
}
