//! One pass of a search: its steps, and the buffers that connect them.

use super::candidates::Candidates;
use super::collector::{Collector, TableHit};
use super::context::Context;
use super::named::{Named, NamedValue};
use crate::base::error::Result;
use crate::base::section::BlockIndex;
use crate::scheme::Radius;
use crate::search::kernel::BlockProbe;
use crate::search::stats::SearchStats;
use crate::search::table_query::TableQuery;

/// The lists that each step of a pass makes for the next step.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// The probes of all queries, grouped by query.
    pub(super) probes: Vec<Probe>,
    pub(super) query_probes: Vec<QueryProbes>,
    /// The blocks of all queries; entries after those of the last query are from earlier passes.
    pub(super) blocks: Vec<BlockProbe>,
    /// Positions in `blocks` of the blocks that the kernel could not read.
    pub(super) fallback: Vec<usize>,
    pub(super) candidates: Candidates,
    /// `None` until the first look-up; unused for stores without syndromes.
    pub(super) look_ups: Option<Box<LookUps>>,
}

impl Buffers {
    /// Discards the entries of the previous search.
    pub(super) fn clear(&mut self) {
        self.probes.clear();
        self.query_probes.clear();
        self.candidates.clear();
    }
}

/// The steps of a search, with the buffers between them.
pub(super) struct ProbePass<'a, C> {
    pub(super) context: Context<'a>,
    pub(super) buffers: &'a mut Buffers,
    pub(super) collector: &'a mut C,
}

impl<C: Collector> ProbePass<'_, C> {
    /// Looks up, searches and compares all listed probes.
    pub(super) fn run(&mut self) -> Result<()> {
        let is_cold = self.context.segment.is_cold();
        if is_cold {
            self.readahead_entries();
        }
        self.look_up()?;
        if is_cold {
            self.readahead_heads();
        }
        self.search_blocks()?;
        let Buffers { candidates, look_ups, .. } = &mut *self.buffers;
        candidates.compare(&self.context, self.collector)?;
        look_up(&mut candidates.named, look_ups, &self.context, self.collector)
    }
}

/// A block to look up in the prefix index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub(super) block: BlockIndex,
    /// The number of masked inner bits that may differ: the radius less the flips in the block
    /// number.
    pub(super) remaining: u32,
}

/// The probes of one query; they start where the probes of the previous query end.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueryProbes {
    /// The position of the query among all queries of the search.
    pub(super) query: u32,
    /// The end of the probes of the query; after their look-up, the end of its blocks.
    pub(super) end: usize,
    /// Whether all heads of the blocks of the query are verified.
    pub(super) is_verified: bool,
}

/// The buffers for look-ups of named values, each a search within 0 bits.
#[derive(Debug, Default)]
pub(super) struct LookUps {
    queries: Vec<TableQuery>,
    radii: Vec<Radius>,
    buffers: Buffers,
}

/// Looks up all named values in the first table, and passes the stored ones to `collector`.
pub(super) fn look_up(
    named: &mut Named,
    look_ups: &mut Option<Box<LookUps>>,
    context: &Context<'_>,
    collector: &mut impl Collector,
) -> Result<()> {
    if named.is_empty() || collector.is_exhausted() {
        named.looked_up();
        return Ok(());
    }
    let values = named.distinct();
    collector.stats().candidates += values.len() as u64;
    let LookUps { queries, radii, buffers } = look_ups.get_or_insert_default().as_mut();
    let Some(first) = context.segment.table(0) else { return Ok(()) };
    queries.clear();
    let numbered = (0..).zip(values);
    queries.extend(
        numbered.map(|(number, named)| TableQuery::new(number, named.fingerprint, 0, first, 0)),
    );
    radii.clear();
    radii.push(Some(0));
    // After an error the buffers can still contain entries of the failed look-up.
    buffers.clear();
    let exact = Context { radii, queries, k: 0, ..*context };
    let stats = SearchStats::default();
    let mut found = Found { values, of: context.queries, collector, stats };
    let done = ProbePass { context: exact, buffers, collector: &mut found }.list_all();
    named.looked_up();
    done
}

/// Reports the values found in the first table as matches of the queries that named them.
struct Found<'a> {
    /// The values to look up; a position is the number of its look-up.
    values: &'a [NamedValue],
    /// The queries of the search, by the position in [`NamedValue::query`].
    of: &'a [TableQuery],
    collector: &'a mut dyn Collector,
    /// Counters of the look-ups, discarded: each look-up already counts as one candidate.
    stats: SearchStats,
}

impl Collector for Found<'_> {
    fn k(&self) -> u32 {
        0
    }

    fn stats(&mut self) -> &mut SearchStats {
        &mut self.stats
    }

    fn is_exhausted(&mut self) -> bool {
        self.collector.is_exhausted()
    }

    fn push(&mut self, number: u32, hit: TableHit) {
        if let Some(named) = self.values.get(number as usize)
            && let Some(query) = self.of.get(named.query as usize)
        {
            self.collector.push(query.number, TableHit { distance: named.distance, ..hit });
        }
    }
}
