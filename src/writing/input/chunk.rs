//! Chunks: whole records of an input, which can be parsed independently of one another.

use std::sync::Arc;

use super::guess::LineForm;

/// The longest line that can be a record. A longer one is a sign of another kind of file and must
/// not fill the memory.
pub(super) const LINE_LEN_MAX: usize = 1 << 20;

/// Whole records of an input.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    /// Where the chunk starts: bytes of the decompressed input.
    pub(super) offset: u64,
    /// Where it ends.
    pub(super) end: u64,
    /// Whether the chunk stands for a line that was too long to keep. It then has no bytes.
    pub(super) is_long_line: bool,
    /// How lines are read; the same for all chunks of an input.
    pub(super) form: Arc<LineForm>,
}
