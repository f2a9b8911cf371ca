//! The gathered values of small segments of one snapshot, as used by one searcher.

use std::sync::Arc;

use crate::base::error::Result;
use crate::search::hit_collector::HitCollector;
use crate::search::kernel::Kernel;
use crate::search::probe::collector::{Collector, TableHit};
use crate::search::snapshot::{Gathered, OpenSegment, Places};
use crate::search::stats::SearchStats;
use fpstore_base::Fingerprint;

/// The tables of gathered values, and the segments that they contain.
#[derive(Debug, Default)]
pub(super) struct InMemory {
    tables: Vec<Table>,
    /// For each segment, by its position, whether a table contains it.
    has: Vec<bool>,
}

/// A table of gathered values, as used for one snapshot.
#[derive(Debug)]
pub(super) struct Table {
    values: Arc<Gathered>,
    /// For each part (values of one segment), the position of its segment, if the snapshot has it.
    positions: Vec<Option<usize>>,
    /// The number of values that belong to segments of the snapshot.
    live_len: u64,
    /// The positions of segments with deletions, and the number of their deletions.
    with_deletions: Vec<usize>,
    deleted: u64,
    /// The positions of the values to compare with the needle.
    places: Places,
}

impl InMemory {
    /// Prepares these tables for a snapshot with these segments.
    pub(super) fn new(tables: &[Arc<Gathered>], segments: &[OpenSegment]) -> Self {
        let mut has = vec![false; segments.len()];
        let mut of_state: Vec<Table> =
            tables.iter().map(|values| Table::new(values, segments, &mut has)).collect();
        of_state.retain(|table| table.live_len > 0);
        InMemory { tables: of_state, has }
    }

    pub(super) fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Whether a table contains the segment at `position`.
    #[inline]
    pub(super) fn has(&self, position: usize) -> bool {
        self.has.get(position).copied().unwrap_or(false)
    }

    /// Whether the tables can answer a search within `k` bits.
    #[inline]
    pub(super) fn answers(&self, k: u32) -> bool {
        !self.tables.is_empty() && Gathered::answers(k)
    }

    /// Prefetches the first bytes that [`InMemory::search`] reads.
    #[inline]
    pub(super) fn announce(&self, needle: Fingerprint) {
        self.tables.iter().for_each(|table| table.values.announce(needle));
    }

    /// Searches all tables. `segments` must be the segments given to [`InMemory::new`].
    #[inline]
    pub(super) fn search(
        &mut self,
        kernel: Kernel,
        needle: Fingerprint,
        segments: &[OpenSegment],
        collector: &mut HitCollector,
    ) -> Result<()> {
        // Looks up the positions in all tables before reading any value, so that the cache misses
        // overlap.
        for table in &mut self.tables {
            table.places = table.values.look_up(needle);
        }
        for Table { values, positions, with_deletions, deleted, places, .. } in &self.tables {
            collector.enter(positions.len(), *deleted);
            let mut parts = OfParts { positions, collector: &mut *collector };
            values.search(kernel, needle, *places, &mut parts);
            for &position in with_deletions {
                if let Some(open) = segments.get(position) {
                    collector.retain_live(open, position)?;
                }
            }
        }
        Ok(())
    }
}

impl Table {
    fn new(values: &Arc<Gathered>, segments: &[OpenSegment], has: &mut [bool]) -> Self {
        let mut table = Table {
            values: Arc::clone(values),
            positions: values.positions(segments),
            live_len: 0,
            with_deletions: Vec::new(),
            deleted: 0,
            places: Places::default(),
        };
        for position in &mut table.positions {
            let Some((at, has)) = position.and_then(|at| Some((at, has.get_mut(at)?))) else {
                continue;
            };
            if std::mem::replace(has, true) {
                // Another table already contains the segment, so this part is skipped.
                *position = None;
                continue;
            }
            let open = &segments[at];
            table.live_len += open.segment.header().fingerprint_count;
            if let Some(deleted) = &open.deleted {
                table.with_deletions.push(at);
                table.deleted += deleted.fingerprint_count();
            }
        }
        table
    }

    pub(super) fn values(&self) -> &Arc<Gathered> {
        &self.values
    }

    /// The number of values that belong to segments of the snapshot.
    pub(super) fn live_len(&self) -> u64 {
        self.live_len
    }

    /// Whether a third of the values belong to segments that the snapshot does not have.
    pub(super) fn is_outdated(&self) -> bool {
        2 * self.values.len() > 3 * self.live_len
    }
}

/// Passes hits to `collector`, replacing the number of a part by the position of its segment.
struct OfParts<'a> {
    positions: &'a [Option<usize>],
    collector: &'a mut HitCollector,
}

impl Collector for OfParts<'_> {
    #[inline(always)]
    fn k(&self) -> u32 {
        self.collector.k()
    }

    #[inline(always)]
    fn stats(&mut self) -> &mut SearchStats {
        self.collector.stats()
    }

    #[inline]
    fn is_exhausted(&mut self) -> bool {
        self.collector.is_exhausted()
    }

    fn push(&mut self, part: u32, hit: TableHit) {
        if let Some(Some(position)) = self.positions.get(part as usize) {
            self.collector.push_of(*position, hit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Builder;
    use crate::search::answer::Limits;
    use crate::search::snapshot::Gathering;

    /// A segment is in at most one shared table. But even if it were in two tables, a search must
    /// return its records once.
    #[test]
    fn a_segment_in_two_tables_is_read_from_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut builder = Builder::new(folder.path().join("store.fps")).unwrap();
        (0..40).for_each(|id| builder.push(Fingerprint::new(id << 48 | id), id).unwrap());
        let snapshot = builder.finish().unwrap().snapshot();
        let gathered = || {
            let mut gathering = Gathering::default();
            gathering.add_segment(&snapshot.segments()[0].segment).unwrap();
            Arc::new(gathering.finish().unwrap())
        };
        for tables in [vec![gathered()], vec![gathered(), gathered()]] {
            let mut in_memory = InMemory::new(&tables, snapshot.segments());
            let mut collector = HitCollector::default();
            collector.restart(3, Limits::default());
            let (kernel, needle) = (Kernel::detect(), Fingerprint::new(5 << 48 | 5));
            in_memory.search(kernel, needle, snapshot.segments(), &mut collector).unwrap();
            let within = (0..40_u64).filter(|id| 2 * (id ^ 5).count_ones() <= 3).count();
            assert_eq!(collector.finish(), within, "{} tables", tables.len());
            assert_eq!(collector.found.len(), within, "{} tables", tables.len());
        }
    }
}
