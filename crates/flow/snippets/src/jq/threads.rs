use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::error::Invalid;

/// Enough for a value that is nested once a step to be printed, compared and dropped. Only what is used is memory.
pub(super) const STACK_BYTES: usize = 1 << 30;

type Job = Box<dyn FnOnce() + Send>;

/// Threads for jq programs: as many as there are callers at once, since these wait.
#[derive(Default)]
pub(crate) struct Threads {
    idle: Mutex<Vec<Sender<Job>>>,
}

impl Threads {
    /// Runs work where there is stack enough. A thread whose work failed is not used again: its stack may have grown. Work
    /// that takes longer than the patience is not waited for any more, and its thread ends when it does.
    pub(super) fn run<T: Send + 'static>(
        &self,
        patience: Duration,
        work: impl FnOnce() -> Result<T, Invalid> + Send + 'static,
    ) -> Result<T, Invalid> {
        let failed = |reason: &str| Invalid::new(format!("the jq program gave no answer: {reason}"));
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let jobs = match idle {
            Some(jobs) => jobs,
            None => start().map_err(|error| failed(&error.to_string()))?,
        };
        let (give, answer) = channel();
        // The caller waits for the answer below; it is not there only when the thread has died.
        let job: Job = Box::new(move || drop(give.send(work())));
        jobs.send(job).map_err(|_| failed("its thread has ended"))?;
        let answer = wait(|| answer.recv_timeout(patience)).map_err(|error| match error {
            RecvTimeoutError::Timeout => failed(&format!("there was no end of it within {patience:?}")),
            RecvTimeoutError::Disconnected => failed("its thread has ended"),
        })?;
        if answer.is_ok() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(jobs);
        }
        answer
    }
}

/// Waits without keeping the other tasks of a runtime's thread from running.
fn wait<T>(answer: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    let may_block =
        Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if may_block { tokio::task::block_in_place(answer) } else { answer() }
}

fn start() -> std::io::Result<Sender<Job>> {
    let (jobs, inbox) = channel::<Job>();
    let thread = thread::Builder::new().name("snippets-jq".to_owned()).stack_size(STACK_BYTES);
    thread.spawn(move || inbox.into_iter().for_each(|job| job()))?;
    Ok(jobs)
}
