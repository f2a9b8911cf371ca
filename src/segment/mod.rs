//! Segments: immutable files that hold a set of fingerprints in all its tables.
//!
//! Reading and writing do not know each other; what they share is the format.

mod ids;
mod map;
mod pages;
mod read;
mod table;
mod values;
#[cfg(feature = "build")]
pub(crate) mod write;

pub(crate) use map::{Mapped, map};
pub(crate) use pages::CheckedPages;
pub(crate) use read::Segment;
pub(crate) use table::Table;
