//! New documents against stored ones: which new documents are near-duplicates, and which to keep.

use std::sync::Arc;

use super::disjoint_sets::PositionIndex;
use super::keep::Fate;
use super::reading::{JoinMemory, ReadValues, read};
use super::within::Within;
use crate::base::error::{Error, Result};
use crate::base::section::StoreIndex;
use crate::join::batch::batch_mode::BatchMode;
use crate::join::batch::search_many::search_many;
use crate::join::options::JoinOptions;
use crate::join::pairs::document_pairs::{Document, DocumentLookup};
use crate::join::pairs::near_pairs::{Pair, near_pairs_across};
use crate::search::Limits;
use crate::store::Store;
use fpstore_base::{Fingerprint, Id, IdRef};

/// With more than this many stored fingerprints for each new one, the new ones are searched in the
/// store rather than joined with it.
const SEARCH_RATIO: u64 = 16;

/// Which new documents are kept, and which documents the others are near.
#[derive(Debug)]
pub struct Dedup {
    new: Store,
    stored: Option<Store>,
    /// Each new fingerprint that is near a stored one, with the nearest, ascending.
    near_stored: Vec<Pair>,
    /// Which of the new fingerprints that are near no stored one go by which.
    within: Option<Within>,
    /// The new fingerprints that are near no stored one.
    unmatched: Arc<Vec<u64>>,
}

/// Compares the documents of the store `new` with those of `stored`, if given, and with `within`
/// also with one another.
///
/// Only new documents are dropped: those within the distance of the options of a stored document,
/// and with `within` those near a new document that is kept. Of near new documents the one with
/// the smallest id is kept, numbers by value, texts by bytes.
///
/// `stored` may be several [`Stores`](crate::Stores) that are asked as one.
///
/// Takes 33 bytes of memory for each new fingerprint, beside the memory of the join.
///
/// # Errors
///
/// As [`clusters`](crate::join::clusters()), and [`Error::RecipeMismatch`] if the two stores have
/// different recipes.
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
    let ReadValues { values, copied } = read(new, options)?;
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
            check_recipes(new, stored)?;
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
    let rest = without(ReadValues { values, copied }, &is_near);
    let unmatched = Arc::clone(&rest.values);
    let within = within.then(|| Within::among(new, options, memory, &rest)).transpose()?;
    Ok(Dedup { new: new.clone(), stored: stored.cloned(), near_stored, within, unmatched })
}

fn check_recipes(new: &Store, stored: &Store) -> Result<()> {
    crate::join::JoinInput::Store(new).check_recipe(&crate::join::JoinInput::Store(stored))
}

/// The values without those that are near. `is_near` has an entry for each value.
fn without(read: ReadValues, is_near: &[bool]) -> ReadValues {
    if !is_near.contains(&true) {
        return read;
    }
    let ReadValues { values, copied } = read;
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
    ReadValues { values: Arc::new(rest), copied: rest_copied }
}

impl Dedup {
    /// Calls `each` with each new document and whether to keep it, by ascending fingerprint, then
    /// in the order of its ids.
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
            // Of a leader with several documents the one with the smallest id is kept.
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

    /// Calls `each` once with each new document that is dropped, and with the document that is the
    /// reason: first those that are near a stored one, by ascending fingerprint, then the others, by
    /// ascending fingerprint of the kept document, then by distance from it, then by fingerprint. Of
    /// several stored documents the reason is the nearest, ties by fingerprint, then by id; of several
    /// kept ones it is the first, by id.
    ///
    /// # Errors
    ///
    /// As [`Dedup::for_each_document`].
    pub fn for_each_dropped<E: From<Error>>(
        &self,
        mut each: impl FnMut(DroppedDocument<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(stored) = &self.stored {
            let mut new_documents = DocumentLookup::new(&self.new);
            let mut stored_documents = DocumentLookup::new(stored);
            for &pair in &self.near_stored {
                new_documents.look_up(pair.first)?;
                stored_documents.look_up(pair.second)?;
                // A document with an id says more than one without, which another store may have.
                let order = |of: &&Document| (of.id.is_none(), of.id.clone(), of.store);
                let other = stored_documents.found.iter().min_by_key(order);
                let other_id = other.and_then(|other| other.id.as_ref()).map(Id::as_ref);
                let other_store = other.map_or(StoreIndex::default(), |other| other.store);
                for document in &new_documents.found {
                    let id = document.id.as_ref().map(Id::as_ref);
                    each(DroppedDocument { pair, id, other_id, is_stored: true, other_store })?;
                }
            }
        }
        let Some(within) = &self.within else { return Ok(()) };
        let mut documents = DocumentLookup::new(&self.new);
        let mut leaders = DocumentLookup::new(&self.new);
        for &at in within.listed() {
            let leader = within.leader_of(at);
            let [first, second] =
                [at, leader].map(|at| Fingerprint::new(self.unmatched[at as usize]));
            documents.look_up(first)?;
            leaders.look_up(second)?;
            let kept = leaders.found.iter().enumerate().min_by_key(|(_, document)| &document.id);
            let other_id = kept.and_then(|(_, kept)| kept.id.as_ref()).map(Id::as_ref);
            for (number, document) in documents.found.iter().enumerate() {
                let is_kept = at == leader && kept.is_none_or(|(kept, _)| kept == number);
                if !is_kept {
                    let (pair, id) = (Pair { first, second }, document.id.as_ref().map(Id::as_ref));
                    let (is_stored, other_store) = (false, StoreIndex::default());
                    each(DroppedDocument { pair, id, other_id, is_stored, other_store })?;
                }
            }
        }
        Ok(())
    }
}

/// A new document that is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DroppedDocument<'a> {
    /// Its fingerprint, and that of the document that is the reason.
    pub pair: Pair,
    /// Its id, if it has one.
    pub id: Option<IdRef<'a>>,
    /// The id of the other document, if it has one.
    pub other_id: Option<IdRef<'a>>,
    /// Whether the other document is stored, and not a new one that is kept.
    pub is_stored: bool,
    /// The store of a stored document, where several are asked as one.
    pub other_store: StoreIndex,
}
