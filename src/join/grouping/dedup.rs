//! Compares new documents with stored ones, and finds the new documents to keep and to drop.

use std::sync::Arc;

use super::disjoint_sets::PositionIndex;
use super::keep::Fate;
use super::reading::{JoinMemory, ReadValues, read};
use super::within::NewLeaders;
use crate::base::error::{Error, Result};
use crate::base::section::StoreIndex;
use crate::join::batch::batch_mode::BatchMode;
use crate::join::batch::search_many;
use crate::join::options::{JoinInput, JoinOptions};
use crate::join::pairs::document_lookup::for_each_looked_up;
use crate::join::pairs::{Pair, near_pairs_across};
use crate::search::Limits;
use crate::store::Store;
use fpstore_base::{Fingerprint, Id, IdRef};

/// With more stored fingerprints than this for each new fingerprint, the new fingerprints are
/// searched in the store instead of joined with it.
const SEARCH_RATIO: u64 = 16;

/// The result of a deduplication: the kept new documents, and the nearest kept document of each
/// dropped document.
#[derive(Debug)]
pub struct Dedup {
    new: Store,
    stored: Option<Store>,
    /// Each new fingerprint near a stored one, with the nearest stored fingerprint; ascending.
    near_stored: Vec<Pair>,
    /// For each new fingerprint without a stored neighbour: the new one that replaces it.
    within: Option<NewLeaders>,
    /// The new fingerprints without a stored neighbour, ascending.
    unmatched: Arc<Vec<u64>>,
    /// The smallest id of each fingerprint of `unmatched`, if new documents were compared and all
    /// ids are numbers.
    numbers: Option<Vec<u64>>,
    threads: usize,
}

/// Compares the documents of the store `new` with the documents of `stored`, if given, and with
/// `within` also with one another.
///
/// Only new documents are dropped: documents within the distance of the options from a stored one,
/// and with `within` also documents within this distance from a kept new one. Of new
/// near-duplicates, the document with the smallest id is kept: numbers are compared by value, texts
/// by bytes.
///
/// `stored` may be several [`Stores`](crate::Stores) that are queried together.
///
/// Takes 33 bytes of memory for each new fingerprint in addition to the memory of the join; 8 more
/// with `within` if ids are numbers.
///
/// # Errors
///
/// The errors of [`clusters`](crate::join::clusters()), and [`Error::RecipeMismatch`] if the two
/// stores have different recipes.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let mut builder = fpstore::Builder::new(folder.path().join("news.fps"))?;
/// # builder.push(7.into(), "a.html")?;
/// # let stored = builder.finish()?;
/// # let mut builder = fpstore::Builder::new(folder.path().join("more.fps"))?;
/// # builder.push(6.into(), "b.html")?;
/// # let new = builder.finish()?;
/// use fpstore::join::{Fate, JoinOptions, dedup};
///
/// let done = dedup(&new, Some(&stored), true, &JoinOptions::new(3))?;
/// done.for_each_document(|fate, fingerprint, id| {
///     assert_eq!(fate, Fate::Drop);
///     Ok::<(), fpstore::Error>(())
/// })?;
/// # Ok(()) }
/// ```
pub fn dedup(
    new: &Store,
    stored: Option<&Store>,
    within: bool,
    options: &JoinOptions,
) -> Result<Dedup> {
    options.check()?;
    let new = &new.pinned();
    let stored = stored.map(Store::pinned);
    let stored = stored.as_ref();
    let memory = JoinMemory::of(new, options)?;
    let threads = memory.0.threads;
    // With `within`, the smallest ids are read, too: they determine the kept new documents.
    let ReadValues { values, copied, numbers } = read(new, options, within)?;
    let mut is_near = vec![false; values.len()];
    let mut nearest = Vec::new();
    if let Some(stored) = stored {
        let positions = PositionIndex::new(&values);
        nearest.resize(values.len(), 0_u64);
        let mut add = |pairs: &[Pair]| -> Result<()> {
            for Pair { first, second } in pairs {
                let at = positions.of(&values, first.value()) as usize;
                let order = |of: u64| ((of ^ first.value()).count_ones(), of);
                if !std::mem::replace(&mut is_near[at], true)
                    || order(second.value()) < order(nearest[at])
                {
                    nearest[at] = second.value();
                }
            }
            Ok(())
        };
        let join_options = options.clone().max_pairs(None);
        let stored_count = stored.info().fingerprint_count();
        if values.len() as u64 * SEARCH_RATIO < stored_count {
            JoinInput::Store(new).check_recipe(&JoinInput::Store(stored))?;
            let queries: Vec<Fingerprint> = values.iter().copied().map(Fingerprint::new).collect();
            let (limits, mode) = (Limits::default(), BatchMode::Auto);
            search_many(stored, &queries, &join_options, &limits, mode, |at, answer| {
                let first = queries[at];
                let pair = |second| Pair { first, second };
                let pairs: Vec<Pair> = answer.hits().map(|hit| pair(hit.fingerprint())).collect();
                add(&pairs)
            })?;
        } else {
            near_pairs_across(new, stored, &join_options, add)?;
        }
    }
    let near = |(_, near): &(_, &bool)| **near;
    let near_stored = values.iter().zip(&nearest).zip(&is_near).filter(near);
    let near_stored = near_stored
        .map(|((&first, &second), _)| Pair { first: first.into(), second: second.into() })
        .collect();
    drop(nearest);
    let rest = without(ReadValues { values, copied, numbers }, &is_near);
    let unmatched = Arc::clone(&rest.values);
    let within = within.then(|| NewLeaders::among(new, options, memory, &rest)).transpose()?;
    let (new, stored, numbers) = (new.clone(), stored.cloned(), rest.numbers);
    Ok(Dedup { new, stored, near_stored, within, unmatched, numbers, threads })
}

