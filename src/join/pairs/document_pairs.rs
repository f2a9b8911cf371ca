//! Near pairs of documents: for each near pair of fingerprints, each id of one with each id of the
//! other.

use super::near_pairs::{Pair, near_pairs};
use super::sorted_pairs::{PairSorter, SortedPairs};
use crate::base::error::{Error, Result};
use crate::join::options::{JoinOptions, Share};
use crate::join::shares::plan::JoinPlan;
use crate::search::{Hit, Searcher};
use crate::store::Store;
use fpstore_base::Fingerprint;
use fpstore_base::{Id, IdRef};

/// Two documents of a [`DocumentPairs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentPair<'a> {
    /// The fingerprints.
    pub pair: Pair,
    /// The id of the document with the first fingerprint, if it has one.
    pub first_id: Option<IdRef<'a>>,
    /// The id of the document with the second fingerprint, if it has one.
    pub second_id: Option<IdRef<'a>>,
}

/// All pairs of documents whose fingerprints are near.
#[derive(Debug)]
pub struct DocumentPairs {
    store: Store,
    pairs: SortedPairs,
    count: u64,
}

/// Finds every pair of documents of a store whose fingerprints lie within the distance of the
/// options. Documents with the same fingerprint are pairs at distance 0, unless `distinct`.
///
/// A fingerprint without ids counts as one document.
///
/// The shares of a join, see [`JoinOptions::share`], have each pair of documents once together.
///
/// # Errors
///
/// As [`sorted_pairs`](crate::join::sorted_pairs). The limit on pairs counts pairs of documents.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let mut builder = fpstore::Builder::new(folder.path().join("news.fps"))?;
/// builder.push(7.into(), "a.html")?;
/// builder.push(7.into(), "copy of a.html")?;
/// builder.push(15.into(), "b.html")?;
/// let store = builder.finish()?;
///
/// use fpstore::join::{JoinOptions, document_pairs};
/// let pairs = document_pairs(&store, &JoinOptions::new(3), false)?;
/// assert_eq!(pairs.len(), 3);
/// pairs.for_each(|pair| {
///     println!("{:?} {:?} {}", pair.first_id, pair.second_id, pair.pair.distance());
///     Ok::<(), fpstore::Error>(())
/// })?;
/// # Ok(()) }
/// ```
pub fn document_pairs(
    store: &Store,
    options: &JoinOptions,
    distinct: bool,
) -> Result<DocumentPairs> {
    let store = &store.pinned();
    let mut sorter = PairSorter::new(options)?;
    let join_options = sorter.join_options(options);
    let mut any_copies = false;
    let mut copies = 0;
    let has_ids = store.info().id_count() > 0;
    if has_ids && distinct && options.share.count > 1 {
        // Whether there are any would take a pass.
        any_copies = true;
    } else if has_ids {
        for_each_id_count(store, options, &mut |fingerprint, ids| {
            any_copies |= ids > 1;
            if ids > 1 && !distinct {
                let pair = Pair { first: fingerprint, second: fingerprint };
                sorter.unsorted += ids * (ids - 1) / 2 - 1;
                copies += ids * (ids - 1) / 2;
                sorter.push(&[pair])?;
            }
            Ok(())
        })?;
        // A fingerprint of another share may have copies.
        any_copies |= options.share.count > 1;
    }
    near_pairs(store, &join_options, |pairs| sorter.push(pairs))?;
    let most = sorter.most;
    let pairs = sorter.finish()?;
    let mut count = pairs.len();
    if any_copies {
        count = copies;
        let mut documents = IdLookup::new(store);
        pairs.for_each(|pair| {
            if pair.first != pair.second {
                documents.look_up(pair.first)?;
                let partners = documents.partner_ids(pair.second)?.len().max(1) as u64;
                count += documents.ids.len().max(1) as u64 * partners;
            }
            if count > most { Err(Error::TooManyPairs { most }) } else { Ok(()) }
        })?;
    }
    Ok(DocumentPairs { store: store.clone(), pairs, count })
}

