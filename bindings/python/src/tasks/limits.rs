//! Limits of a task that is told none.

/// Bytes of memory of a task that is not told how many it has.
pub(super) const MEMORY: i128 = 256 << 20;
