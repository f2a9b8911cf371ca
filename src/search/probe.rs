//! Probing: every prefix within the radius of each table, in passes over all of them.
//!
//! A query waits for memory, not for arithmetic. So each pass asks for the bytes that the next
//! one needs before any of them is used: index lines, then heads, then tails. Where they come
//! from a disk, the system is asked for all their pages before it must wait for one.

mod announce;
mod blocks;
mod compare;

use std::iter::{once, repeat};

use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::near_heads::{Job, Kernel, NearHeads};
use crate::scheme::Radius;
use crate::search::answer::Work;
use crate::search::entry::Entry;
use crate::search::flips::Flips;
use crate::section::{BlockIndex, Rank, TableIndex};
use crate::segment::{Mapped, Table};

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
    groups: Vec<Group>,
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
            groups: Vec::new(),
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

/// The probes of one entry, and their blocks.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The position of their entry.
    entry: u32,
    /// The block of the needle, if the probes are that and all with one flip, see [`near_blocks`].
    near: Option<u64>,
    /// Where they end if they are listed; each run starts where the one before it ends.
    probes_end: usize,
    jobs_end: usize,
    /// Whether all heads lie on pages that were checked before.
    checked: bool,
}

/// The block of the needle, and if it may have an error those that have one bit of its name flipped: nearly all queries.
#[inline(always)]
fn near_blocks(home: u64, entry: &Entry) -> impl Iterator<Item = BlockIndex> + use<> {
    let count = if entry.radius == 1 { entry.leading } else { 0 };
    // Shifting by one less than the number of a flip drops the only bit for the first, which is none.
    (0..=count).map(move |number| BlockIndex(home ^ (1_u64 << number) >> 1))
}

/// The same as probes: but for the block of the needle, the flip is spent.
fn near_probes(home: u64, entry: &Entry) -> impl Iterator<Item = Probe> + use<> {
    let spares = once(entry.radius).chain(repeat(0));
    near_blocks(home, entry).zip(spares).map(|(block, spare)| Probe { block, spare })
}

/// The near heads of one entry; each group starts where the one before it ends.
#[derive(Clone, Copy, Debug)]
struct Group {
    entry: u32,
    end: usize,
}

/// Takes the matches as they are found.
pub(crate) trait Sink {
    /// The distance that is asked for.
    fn k(&self) -> u32;
    /// What it takes is added here.
    fn work(&mut self) -> &mut Work;
    /// Whether enough was done; what is left is not looked at any more.
    fn exhausted(&mut self) -> bool;
    /// Takes a match of the query of this number.
    fn push(&mut self, query: u32, distance: u32, fingerprint: Fingerprint, place: Place);
}

/// Where a match was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) table: TableIndex,
    pub(crate) rank: Rank,
}

/// Finds everything within `sink.k()` of the needle that probing with `radii` finds; it is query 0.
///
/// A match is reported by the first table that covers it, so each comes once.
pub(crate) fn probe(
    segment: &Mapped,
    radii: &[Radius],
    needle: Fingerprint,
    scratch: &mut ProbeScratch,
    sink: &mut impl Sink,
) -> Result<()> {
    let tables = segment.tables().iter().zip(radii).enumerate();
    let entries = tables.filter_map(|(number, (table, radius))| {
        radius.map(|radius| Entry::new(0, number, table, radius, needle))
    });
    Pass::new(segment, radii, entries, scratch, sink).enter_all()
}

/// As [`probe`], but finds only what the table at one position reports, for many queries.
#[cfg(feature = "build")]
pub(crate) fn probe_table(
    segment: &Mapped,
    radii: &[Radius],
    table: usize,
    queries: impl Iterator<Item = (u32, Fingerprint)>,
    scratch: &mut ProbeScratch,
    sink: &mut impl Sink,
) -> Result<()> {
    let (Some(Some(radius)), Some(at)) = (radii.get(table), segment.tables().get(table)) else {
        return Ok(());
    };
    let entries = queries.map(|(query, needle)| Entry::new(query, table, at, *radius, needle));
    Pass::new(segment, radii, entries, scratch, sink).enter_all()
}

