use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::error::{Invalid, Refusal};

/// Enough for a value that is nested once a step to be printed, compared and dropped. Only what is used is memory.
pub(super) const STACK_BYTES: usize = 1 << 30;
/// Programs that run at once. They only reckon, so more would not be done sooner; some may be stuck in a long operation.
const RUNS_PER_CORE: usize = 2;

type Job = Box<dyn FnOnce() + Send>;

/// Threads for jq programs: each runs one program at a time, while its caller waits.
pub(crate) struct Threads {
    most_at_once: usize,
    stack_bytes: usize,
    free: Arc<Free>,
    idle: Mutex<Vec<Sender<Job>>>,
}

impl Default for Threads {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self::new(cores * RUNS_PER_CORE, STACK_BYTES)
    }
}

impl Threads {
    fn new(most_at_once: usize, stack_bytes: usize) -> Self {
        let free = Arc::new(Free { places: Mutex::new(most_at_once), one_more: Condvar::new() });
        Self { most_at_once, stack_bytes, free, idle: Mutex::default() }
    }

    /// Runs work where there is stack enough, when it is its turn. A thread whose work failed is not used again: its stack
    /// may have grown. Work that takes longer than the patience is not waited for any more, and its thread ends when it
    /// does; until then it keeps its place. A turn that does not come within the patience, and a thread that there is no
    /// room for, say nothing about the content.
    pub(super) fn run<T: Send + 'static>(
        &self,
        patience: Duration,
        work: impl FnOnce() -> Result<T, Invalid> + Send + 'static,
    ) -> Result<T, Refusal> {
        wait(|| self.run_and_wait(patience, work))
    }

    fn run_and_wait<T: Send + 'static>(
        &self,
        patience: Duration,
        work: impl FnOnce() -> Result<T, Invalid> + Send + 'static,
    ) -> Result<T, Refusal> {
        let failed = |reason: &str| Invalid::new(format!("the jq program gave no answer: {reason}"));
        let unavailable =
            |reason: &str| Refusal::Unavailable(format!("the jq program did not run: {reason}"));
        let place = self.free.take(patience).ok_or_else(|| {
            unavailable(&format!("{} others ran for all of {patience:?}", self.most_at_once))
        })?;
        let idle = lock(&self.idle).pop();
        let jobs = match idle {
            Some(jobs) => jobs,
            None => start(self.stack_bytes).map_err(|error| unavailable(&error.to_string()))?,
        };
        let (give, answer) = channel();
        let job: Job = Box::new(move || {
            let done = work();
            drop(place);
            // Nobody listens any more only when the patience was over.
            drop(give.send(done));
        });
        jobs.send(job).map_err(|_| unavailable("its thread has ended"))?;
        let answer = answer.recv_timeout(patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => failed(&format!("there was no end of it within {patience:?}")),
            RecvTimeoutError::Disconnected => failed("its thread has ended"),
        })?;
        let mut idle = lock(&self.idle);
        if answer.is_ok() && idle.len() < self.most_at_once {
            idle.push(jobs);
        }
        Ok(answer?)
    }
}

/// The places that nobody has taken.
struct Free {
    places: Mutex<usize>,
    one_more: Condvar,
}

impl Free {
    fn take(self: &Arc<Self>, patience: Duration) -> Option<Place> {
        let waited = self.one_more.wait_timeout_while(lock(&self.places), patience, |places| *places == 0);
        let (mut places, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *places = places.checked_sub(1)?;
        Some(Place(self.clone()))
    }
}

/// The right to run, given back when it is dropped.
struct Place(Arc<Free>);

impl Drop for Place {
    fn drop(&mut self) {
        *lock(&self.0.places) += 1;
        self.0.one_more.notify_one();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits without keeping the other tasks of a runtime's thread from running.
fn wait<T>(answer: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    let may_block =
        Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if may_block { tokio::task::block_in_place(answer) } else { answer() }
}

fn start(stack_bytes: usize) -> std::io::Result<Sender<Job>> {
    let (jobs, inbox) = channel::<Job>();
    let thread = thread::Builder::new().name("snippets-jq".to_owned()).stack_size(stack_bytes);
    thread.spawn(move || inbox.into_iter().for_each(|job| job()))?;
    Ok(jobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(20);

    fn reason<T: std::fmt::Debug>(result: Result<T, Refusal>) -> String {
        match result.unwrap_err() {
            Refusal::Unavailable(reason) => reason,
            invalid @ Refusal::Invalid(_) => panic!("{invalid:?}"),
        }
    }

    #[test]
    fn a_lack_of_threads_is_not_the_contents_fault() {
        let threads = Threads::new(1, usize::MAX >> 1);
        for _ in 0..3 {
            assert!(reason(threads.run(SOON, || Ok(()))).starts_with("the jq program did not run: "));
        }
        assert_eq!(*lock(&threads.free.places), 1, "a place that was not used is given back");
    }

    #[test]
    fn no_more_run_at_once_than_may_and_the_others_wait_for_their_turn() {
        let threads = Threads::new(2, 1 << 20);
        let (release, released) = channel::<()>();
        let stuck = threads.run(SOON, move || {
            released.recv().ok();
            Ok(())
        });
        assert!(matches!(stuck, Err(Refusal::Invalid(_))), "{stuck:?}");
        assert_eq!(threads.run(LONG, || Ok(1)), Ok(1), "one place is left");
        thread::scope(|scope| {
            let (begin, begun) = channel();
            let (end, ended) = channel::<()>();
            let second = scope.spawn(|| {
                threads.run(LONG, move || {
                    begin.send(()).ok();
                    ended.recv().ok();
                    Ok(2)
                })
            });
            begun.recv().unwrap();
            let refused = reason(threads.run(SOON, || Ok(())));
            assert_eq!(refused, "the jq program did not run: 2 others ran for all of 20ms");
            let waiting = scope.spawn(|| threads.run(LONG, || Ok(3)));
            drop(end);
            assert_eq!((second.join().unwrap(), waiting.join().unwrap()), (Ok(2), Ok(3)));
        });
        drop(release);
        assert_eq!(threads.run(LONG, || Err::<(), _>(Invalid::new("no"))), Err(Invalid::new("no").into()));
        assert_eq!(threads.run(LONG, || Ok(4)), Ok(4), "a refusal gives its place back too");
        assert!(threads.free.take(LONG).is_some());
    }
}
