//! Probing: every prefix within the radius of each table, in passes over all of them.
//!
//! A query waits for memory, not for arithmetic. So each pass asks for the bytes that the next
//! one needs before any of them is used: index lines, then heads, then tails.

mod blocks;
mod compare;

use crate::error::Result;
use crate::format::near_heads::{Job, Kernel, NearHeads};
use crate::scheme::Radius;
use crate::search::entry::Entry;
use crate::search::flips::Flips;
use crate::search::searcher::Collector;
use crate::section::{BlockIndex, Rank};
use crate::segment::{Segment, Table};

/// Probes that share their passes; more would only make the scratch larger.
const PROBES_PER_PASS: usize = 512;

/// What probing needs and keeps from query to query.
#[derive(Debug)]
pub(crate) struct ProbeScratch {
    kernel: Kernel,
    entries: Vec<Entry>,
    probes: Vec<Probe>,
    jobs: Vec<Job>,
    runs: Vec<Run>,
    near: NearHeads,
    candidates: Vec<Candidate>,
}

impl Default for ProbeScratch {
    fn default() -> Self {
        ProbeScratch {
            kernel: Kernel::detect(),
            entries: Vec::new(),
            probes: Vec::new(),
            jobs: Vec::new(),
            runs: Vec::new(),
            near: NearHeads::default(),
            candidates: Vec::new(),
        }
    }
}

/// One block to look into.
#[derive(Clone, Copy, Debug)]
struct Probe {
    block: BlockIndex,
    /// Flips that may still be forgiven below the bits that name the block.
    spare: u32,
}

/// The probes of one table, and their blocks.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The position of their entry.
    entry: u32,
    /// Where they end; each run starts where the one before it ends.
    probes_end: usize,
    jobs_end: usize,
    /// Whether all heads lie on pages that were checked before.
    checked: bool,
}

/// A value whose head passed: its tail decides.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// The position of its entry.
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
    kernel: Kernel,
    entries: &'a [Entry],
    probes: &'a mut Vec<Probe>,
    /// The blocks of the probes of all tables, one table after the other.
    jobs: &'a mut Vec<Job>,
    runs: &'a mut Vec<Run>,
    near: &'a mut NearHeads,
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
        let ProbeScratch { kernel, entries, probes, jobs, runs, near, candidates } = scratch;
        entries.clear();
        probes.clear();
        runs.clear();
        candidates.clear();
        for (number, (table, radius)) in segment.tables().iter().zip(radii).enumerate() {
            if let Some(radius) = *radius {
                entries.push(Entry::new(number, table, radius, collector.needle));
            }
        }
        let (tables, kernel) = (segment.tables(), *kernel);
        Pass { segment, tables, kernel, entries, probes, jobs, runs, near, candidates, collector }
    }

    /// Lists the blocks of all prefixes within the radius of one table.
    fn enter(&mut self, number: usize) -> Result<()> {
        let (entry, table) = self.entry(number as u32);
        let blocks = self.segment.blocks(table);
        // Where the mask is shorter than the name of a block, a prefix has many blocks.
        let free = entry.free_leading;
        let home = table.block_of(entry.needle).0 >> free;
        let probe = |block: u64, spare: u32| {
            let block = BlockIndex(block);
            blocks.prefetch(block);
            Probe { block, spare }
        };
        if free == 0 && entry.radius <= 1 && (entry.leading as usize) < PROBES_PER_PASS {
            // Nearly all queries: as below, in a loop whose length is known.
            if self.probes.len() + entry.leading as usize >= PROBES_PER_PASS {
                self.run()?;
            }
            self.probes.push(probe(home, entry.radius));
            let flips = 0..if entry.radius == 1 { entry.leading } else { 0 };
            self.probes.extend(flips.map(|bit| probe(home ^ 1 << bit, 0)));
            self.end_run(number as u32);
            return Ok(());
        }
        for (flips, weight) in Flips::new(entry.leading, entry.radius) {
            let first = (home ^ flips) << free;
            for block in first..first + (1 << free) {
                self.probes.push(probe(block, entry.radius - weight));
                if self.probes.len() == PROBES_PER_PASS {
                    self.end_run(number as u32);
                    self.run()?;
                }
            }
            if self.collector.exhausted() {
                break;
            }
        }
        self.end_run(number as u32);
        Ok(())
    }

    fn end_run(&mut self, entry: u32) {
        let probes_end = self.probes.len();
        self.runs.push(Run { entry, probes_end, jobs_end: 0, checked: false });
    }

    #[inline(always)]
    fn entry(&self, number: u32) -> (&'a Entry, &'a Table) {
        let entry = &self.entries[number as usize];
        (entry, &self.tables[entry.table])
    }

    fn run(&mut self) -> Result<()> {
        self.find_blocks()?;
        self.walk_blocks()?;
        self.compare_candidates()
    }
}
