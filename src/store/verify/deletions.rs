//! Verifying the deletions of a segment against the segment.

use crate::base::error::{Error, Fault, Result};
use crate::base::section::{Rank, Section};
use crate::format::deletions;
use crate::search::snapshot::OpenSegment;

/// Checks that each deleted id exists, that its fingerprint keeps another id, and that the count
/// of deleted ids is correct. The ranks were checked when the file was opened.
pub(super) fn verify(open: &OpenSegment) -> Result<()> {
    let (Some(deleted), Some(entry)) = (&open.deleted, open.entry.deletions) else { return Ok(()) };
    let broken = |detail: String| {
        let path = open.segment.path().with_file_name(deletions::file_name(entry.number));
        Error::corrupt(path, Section::Deletions, 0, Fault::rule(26, detail))
    };
    let ids_at = |rank: u64| -> Result<u64> {
        let record = open.segment.record(Rank(rank))?;
        record.id_count().map_err(|fault| match open.segment.id_places() {
            Some((_, records)) => open.segment.corrupt(records, 0, fault),
            None => broken("there are ids in a segment without ids".into()),
        })
    };
    let mut id_count = 0;
    for &rank in deleted.fingerprints() {
        id_count += ids_at(rank)?;
    }
    for ids in deleted.single_ids().chunk_by(|a, b| a.0 == b.0) {
        let Some(&(rank, last)) = ids.last() else { continue };
        let there = ids_at(rank)?;
        if last >= there || ids.len() as u64 >= there {
            let detail =
                format!("{} of {there} ids of rank {rank} are deleted, up to id {last}", ids.len());
            return Err(broken(detail));
        }
        id_count += ids.len() as u64;
    }
    if id_count != deleted.id_count() {
        let detail = format!("{id_count} ids are deleted, expected {}", deleted.id_count());
        return Err(broken(detail));
    }
    Ok(())
}
