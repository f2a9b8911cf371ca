//! Encoding blocks of heads, however long.

use crate::bytes::put_u64;
use crate::disk::{ScratchFolder, Spool};
use crate::error::Result;
use crate::format::heads::{LONG_BLOCK_MIN, RESTART_INTERVAL};
use crate::varint;

/// Encodes the heads of one block after the other.
#[derive(Debug)]
pub(crate) struct BlockWriter {
    before: u64,
    count: u64,
    restarts: Spool,
    gaps: Spool,
}

impl BlockWriter {
    /// A writer that begins a block; `first_head` is the lowest head that belongs there.
    pub(crate) fn new(first_head: u64, folder: &ScratchFolder) -> Self {
        let (restarts, gaps) = (Spool::new(folder), Spool::new(folder));
        BlockWriter { before: first_head, count: 0, restarts, gaps }
    }

    /// The values of the block so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Appends a head that is not below the one before.
    #[inline]
    pub(crate) fn push(&mut self, head: u64) -> Result<()> {
        if self.count.is_multiple_of(RESTART_INTERVAL) && self.count > 0 {
            let gaps_len = self.gaps.len();
            put_u64(self.restarts.tail(), self.before);
            put_u64(self.restarts.tail(), gaps_len);
            self.restarts.settle()?;
            self.gaps.settle()?;
        }
        varint::write(head - self.before, self.gaps.tail());
        self.before = head;
        self.count += 1;
        Ok(())
    }

    /// Hands the bytes of the block to `out` and begins the next one.
    pub(crate) fn close(
        &mut self,
        next_first_head: u64,
        mut out: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        if self.count > LONG_BLOCK_MIN {
            self.restarts.drain(&mut out)?;
        } else {
            self.restarts.tail().clear();
        }
        self.gaps.drain(out)?;
        self.before = next_first_head;
        self.count = 0;
        Ok(())
    }
}
