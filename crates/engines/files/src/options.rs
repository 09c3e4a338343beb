use std::path::PathBuf;
use std::time::Duration;

use kit::Clock;

use crate::{Error, Kind, Result};

/// Added to the time limit of a write, for clocks that differ and requests that linger on the way.
pub(crate) const WRITE_MARGIN: Duration = Duration::from_secs(600);

#[derive(Clone, Debug)]
pub struct Options {
    /// Where incoming bytes are kept until their hash is known; best on the disk of the files themselves.
    pub temp_dir: PathBuf,
    /// No more is received when less than this would be left on that disk.
    pub reserve_bytes: u64,
    /// Content up to this size is not written to a temp file.
    pub memory_bytes: usize,
    /// An object's write that takes longer is given up.
    pub put_timeout: Duration,
    /// The sweep asks about references that have been pending for longer.
    pub pending_age: Duration,
    pub clock: Clock,
}

impl Options {
    pub fn new(temp_dir: impl Into<PathBuf>) -> Self {
        Self {
            temp_dir: temp_dir.into(),
            reserve_bytes: 512 << 20,
            memory_bytes: 256 << 10,
            put_timeout: Duration::from_secs(3_600),
            pending_age: Duration::from_secs(24 * 3_600),
            clock: Clock::system(),
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.put_timeout + WRITE_MARGIN >= self.pending_age {
            let (timeout, age) = (self.put_timeout, self.pending_age);
            return Err(Error::new(
                Kind::Invalid,
                format!("a write of {timeout:?} could outlive a pending reference of {age:?}"),
            ));
        }
        Ok(())
    }
}

/// What a stream may bring.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub max_bytes: u64,
    /// The size that the sender announced: more and less are both errors.
    pub expected_bytes: Option<u64>,
}

impl Limits {
    pub const fn up_to(max_bytes: u64) -> Self {
        Self { max_bytes, expected_bytes: None }
    }
}
