//! The steps of a run: a heading before each, a table of times after all.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// Steps may run in two threads at a time, so the table is behind a lock.
#[derive(Default)]
pub(crate) struct Steps(Mutex<Vec<Step>>);

struct Step {
    name: String,
    took: Duration,
    passed: bool,
}

impl Steps {
    /// Runs one step; its error says which step it was.
    pub(crate) fn run<T>(&self, name: &str, body: impl FnOnce() -> Result<T>) -> Result<T> {
        println!("\n==== {name}");
        let started = Instant::now();
        let result = body();
        let step = Step { name: name.to_owned(), took: started.elapsed(), passed: result.is_ok() };
        println!("---- {name}: {} in {}", step.word(), seconds(step.took));
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(step);
        result.with_context(|| format!("step failed: {name}"))
    }

    pub(crate) fn print_table(&self) {
        let steps = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let width = steps.iter().map(|step| step.name.len()).max().unwrap_or(0);
        println!("\n==== times");
        for step in steps.iter() {
            println!("{:width$}  {:>9}  {}", step.name, seconds(step.took), step.word());
        }
    }
}

impl Step {
    fn word(&self) -> &'static str {
        if self.passed { "passed" } else { "FAILED" }
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_its_step() {
        let steps = Steps::default();
        let error = steps.run("lint", || -> Result<()> { anyhow::bail!("bad") }).unwrap_err();
        assert_eq!(format!("{error:#}"), "step failed: lint: bad");
    }
}
