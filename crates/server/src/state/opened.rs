//! The facts about a snapshot of the store that requests need, computed once.
//!
//! `LiveStore` makes an `Opened` for each snapshot. It never changes.

use std::sync::Arc;

use fpstore_base::{Recipe, Width};
use fpstore_text::TextHasher;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use fpstore::Store;
use fpstore::state::StateId;

/// The header with the digest of the manifest.
const MANIFEST: HeaderName = HeaderName::from_static("fpstore-manifest");

/// Makes the hasher of a text recipe; the error is the reason why there is no hasher.
pub type HasherOf = Arc<dyn Fn(&Recipe) -> Result<TextHasher, String> + Send + Sync>;

/// The headers that identify the snapshot of an answer: the id of the store, the generation, and
/// the digest of the manifest.
#[derive(Clone)]
pub(crate) struct Witness([(HeaderName, HeaderValue); 3]);

impl Witness {
    pub(crate) fn of(state: &StateId) -> Self {
        let hex = |text: String| HeaderValue::try_from(text).expect("it is ASCII");
        let store_id = format!("{:032x}", u128::from_be_bytes(state.store_id));
        Witness([
            (HeaderName::from_static("fpstore-store-id"), hex(store_id)),
            (HeaderName::from_static("fpstore-generation"), state.generation.into()),
            (MANIFEST, hex(format!("{:032x}", u128::from_be_bytes(state.manifest)))),
        ])
    }

    /// Adds the headers that identify the snapshot to an answer, unless the answer has them.
    pub(crate) fn sign(&self, headers: &mut HeaderMap) {
        if !headers.contains_key(&MANIFEST) {
            headers.extend(self.0.iter().cloned());
        }
    }
}

/// The facts about a snapshot that requests need.
pub(crate) struct Opened {
    pub(crate) witness: Witness,
    pub(crate) generation: u64,
    pub(crate) width: Width,
    pub(crate) tuned_k: u32,
    pub(crate) sketch_len: u8,
    /// The hasher for texts by the recipe of the store, or the reason why there is none.
    pub(crate) hasher: Result<TextHasher, String>,
    pub(crate) recipe: Option<Recipe>,
}

impl Opened {
    pub(crate) fn of(store: &Store, hasher_of: &HasherOf, before: Option<&Opened>) -> Self {
        let recipe = store.recipe();
        let same = before.filter(|before| before.recipe == recipe);
        let hasher = match (same, &recipe) {
            // Reuses the hasher, because loading its tables takes long.
            (Some(before), _) => before.hasher.clone(),
            (None, None) => Err("the store is empty and has no recipe".into()),
            (None, Some(recipe)) => hasher_of(recipe),
        };
        let state = store.state_id();
        Opened {
            witness: Witness::of(&state),
            generation: state.generation,
            width: store.width(),
            tuned_k: store.tuned_k(),
            sketch_len: store.sketch_len(),
            hasher,
            recipe,
        }
    }
}
