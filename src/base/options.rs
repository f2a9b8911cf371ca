//! Numeric options that the program, the server and Python share: name, default, range and meaning
//! of each, defined once.
//!
//! All three take names, defaults and ranges from here, and so report the same error for a number
//! out of range. Options with a few named values are enums with [`Choice`](crate::Choice).

use std::fmt::Display;
use std::ops::RangeInclusive;

use crate::base::error::{Error, Result};

/// An option whose value is a whole number.
///
/// ```
/// use fpstore::options::K;
///
/// assert_eq!(K.check(7)?, 7);
/// assert_eq!(K.check(-1).unwrap_err().to_string(), "k is -1, expected 0 to 64 bits");
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberOption {
    /// The name; the program writes hyphens in place of underscores.
    pub name: &'static str,
    /// The default value; `None` if it depends on the machine or the store, or if there is no
    /// limit.
    pub default: Option<u64>,
    /// The smallest value.
    pub min: u64,
    /// The largest value.
    pub max: u64,
    /// The unit in the plural, such as `bits`; empty for a plain count.
    pub unit: &'static str,
    /// The meaning of the option in one sentence.
    pub about: &'static str,
}

impl NumberOption {
    /// The allowed values.
    pub fn range(&self) -> RangeInclusive<u64> {
        self.min..=self.max
    }

    /// Describes the allowed values: `0 to 64 bits`.
    pub fn expected(&self) -> String {
        let range = match self.max {
            u64::MAX => format!("{} or more", self.min),
            max => format!("{} to {max}", self.min),
        };
        format!("{range} {}", self.unit).trim_end().into()
    }

    /// The name of the option in the program: `max-pairs` for `max_pairs`.
    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }

    /// Returns the value if it is allowed.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`] if it is not, with the allowed range.
    pub fn check<T: Copy + Display + TryInto<u64>>(&self, value: T) -> Result<u64> {
        match value.try_into() {
            Ok(number) if self.range().contains(&number) => Ok(number),
            _ => {
                let reason = format!("{} is {value}, expected {}", self.name, self.expected());
                Err(Error::InvalidOptions { reason })
            }
        }
    }
}

/// The default distance for which a store is tuned.
pub const DEFAULT_K: u32 = 3;

/// The distance of a query or a join, and the distance for which a store is tuned.
pub const K: NumberOption = NumberOption {
    default: Some(DEFAULT_K as u64),
    max: 64,
    unit: "bits",
    ..count("k", "The distance in bits, inclusive")
};
/// See [`Resources::memory`](crate::Resources::memory).
pub const MEMORY: NumberOption = NumberOption { unit: "bytes", ..count("memory", "Memory limit") };
/// See [`Resources::threads`](crate::Resources::threads). More threads than the maximum are of no
/// use, and the system may be unable to start them.
pub const THREADS: NumberOption =
    NumberOption { min: 1, max: 1024, ..count("threads", "Number of threads") };
/// Maximum number of matches kept for a query.
pub const LIMIT: NumberOption = NumberOption {
    min: 1,
    ..count(
        "limit",
        "Maximum number of matches of each query; the nearest \
                                             are kept",
    )
};
/// The number of nearest matches to find.
pub const COUNT: NumberOption =
    NumberOption { default: Some(1), ..count("count", "Number of nearest matches to search for") };
/// Maximum number of ids kept for a match.
pub const IDS: NumberOption = count("ids", "Maximum number of ids of each match");
/// Maximum number of pairs of a join.
pub const MAX_PAIRS: NumberOption =
    count("max_pairs", "The largest number of pairs; with one more a join ends with an error");
/// The number of sample queries in a verification.
pub const SAMPLES: NumberOption = NumberOption {
    default: Some(100),
    max: 1_000_000,
    ..count("samples", "Number of sample queries to compare with a scan")
};
/// The maximum number of bytes read and written per second.
pub const MAX_RATE: NumberOption = NumberOption {
    unit: "bytes a second",
    ..count("max_rate", "Maximum number of bytes read and written per second")
};

/// A numeric option without a default, a minimum or a maximum.
pub const fn count(name: &'static str, about: &'static str) -> NumberOption {
    NumberOption { name, default: None, min: 0, max: u64::MAX, unit: "", about }
}
