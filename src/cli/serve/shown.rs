//! What is known of the state of the store that is shown.

use std::sync::atomic::{AtomicU64, Ordering};

use fpstore::plan::Plan;
use fpstore::{Recipe, Store};
use fpstore_text::TextHasher;

use super::super::recipe_files::RecipeFileArgs;

/// What is known of the state of the store that is shown.
pub(super) struct Shown {
    pub(super) generation: u64,
    pub(super) tuned_k: u32,
    pub(super) sketch_len: u8,
    /// The expected nanoseconds of a search by distance, as bits; 0 where nobody has asked yet.
    costs: [AtomicU64; 65],
    /// Makes fingerprints of texts by the recipe of the store, or says why it cannot.
    pub(super) hasher: Result<TextHasher, String>,
    pub(super) recipe: Option<Recipe>,
}

impl Shown {
    pub(super) fn of(store: &Store, files: &RecipeFileArgs, before: Option<&Shown>) -> Self {
        let recipe = store.recipe();
        let same = before.filter(|before| before.recipe == recipe);
        let hasher = match (same, &recipe) {
            // Its tables take long to load.
            (Some(before), _) => before.hasher.clone(),
            (None, None) => Err("the store is empty and has no recipe".into()),
            (None, Some(recipe)) => files.hasher_of(recipe).map_err(|error| format!("{error:#}")),
        };
        Shown {
            generation: store.generation(),
            tuned_k: store.tuned_k(),
            sketch_len: store.sketch_len(),
            costs: std::array::from_fn(|_| AtomicU64::new(0)),
            hasher,
            recipe,
        }
    }

    /// The expected nanoseconds of a search within `k` bits.
    pub(super) fn cost(&self, store: &Store, k: u32) -> f64 {
        let Some(slot) = self.costs.get(k as usize) else { return f64::INFINITY };
        let known = f64::from_bits(slot.load(Ordering::Relaxed));
        if known > 0.0 {
            return known;
        }
        let nanos = |plan: &Plan| match plan {
            Plan::Scan { expected_nanos, .. } | Plan::Probe { expected_nanos, .. } => {
                *expected_nanos
            }
            _ => f64::INFINITY,
        };
        let cost =
            store.plans(k).map_or(f64::INFINITY, |plans| plans.iter().map(nanos).sum::<f64>());
        // An empty store costs nothing; 0 stands for unknown.
        let cost = cost.max(1.0);
        slot.store(cost.to_bits(), Ordering::Relaxed);
        cost
    }
    /// The largest distance at which a search is expected to take no longer than `nanos`.
    pub(super) fn cheap_k(&self, store: &Store, nanos: f64) -> Option<u32> {
        (0..=64).take_while(|&k| self.cost(store, k) <= nanos).last()
    }
}
