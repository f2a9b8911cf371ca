//! The limits of a server. One list declares the fields of [`ServeLimits`], the options of
//! `fpstore serve`, the names in errors and the defaults.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use fpstore::options::{K, NumberOption, count};

/// The unit of limits on times.
const MILLISECONDS: &str = "ms";

/// The option of a limit on a number, at least 1.
const fn most(default: u64) -> NumberOption {
    NumberOption { default: Some(default), min: 1, ..count("", "") }
}

/// The option of a limit on a length in bytes; `default` is in MiB.
const fn mebibytes(default: u64) -> NumberOption {
    NumberOption { default: Some(default << 20), unit: "bytes", ..count("", "") }
}

/// The option of a limit on a time: at least a millisecond, at most about thirty years.
const fn milliseconds(default: u64) -> NumberOption {
    NumberOption { max: 1_000_000_000_000, unit: MILLISECONDS, ..most(default) }
}

/// Defines [`ServeLimits`], and an option for each of its fields.
macro_rules! limits {
    ($($(#[$spelling:meta])* $option:ident $field:ident: $kind:ty = $base:expr, $about:literal;)*) => {
        /// The limits on requests and on their duration. Errors name a limit by its option of
        /// `fpstore serve`: `max_body` is `--max-body`.
        #[derive(Clone, Debug, Deserialize, Serialize)]
        pub struct ServeLimits {
            $(#[doc = concat!($about, ".")] $(#[$spelling])* pub $field: $kind,)*
        }

        $(pub const $option: NumberOption =
            NumberOption { name: stringify!($field), about: $about, ..$base };)*

        /// An option for each field of [`ServeLimits`]; times are in milliseconds.
        pub const LIMIT_OPTIONS: &[NumberOption] = &[$($option),*];
    };
}

limits! {
    MAX_BODY max_body: u64 = mebibytes(16),
        "Longest body of a request, or longest line of a stream";
    MAX_BODIES max_bodies: u64 = mebibytes(256),
        "Memory for the bodies of all requests and for long answers; above it, requests are \
         answered 503";
    MAX_ANSWER max_answer: u64 = mebibytes(64),
        "Longest answer, or longest answer to one line of a stream";
    MAX_BATCH max_batch: u64 = most(100_000), "Maximum number of fingerprints in a batch of \
                                               queries";
    MAX_ITEMS max_items: u64 = most(10_000), "Maximum number of items of a check-and-add, or ids \
                                              of a deletion";
    MAX_K max_k: u32 = NumberOption { default: Some(K.max), ..K }, "Largest distance";
    MAX_MATCHES max_matches: u64 = most(1000), "Maximum number of matches of a query; the nearest \
                                                are kept";
    MAX_IDS max_ids: u64 = most(1000), "Maximum number of ids of a match";
    MAX_CONNECTIONS max_connections: u64 = most(1024),
        "Maximum number of open connections; further connections are answered 503";
    #[serde(rename = "header_timeout_ms", with = "millis")]
    HEADER_TIMEOUT header_timeout: Duration = milliseconds(5000),
        "Time for the head of a request, from its first byte";
    #[serde(rename = "body_timeout_ms", with = "millis")]
    BODY_TIMEOUT body_timeout: Duration = milliseconds(30_000),
        "Time for the body of a request, or between two parts of a stream; also the time in which \
         a client must read an answer";
    #[serde(rename = "idle_timeout_ms", with = "millis")]
    IDLE_TIMEOUT idle_timeout: Duration = milliseconds(60_000),
        "Time after which an idle connection is closed";
    #[serde(rename = "deadline_ms", with = "millis")]
    DEADLINE deadline: Duration = milliseconds(10_000),
        "Time to search for the answer to a request; after it, the matches found so far are \
         answered as cut";
    #[serde(rename = "queue_timeout_ms", with = "millis")]
    QUEUE_TIMEOUT queue_timeout: Duration = milliseconds(200),
        "Time that a request waits for a free thread or for the writer before it is answered 503";
    #[serde(rename = "drain_timeout_ms", with = "millis")]
    DRAIN_TIMEOUT drain_timeout: Duration = milliseconds(10_000),
        "Time for open requests to finish when the server ends";
}

impl ServeLimits {
    /// The limits whose values `value` returns for their options, in the units of the options.
    ///
    /// # Panics
    ///
    /// If a value is out of the range of its option.
    pub fn of(value: impl Fn(&NumberOption) -> u64) -> Self {
        let field = |limit: &NumberOption| match limit.unit {
            MILLISECONDS => (format!("{}_{MILLISECONDS}", limit.name), value(limit).into()),
            _ => (limit.name.into(), value(limit).into()),
        };
        let fields = LIMIT_OPTIONS.iter().map(field).collect();
        serde_json::from_value(Value::Object(fields)).expect("the values are in their ranges")
    }
}

impl Default for ServeLimits {
    fn default() -> Self {
        ServeLimits::of(|limit| limit.default.expect("each limit has a default"))
    }
}

/// Reads and writes times in JSON as whole milliseconds.
mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}
