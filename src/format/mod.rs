//! Encodes checked values as bytes and decodes them, as laid out in format-spec.md.
//!
//! Used by the segment reader and writer, the snapshot, the store directory and `verify`. Decoding
//! treats every byte as hostile: it checks each value before use and reports a broken rule as a
//! [`Fault`](crate::Fault). Nothing here opens files or searches.

// Code that reads bytes from a file must not panic, so it must not index or unwrap.
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

use std::ops::RangeInclusive;

pub(crate) mod codec;
pub(crate) mod deletions;
pub(crate) mod descriptor;
pub(crate) mod directory;
pub(crate) mod fault;
pub(crate) mod header;
pub(crate) mod id_records;
pub(crate) mod manifest;
pub(crate) mod prefix_index;

/// The format versions that this release reads. A segment is written in the oldest version
/// that can express it.
pub const FORMAT_VERSIONS: RangeInclusive<u16> = header::VERSION_OLDEST..=header::VERSION;
