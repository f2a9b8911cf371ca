//! Step 2: decides which documents are dropped, and why.

use std::io::Read;

use super::address::namesakes;
use super::bar::Decided;
use super::clusters::spare;
use super::distance::by_distance;
use super::dropped::{Dropped, DroppedList, KeptDocument};
use super::error::{Error, Result};
use super::exact::{by_digests, tell_equal};
use super::features::by_features;
use super::job::{DECISIONS, Job};
use super::judged::JudgedPairs;
use super::ranking::{ComparedDocuments, Namesake, Ranking};
use super::sketches::by_sketches;
use super::spool::Spools;
use super::work::Work;
use fpstore_base::Fingerprint;
use fpstore_disk::Digest;
use fpstore_disk::fields::{put_u32, put_u64, read_u32, read_u64};

/// The result of step 2: the dropped documents, the near-duplicates kept nevertheless (spared), the
/// threshold for near-duplicates, and the digest of the decisions file.
pub(super) struct Decisions {
    /// The least similarity of near-duplicates, or their greatest distance.
    pub(super) bar: f64,
    pub(super) dropped: DroppedList,
    /// Documents kept although they are near a kept document, because a cluster may keep several.
    pub(super) spared: DroppedList,
    pub(super) digest: Digest,
}

/// Makes the decisions, or reads the decisions of an earlier run if its inputs (see [`state`]) were
/// the same. With `was_added`, the store already contains the documents of the job, which changes
/// the inputs: the earlier decisions are then read in any case.
pub(super) fn run(
    work: &Work<'_>,
    job: &Job,
    spools: &Spools,
    was_added: bool,
) -> Result<Decisions> {
    let state = state(work, job, spools);
    if let Some(bytes) = job.read(DECISIONS)?
        && let Some((of_state, bar, dropped, spared)) = read(&bytes)
        && (was_added || of_state == state)
    {
        return Ok(Decisions { bar, dropped, spared, digest: Digest::of(&bytes) });
    }
    if was_added {
        return Err(Error::refused(format!(
            "{} has lost its decisions, but the store has already added the documents; remove the \
             outputs, delete the documents from the store, and begin again",
            job.folder().path().display()
        )));
    }
    let (Decided { dropped, bar }, spared) = decide(work, job, spools)?;
    let (dropped, spared) = (DroppedList::new(dropped), DroppedList::new(spared));
    let mut bytes = Vec::new();
    put_u32(&mut bytes, state.len() as u32);
    bytes.extend_from_slice(state.as_bytes());
    put_u64(&mut bytes, bar.to_bits());
    bytes.extend_from_slice(&dropped.to_bytes());
    bytes.extend_from_slice(&spared.to_bytes());
    job.save_bytes(DECISIONS, &bytes)?;
    Ok(Decisions { bar, dropped, spared, digest: Digest::of(&bytes) })
}

/// Decides which documents are dropped, and which are spared.
fn decide(work: &Work<'_>, job: &Job, spools: &Spools) -> Result<(Decided, Vec<Dropped>)> {
    let ranking = Ranking::of(&work.settings.keep, spools)?;
    let judged = JudgedPairs::of(work, spools)?;
    let namesakes = judged.join(namesakes(work, spools, &ranking)?, &ranking)?;
    let compared = ComparedDocuments::new(ranking, &namesakes);
    let Decided { mut dropped, bar } = match (work.settings.confirm, &work.stored) {
        _ if !work.reasons.near => {
            Decided { dropped: by_digests(work, spools, &compared)?, bar: 0.0 }
        }
        (None, _) => by_distance(work, spools, &compared)?,
        (Some(threshold), None) => by_features(work, job, spools, &compared, threshold)?,
        (Some(threshold), Some(stored)) => by_sketches(work, spools, &compared, stored, threshold)?,
    };
    if work.reasons.near {
        tell_equal(&mut dropped, work.reasons, spools)?;
    }
    let spared = match work.settings.per_cluster {
        0 | 1 => Vec::new(),
        count => spare(&mut dropped, count, &compared.ranking),
    };
    drop_namesakes(&mut dropped, &namesakes);
    judged.spare(&mut dropped);
    Ok((Decided { dropped, bar }, spared))
}

/// Drops documents with the same address as a better document, or judged to be its duplicates. The
/// kept document is the better one or, if that is dropped, the document kept instead of it.
fn drop_namesakes(dropped: &mut Vec<Dropped>, namesakes: &[Namesake]) {
    dropped.sort_unstable_by_key(|one| one.number);
    let of_namesakes: Vec<Dropped> = namesakes
        .iter()
        .map(|&Namesake { number, best, best_fingerprint, reason }| {
            let found = dropped.binary_search_by_key(&best, |one| one.number);
            let (other, other_fingerprint) = match found.map(|at| &dropped[at]) {
                Ok(one) => (one.other.clone(), one.other_fingerprint),
                Err(_) => (KeptDocument::New(best), Fingerprint::new(best_fingerprint)),
            };
            Dropped { number, other, other_fingerprint, similarity: None, reason }
        })
        .collect();
    dropped.extend(of_namesakes);
}

/// The inputs of the decisions in addition to the settings of the job, as text. The name of the job
/// is included, so that decisions and outputs of an earlier job are not reused.
fn state(work: &Work<'_>, job: &Job, spools: &Spools) -> String {
    let stored = work.stored.as_ref();
    let generation = stored.map_or(0, fpstore::Store::generation);
    let target = work.settings.target;
    format!("{} {} {generation} {:?} {target:?}", job.run(), work.store_id(), spools.left_out())
}

/// Parses a decisions file: the inputs (see [`state`]), the bar, the dropped and the spared
/// documents.
fn read(mut bytes: &[u8]) -> Option<(String, f64, DroppedList, DroppedList)> {
    let len = read_u32(&mut bytes).ok()?;
    let mut state = String::new();
    (&mut bytes).take(len.into()).read_to_string(&mut state).ok()?;
    let bar = f64::from_bits(read_u64(&mut bytes).ok()?);
    let dropped = DroppedList::read(&mut bytes).ok()?;
    Some((state, bar, dropped, DroppedList::read(&mut bytes).ok()?))
}
