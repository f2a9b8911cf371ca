//! Probing: every prefix within the radius of each table, in passes over all of them.
//!
//! A query waits for memory, not for arithmetic. So each pass asks for the bytes that the next
//! one needs before any of them is used: index lines, then heads, then tails.

use crate::bits::packing;
use crate::bits::permutation::Permuted;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::header::TableDescriptor;
use crate::format::heads::Heads;
use crate::format::prefix_index::{self, BlockSpan};
use crate::scheme::{Radius, combinations_up_to};
use crate::search::flips::Flips;
use crate::search::searcher::Collector;
use crate::section::{BlockIndex, Rank};
use crate::segment::{Segment, Table};

/// Probes that share their passes; more would only make the scratch larger.
const PROBES_PER_PASS: usize = 512;
/// Candidates whose tails are fetched together.
const CANDIDATES_PER_PASS: usize = 512;
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
    /// The position of the table in the segment.
    table: usize,
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
    fn new(number: usize, table: &Table, radius: u32, needle: Fingerprint) -> Self {
        let TableDescriptor { mask, tail_bits, block_bits } = table.descriptor;
        let prefix_bits = table.permutation.prefix_bits();
        let head_bits = table.descriptor.head_bits();
        let masked_in_head = prefix_bits.min(head_bits);
        let permuted = table.permutation.apply(needle);
        Entry {
            table: number,
            mask,
            radius,
            needle: permuted,
            needle_head: table.head_of(permuted),
            leading: prefix_bits.min(block_bits),
            // A mask has at least one bit, so the shift is below 64.
            prefix_mask: u64::MAX << (64 - prefix_bits) >> tail_bits,
            inner_masked: masked_in_head.saturating_sub(block_bits),
            inner_free: head_bits - masked_in_head.max(block_bits),
        }
    }

    /// Whether a value with this head can be a match that this table finds.
    #[inline(always)]
    fn passes(&self, head: u64, k: u32) -> bool {
        let diff = head ^ self.needle_head;
        at_most_bits(diff & self.prefix_mask, self.radius) && at_most_bits(diff, k)
    }
}

/// One block to look into.
#[derive(Clone, Copy, Debug)]
struct Probe {
    entry: u32,
    /// Flips that may still be forgiven below the bits that name the block.
    spare: u32,
    block: BlockIndex,
    span: BlockSpan,
}

/// A value whose head passed: its tail decides.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    entry: u32,
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
    for (number, (table, radius)) in segment.tables().iter().zip(radii).enumerate() {
        if let Some(radius) = *radius {
            scratch.entries.push(Entry::new(number, table, radius, collector.needle));
        }
    }
    let mut pass = Pass { segment, tables: segment.tables(), scratch, collector };
    for number in 0..pass.scratch.entries.len() {
        pass.enter(number)?;
    }
    pass.run()
}

/// One run through index lines, heads and tails.
struct Pass<'a, D> {
    segment: &'a Segment<D>,
    tables: &'a [Table],
    scratch: &'a mut ProbeScratch,
    collector: &'a mut Collector,
}

