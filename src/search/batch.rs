//! Searches one table at a time for many queries, which are sorted in the order of the table and
//! share its pages.

use crate::base::error::Result;
use crate::base::section::BlockIndex;
use crate::scheme::Radius;
use crate::search::probe::collector::{Collector, TableHit};
use crate::search::probe::{ProbeScratch, probe_blocks, probe_table};
use crate::search::snapshot::SegmentHit;
use crate::search::stats::SearchStats;
use crate::segment::Segment;
use fpstore_base::Fingerprint;

/// Searches one table for many queries in each call, and reuses its buffers in the next call.
#[derive(Debug, Default)]
pub(crate) struct BatchSearcher {
    scratch: ProbeScratch,
}

/// The table of a segment to search, and the options of the search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchTable<'a> {
    pub(crate) segment: &'a Segment,
    /// The position of the segment in the snapshot.
    pub(crate) number: usize,
    /// The radii of all tables of the segment.
    pub(crate) radii: &'a [Radius],
    /// The position of the table to search.
    pub(crate) table: usize,
    pub(crate) k: u32,
    /// The search may stop once there are more hits than this.
    pub(crate) found_max: usize,
}

impl BatchSearcher {
    /// Searches the table for all queries, and adds the hits that this table reports to `found`,
    /// each with the number of its query.
    ///
    /// The queries share the passes over index entries, heads and tails, so hundreds of cache lines
    /// are prefetched at any time.
    pub(crate) fn search(
        &mut self,
        of: &BatchTable<'_>,
        queries: impl Iterator<Item = (u32, Fingerprint)>,
        found: &mut Vec<(u32, SegmentHit)>,
    ) -> Result<()> {
        let BatchTable { segment, radii, table, .. } = *of;
        let mut collector = BatchCollector { of, stats: SearchStats::default(), found };
        probe_table(segment, radii, table, queries, &mut self.scratch, &mut collector)
    }

    /// Like [`BatchSearcher::search`], but searches only one given block for each query.
    pub(crate) fn search_blocks(
        &mut self,
        of: &BatchTable<'_>,
        wanted: impl Iterator<Item = (u32, Fingerprint, BlockIndex)>,
        found: &mut Vec<(u32, SegmentHit)>,
    ) -> Result<()> {
        let BatchTable { segment, radii, table, .. } = *of;
        let mut collector = BatchCollector { of, stats: SearchStats::default(), found };
        probe_blocks(segment, radii, table, wanted, &mut self.scratch, &mut collector)
    }
}

/// Collects the hits of many queries in one list.
struct BatchCollector<'a> {
    of: &'a BatchTable<'a>,
    /// Not reported: the answers of batches have no counters.
    stats: SearchStats,
    found: &'a mut Vec<(u32, SegmentHit)>,
}

impl Collector for BatchCollector<'_> {
    #[inline(always)]
    fn k(&self) -> u32 {
        self.of.k
    }

    #[inline(always)]
    fn stats(&mut self) -> &mut SearchStats {
        &mut self.stats
    }

    #[inline(always)]
    fn is_exhausted(&mut self) -> bool {
        self.found.len() > self.of.found_max
    }

    fn push(&mut self, query: u32, hit: TableHit) {
        let TableHit { distance, fingerprint, table, rank } = hit;
        let segment = self.of.number;
        self.found.push((query, SegmentHit { distance, fingerprint, segment, table, rank }));
    }
}
