//! The readable ids of a damaged segment: they name the documents that are missing if the segment
//! is dropped.

use crate::base::section::Rank;
use crate::segment::{Segment, map};
use crate::store::verify::DamagedSegment;
use fpstore_base::{Id, IdRef};

impl DamagedSegment {
    /// Calls `each` with each id of the segment that is on sound pages, deleted ones included, in
    /// file order. Returns the number of fingerprints whose ids could not be read.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), fpstore::Error> {
    /// let report = fpstore::verify("pages.fps", &fpstore::VerifyOptions::default())?;
    /// for damaged in &report.damaged {
    ///     let unread = damaged.for_each_id(|id| {
    ///         println!("to be added again: {id}");
    ///         Ok::<(), fpstore::Error>(())
    ///     })?;
    ///     eprintln!("and those of {unread} fingerprints");
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// Errors of `each`. Damage is counted and is not an error.
    pub fn for_each_id<E>(
        &self,
        mut each: impl FnMut(IdRef<'_>) -> Result<(), E>,
    ) -> Result<u64, E> {
        let Ok(segment) = map(&self.path) else { return Ok(self.fingerprint_count) };
        if segment.id_places().is_none() {
            return Ok(0);
        }
        let mut unread = 0;
        for rank in 0..segment.header().fingerprint_count {
            match ids(&segment, Rank(rank)) {
                Some(ids) => ids.iter().try_for_each(|id| each(id.as_ref()))?,
                None => unread += 1,
            }
        }
        Ok(unread)
    }
}

/// The ids of the fingerprint at a rank; `None` if they cannot be read.
fn ids(segment: &Segment, rank: Rank) -> Option<Vec<Id>> {
    let mut record = segment.record(rank).ok()?;
    let mut ids = Vec::new();
    while let Some(id) = record.next().ok()? {
        ids.push(id.to_id());
    }
    Some(ids)
}
