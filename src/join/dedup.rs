//! New documents against stored ones: which new documents are near-duplicates, and which to keep.

use std::sync::Arc;

use super::clusters::{ClusterMethod, Clusters, JoinMemory, ReadValues, read};
use super::disjoint_sets::PositionIndex;
use super::document_pairs::{DocumentPair, IdLookup, each_or_none};
use super::keep::{Fate, KeepRule};
use super::near_pairs::{Pair, near_pairs_across};
use super::options::JoinOptions;
use super::search_many::{BatchMode, search_many};
use super::sorted_pairs::{PairSorter, SortedPairs};
use crate::error::{Error, Result};
use crate::search::Limits;
use crate::store::Store;
use fpstore_base::Fingerprint;
use fpstore_base::IdRef;

/// With more than this many stored fingerprints for each new one, the new ones are searched in the
/// store rather than joined with it.
const SEARCH_RATIO: u64 = 16;

/// Which new documents are kept, and which documents the others are near.
#[derive(Debug)]
pub struct Dedup {
    new: Store,
    stored: Option<Store>,
    /// Pairs of a new fingerprint and a stored one that it is near.
    matches: SortedPairs,
    /// Clusters of the new fingerprints that are near no stored one.
    within: Option<Clusters>,
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
/// Takes 24 bytes of memory for each new fingerprint, beside the memory of the join.
///
/// # Errors
///
/// As [`clusters`](crate::join::clusters), [`Error::RecipeMismatch`] if the two stores have
/// different recipes, and [`Error::TooManyPairs`] if there are more pairs of a new and a stored
/// fingerprint than the options allow.
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
    let mut sorter = PairSorter::new(options)?;
    let join_options = sorter.join_options(options);
    let mut is_near = vec![false; values.len()];
    if let Some(stored) = stored {
        let positions = PositionIndex::new(&values);
        let mut add = |pairs: &[Pair]| {
            for pair in pairs {
                is_near[positions.of(&values, pair.first.value()) as usize] = true;
            }
            sorter.push(pairs)
        };
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
    let matches = sorter.finish()?;
    let rest = without(ReadValues { values, copied }, &is_near);
    let unmatched = Arc::clone(&rest.values);
    let cluster = || Clusters::among(new, options, ClusterMethod::Leader, memory, rest);
    let within = within.then(cluster).transpose()?;
    Ok(Dedup { new: new.clone(), stored: stored.cloned(), matches, within, unmatched })
}

fn check_recipes(new: &Store, stored: &Store) -> Result<()> {
    super::JoinInput::Store(new).check_recipe(&super::JoinInput::Store(stored))
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
    /// How many near pairs of a new and a stored fingerprint there are.
    pub fn stored_match_count(&self) -> u64 {
        self.matches.len()
    }

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
        if let Some(within) = &self.within {
            return within.for_each_document(KeepRule::Representative, each);
        }
        let mut unmatched = self.unmatched.iter().peekable();
        self.new.for_each(|hit| {
            let fingerprint = hit.fingerprint();
            let keep = unmatched.next_if_eq(&&fingerprint.value()).is_some();
            let fate = if keep { Fate::Keep } else { Fate::Drop };
            let mut bare = true;
            for id in hit.ids() {
                bare = false;
                each(fate, fingerprint, Some(id?))?;
            }
            if bare { each(fate, fingerprint, None) } else { Ok(()) }
        })
    }

    /// Calls `each` with each new document and each stored one that it is near: by ascending new
    /// fingerprint, then stored one, then in the order of their ids.
    ///
    /// # Errors
    ///
    /// As [`Dedup::for_each_document`].
    pub fn for_each_stored_match<E: From<Error>>(
        &self,
        mut each: impl FnMut(DocumentPair<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(stored) = &self.stored else { return Ok(()) };
        let mut new_documents = IdLookup::new(&self.new);
        let mut stored_documents = IdLookup::new(stored);
        self.matches.for_each(|pair| {
            new_documents.look_up(pair.first)?;
            stored_documents.look_up(pair.second)?;
            for first_id in each_or_none(&new_documents.ids) {
                for second_id in each_or_none(&stored_documents.ids) {
                    each(DocumentPair { pair, first_id, second_id })?;
                }
            }
            Ok(())
        })
    }

    /// The number of calls that [`Dedup::for_each_stored_match`] and
    /// [`Dedup::for_each_new_match`] will make together. Calls `tick` now and then; its error ends
    /// the counting.
    ///
    /// # Errors
    ///
    /// As [`Dedup::for_each_document`].
    pub fn match_count<E: From<Error>>(
        &self,
        mut tick: impl FnMut() -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut count = 0_u64;
        if let Some(stored) = &self.stored {
            let mut new_documents = IdLookup::new(&self.new);
            let mut stored_documents = IdLookup::new(stored);
            self.matches.for_each(|pair| -> Result<(), E> {
                tick()?;
                new_documents.look_up(pair.first)?;
                stored_documents.look_up(pair.second)?;
                let of = |ids: &[fpstore_base::Id]| ids.len().max(1) as u64;
                let both = of(&new_documents.ids).saturating_mul(of(&stored_documents.ids));
                count = count.saturating_add(both);
                Ok(())
            })?;
        }
        self.for_each_new_match(|_| {
            count = count.saturating_add(1);
            tick()
        })?;
        Ok(count)
    }

    /// Calls `each` with each new document that is dropped because of another new one, which comes
    /// second: by ascending smallest fingerprint of their component, then by the kept document,
    /// then by distance from it.
    ///
    /// # Errors
    ///
    /// As [`Dedup::for_each_document`].
    pub fn for_each_new_match<E: From<Error>>(
        &self,
        mut each: impl FnMut(DocumentPair<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(within) = &self.within else { return Ok(()) };
        within.for_each(|cluster| {
            let leader = cluster.representative();
            let kept = leader.ids.iter().enumerate().min_by_key(|(_, id)| *id);
            for (number, member) in cluster.members.iter().enumerate() {
                let pair = Pair { first: member.fingerprint, second: leader.fingerprint };
                for (at, first_id) in each_or_none(&member.ids).enumerate() {
                    if number == 0 && kept.is_none_or(|(kept, _)| kept == at) {
                        continue;
                    }
                    let second_id = kept.map(|(_, id)| id.as_ref());
                    each(DocumentPair { pair, first_id, second_id })?;
                }
            }
            Ok(())
        })
    }
}
