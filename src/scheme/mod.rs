//! Schemes: the masks of a store, the families they come from, and the proof that probes with given
//! radii miss no value.
//!
//! Pure combinatorics over 64-bit words; nothing here depends on files, data or costs. The format
//! checks the masks of a header, the planner chooses radii and lays out masks for data, and writers
//! take a [`Scheme`] for their tables.

mod cover;
pub(crate) mod designs;
mod families;
mod masks;

pub use cover::Radius;
pub(crate) use cover::{TABLE_COUNT_MAX, combinations_up_to, covers, ways_to_flip};
#[cfg(test)]
pub(crate) use families::PROMISES;
pub(crate) use families::member;
pub use families::{FAMILIES, Family};
pub use masks::Scheme;
pub(crate) use masks::fault_of_masks;
