//! The positions of ids in the segments of a snapshot, read before a writer deletes the ids.
//!
//! A store has no index of ids, so a deletion takes a pass over all ids. Segments never change: the
//! pass can read a snapshot before the writer's turn, in which it holds the writer lock, and the
//! turn only reads newer segments. The turn also finds out which of the ids are deleted already.

use std::collections::HashMap;

use super::wanted_ids::WantedIds;
use crate::base::error::Result;
use crate::base::section::Rank;
use crate::bytes::permutation::Permuted;
use crate::format::id_records::Record;
use crate::search::snapshot::{OpenSegment, Snapshot};
use crate::segment::{Segment, WholeTable};
use crate::store::Store;
use fpstore_base::IdRef;
use fpstore_base::watch::{Observer, Phase, Watch};

/// The position of a record with a wanted id: its rank in the first table, and its value there.
pub(super) type IdPlace = (Rank, Permuted);

/// The positions of given ids in the segments of a store.
#[derive(Clone, Debug, Default)]
pub struct IdPlaces {
    wanted: WantedIds,
    /// For each segment that was read, by its digest: the positions in ascending order.
    by_segment: HashMap<[u8; 16], Vec<IdPlace>>,
}

impl IdPlaces {
    /// These ids, still without positions, because no segment was read yet.
    pub fn of<'a>(ids: impl IntoIterator<Item = IdRef<'a>>) -> Self {
        let mut places = IdPlaces::default();
        ids.into_iter().for_each(|id| places.wanted.insert(id));
        places
    }

    /// The number of ids in those segments of `store` that were not read yet.
    pub fn unread(&self, store: &Store) -> u64 {
        self.unread_in(&store.snapshot())
    }

    fn unread_in(&self, state: &Snapshot) -> u64 {
        let unread = state.segments().iter().filter(|open| self.in_segment(open).is_none());
        unread.map(|open| open.segment.header().id_count).sum()
    }

    /// Reads the segments of `store` that were not read yet, and drops the positions in segments
    /// that are no longer in `store`.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if a segment is damaged, and
    /// [`Error::Interrupted`](crate::Error::Interrupted) if the observer ends the work.
    pub fn read(&mut self, store: &Store, observer: Option<Observer>) -> Result<()> {
        let state = store.snapshot();
        let watch = Watch::new(observer, Phase::Search, Some(self.unread_in(&state)));
        let mut read = HashMap::new();
        for open in state.segments() {
            let digest = open.entry.digest.bytes();
            let places = match self.by_segment.remove(&digest) {
                Some(places) => places,
                None if read.contains_key(&digest) => continue,
                None => places_in(open, &mut self.wanted, &watch)?,
            };
            read.insert(digest, places);
        }
        self.by_segment = read;
        Ok(())
    }

    /// Whether the positions cover all of these ids.
    pub(super) fn covers(&self, ids: &WantedIds) -> bool {
        self.wanted.has_all_of(ids)
    }

    /// The positions in a segment, or `None` if it was not read.
    pub(super) fn in_segment(&self, open: &OpenSegment) -> Option<&[IdPlace]> {
        self.by_segment.get(&open.entry.digest.bytes()).map(Vec::as_slice)
    }
}

/// The positions of the records with a wanted id in a segment, deleted records included.
fn places_in(open: &OpenSegment, wanted: &mut WantedIds, watch: &Watch) -> Result<Vec<IdPlace>> {
    let segment = &open.segment;
    let mut places = Vec::new();
    let Some(table) = segment.first_table().filter(|_| segment.id_places().is_some()) else {
        return Ok(places);
    };
    for_each_record(segment, table, |rank, value, mut record| {
        let (mut is_wanted, mut count) = (false, 0);
        while let Some(id) = record.next().map_err(|fault| open.id_fault(fault))? {
            is_wanted |= wanted.find(id);
            count += 1;
        }
        if is_wanted {
            places.push((rank, value));
        }
        Ok(watch.tick(count)?)
    })?;
    Ok(places)
}

/// Calls `each` with the rank, the value and the ids of each fingerprint of a segment with ids.
/// `table` is the first table of the segment.
pub(super) fn for_each_record(
    segment: &Segment,
    table: WholeTable<'_>,
    mut each: impl FnMut(Rank, Permuted, Record<'_>) -> Result<()>,
) -> Result<()> {
    let mut records = segment.records();
    let mut values = table.values();
    while let Some((_, run)) = values.next_run()? {
        for &value in run {
            let Some((rank, record)) = records.next()? else { break };
            each(rank, Permuted(value), record)?;
        }
    }
    Ok(())
}
