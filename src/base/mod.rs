//! What everything else stands on: errors, names of sections and positions, thresholds, numbers that
//! users choose, pairs that people label.
//!
//! No file here knows of bytes, files or stores.

pub(crate) mod error;
#[cfg(feature = "write")]
pub(crate) mod id_policy;
pub(crate) mod in_order;
#[cfg(feature = "write")]
pub mod judged;
pub(crate) mod limits;
pub mod options;
pub(crate) mod section;
pub(crate) mod setters;
pub(crate) mod side_by_side;
pub(crate) mod steps;
#[cfg(feature = "write")]
pub(crate) mod text_version;
