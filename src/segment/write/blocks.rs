//! Keys into blocks: what the sections of a table get for each of its values.

use super::block::BlockWriter;
use super::keys::KeySorter;
use crate::base::error::Result;
use crate::bytes::packing::Packer;
use crate::format::descriptor::TableDescriptor;
use fpstore_disk::ScratchFolder;

/// Takes what a [`BlocksEncoder`] makes.
pub(super) trait Sink {
    /// The tails so far; the encoder appends to them.
    fn tails(&mut self) -> &mut Vec<u8>;

    /// Takes the next bytes of heads.
    fn heads(&mut self, bytes: &[u8]) -> Result<()>;

    /// Ends a block of `value_count` values, which may be 0.
    fn end_block(&mut self, value_count: u64) -> Result<()>;
}

/// Encodes the values of a table, ascending, into its blocks.
pub(super) struct BlocksEncoder {
    keys: KeySorter,
    open: OpenBlock,
}

/// The block that is being filled.
struct OpenBlock {
    descriptor: TableDescriptor,
    stored_bits: u32,
    packer: Packer,
    number: u64,
    writer: BlockWriter,
}

impl BlocksEncoder {
    /// An encoder of the blocks from `number` on, whose tails go on after those of `packer`.
    pub(super) fn new(
        descriptor: TableDescriptor,
        number: u64,
        packer: Packer,
        scratch: &ScratchFolder,
    ) -> Self {
        let first_head = descriptor.first_head(number);
        let writer = BlockWriter::new(descriptor.codec, first_head, scratch);
        let stored_bits = descriptor.stored_bits();
        let open = OpenBlock { descriptor, stored_bits, packer, number, writer };
        BlocksEncoder { keys: KeySorter::new(descriptor), open }
    }

    /// Appends values.
    pub(super) fn push_all(&mut self, values: &[u64], sink: &mut impl Sink) -> Result<()> {
        let BlocksEncoder { keys, open } = self;
        if open.descriptor.is_whole() {
            return values.iter().try_for_each(|&value| open.push(value, sink));
        }
        values.iter().try_for_each(|&value| keys.push(value, |key| open.push(key, sink)))
    }

    /// Closes the blocks before `number`: those that are left up to there have no values.
    pub(super) fn close_before(&mut self, number: u64, sink: &mut impl Sink) -> Result<()> {
        let BlocksEncoder { keys, open } = self;
        keys.finish(|key| open.push(key, sink))?;
        while open.number < number {
            open.close(sink)?;
        }
        Ok(())
    }

    /// Goes on at block `number`, where another encoder has written the blocks up to there. The open
    /// block must have no values.
    pub(super) fn go_on_at(&mut self, number: u64) {
        debug_assert_eq!(self.open.writer.value_count(), 0);
        self.open.number = number;
        self.open.writer.begin(self.open.descriptor.first_head(number));
    }

    /// The bits of tails that make no whole byte yet.
    pub(super) fn packer(&mut self) -> &mut Packer {
        &mut self.open.packer
    }

    /// Ends the tails: the bits that are left.
    pub(super) fn into_packer(self) -> Packer {
        self.open.packer
    }
}

impl OpenBlock {
    /// Appends the next key: of a table that is whole, the value.
    #[inline]
    fn push(&mut self, key: u64, sink: &mut impl Sink) -> Result<()> {
        let head = key >> self.stored_bits;
        let number = head.checked_shr(self.descriptor.inner_bits()).unwrap_or(0);
        while self.number < number {
            self.close(sink)?;
        }
        self.writer.push(head)?;
        self.packer.push(key, sink.tails());
        Ok(())
    }

    fn close(&mut self, sink: &mut impl Sink) -> Result<()> {
        let value_count = self.writer.value_count();
        self.number += 1;
        let next_first = self.descriptor.first_head(self.number);
        self.writer.close(next_first, |bytes| sink.heads(bytes))?;
        sink.end_block(value_count)
    }
}
