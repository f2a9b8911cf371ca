//! Encodes a table: splits values into heads and tails, and groups the heads into blocks.

use std::io::{Seek, Write};

use super::blocks::{BlocksEncoder, Sink};
use super::parts::{Cutter, Encoded, EncodedBlocks, PART_COUNT, Part, sum_of};
use super::section::{Output, SectionWriter};
use crate::base::error::Result;
use crate::base::in_order::in_order;
use crate::bytes::packing::Packer;
use crate::bytes::permutation::Permutation;
use crate::bytes::set_sum::SetSum;
use crate::format::descriptor::TableDescriptor;
use crate::format::prefix_index::IndexWriter;
use fpstore_disk::ScratchFolder;

/// Encodes one table into its three sections.
pub(super) struct TableEncoder<'a, W> {
    descriptor: TableDescriptor,
    blocks: BlocksEncoder,
    sections: TableSections<'a, W>,
    /// The permutation of the table, if the set sum of the fingerprints is requested.
    summed: Option<Permutation>,
    set_sum: SetSum,
    scratch: &'a ScratchFolder,
}

/// The sections of a table while they are written.
struct TableSections<'a, W> {
    out: &'a mut Output<W>,
    entries: SectionWriter,
    tails: SectionWriter,
    heads: SectionWriter,
    index_writer: IndexWriter,
    /// The rank after the last value of the last ended block.
    rank_end: u64,
}

/// A table after encoding.
pub(super) struct EncodedTable {
    /// The sections of index entries, tails and heads, in file order.
    pub(super) sections: [SectionWriter; 3],
    /// The bytes of all overflow entries.
    pub(super) overflow: Vec<u8>,
    /// The set sum of the fingerprints, if requested.
    pub(super) set_sum: SetSum,
}

impl<'a, W: Write + Seek> TableEncoder<'a, W> {
    /// An encoder that writes index entries, tails and heads to these sections. With `summed`, it
    /// also computes the set sum of the fingerprints.
    pub(super) fn new(
        descriptor: TableDescriptor,
        [entries, tails, heads]: [SectionWriter; 3],
        summed: bool,
        out: &'a mut Output<W>,
        scratch: &'a ScratchFolder,
    ) -> Self {
        let packer = Packer::new(descriptor.stored_bits());
        let index_writer = IndexWriter::default();
        TableEncoder {
            descriptor,
            blocks: BlocksEncoder::new(descriptor, 0, packer, scratch),
            sections: TableSections { out, entries, tails, heads, index_writer, rank_end: 0 },
            summed: summed.then(|| Permutation::new(descriptor.mask.0)),
            set_sum: SetSum::default(),
            scratch,
        }
    }

    /// Encodes `count` values, which `values` passes to its argument in runs. Worker threads encode
    /// whole blocks, and the calling thread writes their bytes in order.
    pub(super) fn encode(
        mut self,
        count: u64,
        threads: usize,
        values: impl FnOnce(&mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()>,
    ) -> Result<EncodedTable> {
        let part_count = usize::try_from(count).unwrap_or(usize::MAX) / PART_COUNT;
        let threads = threads.min(part_count);
        if threads < 2 {
            values(&mut |values| self.push_all(values))?;
        } else {
            let (descriptor, scratch, summed) =
                (self.descriptor, self.scratch, self.summed.clone());
            let worker = || |part: Part| part.encode(descriptor, summed.as_ref(), scratch);
            let mut cutter = Cutter::new(descriptor);
            let source = |give: &mut dyn FnMut(Part) -> Result<()>| {
                values(&mut |values| cutter.push(values, give))?;
                cutter.finish(give)
            };
            in_order(threads, worker, source, |encoded| match encoded {
                Encoded::Blocks(blocks) => self.append(blocks),
                Encoded::Long(values) => self.push_all(&values),
            })?;
        }
        self.finish(count)
    }

    fn push_all(&mut self, values: &[u64]) -> Result<()> {
        if let Some(permutation) = &self.summed {
            self.set_sum.join(sum_of(values, permutation));
        }
        self.blocks.push_all(values, &mut self.sections)?;
        self.sections.spill_tails()
    }

    fn append(&mut self, blocks: EncodedBlocks) -> Result<()> {
        let EncodedBlocks { first, tails, packer, heads, ends, set_sum } = blocks;
        let sections = &mut self.sections;
        self.set_sum.join(set_sum);
        self.blocks.close_before(first, sections)?;
        self.blocks.packer().append(&tails, packer, &mut sections.tails.pending);
        sections.spill_tails()?;
        let before = sections.heads.len();
        sections.heads(&heads)?;
        for &(end, value_count) in &ends {
            sections.end_block_at(before + end as u64, value_count)?;
        }
        self.blocks.go_on_at(first + ends.len() as u64);
        Ok(())
    }

    /// Ends all remaining blocks.
    fn finish(mut self, value_count: u64) -> Result<EncodedTable> {
        let mut sections = self.sections;
        self.blocks.close_before(self.descriptor.block_count(), &mut sections)?;
        debug_assert_eq!(sections.rank_end, value_count);
        let TableSections { mut entries, mut tails, heads, index_writer, .. } = sections;
        self.blocks.into_packer().finish(&mut tails.pending);
        let overflow = index_writer.finish(&mut entries.pending);
        Ok(EncodedTable { sections: [entries, tails, heads], overflow, set_sum: self.set_sum })
    }
}

impl<W: Write + Seek> TableSections<'_, W> {
    fn spill_tails(&mut self) -> Result<()> {
        self.tails.spill(self.out)
    }