/// One run through index lines, heads and tails.
struct Pass<'a, S> {
    segment: &'a Mapped,
    tables: &'a [Table],
    radii: &'a [Radius],
    kernel: Kernel,
    entries: &'a [Entry],
    /// Those that are listed, and how many there are in all.
    probes: &'a mut Vec<Probe>,
    probe_count: usize,
    /// The blocks of the probes of all entries, one entry after the other.
    jobs: &'a mut Vec<Job>,
    runs: &'a mut Vec<Run>,
    near: &'a mut NearHeads,
    groups: &'a mut Vec<Group>,
    sink: &'a mut S,
}

impl<'a, S: Sink> Pass<'a, S> {
    fn new(
        segment: &'a Mapped,
        radii: &'a [Radius],
        wanted: impl Iterator<Item = Entry>,
        scratch: &'a mut ProbeScratch,
        sink: &'a mut S,
    ) -> Self {
        let ProbeScratch { kernel, entries, probes, jobs, runs, near, groups } = scratch;
        entries.clear();
        entries.extend(wanted);
        probes.clear();
        runs.clear();
        near.heads.clear();
        groups.clear();
        let (tables, kernel) = (segment.tables(), *kernel);
        Pass {
            segment,
            tables,
            radii,
            kernel,
            entries,
            probes,
            probe_count: 0,
            jobs,
            runs,
            near,
            groups,
            sink,
        }
    }

    fn enter_all(mut self) -> Result<()> {
        for number in 0..self.entries.len() {
            self.enter(number)?;
        }
        self.run()
    }

    /// Lists the blocks of all prefixes within the radius of one entry.
    fn enter(&mut self, number: usize) -> Result<()> {
        let (entry, table) = self.entry(number as u32);
        let blocks = self.segment.blocks(table);
        // Where the mask is shorter than the name of a block, a prefix has many blocks.
        let free = entry.free_leading;
        let home = table.block_of(entry.permuted).0 >> free;
        if free == 0 && entry.radius <= 1 && (entry.leading as usize) < PROBES_PER_PASS {
            if self.probe_count + entry.leading as usize >= PROBES_PER_PASS {
                self.run()?;
            }
            for block in near_blocks(home, entry) {
                blocks.prefetch(block);
                self.probe_count += 1;
            }
            self.end_run(number as u32, Some(home));
            return Ok(());
        }
        for (flips, weight) in Flips::new(entry.leading, entry.radius) {
            let first = (home ^ flips) << free;
            for block in first..first + (1 << free) {
                let block = BlockIndex(block);
                blocks.prefetch(block);
                self.probes.push(Probe { block, spare: entry.radius - weight });
                self.probe_count += 1;
                if self.probe_count == PROBES_PER_PASS {
                    self.end_run(number as u32, None);
                    self.run()?;
                }
            }
            if self.sink.exhausted() {
                break;
            }
        }
        self.end_run(number as u32, None);
        Ok(())
    }

    fn end_run(&mut self, entry: u32, near: Option<u64>) {
        let probes_end = self.probes.len();
        self.runs.push(Run { entry, near, probes_end, jobs_end: 0, checked: false });
    }

    #[inline(always)]
    fn entry(&self, number: u32) -> (&'a Entry, &'a Table) {
        let entry = &self.entries[number as usize];
        (entry, &self.tables[entry.table])
    }

    fn run(&mut self) -> Result<()> {
        let cold = self.segment.is_cold();
        if cold {
            self.announce_lines();
        }
        self.find_blocks()?;
        if cold {
            self.announce_heads();
        }
        self.walk_blocks()?;
        self.compare_candidates()
    }
}
