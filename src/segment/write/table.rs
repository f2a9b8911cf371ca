//! Encoding a table: values are split into heads and tails, and heads into blocks.

use super::block::BlockWriter;
use super::keys::KeySorter;
use super::output::Output;
use super::section::SectionWriter;
use crate::base::error::Result;
use crate::bytes::packing::Packer;
use crate::disk::ScratchFolder;
use crate::format::descriptor::TableDescriptor;
use crate::format::prefix_index::IndexWriter;
use std::io::{Seek, Write};

pub(super) struct TableEncoder {
    keys: KeySorter,
    blocks: BlockEncoding,
}

/// The keys of a table, on their way into its sections.
struct BlockEncoding {
    descriptor: TableDescriptor,
    stored_bits: u32,
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
        let blocks = BlockEncoding {
            descriptor,
            stored_bits: descriptor.stored_bits(),
            entries,
            tails,
            heads,
            index_writer: IndexWriter::default(),
            packer: Packer::new(descriptor.stored_bits()),
            block: 0,
            block_writer: BlockWriter::new(descriptor.codec, 0, scratch),
            rank_end: 0,
        };
        TableEncoder { keys: KeySorter::new(descriptor), blocks }
    }

    pub(super) fn push_all(
        &mut self,
        values: &[u64],
        out: &mut Output<impl Write + Seek>,
    ) -> Result<()> {
        let TableEncoder { keys, blocks } = self;
        if blocks.descriptor.is_whole() {
            for &value in values {
                blocks.push(value, out)?;
            }
        } else {
            for &value in values {
                keys.push(value, |key| blocks.push(key, out))?;
            }
        }
        blocks.tails.spill(out)
    }

    /// Closes all blocks left: the sections in file order, and the overflow entries.
    pub(super) fn finish(
        mut self,
        value_count: u64,
        out: &mut Output<impl Write + Seek>,
    ) -> Result<([SectionWriter; 3], Vec<u8>)> {
        let blocks = &mut self.blocks;
        self.keys.finish(|key| blocks.push(key, out))?;
        debug_assert_eq!(blocks.rank_end + blocks.block_writer.value_count(), value_count);
        self.blocks.finish(out)
    }
}

impl BlockEncoding {
    /// Appends the next key: of a table that is whole, the value.
    #[inline]
    fn push(&mut self, key: u64, out: &mut Output<impl Write + Seek>) -> Result<()> {
        let head = key >> self.stored_bits;
        let block = head.checked_shr(self.descriptor.inner_bits()).unwrap_or(0);
        while self.block < block {
            self.close_block(out)?;
        }
        self.block_writer.push(head)?;
        self.packer.push(key, &mut self.tails.pending);
        Ok(())
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

    fn finish(
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