    /// Ends a block; `heads_end` is the end of its heads in the heads section.
    fn end_block_at(&mut self, heads_end: u64, value_count: u64) -> Result<()> {
        self.rank_end += value_count;
        self.index_writer.push(heads_end, self.rank_end, &mut self.entries.pending);
        self.entries.spill(self.out)
    }
}

impl<W: Write + Seek> Sink for TableSections<'_, W> {
    fn tails(&mut self) -> &mut Vec<u8> {
        &mut self.tails.pending
    }

    fn heads(&mut self, bytes: &[u8]) -> Result<()> {
        self.heads.pending.extend_from_slice(bytes);
        self.heads.spill(self.out)
    }

    fn end_block(&mut self, value_count: u64) -> Result<()> {
        self.end_block_at(self.heads.len(), value_count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::section::{Section, TableIndex};
    use crate::bytes::packing::packed_len;
    use crate::format::codec::HeadCodec;
    use crate::format::descriptor::TableMask;
    use crate::format::prefix_index;
    use proptest::prelude::*;
    use std::io::Cursor;

    /// Encodes a table. Returns the bytes of its sections, its overflow entries and the set sum of
    /// its fingerprints (an order-independent checksum).
    fn encoded(
        descriptor: TableDescriptor,
        values: &[u64],
        run: usize,
        threads: usize,
    ) -> (Vec<u8>, Vec<u8>, SetSum) {
        let mut out = Output { file: Cursor::new(Vec::new()), path: "table".into() };
        let scratch = ScratchFolder::new("".into());
        let count = values.len() as u64;
        let lens = [
            prefix_index::section_len(descriptor.block_bits),
            packed_len(count, descriptor.stored_bits()).unwrap(),
        ];
        let table = TableIndex(0);
        let entries = SectionWriter::new(Section::PrefixIndex(table), 0);
        let tails = SectionWriter::new(Section::Tails(table), entries.offset_after(lens[0]));
        let heads = SectionWriter::new(Section::Heads(table), tails.offset_after(lens[1]));
        let sections = [entries, tails, heads];
        let encoder = TableEncoder::new(descriptor, sections, true, &mut out, &scratch);
        let pass =
            |take: &mut dyn FnMut(&[u64]) -> Result<()>| values.chunks(run).try_for_each(take);
        let EncodedTable { sections, overflow, set_sum } =
            encoder.encode(count, threads, pass).unwrap();
        let lens = lens.into_iter().map(Some).chain([None]);
        for (section, len) in sections.into_iter().zip(lens) {
            let (place, _) = section.finish(&mut out).unwrap();
            assert_eq!(place.len, len.unwrap_or(place.len));
        }
        (out.file.into_inner(), overflow, set_sum)
    }

    fn check(values: Vec<u64>, block_bits: u32, tail_bits: u32, syndrome_bits: u32, run: usize) {
        let (codec, mask) = (HeadCodec::Varint, TableMask(0xffff_ffff_ff00_0000));
        let descriptor = TableDescriptor { mask, codec, tail_bits, block_bits, syndrome_bits };
        let alone = encoded(descriptor, &values, 4096, 1);
        for threads in [2, 5] {
            assert!(encoded(descriptor, &values, run, threads) == alone, "{descriptor:?}");
        }
    }

    proptest! {
        /// `low` values share few blocks, so that some of these blocks are longer than a part.
        #[test]
        fn threads_write_the_bytes_that_one_writes(
            low in prop::collection::btree_set(0..1_u64 << 34, 0..400),
            high in prop::collection::btree_set(any::<u64>(), 0..400),
            (block_bits, tail_bits) in prop_oneof![Just((0, 30)), (1..12_u32, 24..50_u32)],
            syndrome_bits in prop_oneof![Just(0), Just(11)],
            run in 1..200_usize,
        ) {
            let values = low.union(&high).copied().collect();
            check(values, block_bits, tail_bits, syndrome_bits, run);
        }
    }

    #[test]
    fn threads_write_blocks_of_any_length() {
        let n = 6 * PART_COUNT as u64;
        for shift in [0, 20, 50] {
            for start in [0, 3 << 60, u64::MAX - (n << shift)] {
                let values: Vec<u64> = (0..n).map(|at| start + (at << shift)).collect();
                for block_bits in [0, 4, 10] {
                    check(values.clone(), block_bits, 40, 0, 7);
                    check(values.clone(), block_bits, 40, 11, 1000);
                }
            }
        }
    }
}
