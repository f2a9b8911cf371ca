//! Finds near pairs of documents: for each near pair of fingerprints, each id of one fingerprint
//! with each id of the other.

use super::document_lookup::{Document, for_each_looked_up};
use super::sorted_pairs::{PairSorter, SortedPairs};
use super::{Pair, near_pairs};
use crate::base::error::{Error, Result};
use crate::base::section::StoreIndex;
use crate::join::options::{JoinOptions, Share};
use crate::join::shares::JoinPlan;
use crate::store::Store;
use fpstore_base::{Fingerprint, Id, IdRef};

/// Two documents with near fingerprints, see [`DocumentPairs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentPair<'a> {
    /// The fingerprints of the two documents.
    pub pair: Pair,
    /// The id of the document with the first fingerprint, if it has one.
    pub first_id: Option<IdRef<'a>>,
    /// The id of the document with the second fingerprint, if it has one.
    pub second_id: Option<IdRef<'a>>,
    /// The store that contains the first document, if several stores are queried together.
    pub first_store: StoreIndex,
    /// The store that contains the second document, if several stores are queried together.
    pub second_store: StoreIndex,
}

/// All pairs of documents whose fingerprints are near.
#[derive(Debug)]
pub struct DocumentPairs {
    store: Store,
    pairs: SortedPairs,
    count: u64,
    threads: usize,
}

/// Finds every pair of documents of a store whose fingerprints lie within the distance of the
/// options. Documents with the same fingerprint are pairs at distance 0, unless `distinct`.
///
/// A fingerprint without ids counts as one document. If several [`Stores`](crate::Stores) are
/// queried together, it counts as one document in each store that contains it without ids. Pairs
/// are formed within each store and between stores.
///
/// The shares of a join, see [`JoinOptions::share`], together find each pair of documents once.
///
/// # Errors
///
/// The errors of [`sorted_pairs`](crate::join::sorted_pairs). The limit on pairs is on pairs of
/// documents.
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
    let threads = options.budget()?.threads;
    let (mut sorter, join_options) = PairSorter::new(options)?;
    let mut any_copies = false;
    let mut copies = 0;
    let may_have_copies = may_have_copies(store);
    if may_have_copies && distinct && options.share.count > 1 {
        // Assumed: finding the fingerprints with several documents would read the store once more.
        any_copies = true;
    } else if may_have_copies {
        for_each_document_count(store, options, &mut |fingerprint, documents| {
            any_copies |= documents > 1;
            if documents > 1 && !distinct {
                let pair = Pair { first: fingerprint, second: fingerprint };
                sorter.unsorted += documents * (documents - 1) / 2 - 1;
                copies += documents * (documents - 1) / 2;
                sorter.push(&[pair])?;
            }
            Ok(())
        })?;
        // Only the fingerprints of this share were checked: others may have several documents.
        any_copies |= options.share.count > 1;
    }
    near_pairs(store, &join_options, |pairs| sorter.push(pairs))?;
    let most = sorter.most;
    let pairs = sorter.finish()?;
    let mut count = pairs.len();
    if any_copies {
        count = copies;
        let found = |give: &mut dyn FnMut(Pair) -> Result<()>| pairs.for_each(give);
        for_each_looked_up(store, None, threads, found, |pair, firsts, seconds| {
            if pair.first != pair.second {
                count += firsts.len() as u64 * seconds.len() as u64;
            }
            if count > most { Err(Error::TooManyPairs { most }) } else { Ok(()) }
        })?;
    }
    Ok(DocumentPairs { store: store.clone(), pairs, count, threads })
}

/// Whether a fingerprint may belong to several documents. Even if no store has ids, two stores may
/// contain the same fingerprint.
fn may_have_copies(store: &Store) -> bool {
    store.info().id_count() > 0 || store.snapshot().is_united()
}

