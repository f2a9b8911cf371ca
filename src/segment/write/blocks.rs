//! Encodes keys into blocks: the bytes of each section of a table.

use super::keys::KeySorter;
use crate::base::error::Result;
use crate::bytes::packing::Packer;
use crate::format::codec::BlockEncoder;
use crate::format::descriptor::TableDescriptor;
use fpstore_disk::{ScratchFolder, Spool};

/// Interval, in values of a block, between checks whether its bytes must be moved to a file.
const SPILL_INTERVAL: u64 = 128;

/// Receives the output of a [`BlocksEncoder`].
pub(super) trait Sink {
    /// The tails section so far; the encoder appends to it.
    fn tails(&mut self) -> &mut Vec<u8>;

    /// Receives the next bytes of the heads section.
    fn heads(&mut self, bytes: &[u8]) -> Result<()>;

    /// Ends a block that has `value_count` values, perhaps 0.
    fn end_block(&mut self, value_count: u64) -> Result<()>;
}

/// Encodes the ascending values of a table into its blocks.
pub(super) struct BlocksEncoder {
    keys: KeySorter,
    open: OpenBlock,
}

/// The block that is being encoded. The bytes of a long block are kept in temporary files.
struct OpenBlock {
    descriptor: TableDescriptor,
    stored_bits: u32,
    packer: Packer,
    number: u64,
    encoder: BlockEncoder,
    front: Spool,
    body: Spool,
}

impl BlocksEncoder {
    /// An encoder that starts at block `number`; its tails follow the bits in `packer`.
    pub(super) fn new(
        descriptor: TableDescriptor,
        number: u64,
        packer: Packer,
        scratch: &ScratchFolder,
    ) -> Self {
        let stored_bits = descriptor.stored_bits();
        let encoder = descriptor.codec.encoder(descriptor.first_head(number));
        let (front, body) = (Spool::new(scratch), Spool::new(scratch));
        let open = OpenBlock { descriptor, stored_bits, packer, number, encoder, front, body };
        BlocksEncoder { keys: KeySorter::new(descriptor), open }
    }

    pub(super) fn push_all(&mut self, values: &[u64], sink: &mut impl Sink) -> Result<()> {
        let BlocksEncoder { keys, open } = self;
        if open.descriptor.is_whole() {
            return values.iter().try_for_each(|&value| open.push(value, sink));
        }
        values.iter().try_for_each(|&value| keys.push(value, |key| open.push(key, sink)))
    }

    /// Ends all blocks before `number`; blocks without values are empty.
    pub(super) fn close_before(&mut self, number: u64, sink: &mut impl Sink) -> Result<()> {
        let BlocksEncoder { keys, open } = self;
        keys.finish(|key| open.push(key, sink))?;
        while open.number < number {
            open.close(sink)?;
        }
        Ok(())
    }

    /// Continues at block `number`, because another encoder has written the blocks before it. The
    /// current block must be empty.
    pub(super) fn go_on_at(&mut self, number: u64) {
        let OpenBlock { descriptor, encoder, .. } = &mut self.open;
        debug_assert_eq!(encoder.value_count(), 0);
        *encoder = descriptor.codec.encoder(descriptor.first_head(number));
        self.open.number = number;
    }

    /// The last bits of the tails, which do not fill a byte yet.
    pub(super) fn packer(&mut self) -> &mut Packer {
        &mut self.open.packer
    }

    /// Ends the encoding and returns the last bits of the tails.
    pub(super) fn into_packer(self) -> Packer {
        self.open.packer
    }
}

impl OpenBlock {
    /// Appends the next key; in a table with whole values, the key is the value.
    #[inline]
    fn push(&mut self, key: u64, sink: &mut impl Sink) -> Result<()> {
        let head = key >> self.stored_bits;
        let number = head.checked_shr(self.descriptor.inner_bits()).unwrap_or(0);
        while self.number < number {
            self.close(sink)?;
        }
        if self.encoder.needs_checkpoint() {
            self.encoder.checkpoint(self.body.len(), self.front.tail());
            self.front.spill_if_full()?;
        }
        if self.encoder.value_count().is_multiple_of(SPILL_INTERVAL) {
            self.body.spill_if_full()?;
        }
        self.encoder.push(head, self.body.tail());
        self.packer.push(key, sink.tails());
        Ok(())
    }

    /// Passes the bytes of the block to `sink` and begins the next block.
    fn close(&mut self, sink: &mut impl Sink) -> Result<()> {
        let value_count = self.encoder.value_count();
        self.number += 1;
        if self.encoder.finish(self.descriptor.first_head(self.number)) {
            self.front.drain(|bytes| sink.heads(bytes))?;
        } else {
            self.front.tail().clear();
        }
        self.body.drain(|bytes| sink.heads(bytes))?;
        sink.end_block(value_count)
    }
}
