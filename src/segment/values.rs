//! Reads all values, or all keys, of a table in ascending order.

use std::ops::Range;

use crate::base::error::{Error, Fault, Result};
use crate::base::section::{BlockIndex, Rank};
use crate::bytes::packing::{self, Packed};
use crate::bytes::permutation::Permuted;
use crate::format::codec::Heads;
use crate::segment::{TableReader, WholeTable};

/// The largest number of values decoded at once.
const RUN_MAX: usize = 256;

/// A cursor over the values of a table. It ends at the first error.
///
/// It checks that each value exceeds the value before, and that the number of values is the
/// number in the header.
pub(crate) struct Values<'a> {
    reader: TableReader<'a>,
    next_block: u64,
    /// The number of the first block after the blocks to read.
    end_block: u64,
    /// The unread heads of the current block.
    heads: Option<Heads<'a>>,
    last_head: u64,
    /// The end of the heads of all opened blocks, in the heads section.
    heads_end: u64,
    /// The rank after the last decoded value.
    rank: u64,
    before: Option<u64>,
    /// Whether neighbouring keys can be equal. True for a table with syndromes: values that differ
    /// only in the bits that a syndrome replaces can have the same key.
    may_repeat: bool,
    failed: bool,
    run: [u64; RUN_MAX],
    run_len: usize,
    /// The number of values of the current run that the iterator has returned.
    given: usize,
}

impl<'a> WholeTable<'a> {
    /// All values of the table in ascending order.
    pub(crate) fn values(self) -> Values<'a> {
        Values::of(*self, false)
    }
}

impl<'a> TableReader<'a> {
    /// All values of the table in ascending order; for a table with syndromes, their keys. A key is
    /// a value with its hashed bits replaced by their syndrome.
    pub(crate) fn values_or_keys(self) -> Values<'a> {
        Values::of(self, !self.descriptor.is_whole())
    }
}

impl<'a> Values<'a> {
    fn of(reader: TableReader<'a>, may_repeat: bool) -> Self {
        Values {
            reader,
            may_repeat,
            next_block: 0,
            end_block: reader.descriptor.block_count(),
            heads: None,
            last_head: 0,
            heads_end: 0,
            rank: 0,
            before: None,
            failed: false,
            run: [0; RUN_MAX],
            run_len: 0,
            given: 0,
        }
    }

    /// Only those in a range of blocks.
    pub(crate) fn within(self, blocks: Range<BlockIndex>) -> Result<Self> {
        let span = self.reader.span(blocks.start)?;
        let (next_block, heads_end, rank) = (blocks.start.0, span.heads_start, span.rank_start);
        Ok(Values { next_block, end_block: blocks.end.0, heads_end, rank, ..self })
    }
}

impl<'a> WholeTable<'a> {
    /// All values from the block of `from` on, in ascending order; the first ones can be smaller
    /// than `from`.
    pub(crate) fn values_near(self, from: Permuted) -> Result<Values<'a>> {
        self.values_from(self.block_of(from))
    }

    /// All values from a block on, in ascending order.
    fn values_from(self, block: BlockIndex) -> Result<Values<'a>> {
        self.values_of(block..BlockIndex(self.descriptor.block_count()))
    }

    /// The values in a range of blocks, in ascending order.
    pub(crate) fn values_of(self, blocks: Range<BlockIndex>) -> Result<Values<'a>> {
        self.values().within(blocks)
    }

    /// Calls `each` with the runs of values that can be read, in ascending order, and with the rank
    /// of the first value of each run. Skips damaged blocks.
    #[cfg(feature = "write")]
    pub(crate) fn for_each_readable(
        self,
        mut each: impl FnMut(Rank, &[u64]) -> Result<()>,
    ) -> Result<()> {
        let count = self.descriptor.block_count();
        let mut block = 0;
        while block < count {
            let mut values = match self.values_from(BlockIndex(block)) {
                Err(Error::Corrupt { .. }) => {
                    block += 1;
                    continue;
                }
                values => values?,
            };
            block = loop {
                match values.next_run() {
                    Ok(Some((rank, run))) => each(rank, run)?,
                    Ok(None) => return Ok(()),
                    // Reading can continue at the next block, because the index stores its start.
                    Err(Error::Corrupt { .. }) => break values.next_block.max(block + 1),
                    Err(error) => return Err(error),
                }
            };
        }
        Ok(())
    }
}

