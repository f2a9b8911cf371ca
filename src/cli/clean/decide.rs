//! Step 2: which documents are dropped, and why.

use std::io::BufReader;

use anyhow::Context;
use fpstore::join::confirm::{Documents as DocumentList, sketch_similarity};
use fpstore::join::{BatchMode, dedup, search_many};
use fpstore::{IdPolicy, IdRef, Limits, Store};

use super::super::byte_table::ByteTable;
use super::super::confirm::candidate_k;
use super::super::join_input::TemporaryBuilder;
use super::Work;
use super::dropped::{Dropped, DroppedList, Other};
use super::features::{by_features, each_copy};
use super::job::Job;
use super::spool::Spools;

const DECISIONS: &str = "decisions";

/// Decides, or reads what was decided before.
pub(super) fn run(work: &Work<'_>, job: &Job, spools: &Spools) -> anyhow::Result<DroppedList> {
    let path = job.path(DECISIONS);
    if !path.exists() {
        let dropped = DroppedList::new(match (work.args.confirm.confirm, work.stored) {
            (None, stored) => by_distance(work, spools, stored)?,
            (Some(threshold), None) => by_features(work, spools, threshold)?,
            (Some(threshold), Some(stored)) => by_sketches(work, spools, stored, threshold)?,
        });
        job.save(DECISIONS, |out| Ok(dropped.write(out)?))?;
        return Ok(dropped);
    }
    let cannot = || format!("cannot read {}", path.display());
    let file = std::fs::File::open(&path).with_context(cannot)?;
    DroppedList::read(&mut BufReader::new(file)).with_context(cannot)
}

/// The numbers of the documents in the order of their ranks.
pub(super) fn order(work: &Work<'_>, spools: &Spools) -> anyhow::Result<Vec<u32>> {
    let mut merits = Vec::with_capacity(spools.len());
    spools.each(|_, entry| {
        merits.push(entry.merit);
        Ok(())
    })?;
    Ok(work.args.keep.order(&merits))
}

/// The rank of each document.
pub(super) fn ranks(order: &[u32]) -> Vec<u32> {
    let mut ranks = vec![0; order.len()];
    (0..).zip(order).for_each(|(rank, &number)| ranks[number as usize] = rank);
    ranks
}

/// Documents are near if their fingerprints are.
fn by_distance(
    work: &Work<'_>,
    spools: &Spools,
    stored: Option<&Store>,
) -> anyhow::Result<Vec<Dropped>> {
    let (resources, monitor) = (&work.resources, work.monitor);
    let order = order(work, spools)?;
    let ranks = ranks(&order);
    let recipe = work.documents.recipe();
    let mut new = TemporaryBuilder::create(IdPolicy::U64, recipe, resources, monitor)?;
    spools.each(|number, entry| {
        let rank = u64::from(ranks[number as usize]);
        Ok(new.builder.push(entry.fingerprint, rank)?)
    })?;
    let new = new.finish()?;
    let options = resources.join_options(work.k, monitor)?;
    let number_of = |id: Option<IdRef<'_>>| match id {
        Some(IdRef::U64(rank)) => order[rank as usize],
        _ => unreachable!("the ids of the temporary store are ranks"),
    };
    let mut list = Vec::new();
    dedup(&new.store, stored, work.args.is_within(), &options)?.for_each_dropped(|dropped| {
        monitor.check()?;
        list.push(Dropped {
            number: number_of(dropped.id),
            other: match dropped.is_stored {
                true => Other::Stored(dropped.other_id.map(IdRef::to_id)),
                false => Other::New(number_of(dropped.other_id)),
            },
            other_fingerprint: dropped.pair.second,
            similarity: None,
        });
        Ok::<(), fpstore::Error>(())
    })?;
    Ok(list)
}

/// Documents are near if their sketches are alike, as are those of the store.
fn by_sketches(
    work: &Work<'_>,
    spools: &Spools,
    stored: &Store,
    threshold: f64,
) -> anyhow::Result<Vec<Dropped>> {
    let resources = &work.resources;
    let k = candidate_k(stored, threshold, work.args.k)?;
    let mut fingerprints = Vec::with_capacity(spools.len());
    let mut sketches = ByteTable::create(&resources.temp_dir())?;
    spools.each(|_, entry| {
        fingerprints.push(entry.fingerprint);
        sketches.push(&entry.sketch)
    })?;
    let options = resources.join_options(k, work.monitor)?;
    let (limits, mode) = (Limits::default(), BatchMode::Auto);
    let mut list = Vec::new();
    let mut is_dropped = vec![false; fingerprints.len()];
    search_many(stored, &fingerprints, &options, &limits, mode, |at, answer| {
        let mut best: Option<Dropped> = None;
        let own = if answer.is_empty() { Vec::new() } else { sketches.get(at)? };
        for hit in answer.hits() {
            let mut others = hit.ids();
            while let Some(other) = others.next() {
                let other = other?;
                let similarity = sketch_similarity(&own, others.sketch());
                // Of equal ones the first, which is the nearest.
                let least = best.as_ref().and_then(|best| best.similarity).unwrap_or(-1.0);
                if similarity >= threshold && similarity > least {
                    best = Some(Dropped {
                        number: at as u32,
                        other: Other::Stored(Some(other.to_id())),
                        other_fingerprint: hit.fingerprint(),
                        similarity: Some(similarity),
                    });
                }
            }
        }
        is_dropped[at] = best.is_some();
        list.extend(best);
        Ok::<(), anyhow::Error>(())
    })?;
    if !work.args.is_within() {
        return Ok(list);
    }

    let mut rest = order(work, spools)?;
    rest.retain(|&number| !is_dropped[number as usize]);
    let mut documents = DocumentList::of_sketches();
    for &number in &rest {
        documents.push_sketch(fingerprints[number as usize], &sketches.get(number as usize)?);
    }
    let mut candidates = documents.candidates(&options)?;
    for (document, &number) in (0..).zip(&rest) {
        if candidates.needs(document) {
            candidates.take_sketch(document, &sketches.get(number as usize)?)?;
        }
    }
    each_copy(&candidates.confirm(threshold)?, |document, kept, other_fingerprint, similarity| {
        list.push(Dropped {
            number: rest[document as usize],
            other: Other::New(rest[kept as usize]),
            other_fingerprint,
            similarity: Some(similarity),
        });
    })?;
    Ok(list)
}
