//! Probing: looks up every block within the radius of each table, in passes over many of them.
//!
//! A query waits for memory more than it computes. So a pass has three steps, and each step
//! prefetches the bytes of the next one for all blocks before any of them is used:
//!
//! ```text
//! list       needle, radius -> probes (blocks to look up)         prefetches index entries
//! look up    probes -> where the blocks lie                        prefetches heads
//! search     blocks -> candidates (values whose head is near)      prefetches tails
//! compare    candidates -> hits
//! ```
//!
//! Where pages come from a disk, each step first starts readahead of all its pages. `Searcher`
//! probes for one query, `BatchSearcher` probes one table for many.

mod blocks;
mod candidates;
mod list;

use std::cell::Cell;

use crate::error::Result;
use crate::scheme::Radius;
use crate::search::answer::SearchStats;
use crate::search::kernel::{BlockProbe, Kernel};
use crate::search::table_query::TableQuery;
use crate::section::{Rank, TableIndex};
use crate::segment::{Segment, TableReader};
use candidates::Candidates;
use fpstore_base::Fingerprint;
use list::{Probe, QueryProbes};

/// Memory that probing keeps from query to query.
#[derive(Debug)]
pub(crate) struct ProbeScratch {
    kernel: Kernel,
    queries: Vec<TableQuery>,
    buffers: Buffers,
    pages_checked: Cell<u64>,
}

impl Default for ProbeScratch {
    fn default() -> Self {
        ProbeScratch {
            kernel: Kernel::detect(),
            queries: Vec::new(),
            buffers: Buffers::default(),
            pages_checked: Cell::new(0),
        }
    }
}

/// The lists that each step of a pass leaves for the next.
#[derive(Debug, Default)]
struct Buffers {
    /// The probes of all queries, one query after the other.
    probes: Vec<Probe>,
    query_probes: Vec<QueryProbes>,
    /// The blocks of all queries; entries after the end of the last query belong to earlier passes.
    blocks: Vec<BlockProbe>,
    /// Positions of blocks that the kernel could not read.
    fallback: Vec<usize>,
    candidates: Candidates,
}

/// Takes the hits as they are found.
pub(crate) trait Collector {
    /// The distance of the search.
    fn k(&self) -> u32;
    /// The counters of the search.
    fn stats(&mut self) -> &mut SearchStats;
    /// Whether a limit is reached, so that the rest is not searched.
    fn is_exhausted(&mut self) -> bool;
    /// Takes a hit of the query with this number.
    fn push(&mut self, query: u32, hit: TableHit);
}

/// A stored fingerprint within the distance of a query, and where one table has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableHit {
    pub(crate) distance: u32,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) table: TableIndex,
    pub(crate) rank: Rank,
}

/// Finds the fingerprints within `collector.k()` of the needle that probing with `radii` finds, as
/// query 0.
///
/// A hit is reported by the first table that covers it, so each comes once.
pub(crate) fn probe(
    segment: &Segment,
    radii: &[Radius],
    needle: Fingerprint,
    scratch: &mut ProbeScratch,
    collector: &mut impl Collector,
) -> Result<()> {
    let tables = segment.tables().zip(radii).enumerate();
    let queries = tables.filter_map(|(number, (table, radius))| {
        radius.map(|radius| TableQuery::new(0, needle, number, table, radius))
    });
    run(segment, radii, queries, scratch, collector)
}

/// As [`probe`] for many queries, but finds only the hits that the table at position `table`
/// reports.
pub(crate) fn probe_table(
    segment: &Segment,
    radii: &[Radius],
    table: usize,
    queries: impl Iterator<Item = (u32, Fingerprint)>,
    scratch: &mut ProbeScratch,
    collector: &mut impl Collector,
) -> Result<()> {
    let (Some(&Some(radius)), Some(reader)) = (radii.get(table), segment.table(table)) else {
        return Ok(());
    };
    let queries =
        queries.map(|(number, needle)| TableQuery::new(number, needle, table, reader, radius));
    run(segment, radii, queries, scratch, collector)
}

fn run(
    segment: &Segment,
    radii: &[Radius],
    wanted: impl Iterator<Item = TableQuery>,
    scratch: &mut ProbeScratch,
    collector: &mut impl Collector,
) -> Result<()> {
    let ProbeScratch { kernel, queries, buffers, pages_checked } = scratch;
    queries.clear();
    queries.extend(wanted);
    // After an error the buffers may hold entries of the earlier search.
    buffers.probes.clear();
    buffers.query_probes.clear();
    buffers.candidates.clear();
    pages_checked.set(0);
    let (k, kernel) = (collector.k(), *kernel);
    let context = Context { segment, radii, queries, kernel, k, pages_checked };
    let done = ProbePass { context, buffers, collector }.list_all();
    collector.stats().pages_checked += pages_checked.get();
    done
}

/// The values that all steps of the search of one segment read.
#[derive(Clone, Copy)]
struct Context<'a> {
    segment: &'a Segment,
    radii: &'a [Radius],
    queries: &'a [TableQuery],
    kernel: Kernel,
    k: u32,
    pages_checked: &'a Cell<u64>,
}

impl<'a> Context<'a> {
    /// The query at a position, and its table.
    #[inline(always)]
    fn query(&self, position: u32) -> (&'a TableQuery, TableReader<'a>) {
        let query = &self.queries[position as usize];
        let table = self.segment.table(query.table).expect("queries are made of tables");
        (query, table.counting(self.pages_checked))
    }
}

/// The steps of a search, with the buffers between them.
struct ProbePass<'a, C> {
    context: Context<'a>,
    buffers: &'a mut Buffers,
    collector: &'a mut C,
}

impl<C: Collector> ProbePass<'_, C> {
    /// Looks up, searches and compares all probes that are listed.
    fn run(&mut self) -> Result<()> {
        let is_cold = self.context.segment.is_cold();
        if is_cold {
            self.readahead_entries();
        }
        self.look_up()?;
        if is_cold {
            self.readahead_heads();
        }
        self.search_blocks()?;
        self.buffers.candidates.compare(&self.context, self.collector)
    }
}
