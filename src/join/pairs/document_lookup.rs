//! Looks up the documents of fingerprints: of one fingerprint at a time by exact search, or of a
//! batch of pairs by looking up the sorted fingerprints in the first table of each segment.

use std::ops::Range;

use super::Pair;
use crate::base::error::{Error, Result};
use crate::base::in_order::in_order;
use crate::base::section::StoreIndex;
use crate::join::batch::ranks::Places;
use crate::search::snapshot::Snapshot;
use crate::search::{Hit, Searcher};
use crate::store::Store;
use fpstore_base::{Fingerprint, Id};

/// Number of pairs that one thread looks up at a time.
const BATCH_COUNT: usize = if cfg!(test) { 3 } else { 1 << 12 };
/// Maximum number of documents of a batch in memory.
const DOCUMENTS_MAX: usize = if cfg!(test) { 16 } else { 1 << 15 };

/// A document with the fingerprint that was looked up. A fingerprint without ids counts as one
/// document without an id.
pub(in crate::join) struct Document {
    pub(in crate::join) store: StoreIndex,
    pub(in crate::join) id: Option<Id>,
}

impl Document {
    /// The sort key of the documents of a fingerprint: documents with an id come before documents
    /// without an id, which are in another store.
    pub(in crate::join) fn rank(&self) -> (bool, Option<&Id>, StoreIndex) {
        (self.id.is_none(), self.id.as_ref(), self.store)
    }
}

/// Looks up the documents of one fingerprint at a time, and keeps the last result in case the same
/// fingerprint is looked up again.
pub(in crate::join) struct DocumentLookup {
    searcher: Searcher,
    fingerprint: Option<Fingerprint>,
    pub(in crate::join) found: Vec<Document>,
}

impl DocumentLookup {
    pub(in crate::join) fn new(store: &Store) -> Self {
        DocumentLookup { searcher: store.searcher(), fingerprint: None, found: Vec::new() }
    }

    /// Sets `found` to the documents of a fingerprint, store after store; in each store, in the
    /// order of their ids.
    pub(in crate::join) fn look_up(&mut self, fingerprint: Fingerprint) -> Result<()> {
        if self.fingerprint != Some(fingerprint) {
            self.fingerprint = Some(fingerprint);
            self.found.clear();
            let answer = self.searcher.search(fingerprint, 0)?;
            read_documents(answer.hits().next(), &mut self.found, usize::MAX)?;
        }
        Ok(())
    }
}

/// Appends the documents of a fingerprint to `found`, until it has `most` documents. Returns
/// whether all documents were appended.
fn read_documents(hit: Option<Hit<'_>>, found: &mut Vec<Document>, most: usize) -> Result<bool> {
    for (store, hit) in hit.iter().flat_map(Hit::stores) {
        let before = found.len();
        for id in hit.ids() {
            if found.len() >= most {
                return Ok(false);
            }
            found.push(Document { store, id: Some(id?.to_id()) });
        }
        if found.len() == before {
            found.push(Document { store, id: None });
        }
    }
    Ok(true)
}

/// Whether the documents of the second fingerprint of a pair must be looked up, because they are not
/// the documents of the first.
fn has_seconds(pair: Pair, has_second_store: bool) -> bool {
    has_second_store || pair.first != pair.second
}