impl Values<'_> {
    /// The next run of values, and the rank of its first value; `None` at the end. Faster than the
    /// iterator, which returns the same values one by one.
    pub(crate) fn next_run(&mut self) -> Result<Option<(Rank, &[u64])>> {
        let first = Rank(self.rank);
        self.run_len = 0;
        while self.run_len == 0 {
            if self.heads.is_none() && !self.open_block()? {
                return Ok(None);
            }
            self.decode_heads()?;
        }
        self.join_tails(first)?;
        self.rank += self.run_len as u64;
        Ok(Some((first, self.run())))
    }

    fn run(&self) -> &[u64] {
        self.run.get(..self.run_len).unwrap_or_default()
    }

    /// Opens the next block; returns `false` after the last block.
    fn open_block(&mut self) -> Result<bool> {
        if self.next_block == self.end_block {
            let ends = if self.end_block == self.reader.descriptor.block_count() {
                (self.reader.segment.header().fingerprint_count, self.reader.heads.len)
            } else {
                let span = self.reader.span(BlockIndex(self.end_block))?;
                (span.rank_start, span.heads_start)
            };
            if (self.rank, self.heads_end) != ends {
                return Err(self.fault(15, "the blocks end before the last value or byte"));
            }
            return Ok(false);
        }
        let block = BlockIndex(self.next_block);
        let span = self.reader.span(block)?;
        if (span.rank_start, span.heads_start) != (self.rank, self.heads_end) {
            return Err(self.fault(15, "there is a gap between blocks"));
        }
        self.heads_end = span.heads_end;
        self.next_block += 1;
        if span.value_count() == 0 {
            if span.heads_start != span.heads_end {
                return Err(self.fault(15, "a block without values has bytes"));
            }
        } else {
            let opened = self.reader.block(block, &span)?;
            self.heads = Some(opened.heads());
            self.last_head = self.reader.last_head(block);
        }
        Ok(true)
    }

    /// Decodes the next heads of the open block into the run.
    fn decode_heads(&mut self) -> Result<()> {
        let Some(heads) = &mut self.heads else { return Ok(()) };
        let filled = heads.fill(&mut self.run);
        self.run_len = filled.map_err(|fault| self.reader.corrupt(&self.reader.heads, 0, fault))?;
        if self.run_len < RUN_MAX {
            if !heads.ended_well() {
                return Err(self.fault(15, "a block has bytes after its last head"));
            }
            self.heads = None;
        }
        // The heads of a block ascend, so it suffices to check the last head of the run.
        match self.run().last() {
            Some(&head) if head > self.last_head => Err(self.fault(14, "a head of another block")),
            _ => Ok(()),
        }
    }

    /// Joins the heads of the run with their tails, which are adjacent in the tails section.
    fn join_tails(&mut self, first: Rank) -> Result<()> {
        let width = self.reader.stored_bits;
        let end = first.0 + self.run_len as u64;
        if width > 0 {
            let from = packing::load_offset(first.0, width);
            let len = packing::load_offset(end - 1, width) - from + packing::GUARD_LEN;
            let tails = Packed { bytes: self.reader.bytes(&self.reader.tails, from, len)?, width };
            // The section was checked to have the bytes of the last tail, so every tail exists.
            let run = self.run.get_mut(..self.run_len).unwrap_or_default();
            for (value, tail) in run.iter_mut().zip(tails.from(first.0)) {
                *value = *value << width | tail;
            }
        }
        let run = self.run();
        let joined = match (self.before, run.first()) {
            (Some(before), Some(&first)) => before < first || (self.may_repeat && before == first),
            _ => true,
        };
        if self.may_repeat {
            if !joined || !run.is_sorted() {
                return Err(self.fault(12, "keys are not ascending"));
            }
        } else if !joined || !run.is_sorted_by(|a, b| a < b) {
            return Err(self.fault(12, "values are not strictly ascending"));
        }
        self.before = run.last().copied();
        Ok(())
    }

    #[cold]
    fn fault(&self, rule: u8, detail: &str) -> Error {
        let detail = format!("{detail}, at value {}", self.rank);
        self.reader.corrupt(&self.reader.heads, 0, Fault::rule(rule, detail))
    }
}

impl Iterator for Values<'_> {
    type Item = Result<(Rank, Permuted)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        if self.given == self.run_len {
            self.given = 0;
            match self.next_run() {
                Ok(Some(_)) => {}
                Ok(None) => {
                    self.failed = true;
                    return None;
                }
                Err(error) => {
                    self.failed = true;
                    return Some(Err(error));
                }
            }
        }
        let rank = Rank(self.rank - (self.run_len - self.given) as u64);
        let value = self.run().get(self.given).copied().map(Permuted)?;
        self.given += 1;
        Some(Ok((rank, value)))
    }
}
