//! Step 2: which documents are dropped, and why.

use std::io::Read;

use super::clusters::spare;
use super::distance::by_distance;
use super::dropped::DroppedList;
use super::error::{Error, Result};
use super::features::by_features;
use super::job::{DECISIONS, Job};
use super::ranking::Ranking;
use super::sketches::by_sketches;
use super::spool::Spools;
use super::work::Work;
use crate::bytes::checksum::Digest;
use crate::bytes::fields::{put_u32, read_u32};

/// The documents that are dropped and those that stay though they are near a kept one, and the
/// digest of these lists.
pub(super) struct Decisions {
    pub(super) dropped: DroppedList,
    /// Those that stay beside the one that they are near, as more than one of a cluster is kept.
    pub(super) spared: DroppedList,
    pub(super) digest: Digest,
}

/// Decides, or reads what was decided before on the same state of the store and of the files. Once the
/// store has added the documents of the job, `was_added`, it is another one by that alone.
pub(super) fn run(
    work: &Work<'_>,
    job: &Job,
    spools: &Spools,
    was_added: bool,
) -> Result<Decisions> {
    let state = state(work, job, spools);
    if let Some(bytes) = job.read(DECISIONS)?
        && let Some((of_state, dropped, spared)) = read(&bytes)
        && (was_added || of_state == state)
    {
        return Ok(Decisions { dropped, spared, digest: Digest::of(&bytes) });
    }
    if was_added {
        return Err(Error::refused(format!(
            "{} has lost its decisions, and the store has added the documents; remove the outputs, \
             delete the documents from the store, and begin again",
            job.folder().display()
        )));
    }
    let mut dropped = match (work.settings.confirm, &work.stored) {
        (None, _) => by_distance(work, spools)?,
        (Some(threshold), None) => by_features(work, spools, threshold)?,
        (Some(threshold), Some(stored)) => by_sketches(work, spools, stored, threshold)?,
    };
    let spared = match work.settings.per_cluster {
        0 | 1 => Vec::new(),
        count => spare(&mut dropped, count, &Ranking::of(&work.settings.keep, spools)?),
    };
    let (dropped, spared) = (DroppedList::new(dropped), DroppedList::new(spared));
    let mut bytes = Vec::new();
    put_u32(&mut bytes, state.len() as u32);
    bytes.extend_from_slice(state.as_bytes());
    bytes.extend_from_slice(&dropped.to_bytes());
    bytes.extend_from_slice(&spared.to_bytes());
    job.save_bytes(DECISIONS, &bytes)?;
    Ok(Decisions { dropped, spared, digest: Digest::of(&bytes) })
}

/// What decisions follow from, beside the settings of the job. By its name those of an earlier job are
/// no decisions of this one, nor are its outputs.
fn state(work: &Work<'_>, job: &Job, spools: &Spools) -> String {
    let stored = work.stored.as_ref();
    let generation = stored.map_or(0, crate::store::Store::generation);
    format!("{} {} {generation} {:?}", job.run(), work.store_id(), spools.left_out())
}

/// The state and the lists in a file of decisions.
fn read(mut bytes: &[u8]) -> Option<(String, DroppedList, DroppedList)> {
    let len = read_u32(&mut bytes).ok()?;
    let mut state = String::new();
    (&mut bytes).take(len.into()).read_to_string(&mut state).ok()?;
    let dropped = DroppedList::read(&mut bytes).ok()?;
    Some((state, dropped, DroppedList::read(&mut bytes).ok()?))
}
