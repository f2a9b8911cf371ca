//! Probing: every prefix within the radius of each table, in passes over all of them.
//!
//! A query waits for memory, not for arithmetic. So each pass asks for the bytes that the next
//! one needs before any of them is used: index lines, then heads, then tails.

use crate::error::Result;
use crate::format::heads::Block;
use crate::format::prefix_index::{self, BlockSpan};
use crate::scheme::{Radius, VALUES_PER_RANGE, combinations_up_to};
use crate::search::entry::Entry;
use crate::search::flips::Flips;
use crate::search::searcher::Collector;
use crate::section::{BlockIndex, Rank};
use crate::segment::{Segment, Table};

/// Probes that share their passes; more would only make the scratch larger.
const PROBES_PER_PASS: usize = 512;
/// Candidates whose tails are fetched together.
const CANDIDATES_PER_PASS: usize = 512;

/// What probing needs and keeps from query to query.
#[derive(Debug, Default)]
pub(crate) struct ProbeScratch {
    entries: Vec<Entry>,
    probes: Vec<Probe>,
    candidates: Vec<Candidate>,
}

/// One block to look into.
#[derive(Clone, Copy, Debug)]
struct Probe {
    entry: usize,
    /// Flips that may still be forgiven below the bits that name the block.
    spare: u32,
    block: BlockIndex,
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
    let mut pass = Pass::new(segment, radii, scratch, collector);
    for number in 0..pass.entries.len() {
        pass.enter(number)?;
    }
    pass.run()
}

/// As [`probe`], but finds only what the table at one position reports.
#[cfg(feature = "build")]
pub(crate) fn probe_table<D: AsRef<[u8]>>(
    segment: &Segment<D>,
    radii: &[Radius],
    table: usize,
    scratch: &mut ProbeScratch,
    collector: &mut Collector,
) -> Result<()> {
    let mut pass = Pass::new(segment, radii, scratch, collector);
    if let Some(number) = pass.entries.iter().position(|entry| entry.table == table) {
        pass.enter(number)?;
    }
    pass.run()
}
/// One run through index lines, heads and tails.
struct Pass<'a, D> {
    segment: &'a Segment<D>,
    tables: &'a [Table],
    entries: &'a [Entry],
    probes: &'a mut Vec<Probe>,
    candidates: &'a mut Vec<Candidate>,
    collector: &'a mut Collector,
}

impl<'a, D: AsRef<[u8]>> Pass<'a, D> {
    fn new(
        segment: &'a Segment<D>,
        radii: &[Radius],
        scratch: &'a mut ProbeScratch,
        collector: &'a mut Collector,
    ) -> Self {
        let ProbeScratch { entries, probes, candidates } = scratch;
        entries.clear();
        probes.clear();
        candidates.clear();
        for (number, (table, radius)) in segment.tables().iter().zip(radii).enumerate() {
            if let Some(radius) = *radius {
                entries.push(Entry::new(number, table, radius, collector.needle));
            }
        }
        Pass { segment, tables: segment.tables(), entries, probes, candidates, collector }
    }

