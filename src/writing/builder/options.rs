//! The options of a build.

use crate::base::id_policy::IdPolicy;
use crate::format::manifest::StoreId;
use crate::segment::budget::memory_min;
use crate::writing::builder::SchemeChoice;
use crate::writing::directory::{Patience, Waiting};
use fpstore_base::{Recipe, Resources, resource_setters, setters};

/// The options of a build.
///
/// # Examples
///
/// ```
/// use fpstore::{BuildOptions, IdPolicy};
///
/// let options = BuildOptions::default().ids(IdPolicy::U64).replace(true).memory(1 << 30);
/// ```
#[derive(Clone, Debug)]
pub struct BuildOptions {
    pub(crate) scheme: SchemeChoice,
    pub(crate) ids: IdPolicy,
    pub(crate) recipe: Recipe,
    pub(crate) sketch_len: u8,
    pub(crate) replace: bool,
    pub(crate) label: String,
    pub(crate) store_id: Option<StoreId>,
    pub(crate) resources: Resources,
    pub(crate) wait: Waiting,
}

impl Default for BuildOptions {
    /// The fastest scheme for distance 3 within the default budget, ids of automatic kind, existing
    /// stores not replaced.
    fn default() -> Self {
        BuildOptions {
            scheme: SchemeChoice::default(),
            ids: IdPolicy::Auto,
            recipe: Recipe::external(),
            sketch_len: 0,
            replace: false,
            label: String::new(),
            store_id: None,
            resources: Resources::default(),
            wait: Waiting::NONE,
        }
    }
}

impl BuildOptions {
    setters! {
        /// Sets the scheme with its tuned distance, or the rule that chooses both.
        scheme: impl Into<SchemeChoice>,
        /// Sets the kind of ids that the store keeps.
        ids: IdPolicy,
        /// Sets the recipe of the fingerprints. Fingerprints made by other programs have
        /// [`Recipe::external`], or [`Recipe::external_of`] if they have fewer than 64 bits.
        recipe: Recipe,
        /// Sets the number of bytes of a sketch that the store keeps with each id, 0 for none. A
        /// sketch contains more information about a document than its fingerprint; its meaning
        /// depends on the recipe.
        sketch_len: u8,
        /// Sets whether an existing store may be replaced. The existing store answers queries until
        /// the new store is complete.
        replace: bool,
    }

    /// Sets the id of a new store, instead of sixteen random bytes.
    ///
    /// The same records always give the same segments; with a given id they also give the same
    /// manifest. Readers identify a store by its id, so give each store its own. Adding to a store
    /// does not change its id.
    ///
    /// # Panics
    ///
    /// If all bytes are zero.
    #[must_use]
    pub fn store_id(mut self, id: [u8; 16]) -> Self {
        assert_ne!(id, [0; 16], "a store id has a byte that is not zero");
        self.store_id = Some(id);
        self
    }

    resource_setters!();
    setters!(label, wait);

    /// The minimum memory of a build on `threads` threads, in bytes.
    pub fn memory_min(threads: usize) -> u64 {
        memory_min(threads)
    }

    /// How long to wait for locks, and the observer of the wait.
    pub(super) fn patience(&self) -> Patience {
        Patience::new(self.wait, self.resources.observer.clone())
    }
}
