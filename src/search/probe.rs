//! Probing: every prefix within the radius of each table, in passes over all of them.
//!
//! A query waits for memory, not for arithmetic. So each pass asks for the bytes that the next
//! one needs before any of them is used: index lines, then heads, then tails.

use std::hint::black_box;

use crate::bits::packing;
use crate::bits::permutation::Permuted;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::header::TableDescriptor;
use crate::format::heads::{Block, Heads};
use crate::format::prefix_index::{self, BlockSpan};
use crate::scheme::{Radius, combinations_up_to};
use crate::search::flips::Flips;
use crate::search::searcher::Collector;
use crate::section::{BlockIndex, Rank, TableIndex};
use crate::segment::{Segment, Table};

/// Probes that share their passes; more would only make the scratch larger.
const PROBES_PER_PASS: usize = 512;
/// A block is walked whole if that reads fewer values than this for each of its ranges.
const VALUES_PER_RANGE: f64 = 128.0;

/// What probing needs and keeps from query to query.
#[derive(Debug, Default)]
pub(crate) struct ProbeScratch {
    entries: Vec<Entry>,
    probes: Vec<Probe>,
    candidates: Vec<Candidate>,
}

/// How the needle enters one table.
#[derive(Clone, Copy, Debug)]
struct Entry {
    table: TableIndex,
    mask: u64,
    radius: u32,
    needle: Permuted,
    needle_head: u64,
    /// Masked bits among those that name a block.
    leading: u32,
    /// Masked bits among the bits of a head.
    prefix_mask: u64,
    /// Masked bits of a head below those that name its block.
    inner_masked: u32,
    /// Bits of a head below the mask.
    inner_free: u32,
}

impl Entry {
    fn new(table: &Table, radius: u32, needle: Fingerprint) -> Self {
        let TableDescriptor { mask, tail_bits, block_bits } = table.descriptor;
        let prefix_bits = table.permutation.prefix_bits();
        let head_bits = table.descriptor.head_bits();
        let masked_in_head = prefix_bits.min(head_bits);
        let permuted = table.permutation.apply(needle);
        // A mask has at least one bit, so the shift is below 64.
        let prefix_mask = u64::MAX << (64 - prefix_bits) >> tail_bits;
        Entry {
            table: table.index,
            mask,
            radius,
            needle: permuted,
            needle_head: table.head_of(permuted),
            leading: prefix_bits.min(block_bits),
            prefix_mask,
            inner_masked: masked_in_head.saturating_sub(block_bits),
            inner_free: head_bits - masked_in_head.max(block_bits),
        }
    }
}

/// One block to look into.
#[derive(Clone, Copy, Debug)]
struct Probe {
    entry: usize,
    block: BlockIndex,
    /// Flips that may still be forgiven below the bits that name the block.
    spare: u32,
    span: BlockSpan,
}

/// A value whose head passed: its tail decides.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    entry: usize,
    rank: Rank,
    head: u64,
}

/// Finds everything within `collector.k` of its needle that probing with `radii` finds.
///
/// A match is reported by the first table that covers it, so each comes once.
pub(crate) fn probe<D: AsRef<[u8]>>(
    segment: &Segment<D>,
    radii: &[Radius],
    scratch: &mut ProbeScratch,
    collector: &mut Collector,
) -> Result<()> {
    scratch.entries.clear();
    scratch.probes.clear();
    scratch.candidates.clear();
    for (table, radius) in segment.tables().iter().zip(radii) {
        if let Some(radius) = *radius {
            scratch.entries.push(Entry::new(table, radius, collector.needle));
        }
    }
    let mut pass = Pass { segment, scratch, collector, touched: 0 };
    for number in 0..pass.scratch.entries.len() {
        pass.enter(number)?;
    }
    pass.run()
}

/// One run through index lines, heads and tails.
struct Pass<'a, D> {
    segment: &'a Segment<D>,
    scratch: &'a mut ProbeScratch,
    collector: &'a mut Collector,
    /// Bytes read only so that they are near when they are needed.
    touched: u8,
}

