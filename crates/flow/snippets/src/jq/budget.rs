use std::cell::Cell;
use std::fmt;
use std::panic::resume_unwind;
use std::time::{Duration, Instant};

/// Steps of the interpreter. A card of an offer takes some thousands.
const MAX_STEPS: u64 = 500_000;
/// Steps can be long: a sort, a regular expression, a product of two lists.
pub(super) const MAX_TIME: Duration = Duration::from_secs(5);
/// Deeper calls are stopped; the rest of a thread's stack is for what has no steps, such as dropping a deep value.
const MAX_STACK_BYTES: usize = super::threads::STACK_BYTES / 4;
/// The clock is read once in this number of steps.
const STEPS_PER_LOOK: u64 = 32;

/// What one run may still take.
pub(super) struct Budget {
    steps: Cell<u64>,
    began: Instant,
    /// Where the stack was when the run began.
    bottom: usize,
}

/// Why a run was stopped.
#[derive(Debug)]
pub(super) enum Limit {
    Steps,
    Time,
    Depth,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps => write!(f, "it took more than {MAX_STEPS} steps"),
            Self::Time => write!(f, "it took longer than {} s", MAX_TIME.as_secs()),
            Self::Depth => f.write_str("its calls are too deep"),
        }
    }
}

impl Budget {
    pub(super) fn new() -> Self {
        Self { steps: Cell::new(0), began: Instant::now(), bottom: stack_address() }
    }

    /// One step of the interpreter. Beyond a limit it does not come back: the run is unwound with a [`Limit`].
    pub(super) fn step(&self) {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        let limit = if steps > MAX_STEPS {
            Limit::Steps
        } else if self.bottom.abs_diff(stack_address()) > MAX_STACK_BYTES {
            Limit::Depth
        } else if steps.is_multiple_of(STEPS_PER_LOOK) && self.began.elapsed() > MAX_TIME {
            Limit::Time
        } else {
            return;
        };
        resume_unwind(Box::new(limit))
    }
}

/// About where the stack is now.
#[inline(never)]
fn stack_address() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}
