//! Encodes blocks of heads of any length before they are written to their section.

use crate::base::error::Result;
use crate::format::codec::{BlockEncoder, HeadCodec};
use fpstore_disk::{ScratchFolder, Spool};

/// Interval, in values of a block, between checks whether its bytes must be moved to a file.
const SPILL_INTERVAL: u64 = 128;

/// Encodes one block after the other. The bytes of a long block are kept in temporary files.
#[derive(Debug)]
pub(super) struct BlockWriter {
    codec: HeadCodec,
    encoder: BlockEncoder,
    front: Spool,
    body: Spool,
}

impl BlockWriter {
    /// A writer whose first block has `first_head` as its lowest possible head.
    pub(super) fn new(codec: HeadCodec, first_head: u64, folder: &ScratchFolder) -> Self {
        let (front, body) = (Spool::new(folder), Spool::new(folder));
        BlockWriter { codec, encoder: codec.encoder(first_head), front, body }
    }

    /// Begins another block; the current block must be empty.
    pub(super) fn begin(&mut self, first_head: u64) {
        self.encoder = self.codec.encoder(first_head);
    }

    /// The number of values in the current block.
    pub(super) fn value_count(&self) -> u64 {
        self.encoder.value_count()
    }

    /// Appends a head; it must not be below the head before it.
    #[inline]
    pub(super) fn push(&mut self, head: u64) -> Result<()> {
        if self.encoder.needs_checkpoint() {
            self.encoder.checkpoint(self.body.len(), self.front.tail());
            self.front.spill_if_full()?;
        }
        if self.encoder.value_count().is_multiple_of(SPILL_INTERVAL) {
            self.body.spill_if_full()?;
        }
        self.encoder.push(head, self.body.tail());
        Ok(())
    }

    /// Passes the bytes of the current block to `out` and begins the next block.
    pub(super) fn close(
        &mut self,
        next_first_head: u64,
        mut out: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        if self.encoder.finish(next_first_head) {
            self.front.drain(&mut out)?;
        } else {
            self.front.tail().clear();
        }
        self.body.drain(out)
    }
}
