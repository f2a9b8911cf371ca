//! Near pairs of documents: for each near pair of fingerprints, each id of one with each id of the
//! other.

use super::near_pairs::{Pair, near_pairs};
use super::sorted_pairs::{PairSorter, SortedPairs};
use crate::base::error::{Error, Result};
use crate::base::section::StoreIndex;
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
    /// The store of the first document, where several are asked as one.
    pub first_store: StoreIndex,
    /// The store of the second document, where several are asked as one.
    pub second_store: StoreIndex,
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
/// A fingerprint without ids counts as one document. Where several [`Stores`](crate::Stores) are asked
/// as one, it is one document in each store that holds it without ids, and documents of one store and
/// of two are pairs alike.
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
    // Where each store has no ids, two of them may hold the same fingerprint.
    let may_have_copies = store.info().id_count() > 0 || store.snapshot().is_united();
    if may_have_copies && distinct && options.share.count > 1 {
        // Whether there are any would take a pass.
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
        // A fingerprint of another share may have copies.
        any_copies |= options.share.count > 1;
    }
    near_pairs(store, &join_options, |pairs| sorter.push(pairs))?;
    let most = sorter.most;
    let pairs = sorter.finish()?;
    let mut count = pairs.len();
    if any_copies {
        count = copies;
        let mut documents = DocumentLookup::new(store);
        pairs.for_each(|pair| {
            if pair.first != pair.second {
                documents.look_up(pair.first)?;
                let partners = documents.look_up_partner(pair.second)?.len() as u64;
                count += documents.found.len() as u64 * partners;
            }
            if count > most { Err(Error::TooManyPairs { most }) } else { Ok(()) }
        })?;
    }
    Ok(DocumentPairs { store: store.clone(), pairs, count })
}

/// Calls `each` with each fingerprint of the share and the number of its documents. The shares of a
/// join have each fingerprint once together.
fn for_each_document_count(
    store: &Store,
    options: &JoinOptions,
    each: &mut dyn FnMut(Fingerprint, u64) -> Result<()>,
) -> Result<()> {
    let Share { number, count } = options.share;
    // A range counts the ids of a fingerprint, and knows of no stores.
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
            each(hit.fingerprint(), document_count(&hit)?)?;
        }
        Ok::<(), Error>(())
    })
}

fn document_count(hit: &Hit<'_>) -> Result<u64> {
    let mut count = 0;
    for (_, hit) in hit.stores() {
        let before = count;
        for id in hit.ids() {
            id?;
            count += 1;
        }
        count = count.max(before + 1);
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
        let mut documents = DocumentLookup::new(&self.store);
        self.pairs.for_each(|pair| {
            documents.look_up(pair.first)?;
            if pair.first == pair.second {
                for (at, first) in documents.found.iter().enumerate() {
                    for second in &documents.found[at + 1..] {
                        each(DocumentPair::of(pair, first, second))?;
                    }
                }
                return Ok(());
            }
            documents.look_up_partner(pair.second)?;
            for first in &documents.found {
                for second in &documents.partners {
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

/// A document with a fingerprint that was looked up. One without id stands for a fingerprint that its
/// store holds without ids.
pub(in crate::join) struct Document {
    pub(in crate::join) store: StoreIndex,
    pub(in crate::join) id: Option<Id>,
}

/// Looks up the documents of one fingerprint, which it keeps, and of one partner after the other.
pub(in crate::join) struct DocumentLookup {
    searcher: Searcher,
    fingerprint: Option<Fingerprint>,
    pub(in crate::join) found: Vec<Document>,
    partners: Vec<Document>,
}

impl DocumentLookup {
    pub(in crate::join) fn new(store: &Store) -> Self {
        let searcher = store.searcher();
        let (found, partners) = (Vec::new(), Vec::new());
        DocumentLookup { searcher, fingerprint: None, found, partners }
    }

    /// Makes `found` the documents of a fingerprint, if they are not yet: store after store, in the
    /// order of their ids.
    pub(in crate::join) fn look_up(&mut self, fingerprint: Fingerprint) -> Result<()> {
        if self.fingerprint != Some(fingerprint) {
            self.fingerprint = Some(fingerprint);
            read_documents(&mut self.searcher, fingerprint, &mut self.found)?;
        }
        Ok(())
    }

    fn look_up_partner(&mut self, fingerprint: Fingerprint) -> Result<&[Document]> {
        read_documents(&mut self.searcher, fingerprint, &mut self.partners)?;
        Ok(&self.partners)
    }
}

fn read_documents(
    searcher: &mut Searcher,
    fingerprint: Fingerprint,
    found: &mut Vec<Document>,
) -> Result<()> {
    found.clear();
    let answer = searcher.search(fingerprint, 0)?;
    for (store, hit) in answer.hits().flat_map(|hit| hit.stores()) {
        let before = found.len();
        for id in hit.ids() {
            found.push(Document { store, id: Some(id?.to_id()) });
        }
        if found.len() == before {
            found.push(Document { store, id: None });
        }
    }
    Ok(())
}
