//! The pairs of documents that near pairs of fingerprints stand for.

use super::options::JoinOptions;
use super::pair::{Pair, near_pairs};
use super::sorted::{SortedPairs, Sorting};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::id::{Id, IdRef};
use crate::search::{Hit, Searcher};
use crate::store::Store;

/// Two documents of a [`DocumentPairs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentPair<'a> {
    /// The fingerprints.
    pub pair: Pair,
    /// The id of the first one's document, if it has any.
    pub first_id: Option<IdRef<'a>>,
    /// The id of the second one's.
    pub second_id: Option<IdRef<'a>>,
}

/// Every pair of documents whose fingerprints are near.
#[derive(Debug)]
pub struct DocumentPairs {
    store: Store,
    pairs: SortedPairs,
    count: u64,
}

/// Finds every pair of documents of a store whose fingerprints lie within `options.k` bits: documents
/// of one fingerprint too, at distance 0, unless `distinct`.
///
/// A fingerprint without ids counts as one document.
///
/// # Errors
///
/// As [`sorted_pairs`](crate::sorted_pairs); `options.max_pairs` counts pairs of documents.
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
/// let pairs = fpstore::document_pairs(&store, &fpstore::JoinOptions::new(3), false)?;
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
    let mut sorting = Sorting::new(options)?;
    let join_options = sorting.options(options);
    let mut any_copies = false;
    let mut copies = 0;
    if store.info().id_count() > 0 {
        store.for_each(|hit| {
            let ids = id_count(&hit)?;
            any_copies |= ids > 1;
            if ids > 1 && !distinct {
                let pair = Pair { first: hit.fingerprint(), second: hit.fingerprint() };
                sorting.unsorted += ids * (ids - 1) / 2 - 1;
                copies += ids * (ids - 1) / 2;
                sorting.push(&[pair])?;
            }
            Ok::<(), Error>(())
        })?;
    }
    near_pairs(store, &join_options, |pairs| sorting.push(pairs))?;
    let most = sorting.most;
    let pairs = sorting.finish()?;
    let mut count = pairs.len();
    if any_copies {
        count = copies;
        let mut counter = Documents::new(store);
        pairs.for_each(|pair| {
            if pair.first != pair.second {
                counter.move_to(pair.first)?;
                let partners = counter.partner(pair.second)?.len().max(1) as u64;
                count += counter.ids.len().max(1) as u64 * partners;
            }
            if count > most { Err(Error::TooManyPairs { most }) } else { Ok(()) }
        })?;
    }
    Ok(DocumentPairs { store: store.clone(), pairs, count })
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
    /// How many there are.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Hands all pairs to `each`: by ascending first fingerprint, then second, then in the order
    /// of the ids of the first, then of the second.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if the store is damaged, [`Error::Io`] if temporary files cannot be read, and
    /// whatever `each` returns.
    pub fn for_each<E: From<Error>>(
        &self,
        mut each: impl FnMut(DocumentPair<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut documents = Documents::new(&self.store);
        self.pairs.for_each(|pair| {
            documents.move_to(pair.first)?;
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
            documents.partner(pair.second)?;
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

/// The ids, or one that is none.
pub(super) fn each_or_none(ids: &[Id]) -> impl Iterator<Item = Option<IdRef<'_>>> {
    let none = ids.is_empty().then_some(None);
    ids.iter().map(|id| Some(id.as_ref())).chain(none)
}

/// Looks up ids: those of one fingerprint, kept, and those of its partners in turn.
pub(super) struct Documents {
    searcher: Searcher,
    fingerprint: Option<Fingerprint>,
    pub(super) ids: Vec<Id>,
    partner: Vec<Id>,
}

impl Documents {
    pub(super) fn new(store: &Store) -> Self {
        let searcher = store.searcher();
        Documents { searcher, fingerprint: None, ids: Vec::new(), partner: Vec::new() }
    }

    pub(super) fn move_to(&mut self, fingerprint: Fingerprint) -> Result<()> {
        if self.fingerprint != Some(fingerprint) {
            self.fingerprint = Some(fingerprint);
            look_up(&mut self.searcher, fingerprint, &mut self.ids)?;
        }
        Ok(())
    }

    pub(super) fn partner(&mut self, fingerprint: Fingerprint) -> Result<&[Id]> {
        look_up(&mut self.searcher, fingerprint, &mut self.partner)?;
        Ok(&self.partner)
    }
}

fn look_up(searcher: &mut Searcher, fingerprint: Fingerprint, ids: &mut Vec<Id>) -> Result<()> {
    ids.clear();
    let answer = searcher.search(fingerprint, 0)?;
    for hit in answer.hits() {
        for id in hit.ids() {
            ids.push(id?.to_id());
        }
    }
    Ok(())
}
