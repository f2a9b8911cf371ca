//! The state of an open `Store`: the store of the Rust crate, and a pool of searchers.

use std::path::PathBuf;
use std::time::SystemTime;

use fpstore::Searcher;

use crate::errors::Failure;

/// Searches that are expected to take longer than this release the interpreter. Shorter searches
/// hold it, because another busy thread can delay getting it back by up to 5 ms.
const HELD_NANOS: f64 = 1e6;
/// Maximum number of searchers in the pool.
const SEARCHERS_KEPT: usize = 32;

/// The file with the list of live segments.
const MANIFEST: &str = "MANIFEST";

/// The modification time and length of the manifest of each store. They only hint whether a store
/// has changed: a change can leave both equal.
#[derive(PartialEq)]
pub(super) struct Manifests(Vec<(SystemTime, u64)>);

impl Manifests {
    pub(super) fn of(stores: &[PathBuf]) -> Option<Self> {
        let known = |store: &PathBuf| {
            let found = store.join(MANIFEST).metadata().ok()?;
            Some((found.modified().ok()?, found.len()))
        };
        stores.iter().map(known).collect::<Option<_>>().map(Manifests)
    }
}

pub(super) struct State {
    pub(super) store: fpstore::Store,
    /// The single stores, if `store` combines several.
    pub(super) several: Option<fpstore::Stores>,
    /// The manifests at the last refresh, to recognize unchanged stores.
    pub(super) manifests: Option<Manifests>,
    pub(super) tuned_k: u32,
    generation: u64,
    #[expect(clippy::vec_box, reason = "to move a searcher takes longer than to move a box")]
    searchers: Vec<Box<Searcher>>,
}

impl State {
    pub(super) fn new(store: fpstore::Store, several: Option<fpstore::Stores>) -> Self {
        let (generation, tuned_k) = (store.generation(), store.tuned_k());
        State { store, several, manifests: None, tuned_k, generation, searchers: Vec::new() }
    }

    /// Whether `count` searches are expected to take so long that other threads should run.
    pub(super) fn is_long(&self, k: u32, count: usize) -> Result<bool, Failure> {
        Ok(self.store.expected_nanos(k)? * count as f64 > HELD_NANOS)
    }

    pub(super) fn searcher(&mut self) -> Box<Searcher> {
        self.searchers.pop().unwrap_or_else(|| Box::new(self.store.searcher()))
    }

    /// Puts a searcher into the pool, unless the pool is full or the searcher is of another
    /// generation.
    pub(super) fn keep(&mut self, searcher: Box<Searcher>) {
        if self.searchers.len() < SEARCHERS_KEPT && searcher.generation() == self.generation {
            self.searchers.push(searcher);
        }
    }
}
