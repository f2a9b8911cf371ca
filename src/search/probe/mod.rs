//! Probing: looks up every block within the radius of each table, in passes over many blocks.
//!
//! A query spends more time waiting for memory than computing. So a pass has these steps, and each
//! step prefetches the bytes of the next step for all blocks before it uses any of them:
//!
//! ```text
//! list       needle, radius -> probes (blocks to look up)         prefetches index entries
//! look up    probes -> positions of the blocks                     prefetches heads
//! search     blocks -> candidates (values whose head is near)      prefetches tails
//! compare    candidates -> hits; candidates with syndromes are looked up in the first table
//! ```
//!
//! If pages come from a disk, each step first starts readahead of all its pages. `Searcher` probes
//! all tables for one query, `BatchSearcher` probes one table for many queries.

mod blocks;
mod candidates;
pub(in crate::search) mod collector;
mod context;
mod errors;
mod list;
mod named;
mod pass;

use std::cell::Cell;

use crate::base::error::Result;
use crate::base::section::BlockIndex;
use crate::scheme::Radius;
use crate::search::kernel::Kernel;
use crate::search::table_query::TableQuery;
use crate::segment::Segment;
use collector::Collector;
use context::Context;
pub(in crate::search) use context::reporting_table;
use fpstore_base::Fingerprint;
pub(in crate::search) use named::{NamedValue, Namer};
use pass::{Buffers, ProbePass};

/// Buffers of probing, reused by the next query.
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

impl ProbeScratch {
    /// The instruction set used by searches with these buffers.
    #[inline]
    pub(crate) fn kernel(&self) -> Kernel {
        self.kernel
    }
}

/// Finds the fingerprints within `collector.k()` of the needle by probing with `radii`; query
/// number 0.
///
/// The first table that covers a hit reports it, so each hit is reported once.
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
    run(segment, radii, queries, scratch, collector, |pass| pass.list_all())
}

/// Like [`probe`], but for many queries, and only with the hits that the table at position `table`
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
    run(segment, radii, queries, scratch, collector, |pass| pass.list_all())
}

/// Like [`probe_table`], but searches only one given block for each query.
pub(crate) fn probe_blocks(
    segment: &Segment,
    radii: &[Radius],
    table: usize,
    wanted: impl Iterator<Item = (u32, Fingerprint, BlockIndex)>,
    scratch: &mut ProbeScratch,
    collector: &mut impl Collector,
) -> Result<()> {
    let (Some(&Some(radius)), Some(reader)) = (radii.get(table), segment.table(table)) else {
        return Ok(());
    };
    let (queries, blocks): (Vec<_>, Vec<_>) = wanted
        .map(|(number, needle, block)| {
            (TableQuery::new(number, needle, table, reader, radius), block)
        })
        .unzip();
    run(segment, radii, queries.into_iter(), scratch, collector, |pass| pass.list_blocks(&blocks))
}

fn run<C: Collector>(
    segment: &Segment,
    radii: &[Radius],
    wanted: impl Iterator<Item = TableQuery>,
    scratch: &mut ProbeScratch,
    collector: &mut C,
    list: impl FnOnce(ProbePass<'_, C>) -> Result<()>,
) -> Result<()> {
    let ProbeScratch { kernel, queries, buffers, pages_checked } = scratch;
    queries.clear();
    queries.extend(wanted);
    // After an error the buffers can still contain entries of the failed search.
    buffers.clear();
    pages_checked.set(0);
    let (k, kernel) = (collector.k(), *kernel);
    let context = Context { segment, radii, queries, kernel, k, pages_checked };
    let done = list(ProbePass { context, buffers, collector });
    collector.stats().pages_checked += pages_checked.get();
    done
}