    /// Lists the blocks of all prefixes within the radius of one table.
    fn enter(&mut self, number: usize) -> Result<()> {
        let (entry, table) = self.entry(number);
        // Where the mask is shorter than the name of a block, a prefix has many blocks.
        let free = entry.free_leading;
        let home = table.block_of(entry.needle).0 >> free;
        for (flips, weight) in Flips::new(entry.leading, entry.radius) {
            let first = (home ^ flips) << free;
            let spare = entry.radius - weight;
            for block in (first..first + (1 << free)).map(BlockIndex) {
                self.segment.prefetch(&table.lines, prefix_index::line_offset(block));
                let span = BlockSpan::default();
                self.probes.push(Probe { entry: number, spare, block, span });
                if self.probes.len() == PROBES_PER_PASS {
                    self.run()?;
                }
            }
            if self.collector.exhausted() {
                return Ok(());
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn entry(&self, number: usize) -> (&'a Entry, &'a Table) {
        let entry = &self.entries[number];
        (entry, &self.tables[entry.table])
    }

    fn run(&mut self) -> Result<()> {
        self.find_blocks()?;
        // Taken so that candidates can be compared while they are walked; its memory comes back.
        let mut probes = std::mem::take(self.probes);
        let walked = self.walk_blocks(&probes);
        probes.clear();
        *self.probes = probes;
        walked?;
        self.compare_candidates()
    }

    /// Looks the blocks up; empty ones need no further visit.
    fn find_blocks(&mut self) -> Result<()> {
        let work = &mut self.collector.work;
        work.probes += self.probes.len() as u64;
        let mut failed = None;
        self.probes.retain_mut(|probe| {
            let table = &self.tables[self.entries[probe.entry].table];
            match self.segment.span(table, probe.block, &mut work.pages_checked) {
                Ok(span) if span.value_count() > 0 => {
                    self.segment.prefetch(&table.heads, span.heads_start);
                    self.segment.prefetch(&table.heads, span.heads_end.saturating_sub(1));
                    probe.span = span;
                    true
                }
                Ok(_) => false,
                Err(error) => {
                    failed = Some(error);
                    false
                }
            }
        });
        failed.map_or(Ok(()), Err)
    }

    /// Decodes heads and collects the values whose head is near enough.
    fn walk_blocks(&mut self, probes: &[Probe]) -> Result<()> {
        // The probes of one table lie side by side.
        for probes in probes.chunk_by(|a, b| a.entry == b.entry) {
            let Some(first) = probes.first() else { continue };
            let (entry, table) = self.entry(first.entry);
            for probe in probes {
                let pages_checked = &mut self.collector.work.pages_checked;
                let block = self.segment.block(table, probe.block, &probe.span, pages_checked)?;
                if probe.spare == 0 {
                    // Nearly all probes end here: one range of heads.
                    self.collect(probe, entry, table, &block, 0)?;
                    continue;
                }
                let ranges = combinations_up_to(entry.inner_masked, probe.spare);
                if probe.span.value_count() as f64 <= ranges * VALUES_PER_RANGE {
                    self.collect_all(probe, entry, table, &block)?;
                    continue;
                }
                for (flips, _) in Flips::new(entry.inner_masked, probe.spare) {
                    self.collect(probe, entry, table, &block, flips)?;
                }
            }
        }
        Ok(())
    }

    /// Collects the candidates in the range of heads that the needle has with these flips.
    #[inline(always)]
    fn collect(
        &mut self,
        probe: &Probe,
        entry: &Entry,
        table: &Table,
        block: &Block<'_>,
        flips: u64,
    ) -> Result<()> {
        let (low, high) = entry.range(probe.block, flips);
        let k = self.collector.k;
        let located = |fault| self.segment.corrupt(&table.heads, probe.span.heads_start, fault);
        let mut heads = block.heads_from(low).map_err(located)?;
        loop {
            let visited = heads.visit_range(low, high, |position, head| {
                if entry.passes(head, k) {
                    let rank = Rank(probe.span.rank_start + position);
                    self.segment.prefetch_tail(table, rank);
                    self.candidates.push(Candidate { entry: probe.entry, rank, head });
                }
                self.candidates.len() < CANDIDATES_PER_PASS
            });
            let located = |fault| self.segment.corrupt(&table.heads, probe.span.heads_start, fault);
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

    /// Collects the candidates among all heads of a block.
    fn collect_all(
        &mut self,
        probe: &Probe,
        entry: &Entry,
        table: &Table,
        block: &Block<'_>,
    ) -> Result<()> {
        let k = self.collector.k;
        let mut heads = block.heads();
        let mut rank = probe.span.rank_start;
        let mut run = [0; 64];
        loop {
            let located = |fault| self.segment.corrupt(&table.heads, probe.span.heads_start, fault);
            let filled = heads.fill(&mut run).map_err(located)?;
            for (rank, &head) in (rank..).map(Rank).zip(&run[..filled]) {
                if entry.passes(head, k) {
                    self.segment.prefetch_tail(table, rank);
                    self.candidates.push(Candidate { entry: probe.entry, rank, head });
                }
            }
            if filled < run.len() {
                return Ok(());
            }
            rank += filled as u64;
            if self.candidates.len() >= CANDIDATES_PER_PASS {
                self.compare_candidates()?;
                if self.collector.exhausted() {
                    return Ok(());
                }
            }
        }
    }

    /// Fetches the tails of the candidates and keeps the matches.
    fn compare_candidates(&mut self) -> Result<()> {
        for at in 0..self.candidates.len() {
            if self.collector.exhausted() {
                break;
            }
            let Candidate { entry: number, rank, head } = self.candidates[at];
            let (entry, table) = self.entry(number);
            let collector = &mut *self.collector;
            collector.work.candidates += 1;
            let tail = self.segment.tail(table, rank, &mut collector.work.pages_checked)?;
            let value = table.value(head, tail);
            if (value.0 ^ entry.needle.0).count_ones() > collector.k {
                continue;
            }
            let fingerprint = table.permutation.invert(value);
            let diff = fingerprint.value() ^ collector.needle.value();
            let earlier = &self.entries[..number];
            let reported = earlier.iter().any(|e| (diff & e.mask).count_ones() <= e.radius);
            let in_reach = (diff & entry.mask).count_ones() <= entry.radius;
            if in_reach && !reported {
                collector.push(fingerprint, table.index, rank);
            }
        }
        self.candidates.clear();
        Ok(())
    }
}