/// Calls `each` with each pair and the documents of its two fingerprints, in the order of `pairs`.
/// Pairs with the same first fingerprint must follow one another. The documents of the second
/// fingerprints are looked up in `second_store`, if it is given, otherwise in `store`. If the two
/// fingerprints are equal and there is only one store, the list of documents of the second is
/// empty. Threads look up the documents of the next pairs during the calls.
pub(in crate::join) fn for_each_looked_up<E: From<Error>>(
    store: &Store,
    second_store: Option<&Store>,
    threads: usize,
    pairs: impl FnOnce(&mut dyn FnMut(Pair) -> Result<(), E>) -> Result<(), E>,
    mut each: impl FnMut(Pair, &[Document], &[Document]) -> Result<(), E>,
) -> Result<(), E> {
    let worker = || {
        let (firsts, seconds) = (store.snapshot(), second_store.map(Store::snapshot));
        move |pairs| LookedUp::of(pairs, &firsts, seconds.as_deref())
    };
    let source = |give: &mut dyn FnMut(Vec<Pair>) -> Result<(), E>| {
        let mut batch = Vec::with_capacity(BATCH_COUNT);
        pairs(&mut |pair| {
            batch.push(pair);
            match batch.len() == BATCH_COUNT {
                true => give(std::mem::replace(&mut batch, Vec::with_capacity(BATCH_COUNT))),
                false => Ok(()),
            }
        })?;
        if batch.is_empty() { Ok(()) } else { give(batch) }
    };
    let stores = [store, second_store.unwrap_or(store)];
    let [mut firsts, mut seconds] = stores.map(DocumentLookup::new);
    in_order(threads, worker, source, |LookedUp { pairs, documents, places }| {
        for (&pair, [firsts, seconds]) in pairs.iter().zip(&places) {
            each(pair, &documents[firsts.clone()], &documents[seconds.clone()])?;
        }
        // The documents of the other pairs did not fit into memory together: one pair at a time.
        for &pair in &pairs[places.len()..] {
            firsts.look_up(pair.first)?;
            if has_seconds(pair, second_store.is_some()) {
                seconds.look_up(pair.second)?;
                each(pair, &firsts.found, &seconds.found)?;
            } else {
                each(pair, &firsts.found, &[])?;
            }
        }
        Ok(())
    })
}

/// A batch of pairs, and the documents of the fingerprints of the first pairs of it.
#[derive(Default)]
struct LookedUp {
    pairs: Vec<Pair>,
    documents: Vec<Document>,
    /// For each pair that was looked up, the positions of the documents of both fingerprints.
    places: Vec<[Range<usize>; 2]>,
}

impl LookedUp {
    /// Looks up the documents of pairs until there are too many. Pairs with the same first
    /// fingerprint must follow one another.
    fn of<'a>(pairs: Vec<Pair>, first: &'a Snapshot, second: Option<&'a Snapshot>) -> Result<Self> {
        let has_seconds = |pair: &Pair| has_seconds(*pair, second.is_some());
        let look_up = |snapshot: &'a Snapshot, fingerprints| -> Result<(&'a Snapshot, Places)> {
            let segments = 0..snapshot.segments().len();
            Ok((snapshot, Places::look_up(fingerprints, snapshot, segments)?))
        };
        let mut wanted: Vec<Fingerprint> = pairs.iter().map(|pair| pair.first).collect();
        let others = pairs.iter().filter(|pair| has_seconds(pair)).map(|pair| pair.second);
        let others = match second {
            Some(second) => Some(look_up(second, others.collect())?),
            None => {
                wanted.extend(others);
                None
            }
        };
        let firsts = look_up(first, wanted)?;
        let seconds = others.as_ref().unwrap_or(&firsts);
        let mut looked_up = LookedUp { places: Vec::with_capacity(pairs.len()), ..Self::default() };
        let mut last = None;
        for pair in &pairs {
            let known = looked_up.places.last().filter(|_| last == Some(pair.first));
            let firsts = match known.map(|[firsts, _]| firsts.clone()) {
                Some(firsts) => firsts,
                None => match looked_up.add(&firsts, pair.first)? {
                    Some(firsts) => firsts,
                    None => break,
                },
            };
            let seconds = match has_seconds(pair) {
                false => 0..0,
                true => match looked_up.add(seconds, pair.second)? {
                    Some(seconds) => seconds,
                    None => break,
                },
            };
            looked_up.places.push([firsts, seconds]);
            last = Some(pair.first);
        }
        looked_up.pairs = pairs;
        Ok(looked_up)
    }

    /// Adds the documents of a fingerprint, and returns their positions; `None` if there are too
    /// many documents.
    fn add(
        &mut self,
        (snapshot, places): &(&Snapshot, Places),
        fingerprint: Fingerprint,
    ) -> Result<Option<Range<usize>>> {
        let places = places.of(fingerprint);
        let hit = (!places.is_empty()).then(|| Hit::new(snapshot, places));
        let (start, documents) = (self.documents.len(), &mut self.documents);
        let is_added = read_documents(hit, documents, DOCUMENTS_MAX)?;
        Ok(is_added.then_some(start..self.documents.len()))
    }
}
