//! Rebasing deletions: records that are deleted from segments during their merge are deleted from
//! the merged segment, too, before it is published.

use std::collections::BTreeSet;

use crate::base::error::Result;
use crate::base::section::Rank;
use crate::bytes::permutation::Permuted;
use crate::format::deletions::{DeletionSet, Deletions};
use crate::search::snapshot::OpenSegment;
use crate::segment::{Segment, map};
use crate::writing::directory::UncommittedSegment;
use fpstore_base::Fingerprint;

/// The deletions of a merged segment.
pub(super) enum Rebased {
    /// `None` if nothing is deleted.
    Deletions(Option<Deletions>),
    /// A fingerprint that was added without an id must remain, while all its ids are deleted. A
    /// deletion file cannot express that.
    Impossible,
}

/// Translates the deletions since `parts` were opened to the segment `merged`, which was made of
/// `parts`. `now` contains the same segments with their current deletions.
pub(super) fn rebase_deletions(
    parts: &[OpenSegment],
    now: &[OpenSegment],
    merged: Option<&UncommittedSegment>,
) -> Result<Rebased> {
    let mut touched = BTreeSet::new();
    for (part, now) in parts.iter().zip(now) {
        if part.entry.deletions != now.entry.deletions {
            note_touched(part, now, &mut touched)?;
        }
    }
    let Some(merged) = merged.filter(|_| !touched.is_empty()) else {
        return Ok(Rebased::Deletions(None));
    };
    let merged = map(merged.path())?;
    let mut set = DeletionSet::of(None);
    for fingerprint in touched {
        if !delete(fingerprint, parts, now, &merged, &mut set)? {
            return Ok(Rebased::Impossible);
        }
    }
    Ok(Rebased::Deletions(set.finish()))
}

/// Adds to `touched` each fingerprint with a record that is deleted in `now` and was not yet
/// deleted in `part`, the same segment when its merge began.
fn note_touched(
    part: &OpenSegment,
    now: &OpenSegment,
    touched: &mut BTreeSet<Fingerprint>,
) -> Result<()> {
    let (Some(deleted), Some(table)) = (&now.deleted, part.segment.first_table()) else {
        return Ok(());
    };
    let was_deleted = |rank: u64| part.deleted.as_ref().is_some_and(|of| of.has(Rank(rank)));
    let whole = deleted.fingerprints().iter().copied().filter(|&rank| !was_deleted(rank));
    let before = part.deleted.as_ref().map_or([].as_slice(), |of| of.single_ids());
    let ids = deleted.single_ids().iter().filter(|id| before.binary_search(id).is_err());
    let ranks: BTreeSet<u64> = whole.chain(ids.map(|&(rank, _)| rank)).collect();
    let mut ranks = ranks.into_iter().peekable();
    let mut values = table.values();
    while ranks.peek().is_some()
        && let Some((first, run)) = values.next_run()?
    {
        for (rank, &value) in (first.0..).zip(run) {
            if ranks.next_if_eq(&rank).is_some() {
                touched.insert(table.permutation.invert(Permuted(value)));
            }
        }
    }
    Ok(())
}

/// Deletes from the merged segment the records of a fingerprint that are deleted in `now`. Returns
/// whether that is possible.
fn delete(
    fingerprint: Fingerprint,
    parts: &[OpenSegment],
    now: &[OpenSegment],
    merged: &Segment,
    set: &mut DeletionSet<'_>,
) -> Result<bool> {
    // The merged segment contains the ids of the first part, then the ids of the second part, and
    // so on.
    let (mut count, mut is_live) = (0, false);
    let mut positions = Vec::new();
    for (part, now) in parts.iter().zip(now) {
        let Some(rank) = find(&part.segment, fingerprint)? else { continue };
        if part.is_deleted(rank) {
            continue;
        }
        is_live |= !now.is_deleted(rank);
        let was = part.deleted.as_ref().map_or([].as_slice(), |of| of.ids_of(rank));
        let is = now.deleted.as_ref().map_or([].as_slice(), |of| of.ids_of(rank));
        let mut record = part.segment.record(rank)?;
        let mut position = 0;
        while record.next().map_err(|fault| part.id_fault(fault))?.is_some() {
            let id = (rank.0, position);
            position += 1;
            if was.binary_search(&id).is_ok() {
                continue;
            }
            if now.is_deleted(rank) || is.binary_search(&id).is_ok() {
                positions.push(count);
            }
            count += 1;
        }
    }
    let Some(rank) = find(merged, fingerprint)? else { return Ok(false) };
    if !is_live {
        set.delete(rank, count);
    } else if count > 0 && positions.len() as u64 == count {
        return Ok(false);
    } else {
        positions.into_iter().for_each(|position| set.delete_id(rank, position));
    }
    Ok(true)
}

/// The rank of a fingerprint in the first table of a segment.
pub(super) fn find(segment: &Segment, fingerprint: Fingerprint) -> Result<Option<Rank>> {
    let Some(first) = segment.first_table() else { return Ok(None) };
    first.find(first.permutation.apply(fingerprint))
}