/// Calls `each` with each fingerprint of the share and the number of its documents. Over all shares
/// of a join, each fingerprint occurs once.
fn for_each_document_count(
    store: &Store,
    options: &JoinOptions,
    each: &mut dyn FnMut(Fingerprint, u64) -> Result<()>,
) -> Result<()> {
    let Share { number, count } = options.share;
    // Not used for several stores, because a range counts ids and cannot count documents without
    // ids in each store.
    if count > 1 && options.k < 64 && !store.snapshot().is_united() {
        let plan = JoinPlan::of(store, options.k)?;
        if let Some(range) = plan.ranges_of(store, options.share)?.first() {
            return range.for_each_id_count(each);
        }
    }
    let mut at = 0;
    store.for_each(|hit| {
        at += 1;
        if at % u64::from(count) == u64::from(number) {
            let counts = hit.stores().map(|(_, hit)| Ok(hit.id_count()?.max(1)));
            each(hit.fingerprint(), counts.sum::<Result<u64>>()?)?;
        }
        Ok::<(), Error>(())
    })
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

    /// Calls `each` with each pair. Pairs are sorted by first fingerprint, then by second
    /// fingerprint; pairs with the same fingerprints are in the order of the ids of the first
    /// document, then of the second.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if the store is damaged, [`Error::Io`] if temporary files cannot be read,
    /// and any error that `each` returns.
    pub fn for_each<E: From<Error>>(
        &self,
        mut each: impl FnMut(DocumentPair<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if !may_have_copies(&self.store) {
            // Each fingerprint is one document, without an id.
            let document = Document { store: StoreIndex::default(), id: None };
            return self.pairs.for_each(|pair| each(DocumentPair::of(pair, &document, &document)));
        }
        let pairs = |give: &mut dyn FnMut(Pair) -> Result<(), E>| self.pairs.for_each(give);
        for_each_looked_up(&self.store, None, self.threads, pairs, |pair, firsts, seconds| {
            for (at, first) in firsts.iter().enumerate() {
                // For equal fingerprints, each pair of two documents of the fingerprint.
                let is_same = pair.first == pair.second;
                let seconds = if is_same { &firsts[at + 1..] } else { seconds };
                for second in seconds {
                    each(DocumentPair::of(pair, first, second))?;
                }
            }
            Ok(())
        })
    }
}

impl<'a> DocumentPair<'a> {
    fn of(pair: Pair, first: &'a Document, second: &'a Document) -> Self {
        DocumentPair {
            pair,
            first_id: first.id.as_ref().map(Id::as_ref),
            second_id: second.id.as_ref().map(Id::as_ref),
            first_store: first.store,
            second_store: second.store,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::tests::oracle;
    use crate::join::tests::random::Random;
    use crate::{BuildOptions, Builder, IdPolicy};

    /// Fingerprints with no id, one id, a few ids, or more ids than fit into a batch.
    #[test]
    fn pairs_of_documents_come_in_order_on_any_number_of_threads() {
        let folder = tempfile::tempdir().unwrap();
        let mut random = Random::new(5);
        for policy in [IdPolicy::Auto, IdPolicy::Text, IdPolicy::None] {
            let mut values = Vec::new();
            for _ in 0..12 {
                let center = random.next();
                values.extend((0..8).map(|at| random.flip(center, at % 3)));
            }
            values.sort_unstable();
            values.dedup();
            let path = folder.path().join(format!("{policy:?}"));
            let options = BuildOptions::default().ids(policy);
            let mut builder = Builder::with_options(path, options).unwrap();
            let mut documents = Vec::new();
            for (at, &value) in values.iter().enumerate() {
                let count = if at == 20 { 40 } else { random.below(4) };
                let ids: Vec<u64> = (0..count).map(|number| 100 * at as u64 + number).collect();
                ids.iter().for_each(|&id| builder.push(value.into(), id).unwrap());
                if ids.is_empty() || policy == IdPolicy::None {
                    builder.push_bare(value.into()).unwrap();
                    documents.push(vec![String::new()]);
                } else {
                    documents.push(ids.iter().map(u64::to_string).collect());
                }
            }
            // Text ids are sorted by bytes, so "1000" is before "200"; numbers are sorted by value.
            documents.iter_mut().for_each(|ids| match policy {
                IdPolicy::Text => ids.sort_unstable(),
                _ => ids.sort_by_key(|id| (id.len(), id.clone())),
            });
            let store = builder.finish().unwrap();
            let ids_of = |value: u64| &documents[values.binary_search(&value).unwrap()];
            let mut expected = Vec::new();
            for &value in &values {
                let ids = ids_of(value);
                for (at, first) in ids.iter().enumerate() {
                    let seconds = ids[at + 1..].iter();
                    expected.extend(seconds.map(|second| (value, value, first, second)));
                }
            }
            for (one, other) in oracle::pairs(&values, 3) {
                for first in ids_of(one) {
                    expected.extend(ids_of(other).iter().map(|second| (one, other, first, second)));
                }
            }
            // A stable sort: the document pairs of the same two fingerprints are in order already.
            expected.sort_by_key(|(one, other, ..)| (*one, *other));
            for threads in [1, 2, 3] {
                let options = JoinOptions::new(3).threads(threads);
                let pairs = document_pairs(&store, &options, false).unwrap();
                assert_eq!(pairs.len(), expected.len() as u64);
                let mut at = 0;
                pairs
                    .for_each(|pair| {
                        let shown =
                            |id: Option<IdRef<'_>>| id.map_or(String::new(), |id| id.to_string());
                        let (first, second) = (shown(pair.first_id), shown(pair.second_id));
                        let found = (pair.pair.first.value(), pair.pair.second.value());
                        assert_eq!((found.0, found.1, &first, &second), expected[at]);
                        at += 1;
                        Ok::<(), Error>(())
                    })
                    .unwrap();
                assert_eq!(at, expected.len());
            }
        }
    }
}
