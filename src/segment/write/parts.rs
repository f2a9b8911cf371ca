//! Encodes a table in parts, on several threads.
//!
//! A part consists of whole blocks, so its bytes depend on no other part; only its tails may begin
//! inside a byte. A block that is longer than a part is encoded on one thread, as its values
//! arrive.

use super::blocks::{BlocksEncoder, Sink};
use crate::base::error::Result;
use crate::bytes::packing::Packer;
use crate::bytes::permutation::{Permutation, Permuted};
use crate::bytes::set_sum::SetSum;
use crate::format::descriptor::TableDescriptor;
use fpstore_disk::ScratchFolder;

/// The approximate number of values in a part; encoding takes a thread some tenths of a
/// millisecond.
pub(super) const PART_COUNT: usize = if cfg!(test) { 40 } else { 1 << 13 };

/// A part of the values of a table; it begins where the previous part ends.
pub(super) enum Part {
    /// Whole blocks, with the rank of the first value.
    Blocks { values: Vec<u64>, rank: u64 },
    /// Values of a long block; the next part may contain more of them.
    Long(Vec<u64>),
}

/// Cuts ascending values into parts of whole blocks.
pub(super) struct Cutter {
    descriptor: TableDescriptor,
    waiting: Vec<u64>,
    /// The rank of the first value in `waiting`.
    rank: u64,
    /// The number of the long block that the last part belongs to, if it is [`Part::Long`].
    long: Option<u64>,
}

impl Cutter {
    pub(super) fn new(descriptor: TableDescriptor) -> Self {
        Cutter { descriptor, waiting: Vec::new(), rank: 0, long: None }
    }

    /// Takes values, and passes complete parts to `give`.
    pub(super) fn push(
        &mut self,
        values: &[u64],
        give: &mut dyn FnMut(Part) -> Result<()>,
    ) -> Result<()> {
        self.waiting.extend_from_slice(values);
        if self.waiting.len() < PART_COUNT {
            return Ok(());
        }
        self.end_long(give)?;
        let Some(&last) = self.waiting.last() else { return Ok(()) };
        let block = self.descriptor.block_of(last);
        match self.count_before(block) {
            0 if self.waiting.len() >= PART_COUNT => {
                self.long = Some(block);
                self.give(self.waiting.len(), give)
            }
            0 => Ok(()),
            whole => self.give(whole, give),
        }
    }

    /// Passes the remaining values to `give`.
    pub(super) fn finish(mut self, give: &mut dyn FnMut(Part) -> Result<()>) -> Result<()> {
        self.end_long(give)?;
        self.give(self.waiting.len(), give)
    }

    /// Passes the remaining values of the long block to `give`.
    fn end_long(&mut self, give: &mut dyn FnMut(Part) -> Result<()>) -> Result<()> {
        let Some(long) = self.long else { return Ok(()) };
        self.give(self.count_before(long + 1), give)?;
        if !self.waiting.is_empty() {
            self.long = None;
        }
        Ok(())
    }

    /// The number of waiting values in blocks before `block`.
    fn count_before(&self, block: u64) -> usize {
        self.waiting.partition_point(|&value| self.descriptor.block_of(value) < block)
    }

    fn give(&mut self, count: usize, give: &mut dyn FnMut(Part) -> Result<()>) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let left = self.waiting.split_off(count);
        let values = std::mem::replace(&mut self.waiting, left);
        let rank = self.rank;
        self.rank += count as u64;
        give(if self.long.is_some() { Part::Long(values) } else { Part::Blocks { values, rank } })
    }
}

pub(super) enum Encoded {
    Blocks(EncodedBlocks),
    Long(Vec<u64>),
}

/// The encoded bytes of a part of whole blocks.
#[derive(Default)]
pub(super) struct EncodedBlocks {
    /// The number of the first block.
    pub(super) first: u64,
    /// The tails. In the first byte, the bits of the tails of the previous part are 0.
    pub(super) tails: Vec<u8>,
    /// The last bits of the tails, fewer than a byte.
    pub(super) packer: Packer,
    pub(super) heads: Vec<u8>,
    /// For each block, the end of its heads in `heads` and its number of values.
    pub(super) ends: Vec<(usize, u64)>,
    /// The set sum of the values, if requested.
    pub(super) set_sum: SetSum,
}

impl Part {
    /// Encodes the part; if given a permutation, also computes the set sum of the fingerprints.
    pub(super) fn encode(
        self,
        descriptor: TableDescriptor,
        summed: Option<&Permutation>,
        scratch: &ScratchFolder,
    ) -> Result<Encoded> {
        let (values, rank) = match self {
            Part::Blocks { values, rank } => (values, rank),
            Part::Long(values) => return Ok(Encoded::Long(values)),
        };
        let (Some(&first), Some(&last)) = (values.first(), values.last()) else {
            return Ok(Encoded::Long(values));
        };
        let (first, last) = (descriptor.block_of(first), descriptor.block_of(last));
        let packer = Packer::after(rank, descriptor.stored_bits());
        let mut encoder = BlocksEncoder::new(descriptor, first, packer, scratch);
        let mut blocks = EncodedBlocks { first, ..EncodedBlocks::default() };
        if let Some(permutation) = summed {
            blocks.set_sum = sum_of(&values, permutation);
        }
        encoder.push_all(&values, &mut blocks)?;
        encoder.close_before(last + 1, &mut blocks)?;
        blocks.packer = encoder.into_packer();
        Ok(Encoded::Blocks(blocks))
    }
}

/// The set sum of the fingerprints whose permuted values are given.
pub(super) fn sum_of(values: &[u64], permutation: &Permutation) -> SetSum {
    let mut sum = SetSum::default();
    sum.add_all(values, |value| permutation.invert(Permuted(value)).value());
    sum
}

impl Sink for EncodedBlocks {
    fn tails(&mut self) -> &mut Vec<u8> {
        &mut self.tails
    }

    fn heads(&mut self, bytes: &[u8]) -> Result<()> {
        self.heads.extend_from_slice(bytes);
        Ok(())
    }

    fn end_block(&mut self, value_count: u64) -> Result<()> {
        self.ends.push((self.heads.len(), value_count));
        Ok(())
    }
}