/// The values whose entry in `is_near` is false.
fn without(read: ReadValues, is_near: &[bool]) -> ReadValues {
    if !is_near.contains(&true) {
        return read;
    }
    let ReadValues { values, copied, numbers } = read;
    let numbers = numbers.map(|numbers| {
        let rest = numbers.into_iter().zip(is_near).filter(|(_, near)| !**near);
        rest.map(|(number, _)| number).collect()
    });
    let mut rest = Vec::new();
    let mut rest_copied = Vec::new();
    let mut copied = copied.into_iter().peekable();
    for (at, (&value, near)) in (0..).zip(values.iter().zip(is_near)) {
        let is_copied = copied.next_if_eq(&at).is_some();
        if !near {
            if is_copied {
                rest_copied.push(rest.len() as u32);
            }
            rest.push(value);
        }
    }
    ReadValues { values: Arc::new(rest), copied: rest_copied, numbers }
}

impl Dedup {
    /// Calls `each` with each new document and whether to keep it. Documents are sorted by
    /// fingerprint; documents with the same fingerprint are in the order of their ids in the store.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if the store is damaged, and any error that `each` returns.
    pub fn for_each_document<E: From<Error>>(
        &self,
        mut each: impl FnMut(Fate, Fingerprint, Option<IdRef<'_>>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut unmatched = (0..).zip(&*self.unmatched).peekable();
        self.new.for_each(|hit| {
            let fingerprint = hit.fingerprint();
            let at = unmatched.next_if(|(_, value)| **value == fingerprint.value());
            let mut keep = at.is_some();
            // Of a leader with several documents, the document with the smallest id is kept.
            let mut first = None;
            if let (Some((at, _)), Some(within)) = (at, &self.within) {
                keep = within.leader_of(at) == at;
                for (number, id) in hit.ids().enumerate() {
                    let id = id?;
                    if first.as_ref().is_none_or(|(_, least): &(usize, Id)| id < least.as_ref()) {
                        first = Some((number, id.to_id()));
                    }
                }
            }
            let fate = |number: usize| {
                let is_first = first.as_ref().is_none_or(|(first, _)| *first == number);
                if keep && is_first { Fate::Keep } else { Fate::Drop }
            };
            let mut count = 0;
            for id in hit.ids() {
                each(fate(count), fingerprint, Some(id?))?;
                count += 1;
            }
            if count == 0 { each(fate(0), fingerprint, None) } else { Ok(()) }
        })
    }

    /// Calls `each` with each kept new document. Documents are sorted by fingerprint; documents
    /// with the same fingerprint are in the order of their ids in the store.
    ///
    /// # Errors
    ///
    /// The same as [`Dedup::for_each_document`].
    pub fn for_each_kept<E: From<Error>>(
        &self,
        mut each: impl FnMut(Fingerprint, Option<IdRef<'_>>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (Some(within), Some(numbers)) = (&self.within, &self.numbers) else {
            return self.for_each_document(|fate, fingerprint, id| match fate {
                Fate::Keep => each(fingerprint, id),
                Fate::Drop => Ok(()),
            });
        };
        // The kept document of each leader is the document with the smallest id.
        let leaders = (0..).zip(&*self.unmatched).zip(numbers);
        let mut leaders = leaders.filter(|((at, _), _)| within.leader_of(*at) == *at);
        leaders.try_for_each(|((_, &value), &id)| each(value.into(), Some(IdRef::U64(id))))
    }

    /// Calls `each` once with each dropped new document and the kept document that it duplicates.
    /// First come the documents near a stored one, sorted by fingerprint; then all others, sorted
    /// by the fingerprint of the kept document, then by the distance from it, then by fingerprint.
    /// If several stored documents are near, `each` gets the nearest, of ties the smallest by
    /// fingerprint, then by id; if several kept new documents are near, it gets the one with the
    /// smallest id.
    ///
    /// # Errors
    ///
    /// The same as [`Dedup::for_each_document`].
    pub fn for_each_dropped<E: From<Error>>(
        &self,
        mut each: impl FnMut(DroppedDocument<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (new, threads) = (&self.new, self.threads);
        if let Some(stored) = &self.stored {
            let pairs = |give: &mut dyn FnMut(Pair) -> Result<(), E>| {
                self.near_stored.iter().copied().try_for_each(give)
            };
            for_each_looked_up(new, Some(stored), threads, pairs, |pair, documents, others| {
                let other = others.iter().min_by(|a, b| a.rank().cmp(&b.rank()));
                let other_id = other.and_then(|other| other.id.as_ref()).map(Id::as_ref);
                let other_store = other.map_or(StoreIndex::default(), |other| other.store);
                documents.iter().try_for_each(|document| {
                    let id = document.id.as_ref().map(Id::as_ref);
                    each(DroppedDocument { pair, id, other_id, is_stored: true, other_store })
                })
            })?;
        }
        let Some(within) = &self.within else { return Ok(()) };
        let value = |at: u32| Fingerprint::new(self.unmatched[at as usize]);
        let pairs = |give: &mut dyn FnMut(Pair) -> Result<(), E>| {
            let pair = |&at: &u32| Pair { first: value(within.leader_of(at)), second: value(at) };
            within.listed.iter().map(pair).try_for_each(give)
        };
        for_each_looked_up(new, None, threads, pairs, |pair, kept, documents| {
            let is_leader = pair.first == pair.second;
            // Of a leader with several documents, the document with the smallest id is kept.
            let first = kept.iter().enumerate().min_by_key(|(_, document)| &document.id);
            let other_id = first.and_then(|(_, kept)| kept.id.as_ref()).map(Id::as_ref);
            let pair = Pair { first: pair.second, second: pair.first };
            let (is_stored, other_store) = (false, StoreIndex::default());
            let dropped = if is_leader { kept } else { documents };
            for (number, document) in dropped.iter().enumerate() {
                if !is_leader || first.is_some_and(|(first, _)| first != number) {
                    let id = document.id.as_ref().map(Id::as_ref);
                    each(DroppedDocument { pair, id, other_id, is_stored, other_store })?;
                }
            }
            Ok(())
        })
    }
}

/// A dropped new document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DroppedDocument<'a> {
    /// The fingerprints of the dropped document and of the kept document that it duplicates.
    pub pair: Pair,
    /// The id of the dropped document, if it has one.
    pub id: Option<IdRef<'a>>,
    /// The id of the kept document, if it has one.
    pub other_id: Option<IdRef<'a>>,
    /// Whether the kept document is a stored document, not a new one.
    pub is_stored: bool,
    /// The store of a stored kept document, if several stores are queried together.
    pub other_store: StoreIndex,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::tests::random::Random;
    use crate::{BuildOptions, Builder, IdPolicy};

    /// Numeric ids are read together with the fingerprints, text ids are looked up later; the
    /// results must be the same, and `for_each_kept` must agree with `for_each_document`.
    #[test]
    fn what_is_kept_is_the_same_for_numbers_and_texts_on_any_number_of_threads() {
        let folder = tempfile::tempdir().unwrap();
        let mut random = Random::new(8);
        let centers: Vec<u64> = (0..40).map(|_| random.next()).collect();
        let build = |name: &str, policy| {
            let mut random = Random::new(9);
            let options = BuildOptions::default().ids(policy);
            let mut builder = Builder::with_options(folder.path().join(name), options).unwrap();
            for position in 0..900_u64 {
                let center = random.pick(&centers);
                let distance = random.below(6) as u32;
                let value = random.flip(center, distance);
                // Except for 1000000, these ids have the same order as texts and as numbers.
                builder.push(value.into(), 1_000_000 - 37 * position).unwrap();
            }
            builder.finish().unwrap()
        };
        let stores = [build("numbers", IdPolicy::U64), build("texts", IdPolicy::Text)];
        let stored = {
            let mut builder = Builder::new(folder.path().join("stored")).unwrap();
            centers[..10].iter().for_each(|&center| builder.push_bare(center.into()).unwrap());
            builder.finish().unwrap()
        };
        for (stored, within) in [(None, true), (Some(&stored), true), (Some(&stored), false)] {
            let mut answers = Vec::new();
            for (new, threads) in stores.iter().flat_map(|new| [1, 3].map(|count| (new, count))) {
                let options = JoinOptions::new(3).threads(threads);
                let done = dedup(new, stored, within, &options).unwrap();
                let (mut kept, mut known, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
                done.for_each_kept(|fingerprint, id| {
                    kept.push((fingerprint, id.map(|id| id.to_string())));
                    Ok::<(), Error>(())
                })
                .unwrap();
                done.for_each_document(|fate, fingerprint, id| {
                    if fate == Fate::Keep {
                        known.push((fingerprint, id.map(|id| id.to_string())));
                    }
                    Ok::<(), Error>(())
                })
                .unwrap();
                done.for_each_dropped(|row| {
                    dropped.push((row.pair, row.id.map(|id| id.to_string())));
                    Ok::<(), Error>(())
                })
                .unwrap();
                assert_eq!(kept, known);
                assert_eq!(kept.len() + dropped.len(), 900);
                answers.push((kept, dropped));
            }
            assert!(answers.iter().all(|answer| *answer == answers[0]));
        }
    }
}
