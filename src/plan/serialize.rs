//! How numbers of reports look in JSON and other formats of serde.
//!
//! Reports such as `StoreInfo` and `Plan` derive `Serialize` and name these functions for the
//! fields that have a form of their own. Nothing else may spell such a field, so that every door
//! shows the same form.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serializer;
use serde::ser::SerializeSeq;

use crate::scheme::Scheme;

/// A mask as 16 hex digits.
pub(crate) fn mask<S: Serializer>(mask: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{mask:016x}"))
}

/// The masks of a scheme, each as 16 hex digits.
pub(crate) fn masks<S: Serializer>(scheme: &Scheme, to: S) -> Result<S::Ok, S::Error> {
    let mut list = to.serialize_seq(Some(scheme.masks().len()))?;
    for mask in scheme.masks() {
        list.serialize_element(&format!("{mask:016x}"))?;
    }
    list.end()
}

/// A path as messages show it; serde refuses one that is no UTF-8.
pub(crate) fn path<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&path.display())
}

/// What has a text, such as the name of a section.
pub(crate) fn text<S: Serializer>(of: &impl std::fmt::Display, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(of)
}

/// A time as whole seconds since 1970.
pub(crate) fn seconds<S: Serializer>(time: &Option<SystemTime>, to: S) -> Result<S::Ok, S::Error> {
    match time.and_then(|time| time.duration_since(UNIX_EPOCH).ok()) {
        Some(since) => to.serialize_some(&since.as_secs()),
        None => to.serialize_none(),
    }
}

/// Nanoseconds as microseconds.
pub(crate) fn micros<S: Serializer>(nanos: &f64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(nanos / 1000.0)
}
