//! A change of documents by their ids: a deletion, or a replacement.

use std::sync::Arc;

use super::id_places::IdPlaces;
use super::new_record::NewRecord;
use super::wanted_ids::WantedIds;
use crate::store::Store;
use fpstore_base::{Id, IdRef};

/// Documents to delete or to replace, by their ids.
/// [`Writer::change_ids`](crate::Writer::change_ids) makes several such changes in one step.
#[derive(Clone, Debug, Default)]
pub struct IdChange {
    pub(super) wanted: WantedIds,
    records: Vec<NewRecord>,
    pub(super) is_dry_run: bool,
    pub(super) places: Arc<IdPlaces>,
}

impl IdChange {
    /// Deletes these ids, like [`Writer::delete_ids`](crate::Writer::delete_ids).
    pub fn delete<'a>(ids: impl IntoIterator<Item = IdRef<'a>>) -> Self {
        let mut wanted = WantedIds::default();
        ids.into_iter().for_each(|id| wanted.insert(id));
        wanted.into()
    }

    /// Replaces documents by these records, like [`Writer::replace`](crate::Writer::replace).
    pub fn replace(records: Vec<NewRecord>) -> Self {
        let change = IdChange::delete(ids_of(&records));
        IdChange { records, ..change }
    }

    /// Sets whether the change only counts what it would delete.
    pub fn dry_run(mut self, is_dry_run: bool) -> Self {
        self.is_dry_run = is_dry_run;
        self
    }

    /// The number of ids in those segments of `store` that the change would have to read.
    pub fn unread(&self, store: &Store) -> u64 {
        self.places.unread(store)
    }

    /// The positions that were read ahead.
    pub fn places(&self) -> &IdPlaces {
        &self.places
    }

    /// Lets the change use positions that were read ahead, so that it reads only newer segments.
    /// Positions that do not cover all its ids are not used; they may cover others.
    pub fn look_ahead(&mut self, places: impl Into<Arc<IdPlaces>>) {
        self.places = places.into();
        if !self.places.covers(&self.wanted) {
            self.places = Arc::default();
        }
    }

    /// The number of leading changes that one step can make: a change of a document that an earlier
    /// change of the step replaces needs a later step.
    pub fn step_len<'a>(changes: impl IntoIterator<Item = &'a IdChange>) -> usize {
        let mut replaced = WantedIds::default();
        let fits = |change: &&IdChange| {
            let fits = !replaced.has_any_of(&change.wanted);
            ids_of(change.records()).for_each(|id| replaced.insert(id));
            fits
        };
        changes.into_iter().take_while(fits).count()
    }

    /// Whether the change deletes or replaces one of these records, by its id.
    pub fn concerns(&self, records: &[NewRecord]) -> bool {
        ids_of(records).any(|id| self.wanted.has(id))
    }

    /// The records to add.
    pub(super) fn records(&self) -> &[NewRecord] {
        if self.is_dry_run { &[] } else { &self.records }
    }
}

fn ids_of(records: &[NewRecord]) -> impl Iterator<Item = IdRef<'_>> {
    records.iter().filter_map(|record| record.id.as_ref()).map(Id::as_ref)
}

impl From<WantedIds> for IdChange {
    fn from(wanted: WantedIds) -> Self {
        IdChange { wanted, ..IdChange::default() }
    }
}