impl<D: AsRef<[u8]>> Pass<'_, D> {
    /// Lists the blocks of all prefixes within the radius of one table.
    fn enter(&mut self, number: usize) -> Result<()> {
        let entry = self.scratch.entries[number];
        let table = &self.tables[entry.table];
        // Where the mask is shorter than the name of a block, a prefix has many blocks.
        let free = table.descriptor.block_bits - entry.leading;
        let home = table.block_of(entry.needle).0 >> free;
        for (flips, weight) in Flips::new(entry.leading, entry.radius) {
            let first = (home ^ flips) << free;
            for block in (first..first + (1 << free)).map(BlockIndex) {
                self.segment.prefetch(&table.lines, prefix_index::line_offset(block));
                let spare = entry.radius - weight;
                let span = BlockSpan::default();
                self.scratch.probes.push(Probe { entry: number as u32, block, spare, span });
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
        self.compare_candidates()
    }

    /// Looks the blocks up; empty ones need no further visit.
    fn find_blocks(&mut self) -> Result<()> {
        let ProbeScratch { entries, probes, .. } = &mut *self.scratch;
        let work = &mut self.collector.work;
        work.probes += probes.len() as u64;
        let mut kept = 0;
        for number in 0..probes.len() {
            let Probe { entry, spare, block, .. } = probes[number];
            let table = &self.tables[entries[entry as usize].table];
            let span = self.segment.span(table, block, &mut work.pages_checked)?;
            if span.value_count() > 0 {
                self.segment.prefetch(&table.heads, span.heads_start);
                self.segment.prefetch(&table.heads, span.heads_end.saturating_sub(1));
                probes[kept] = Probe { entry, spare, block, span };
                kept += 1;
            }
        }
        probes.truncate(kept);
        Ok(())
    }

    /// Decodes heads and collects the values whose head is near enough.
    fn walk_blocks(&mut self) -> Result<()> {
        for number in 0..self.scratch.probes.len() {
            let probe = &self.scratch.probes[number];
            let entry = &self.scratch.entries[probe.entry as usize];
            let table = &self.tables[entry.table];
            let (block, span, spare, number) = (probe.block, probe.span, probe.spare, probe.entry);
            let pages_checked = &mut self.collector.work.pages_checked;
            let heads = self.segment.block(table, block, &span, pages_checked)?;
            let base = table.first_head(block);
            let inner = entry.needle_head
                & low_bits(table.descriptor.inner_bits())
                & !low_bits(entry.inner_free);
            let free = low_bits(entry.inner_free);
            if spare == 0 {
                // Nearly all probes end here: one range of heads.
                let low = base | inner;
                let located = |fault| self.segment.corrupt(&table.heads, span.heads_start, fault);
                let from = heads.heads_from(low).map_err(located)?;
                self.collect(number, &span, from, low, low | free)?;
                continue;
            }
            let (inner_masked, inner_free) = (entry.inner_masked, entry.inner_free);
            let ranges = combinations_up_to(inner_masked, spare);
            if span.value_count() as f64 <= ranges * VALUES_PER_RANGE {
                self.collect(number, &span, heads.heads(), 0, u64::MAX)?;
                continue;
            }
            for (flips, _) in Flips::new(inner_masked, spare) {
                let low = base | (inner ^ flips << inner_free);
                let located = |fault| self.segment.corrupt(&table.heads, span.heads_start, fault);
                let from = heads.heads_from(low).map_err(located)?;
                self.collect(number, &span, from, low, low | free)?;
            }
        }
        self.scratch.probes.clear();
        Ok(())
    }

    /// Collects the candidates whose heads are within `low..=high`.
    #[inline(always)]
    fn collect(
        &mut self,
        number: u32,
        span: &BlockSpan,
        mut heads: Heads<'_>,
        low: u64,
        high: u64,
    ) -> Result<()> {
        loop {
            let ProbeScratch { entries, candidates, .. } = &mut *self.scratch;
            let entry = &entries[number as usize];
            let table = &self.tables[entry.table];
            let k = self.collector.k;
            let visited = heads.visit_range(low, high, |position, head| {
                if entry.passes(head, k) {
                    let rank = Rank(span.rank_start + position);
                    let offset = packing::load_offset(rank.0, table.descriptor.tail_bits);
                    self.segment.prefetch(&table.tails, offset);
                    candidates.push(Candidate { entry: number, rank, head });
                }
                candidates.len() < CANDIDATES_PER_PASS
            });
            let located = |fault| self.segment.corrupt(&table.heads, span.heads_start, fault);
            if !visited.map_err(located)? {
                return Ok(());
            }
            // A prefix can have any number of values; the scratch keeps its bounds.
            self.compare_candidates()?;
            if self.collector.exhausted() {
                return Ok(());
            }
        }
    }

    /// Fetches the tails of the candidates and keeps the matches.
    fn compare_candidates(&mut self) -> Result<()> {
        let ProbeScratch { entries, candidates, .. } = &mut *self.scratch;
        let collector = &mut *self.collector;
        for candidate in candidates.iter() {
            if collector.exhausted() {
                break;
            }
            let entry = &entries[candidate.entry as usize];
            let table = &self.tables[entry.table];
            collector.work.candidates += 1;
            let pages_checked = &mut collector.work.pages_checked;
            let tail = self.segment.tail(table, candidate.rank, pages_checked)?;
            let value = table.value(candidate.head, tail);
            if (value.0 ^ entry.needle.0).count_ones() > collector.k {
                continue;
            }
            let fingerprint = table.permutation.invert(value);
            let diff = fingerprint.value() ^ collector.needle.value();
            let earlier = &entries[..candidate.entry as usize];
            let reported = earlier.iter().any(|e| (diff & e.mask).count_ones() <= e.radius);
            let in_reach = (diff & entry.mask).count_ones() <= entry.radius;
            if in_reach && !reported {
                collector.push(fingerprint, table.index, candidate.rank);
            }
        }
        candidates.clear();
        Ok(())
    }
}

/// Whether at most `count` bits are set. Few are asked for as a rule, and clearing them one by
/// one is faster than counting on processors without an instruction for it.
#[inline(always)]
fn at_most_bits(mut word: u64, count: u32) -> bool {
    if count > 4 {
        return word.count_ones() <= count;
    }
    for _ in 0..count {
        word &= word.wrapping_sub(1);
    }
    word == 0
}

/// A word with the low `count` bits set.
#[inline]
fn low_bits(count: u32) -> u64 {
    u64::MAX.checked_shr(64 - count).unwrap_or(0)
}
