//! The opened state of the store: the facts that requests need of it, worked out once.
//!
//! `LiveStore` makes one for each state that it shows. It never changes.

use std::sync::Arc;

use fpstore_base::Recipe;
use fpstore_text::TextHasher;

use crate::store::Store;

/// Makes the hasher of a recipe for texts, or says why there is none.
pub type HasherOf = Arc<dyn Fn(&Recipe) -> Result<TextHasher, String> + Send + Sync>;

/// The facts that requests need of the state of the store that is shown.
pub(crate) struct Opened {
    pub(crate) generation: u64,
    pub(crate) tuned_k: u32,
    pub(crate) sketch_len: u8,
    /// Makes fingerprints of texts by the recipe of the store, or says why it cannot.
    pub(crate) hasher: Result<TextHasher, String>,
    pub(crate) recipe: Option<Recipe>,
}

impl Opened {
    pub(crate) fn of(store: &Store, hasher_of: &HasherOf, before: Option<&Opened>) -> Self {
        let recipe = store.recipe();
        let same = before.filter(|before| before.recipe == recipe);
        let hasher = match (same, &recipe) {
            // Its tables take long to load.
            (Some(before), _) => before.hasher.clone(),
            (None, None) => Err("the store is empty and has no recipe".into()),
            (None, Some(recipe)) => hasher_of(recipe),
        };
        Opened {
            generation: store.generation(),
            tuned_k: store.tuned_k(),
            sketch_len: store.sketch_len(),
            hasher,
            recipe,
        }
    }
}
