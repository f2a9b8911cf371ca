//! Segments: immutable files that hold a set of fingerprints in all its tables.
//!
//! Reading and writing do not know each other; what they share is the format.

// Nothing that came from a file may be indexed or unwrapped.
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod blocks;
mod ids;
mod map;
mod pages;
mod read;
#[cfg(feature = "build")]
mod records;
mod table;
mod tails;
mod values;
#[cfg(feature = "build")]
pub(crate) mod write;

pub(crate) use blocks::Blocks;
pub(crate) use map::{Mapped, map};
pub(crate) use pages::CheckedPages;
pub(crate) use read::Segment;
pub(crate) use table::Table;
