//! Runs a list of named checks against a backend, and reports each. Every engine has a suite that all of its backends pass;
//! the suites are lists of checks, and this is what runs them.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::stream::{self, StreamExt as _};

/// Why a check did not pass: what was wanted and what was found.
#[derive(Debug)]
pub struct Failure(pub String);

impl From<crate::Error> for Failure {
    fn from(error: crate::Error) -> Self {
        Self(format!("{error:?}"))
    }
}

pub type Outcome = Result<(), Failure>;

/// A check works on a case that is its own.
pub type Check<C> = for<'a> fn(&'a C) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// Fails the check unless `holds`.
#[macro_export]
macro_rules! ensure {
    ($holds:expr, $($text:tt)+) => {
        if !$holds {
            return Err($crate::suite::Failure(format!($($text)+)));
        }
    };
}

/// Runs every check on a case of its own, `at_once` of them side by side, telling `report` of each in their order: name,
/// time taken, outcome.
/// A check that panics has failed. Returns how many failed.
pub async fn run<C>(
    checks: &[(&'static str, Check<C>)],
    at_once: usize,
    case: impl AsyncFn() -> crate::Result<C>,
    mut report: impl FnMut(&str, Duration, &Outcome),
) -> crate::Result<usize> {
    let case = &case;
    let one = |&(name, check): &(&'static str, Check<C>)| async move {
        let case = case().await?;
        let began = Instant::now();
        let outcome = AssertUnwindSafe(check(&case)).catch_unwind().await;
        let outcome = outcome.unwrap_or_else(|panic| Err(Failure(format!("panicked: {}", text(&*panic)))));
        Ok::<_, crate::Error>((name, began.elapsed(), outcome))
    };
    let mut outcomes = stream::iter(checks).map(one).buffered(at_once);
    let mut failed = 0;
    while let Some(outcome) = outcomes.next().await {
        let (name, took, outcome) = outcome?;
        failed += usize::from(outcome.is_err());
        report(name, took, &outcome);
    }
    Ok(failed)
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a word")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positive(number: i32) -> Outcome {
        ensure!(number > 0, "{number} is not positive");
        Ok(())
    }

    #[tokio::test]
    async fn failures_and_panics_are_told_and_counted() {
        let checks: [(&str, Check<i32>); 3] = [
            ("positive", |number| Box::pin(async { positive(*number) })),
            ("panics", |_| Box::pin(async { panic!("over") })),
            ("positive again", |number| Box::pin(async { positive(*number) })),
        ];
        let next = std::sync::atomic::AtomicI32::new(1);
        let case = async || Ok(next.fetch_sub(1, std::sync::atomic::Ordering::SeqCst));
        let mut told = Vec::new();
        let report = |name: &str, _: Duration, outcome: &Outcome| {
            told.push(format!(
                "{name}: {}",
                outcome.as_ref().map_or_else(|failure| failure.0.as_str(), |()| "ok")
            ));
        };
        assert_eq!(run(&checks, 1, case, report).await.unwrap(), 2);
        assert_eq!(told, ["positive: ok", "panics: panicked: over", "positive again: -1 is not positive"]);
    }
}