/// Calls `each` with each fingerprint of the share and the number of its ids. The shares of a join
/// have each fingerprint once together.
fn for_each_id_count(
    store: &Store,
    options: &JoinOptions,
    each: &mut dyn FnMut(Fingerprint, u64) -> Result<()>,
) -> Result<()> {
    let Share { number, count } = options.share;
    if count > 1 && options.k < 64 {
        let plan = JoinPlan::of(store, options.k)?;
        if let Some(range) = plan.ranges_of(store, options.share)?.first() {
            return range.for_each_id_count(each);
        }
    }
    let mut at = 0;
    store.for_each(|hit| {
        at += 1;
        if at % u64::from(count) == u64::from(number) {
            each(hit.fingerprint(), id_count(&hit)?)?;
        }
        Ok::<(), Error>(())
    })
}

fn id_count(hit: &Hit<'_>) -> Result<u64> {
    let mut count = 0;
    for id in hit.ids() {
        id?;
        count += 1;
    }
    Ok(count)
}

impl DocumentPairs {
    /// The number of pairs.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Calls `each` with each pair: by ascending first fingerprint, then second, then in the order
    /// of the ids of the first, then of the second.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if the store is damaged, [`Error::Io`] if temporary files cannot be read,
    /// and any error that `each` returns.
    pub fn for_each<E: From<Error>>(
        &self,
        mut each: impl FnMut(DocumentPair<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut documents = IdLookup::new(&self.store);
        self.pairs.for_each(|pair| {
            documents.look_up(pair.first)?;
            if pair.first == pair.second {
                let ids = documents.ids.iter().map(Id::as_ref);
                for (at, first) in ids.clone().enumerate() {
                    for second in ids.clone().skip(at + 1) {
                        each(DocumentPair {
                            pair,
                            first_id: Some(first),
                            second_id: Some(second),
                        })?;
                    }
                }
                return Ok(());
            }
            documents.partner_ids(pair.second)?;
            let seconds = documents.partner.as_slice();
            for first_id in each_or_none(&documents.ids) {
                for second_id in each_or_none(seconds) {
                    each(DocumentPair { pair, first_id, second_id })?;
                }
            }
            Ok(())
        })
    }
}

/// The ids, or one `None` if there are none.
pub(in crate::join) fn each_or_none(ids: &[Id]) -> impl Iterator<Item = Option<IdRef<'_>>> {
    let none = ids.is_empty().then_some(None);
    ids.iter().map(|id| Some(id.as_ref())).chain(none)
}

/// Looks up the ids of one fingerprint, which it keeps, and of one partner after the other.
pub(in crate::join) struct IdLookup {
    searcher: Searcher,
    fingerprint: Option<Fingerprint>,
    pub(in crate::join) ids: Vec<Id>,
    partner: Vec<Id>,
}

impl IdLookup {
    pub(in crate::join) fn new(store: &Store) -> Self {
        let searcher = store.searcher();
        IdLookup { searcher, fingerprint: None, ids: Vec::new(), partner: Vec::new() }
    }

    /// Makes `ids` the ids of a fingerprint, if they are not yet.
    pub(in crate::join) fn look_up(&mut self, fingerprint: Fingerprint) -> Result<()> {
        if self.fingerprint != Some(fingerprint) {
            self.fingerprint = Some(fingerprint);
            read_ids(&mut self.searcher, fingerprint, &mut self.ids)?;
        }
        Ok(())
    }

    pub(in crate::join) fn partner_ids(&mut self, fingerprint: Fingerprint) -> Result<&[Id]> {
        read_ids(&mut self.searcher, fingerprint, &mut self.partner)?;
        Ok(&self.partner)
    }
}

fn read_ids(searcher: &mut Searcher, fingerprint: Fingerprint, ids: &mut Vec<Id>) -> Result<()> {
    ids.clear();
    let answer = searcher.search(fingerprint, 0)?;
    for hit in answer.hits() {
        for id in hit.ids() {
            ids.push(id?.to_id());
        }
    }
    Ok(())
}