impl<D: AsRef<[u8]>> Pass<'_, D> {
    /// Lists the blocks of all prefixes within the radius of one table.
    fn enter(&mut self, number: usize) -> Result<()> {
        let entry = self.scratch.entries[number];
        let segment = self.segment;
        let Some(table) = segment.table(entry.table) else { return Ok(()) };
        // Where the mask is shorter than the name of a block, a prefix has many blocks.
        let free = table.descriptor.block_bits - entry.leading;
        let home = table.block_of(entry.needle).0 >> free;
        for (flips, weight) in Flips::new(entry.leading, entry.radius) {
            let first = (home ^ flips) << free;
            for block in (first..first + (1 << free)).map(BlockIndex) {
                self.touched ^= segment.touch(&table.lines, prefix_index::line_offset(block));
                let spare = entry.radius - weight;
                let span = BlockSpan::default();
                self.scratch.probes.push(Probe { entry: number, block, spare, span });
                if self.scratch.probes.len() == PROBES_PER_PASS {
                    self.run()?;
                }
            }
            if self.collector.exhausted() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        self.find_blocks()?;
        self.walk_blocks()?;
        self.compare_candidates()?;
        black_box(self.touched);
        Ok(())
    }

    /// Looks the blocks up; empty ones need no further visit.
    fn find_blocks(&mut self) -> Result<()> {
        let segment = self.segment;
        let work = &mut self.collector.work;
        work.probes += self.scratch.probes.len() as u64;
        let mut kept = 0;
        for number in 0..self.scratch.probes.len() {
            let mut probe = self.scratch.probes[number];
            let entry = &self.scratch.entries[probe.entry];
            let Some(table) = segment.table(entry.table) else { continue };
            probe.span = segment.span(table, probe.block, &mut work.pages_checked)?;
            if probe.span.value_count() > 0 {
                self.touched ^= segment.touch(&table.heads, probe.span.heads_start);
                self.touched ^= segment.touch(&table.heads, probe.span.heads_end.saturating_sub(1));
                self.scratch.probes[kept] = probe;
                kept += 1;
            }
        }
        self.scratch.probes.truncate(kept);
        Ok(())
    }

    /// Decodes heads and collects the values whose head is near enough.
    fn walk_blocks(&mut self) -> Result<()> {
        let segment = self.segment;
        for number in 0..self.scratch.probes.len() {
            let probe = self.scratch.probes[number];
            let entry = self.scratch.entries[probe.entry];
            let Some(table) = segment.table(entry.table) else { continue };
            let pages_checked = &mut self.collector.work.pages_checked;
            let block = segment.block(table, probe.block, &probe.span, pages_checked)?;
            let ranges = combinations_up_to(entry.inner_masked, probe.spare);
            let count = probe.span.value_count();
            if ranges > 1.0 && count as f64 <= ranges * VALUES_PER_RANGE {
                self.walk(&probe, &entry, table, block.heads(), 0, u64::MAX)?;
                continue;
            }
            // All inner bits above the free ones are given: a range of heads for each choice.
            let base = table.first_head(probe.block);
            let inner = entry.needle_head
                & !low_bits(entry.inner_free)
                & low_bits(table.descriptor.inner_bits());
            for (flips, _) in Flips::new(entry.inner_masked, probe.spare) {
                let low = base | (inner ^ flips << entry.inner_free);
                self.walk_range(&probe, &entry, table, &block, low)?;
            }
        }
        self.scratch.probes.clear();
        Ok(())
    }

    fn walk_range(
        &mut self,
        probe: &Probe,
        entry: &Entry,
        table: &Table,
        block: &Block<'_>,
        low: u64,
    ) -> Result<()> {
        let heads = block
            .heads_from(low)
            .map_err(|fault| self.segment.corrupt(&table.heads, probe.span.heads_start, fault))?;
        self.walk(probe, entry, table, heads, low, low | low_bits(entry.inner_free))
    }

    /// Collects the candidates whose heads are within `low..=high`.
    #[inline]
    fn walk(
        &mut self,
        probe: &Probe,
        entry: &Entry,
        table: &Table,
        mut heads: Heads<'_>,
        low: u64,
        high: u64,
    ) -> Result<()> {
        let segment = self.segment;
        let located = |fault| segment.corrupt(&table.heads, probe.span.heads_start, fault);
        while let Some((position, head)) = heads.next().map_err(located)? {
            if head > high {
                break;
            }
            let diff = head ^ entry.needle_head;
            if head >= low
                && (diff & entry.prefix_mask).count_ones() <= entry.radius
                && diff.count_ones() <= self.collector.k
            {
                let rank = Rank(probe.span.rank_start + position);
                let offset = packing::load_offset(rank.0, table.descriptor.tail_bits);
                self.touched ^= segment.touch(&table.tails, offset);
                self.scratch.candidates.push(Candidate { entry: probe.entry, rank, head });
                if self.scratch.candidates.len() == PROBES_PER_PASS {
                    self.compare_candidates()?;
                    if self.collector.exhausted() {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Fetches the tails of the candidates and keeps the matches.
    fn compare_candidates(&mut self) -> Result<()> {
        let segment = self.segment;
        let collector = &mut *self.collector;
        for candidate in &self.scratch.candidates {
            if collector.exhausted() {
                break;
            }
            let entry = &self.scratch.entries[candidate.entry];
            let Some(table) = segment.table(entry.table) else { continue };
            collector.work.candidates += 1;
            let tail = segment.tail(table, candidate.rank, &mut collector.work.pages_checked)?;
            let value = table.value(candidate.head, tail);
            if (value.0 ^ entry.needle.0).count_ones() > collector.k {
                continue;
            }
            let fingerprint = table.permutation.invert(value);
            let diff = fingerprint.value() ^ collector.needle.value();
            let earlier = &self.scratch.entries[..candidate.entry];
            let reported = earlier.iter().any(|e| (diff & e.mask).count_ones() <= e.radius);
            let in_reach = (diff & entry.mask).count_ones() <= entry.radius;
            if in_reach && !reported {
                collector.push(fingerprint, entry.table, candidate.rank);
            }
        }
        self.scratch.candidates.clear();
        Ok(())
    }
}

/// A word with the low `count` bits set.
fn low_bits(count: u32) -> u64 {
    u64::MAX.checked_shr(64 - count).unwrap_or(0)
}
