//! Looks up the documents of fingerprints: of one fingerprint at a time by exact search, or of a
//! batch of pairs by looking up the sorted fingerprints in the first table of each segment.

use std::ops::Range;

use super::Pair;
use crate::base::error::{Error, Result};
use crate::base::in_order::in_order;
use crate::base::section::{StoreIndex, TableIndex};
use crate::join::batch::ranks::RankSearch;
use crate::search::snapshot::{SegmentHit, Snapshot};
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

/// The stores in which the documents of pairs are looked up.
#[derive(Clone, Copy)]
pub(in crate::join) struct PairStores<'a> {
    pub(in crate::join) firsts: &'a Store,
    /// The store of the second fingerprints, if it differs from `firsts`.
    pub(in crate::join) seconds: Option<&'a Store>,
}

impl<'a> From<&'a Store> for PairStores<'a> {
    fn from(store: &'a Store) -> Self {
        PairStores { firsts: store, seconds: None }
    }
}

impl PairStores<'_> {
    /// Whether the documents of the second fingerprint of a pair must be looked up, because they
    /// are not the documents of the first.
    fn has_seconds(self, pair: Pair) -> bool {
        self.seconds.is_some() || pair.first != pair.second
    }
}

/// Calls `each` with each pair and the documents of its two fingerprints, in the order of `pairs`.
/// Pairs with the same first fingerprint must follow one another. If the two fingerprints are equal
/// and there is only one store, the list of documents of the second is empty. Threads look up the
/// documents of the next pairs during the calls.
pub(in crate::join) fn for_each_looked_up<'a, E: From<Error>>(
    stores: impl Into<PairStores<'a>>,
    threads: usize,
    pairs: impl FnOnce(&mut dyn FnMut(Pair) -> Result<(), E>) -> Result<(), E>,
    mut each: impl FnMut(Pair, &[Document], &[Document]) -> Result<(), E>,
) -> Result<(), E> {
    let stores = stores.into();
    let seconds_of = stores.seconds.unwrap_or(stores.firsts);
    let worker = || {
        let (firsts, seconds) = (stores.firsts.snapshot(), seconds_of.snapshot());
        move |pairs| LookedUp::of(pairs, stores, &firsts, &seconds)
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
    let [mut firsts, mut seconds] = [stores.firsts, seconds_of].map(DocumentLookup::new);
    in_order(threads, worker, source, |batch: LookedUp| {
        batch.pairs().try_for_each(|(pair, first, second)| each(pair, first, second))?;
        // The documents of these pairs did not fit into memory together: one pair at a time.
        for &pair in batch.rest() {
            firsts.look_up(pair.first)?;
            if stores.has_seconds(pair) {
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
    fn of(
        pairs: Vec<Pair>,
        stores: PairStores<'_>,
        first_snapshot: &Snapshot,
        second_snapshot: &Snapshot,
    ) -> Result<Self> {
        let mut firsts: Vec<Fingerprint> = pairs.iter().map(|pair| pair.first).collect();
        let seconds = pairs.iter().filter(|pair| stores.has_seconds(**pair));
        let mut seconds: Vec<Fingerprint> = seconds.map(|pair| pair.second).collect();
        if stores.seconds.is_none() {
            firsts.append(&mut seconds);
        }
        let firsts = Places::of(firsts, first_snapshot)?;
        let seconds = Places::of(seconds, second_snapshot)?;
        let seconds = if stores.seconds.is_none() { &firsts } else { &seconds };
        let mut looked_up = LookedUp { places: Vec::with_capacity(pairs.len()), ..Self::default() };
        let mut last = None;
        for pair in &pairs {
            let known = looked_up.places.last().filter(|_| last == Some(pair.first));
            let firsts = match known.map(|[firsts, _]| firsts.clone()) {
                Some(firsts) => firsts,
                None => match looked_up.add(firsts.hit(pair.first))? {
                    Some(firsts) => firsts,
                    None => break,
                },
            };
            let seconds = match stores.has_seconds(*pair) {
                false => 0..0,
                true => match looked_up.add(seconds.hit(pair.second))? {
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
    fn add(&mut self, hit: Option<Hit<'_>>) -> Result<Option<Range<usize>>> {
        let (start, documents) = (self.documents.len(), &mut self.documents);
        let is_added = read_documents(hit, documents, DOCUMENTS_MAX)?;
        Ok(is_added.then_some(start..self.documents.len()))
    }

    /// The pairs that were looked up, with the documents of their fingerprints.
    fn pairs(&self) -> impl Iterator<Item = (Pair, &[Document], &[Document])> {
        self.pairs.iter().zip(&self.places).map(|(&pair, [firsts, seconds])| {
            (pair, &self.documents[firsts.clone()], &self.documents[seconds.clone()])
        })
    }

    /// The pairs that were not looked up.
    fn rest(&self) -> &[Pair] {
        &self.pairs[self.places.len()..]
    }
}

/// The positions of some fingerprints in the segments of a snapshot, by fingerprint and segment.
struct Places<'a> {
    snapshot: &'a Snapshot,
    places: Vec<SegmentHit>,
}

impl<'a> Places<'a> {
    fn of(mut fingerprints: Vec<Fingerprint>, snapshot: &'a Snapshot) -> Result<Self> {
        fingerprints.sort_unstable();
        fingerprints.dedup();
        let mut ranks = RankSearch::new(&fingerprints);
        let mut places = Vec::with_capacity(fingerprints.len());
        let (distance, table) = (0, TableIndex(0));
        for (segment, open) in snapshot.segments().iter().enumerate() {
            ranks.for_each_rank(open, |at, rank| {
                let fingerprint = fingerprints[at];
                places.push(SegmentHit { distance, fingerprint, segment, table, rank });
            })?;
        }
        places.sort_unstable_by_key(SegmentHit::key);
        Ok(Places { snapshot, places })
    }

    fn hit(&self, fingerprint: Fingerprint) -> Option<Hit<'_>> {
        let start = self.places.partition_point(|place| place.fingerprint < fingerprint);
        let mut same = self.places[start..].chunk_by(|a, b| a.fingerprint == b.fingerprint);
        let same = same.next().filter(|same| same[0].fingerprint == fingerprint)?;
        Some(Hit::new(self.snapshot, same))
    }
}
