//! New against stored: which of the new documents are near-duplicates, and which stay.

use std::sync::Arc;

use super::batch::{BatchMode, search_many};
use super::cluster::{ClusterMethod, Clusters, Room, read};
use super::components::Positions;
use super::documents::{DocumentPair, Documents, each_or_none};
use super::keep::{Fate, KeepRule};
use super::options::JoinOptions;
use super::pair::{Pair, near_pairs_across};
use super::sorted::{SortedPairs, Sorting};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::id::IdRef;
use crate::search::Limits;
use crate::store::Store;

/// With more than this many stored fingerprints for a new one, new ones are looked up rather than joined.
const LOOK_UP_RATIO: u64 = 16;

/// What became of new documents.
#[derive(Debug)]
pub struct Dedup {
    new: Store,
    stored: Option<Store>,
    /// New fingerprints and the stored ones that they are near.
    matches: SortedPairs,
    /// Clusters of the new ones that are near no stored one.
    within: Option<Clusters>,
    /// The new fingerprints that are near no stored one.
    left: Arc<Vec<u64>>,
}

/// Compares the documents of the store `new` with those of `stored`, if there is one, and `within`
/// themselves. Only new ones are ever dropped: those within `options.k` bits of a stored one, and with `within` those
/// that are near a new one which stays. Of these the one with the smallest id stays, numbers by value, texts by
/// bytes.
///
/// Takes 24 bytes of memory for each new fingerprint, beside what the join takes.
///
/// # Errors
///
/// As [`clusters`](crate::clusters), [`Error::RecipeMismatch`] if the fingerprints of the two stores were made
/// in different ways, and [`Error::TooManyPairs`] if there are more than `options.max_pairs` of new and stored ones.
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
/// use fpstore::{Fate, JoinOptions, dedup};
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
    let room = Room::of(new, options)?;
    let (values, copied) = read(new, options)?;
    let mut sorting = Sorting::new(options)?;
    let join_options = sorting.options(options);
    let mut is_near = vec![false; values.len()];
    if let Some(stored) = stored {
        let positions = Positions::new(&values);
        let mut take = |pairs: &[Pair]| {
            for pair in pairs {
                is_near[positions.of(&values, pair.first.value()) as usize] = true;
            }
            sorting.push(pairs)
        };
        let stored_count = stored.info().fingerprint_count();
        if values.len() as u64 * LOOK_UP_RATIO < stored_count {
            check_recipes(new, stored)?;
            let queries: Vec<Fingerprint> = values.iter().copied().map(Fingerprint::new).collect();
            let (limits, mode) = (Limits::default(), BatchMode::Auto);
            search_many(stored, &queries, &join_options, &limits, mode, |at, answer| {
                let first = queries[at];
                let pair = |second| Pair { first, second };
                let pairs: Vec<Pair> = answer.hits().map(|hit| pair(hit.fingerprint())).collect();
                take(&pairs)
            })?;
        } else {
            near_pairs_across(new, stored, &join_options, take)?;
        }
    }
    let matches = sorting.finish()?;
    let (left, copied) = without(values, copied, &is_near);
    let within = match within {
        true => {
            let method = ClusterMethod::Leader;
            Some(Clusters::among(new, options, method, room, Arc::clone(&left), copied)?)
        }
        false => None,
    };
    Ok(Dedup { new: new.clone(), stored: stored.cloned(), matches, within, left })
}

fn check_recipes(new: &Store, stored: &Store) -> Result<()> {
    super::JoinInput::Store(new).check_recipe(&super::JoinInput::Store(stored))
}

/// The values that are not near, and where the copied ones are among them.
fn without(values: Arc<Vec<u64>>, copied: Vec<u32>, is_near: &[bool]) -> (Arc<Vec<u64>>, Vec<u32>) {
    if !is_near.contains(&true) {
        return (values, copied);
    }
    let mut left = Vec::new();
    let mut copied_left = Vec::new();
    let mut copied = copied.into_iter().peekable();
    for (at, (&value, near)) in (0..).zip(values.iter().zip(is_near)) {
        let is_copied = copied.next_if_eq(&at).is_some();
        if !near {
            if is_copied {
                copied_left.push(left.len() as u32);
            }
            left.push(value);
        }
    }
    (Arc::new(left), copied_left)
}

impl Dedup {
    /// How many pairs of a new and a stored fingerprint are near.
    pub fn stored_match_count(&self) -> u64 {
        self.matches.len()
    }

    /// Says of each new document whether it stays, by ascending fingerprint, then in the order of its ids.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if the store is damaged, and whatever `each` returns.
    pub fn for_each_document<E: From<Error>>(
        &self,
        mut each: impl FnMut(Fate, Fingerprint, Option<IdRef<'_>>) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(within) = &self.within {
            return within.for_each_document(KeepRule::Representative, each);
        }
        let mut left = self.left.iter().peekable();
        self.new.for_each(|hit| {
            let fingerprint = hit.fingerprint();
            let fate = match left.next_if_eq(&&fingerprint.value()) {
                Some(_) => Fate::Keep,
                None => Fate::Drop,
            };
            let mut bare = true;
            for id in hit.ids() {
                bare = false;
                each(fate, fingerprint, Some(id?))?;
            }
            if bare { each(fate, fingerprint, None) } else { Ok(()) }
        })
    }

    /// Hands each new document with each stored one that it is near to `each`: by ascending new fingerprint, then
    /// stored one, then in the order of their ids.
    ///
    /// # Errors
    ///
    /// As [`Dedup::for_each_document`].
    pub fn for_each_stored_match<E: From<Error>>(
        &self,
        mut each: impl FnMut(DocumentPair<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(stored) = &self.stored else { return Ok(()) };
        let mut new_documents = Documents::new(&self.new);
        let mut stored_documents = Documents::new(stored);
        self.matches.for_each(|pair| {
            new_documents.move_to(pair.first)?;
            stored_documents.move_to(pair.second)?;
            for first_id in each_or_none(&new_documents.ids) {
                for second_id in each_or_none(&stored_documents.ids) {
                    each(DocumentPair { pair, first_id, second_id })?;
                }
            }
            Ok(())
        })
    }

    /// Hands each new document that is dropped for another new one to `each`, first it, then the one that stays: by
    /// ascending smallest fingerprint of what is connected, then by the document that stays, then by distance from it.
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
