//! What a store of Python holds while it is open: the store of the library, and searchers that are
//! kept for later queries.

use fpstore::Searcher;
use fpstore::plan::Plan;

use crate::errors::Failure;

/// Searches that are expected to take longer let other threads of Python run. Shorter ones keep the
/// interpreter, because to get it back takes up to 5 ms beside a busy thread.
const HELD_NANOS: f64 = 1e6;
/// Searchers that are kept for later queries.
const SEARCHERS_KEPT: usize = 32;

pub(super) struct State {
    pub(super) store: fpstore::Store,
    pub(super) tuned_k: u32,
    generation: u64,
    #[expect(clippy::vec_box, reason = "to move a searcher takes longer than to move a box")]
    searchers: Vec<Box<Searcher>>,
    /// For each k what a search is expected to take.
    nanos: [Option<f64>; 65],
}

impl State {
    pub(super) fn new(store: fpstore::Store) -> Self {
        let (generation, tuned_k) = (store.generation(), store.tuned_k());
        State { store, tuned_k, generation, searchers: Vec::new(), nanos: [None; 65] }
    }

    /// Whether so many searches are expected to take so long that others should run meanwhile.
    pub(super) fn is_long(&mut self, k: u32, count: usize) -> Result<bool, Failure> {
        let nanos = match self.nanos.get(k as usize) {
            Some(Some(nanos)) => *nanos,
            _ => self.store.plans(k)?.iter().map(nanos_of).sum(),
        };
        if let Some(known) = self.nanos.get_mut(k as usize) {
            *known = Some(nanos);
        }
        Ok(nanos * count as f64 > HELD_NANOS)
    }

    pub(super) fn searcher(&mut self) -> Box<Searcher> {
        self.searchers.pop().unwrap_or_else(|| Box::new(self.store.searcher()))
    }

    /// Keeps a searcher, unless it searches another state of the store.
    pub(super) fn keep(&mut self, searcher: Box<Searcher>) {
        if self.searchers.len() < SEARCHERS_KEPT && searcher.generation() == self.generation {
            self.searchers.push(searcher);
        }
    }
}

fn nanos_of(plan: &Plan) -> f64 {
    match plan {
        Plan::Probe { expected_nanos, .. } | Plan::Scan { expected_nanos, .. } => *expected_nanos,
        // A kind of plan that this code does not know.
        _ => f64::INFINITY,
    }
}
