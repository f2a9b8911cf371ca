//! How long to wait for another process that holds a lock of the store.

use std::str::FromStr;
use std::time::Duration;

use crate::base::error::{Error, Result};

/// The longest accepted time in seconds.
const SECONDS_MAX: f64 = 1e9;

/// How long to wait for another process that is writing to the store or making it; by default not
/// at all. Meanwhile the observer receives [`Phase::Wait`](crate::Phase::Wait) and can end the
/// wait.
///
/// ```
/// use fpstore::Waiting;
/// use std::time::Duration;
///
/// let options = fpstore::WriterOptions::default().wait(Duration::from_secs(60));
/// assert_eq!("1.5".parse::<Waiting>()?, Waiting::from(Duration::from_millis(1500)));
/// assert_eq!("forever".parse::<Waiting>()?, Waiting::FOREVER);
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    most: Duration,
}

impl Waiting {
    /// No waiting: fail at once.
    pub const NONE: Waiting = Waiting { most: Duration::ZERO };
    /// Waiting without a limit.
    pub const FOREVER: Waiting = Waiting { most: Duration::MAX };

    /// Waiting for at most this number of seconds, 0 to 10^9.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`] for any other number.
    pub fn seconds(seconds: f64) -> Result<Self> {
        if (0.0..=SECONDS_MAX).contains(&seconds) {
            return Ok(Waiting { most: Duration::from_secs_f64(seconds) });
        }
        Err(Error::InvalidOptions { reason: "expected a number of seconds".into() })
    }

    /// The maximum time to wait.
    pub fn most(self) -> Duration {
        self.most
    }
}

impl FromStr for Waiting {
    type Err = Error;

    /// Parses a number of seconds, or `forever`.
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "forever" => Ok(Waiting::FOREVER),
            _ => Waiting::seconds(text.parse().unwrap_or(f64::NAN)),
        }
    }
}

impl From<Duration> for Waiting {
    fn from(most: Duration) -> Self {
        Waiting { most }
    }
}

impl From<Option<Duration>> for Waiting {
    fn from(most: Option<Duration>) -> Self {
        most.map_or(Waiting::NONE, Waiting::from)
    }
}
