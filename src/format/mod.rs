//! Encoding and decoding between bytes and checked values, as laid out in format-spec.md.
//!
//! The segment reader and writer, the snapshot, the store directory and `verify` call it. Decoding
//! treats every byte as hostile: it checks a value before use and reports a broken rule as a
//! [`Fault`](crate::Fault). Nothing here opens files or searches.

// Bytes from a file must not be indexed or unwrapped.
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

use std::ops::RangeInclusive;

pub(crate) mod codec;
pub(crate) mod deletions;
pub(crate) mod descriptor;
pub(crate) mod directory;
pub(crate) mod header;
pub(crate) mod id_records;
pub(crate) mod manifest;
pub(crate) mod prefix_index;

/// The format versions that this release reads. A segment is written in the oldest version
/// that can express it.
pub const FORMAT_VERSIONS: RangeInclusive<u16> = header::VERSION_OLDEST..=header::VERSION;
