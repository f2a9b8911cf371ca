//! Encoding a table: values are split into heads and tails, and heads into blocks.

use super::block::BlockWriter;
use super::output::Output;
use super::section::SectionWriter;
use crate::base::error::Result;
use crate::bytes::packing::Packer;
use crate::disk::ScratchFolder;
use crate::format::header::TableDescriptor;
use crate::format::prefix_index::IndexWriter;
use std::io::{Seek, Write};

pub(super) struct TableEncoder {
    descriptor: TableDescriptor,
    entries: SectionWriter,
    tails: SectionWriter,
    heads: SectionWriter,
    index_writer: IndexWriter,
    packer: Packer,
    /// The block being filled, and its heads.
    block: u64,
    block_writer: BlockWriter,
    /// The rank after the last value of the blocks that are closed.
    rank_end: u64,
}

impl TableEncoder {
    /// An encoder into the sections of entries, tails and heads.
    pub(super) fn new(
        descriptor: TableDescriptor,
        [entries, tails, heads]: [SectionWriter; 3],
        scratch: &ScratchFolder,
    ) -> Self {
        TableEncoder {
            descriptor,
            entries,
            tails,
            heads,
            index_writer: IndexWriter::default(),
            packer: Packer::new(descriptor.tail_bits),
            block: 0,
            block_writer: BlockWriter::new(descriptor.codec, 0, scratch),
            rank_end: 0,
        }
    }

    /// The values so far.
    pub(super) fn value_count(&self) -> u64 {
        self.rank_end + self.block_writer.value_count()
    }

    pub(super) fn push_all(
        &mut self,
        values: &[u64],
        out: &mut Output<impl Write + Seek>,
    ) -> Result<()> {
        let block_shift = 64 - self.descriptor.block_bits;
        for &value in values {
            let block = value.checked_shr(block_shift).unwrap_or(0);
            while self.block < block {
                self.close_block(out)?;
            }
            self.block_writer.push(value >> self.descriptor.tail_bits)?;
            self.packer.push(value, &mut self.tails.pending);
        }
        self.tails.spill(out)
    }

    fn close_block(&mut self, out: &mut Output<impl Write + Seek>) -> Result<()> {
        self.rank_end += self.block_writer.value_count();
        self.block += 1;
        let next_first = self.block.checked_shl(self.descriptor.inner_bits()).unwrap_or(0);
        let heads = &mut self.heads;
        self.block_writer.close(next_first, |bytes| {
            heads.pending.extend_from_slice(bytes);
            heads.spill(out)
        })?;
        self.index_writer.push(self.heads.len(), self.rank_end, &mut self.entries.pending);
        self.entries.spill(out)
    }

    /// Closes all blocks left: the sections in file order, and the overflow entries.
    pub(super) fn finish(
        mut self,
        out: &mut Output<impl Write + Seek>,
    ) -> Result<([SectionWriter; 3], Vec<u8>)> {
        while self.block < self.descriptor.block_count() {
            self.close_block(out)?;
        }
        self.packer.finish(&mut self.tails.pending);
        let overflow = self.index_writer.finish(&mut self.entries.pending);
        Ok(([self.entries, self.tails, self.heads], overflow))
    }
}
