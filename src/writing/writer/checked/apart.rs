//! Records that people labelled different from a checked record: a check ignores them.

use crate::base::error::Result;
use crate::base::judged::JudgedPairs;
use crate::search::{Hit, Limits, Searcher};
use crate::writing::writer::NewRecord;

/// A checked record that people labelled different from at least one other record.
#[derive(Debug)]
pub(super) struct Apart<'a> {
    judged: &'a JudgedPairs,
    id: String,
}

impl<'a> Apart<'a> {
    /// `None` if the record has no id, or is not labelled different from any other record.
    pub(super) fn of(record: &NewRecord, judged: &'a JudgedPairs) -> Option<Self> {
        if judged.different_count() == 0 {
            return None;
        }
        let id = record.id.as_ref()?.to_string();
        judged.has_different(&id).then_some(Apart { judged, id })
    }

    /// Whether the record is labelled different from the record with the id `id`.
    fn is_from(&self, id: &str) -> bool {
        self.judged.are_different(&self.id, id)
    }

    pub(super) fn is_from_record(&self, other: &NewRecord) -> bool {
        other.id.as_ref().is_some_and(|id| self.is_from(&id.to_string()))
    }

    /// Whether the record is labelled different from all records with a stored fingerprint. Records
    /// without an id have no labels.
    pub(super) fn is_from_all(&self, hit: Hit<'_>) -> Result<bool> {
        let mut any = false;
        for id in hit.stored_ids() {
            any = true;
            if !self.is_from(&id?.to_string()) {
                return Ok(false);
            }
        }
        Ok(any)
    }
}

/// The position of the nearest hit that is not labelled different from the record.
pub(super) enum Place {
    /// The position `at` among the `count` nearest hits.
    At {
        at: usize,
        count: usize,
    },
    None,
    Cut,
}

/// Searches for the nearest hit within `k` bits that is not labelled different from the record.
/// Few ids are labelled, so the first search usually suffices.
pub(super) fn place_of(
    searcher: &mut Searcher,
    record: &NewRecord,
    k: u32,
    limits: &Limits,
    apart: &Apart<'_>,
) -> Result<Place> {
    let mut count = 1;
    let mut passed = 0;
    loop {
        let answer = searcher.nearest_with(record.fingerprint, count, k, limits)?;
        if answer.outcome().cut {
            return Ok(Place::Cut);
        }
        for (at, hit) in answer.hits().enumerate().skip(passed) {
            if !apart.is_from_all(hit)? {
                return Ok(Place::At { at, count });
            }
        }
        passed = answer.hits().count();
        if passed < count {
            return Ok(Place::None);
        }
        count *= 2;
    }
}
