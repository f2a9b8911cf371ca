//! The id of a list or table, in recipes and in errors.

use std::fmt;

/// The id of a list or table in a recipe: a checksum and a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ResourceId {
    /// The CRC-32 of the entries.
    pub crc: u32,
    /// The number of entries.
    pub entry_count: u64,
}

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x} {}", self.crc, self.entry_count)
    }
}
