//! Bytes to checked values and back, as format-spec.md lays them out.
//!
//! Reading takes every byte for hostile; writing is compiled with the feature `build` only.

// Nothing that came from a file may be indexed or unwrapped.
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

#[cfg(feature = "build")]
pub(crate) mod block_writer;
pub(crate) mod deletions;
pub(crate) mod directory;
mod gap_words;
pub(crate) mod header;
pub(crate) mod heads;
pub(crate) mod id_records;
pub(crate) mod manifest;
pub(crate) mod near_heads;
pub(crate) mod near_values;
pub(crate) mod prefix_index;

/// The format versions that this release reads, oldest and newest; it writes the newest.
pub const FORMAT_VERSIONS: (u16, u16) = (header::VERSION_OLDEST, header::VERSION);
