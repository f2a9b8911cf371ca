//! Functions for `serialize_with`: the forms of special fields of reports in JSON and other
//! formats.
//!
//! Reports such as `StoreInfo` and `Plan` derive `Serialize` and use these functions for such
//! fields. No other code formats them, so all interfaces show the same form.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Serialize, Serializer};

use crate::scheme::Scheme;

/// Serializes a mask as 16 hex digits.
pub(crate) fn mask<S: Serializer>(mask: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{mask:016x}"))
}

/// Serializes the masks of a scheme, each as 16 hex digits.
pub(crate) fn masks<S: Serializer>(scheme: &Scheme, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(scheme.masks().iter().map(|mask| format!("{mask:016x}")))
}

/// Serializes a path as messages show it: serde itself rejects paths that are not UTF-8.
pub(crate) fn path<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&path.display())
}

/// Serializes the text form of a value, such as the name of a section.
pub(crate) fn text<S: Serializer>(of: &impl std::fmt::Display, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(of)
}

/// Serializes a time as whole seconds since 1970; no time, or an earlier one, as null.
pub(crate) fn seconds<S: Serializer>(time: &Option<SystemTime>, to: S) -> Result<S::Ok, S::Error> {
    let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.map(|since| since.as_secs()).serialize(to)
}

/// Serializes nanoseconds as microseconds.
pub(crate) fn micros<S: Serializer>(nanos: &f64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(nanos / 1000.0)
}
