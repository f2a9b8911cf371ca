//! What was deleted of segments while they were merged is to be deleted of the new one, too.

use std::collections::BTreeSet;

use crate::bits::permutation::Permuted;
use crate::build::FreshSegment;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::deletions::{DeletionSet, Deletions};
use crate::life::delete::id_fault;
use crate::section::Rank;
use crate::segment::{Mapped, map};
use crate::store::OpenSegment;

/// What is to be deleted of a segment that was made of others.
pub(super) enum Carried {
    Nothing,
    Deletions(Deletions),
    /// A fingerprint stays that was added without an id, and all its ids are gone: deletions cannot say that.
    Impossible,
}

/// Translates what was deleted of segments between the states `parts`, of which `fresh` was made, and `now`.
pub(super) fn carry_over(
    parts: &[OpenSegment],
    now: &[OpenSegment],
    fresh: Option<&FreshSegment>,
) -> Result<Carried> {
    let mut touched = BTreeSet::new();
    for (part, now) in parts.iter().zip(now) {
        if part.entry.deletions != now.entry.deletions {
            note_touched(part, now, &mut touched)?;
        }
    }
    let Some(fresh) = fresh.filter(|_| !touched.is_empty()) else { return Ok(Carried::Nothing) };
    let merged = map(fresh.path())?;
    let mut set = DeletionSet::of(None);
    for fingerprint in touched {
        if !delete(fingerprint, parts, now, &merged, &mut set)? {
            return Ok(Carried::Impossible);
        }
    }
    Ok(set.finish().map_or(Carried::Nothing, Carried::Deletions))
}

/// Notes the fingerprints of which something was deleted since.
fn note_touched(
    part: &OpenSegment,
    now: &OpenSegment,
    touched: &mut BTreeSet<Fingerprint>,
) -> Result<()> {
    let (Some(deleted), Some(table)) = (&now.deleted, part.segment.tables().first()) else {
        return Ok(());
    };
    let was_gone = |rank: u64| part.deleted.as_ref().is_some_and(|of| of.has(Rank(rank)));
    let gone = deleted.gone().iter().copied().filter(|&rank| !was_gone(rank));
    let before = part.deleted.as_ref().map_or([].as_slice(), |of| of.single_ids());
    let ids = deleted.single_ids().iter().filter(|id| before.binary_search(id).is_err());
    let ranks: BTreeSet<u64> = gone.chain(ids.map(|&(rank, _)| rank)).collect();
    let mut ranks = ranks.into_iter().peekable();
    let mut values = part.segment.values(table);
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

/// Deletes of the merged segment what is gone of a fingerprint by now. Says whether that is possible.
fn delete(
    fingerprint: Fingerprint,
    parts: &[OpenSegment],
    now: &[OpenSegment],
    merged: &Mapped,
    set: &mut DeletionSet<'_>,
) -> Result<bool> {
    // Its ids in the merged segment are those of the parts, one part after the other.
    let (mut count, mut is_live) = (0, false);
    let mut gone = Vec::new();
    for (part, now) in parts.iter().zip(now) {
        let Some(rank) = find(&part.segment, fingerprint)? else { continue };
        if part.is_gone(rank) {
            continue;
        }
        is_live |= !now.is_gone(rank);
        let was = part.deleted.as_ref().map_or([].as_slice(), |of| of.ids_of(rank));
        let is = now.deleted.as_ref().map_or([].as_slice(), |of| of.ids_of(rank));
        let mut record = part.segment.record(rank, &mut 0)?;
        let mut position = 0;
        while record.next().map_err(|fault| id_fault(part, fault))?.is_some() {
            let id = (rank.0, position);
            position += 1;
            if was.binary_search(&id).is_ok() {
                continue;
            }
            if now.is_gone(rank) || is.binary_search(&id).is_ok() {
                gone.push(count);
            }
            count += 1;
        }
    }
    let Some(rank) = find(merged, fingerprint)? else { return Ok(false) };
    if !is_live {
        set.delete(rank, count);
    } else if count > 0 && gone.len() as u64 == count {
        return Ok(false);
    } else {
        gone.into_iter().for_each(|position| set.delete_id(rank, position));
    }
    Ok(true)
}

fn find(segment: &Mapped, fingerprint: Fingerprint) -> Result<Option<Rank>> {
    let Some(first) = segment.tables().first() else { return Ok(None) };
    segment.find(first, first.permutation.apply(fingerprint), &mut 0)
}
