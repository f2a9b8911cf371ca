//! One snapshot of several stores.
//!
//! A snapshot already consists of many segments that are searched together. So the segments of all
//! stores form one more snapshot, and all code that reads a snapshot (searchers, batches, joins,
//! groups) works on several stores unchanged. Files, deletions and plans are shared with the
//! snapshots of the single stores. Each segment keeps the position of its store, so that answers
//! can report the store of an id.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::{OpenSegment, Snapshot};
use crate::base::error::{Error, Result};
use crate::base::section::StoreIndex;
use crate::base::steps::Counted;
use crate::format::manifest::{Manifest, StoreId};
use fpstore_disk::Digester;

impl Snapshot {
    /// A snapshot with the segments of all `states`, in their order.
    ///
    /// It has no manifest of its own. Its store id is a digest of the ids of the stores, and its
    /// generation is the sum of their generations, so a caller who keeps both notices a change of
    /// any of the stores.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`] if two stores cannot be searched together, with both names: stores
    /// with different recipes, by the rule for the segments of one store, and stores with the same
    /// id, because two snapshots of one store would return each of its records twice.
    pub(crate) fn united(states: &[Arc<Snapshot>]) -> Result<Self> {
        check_distinct(states)?;
        let (mut ids, mut manifests) = (Digester::default(), Digester::default());
        let mut segments = Vec::new();
        let mut first: Option<&Snapshot> = None;
        for (number, state) in states.iter().enumerate() {
            ids.update(&state.store_id());
            manifests.update(&state.manifest_digest.bytes());
            if let Some(open) = state.segments.first() {
                check_recipe(first.get_or_insert(state), state, open)?;
            }
            let of_store = |open: &OpenSegment| open.of_store(StoreIndex(number));
            segments.extend(state.segments.iter().map(of_store));
        }
        let manifest = Manifest {
            store_id: ids.digest().bytes(),
            generation: states.iter().map(|state| state.generation()).sum(),
            next_number: 0,
            segments: Vec::new(),
            runs: Vec::new(),
        };
        let path = states.first().map_or_else(PathBuf::new, |state| state.path.clone());
        let access = states.first().map_or_else(Default::default, |state| state.access);
        let mut united = Snapshot::new(&path, access, manifest, &[], segments);
        united.manifest_digest = manifests.digest();
        Ok(Snapshot { states: states.to_vec(), ..united })
    }

    /// Opens the current generations of all stores, or returns `None` if none has changed.
    pub(super) fn next_united(&self) -> Result<Option<Self>> {
        let mut states = self.states.clone();
        let mut is_newer = false;
        for state in &mut states {
            if let Some(next) = state.next()? {
                *state = Arc::new(next);
                is_newer = true;
            }
        }
        if !is_newer {
            return Ok(None);
        }
        let pool = Arc::clone(&self.pool);
        Ok(Some(Snapshot { pool, ..Snapshot::united(&states)? }))
    }

    /// The snapshots of the stores that this snapshot unites, in order; empty for a snapshot of one
    /// store.
    pub(crate) fn states(&self) -> &[Arc<Snapshot>] {
        &self.states
    }

    /// The name of the store, or of all united stores, for messages.
    pub(crate) fn title(&self) -> String {
        let name = |state: &Snapshot| state.path.display().to_string();
        if !self.is_united() {
            return name(self);
        }
        let names: Vec<String> = self.states.iter().map(|state| name(state)).collect();
        names.join(", ")
    }

    /// Whether this snapshot unites several stores.
    pub(crate) fn is_united(&self) -> bool {
        !self.states.is_empty()
    }
}

/// Rejects two snapshots of the same store.
fn check_distinct(states: &[Arc<Snapshot>]) -> Result<()> {
    let mut known: BTreeMap<Counted<StoreId>, &Snapshot> = BTreeMap::new();
    for state in states {
        if let Some(before) = known.insert(Counted(state.store_id()), state) {
            let (one, other) = (before.path.display(), state.path.display());
            let which = match before.path == state.path {
                true => format!("{one} is named twice"),
                false => format!("{one} and {other} are the same store, or one is a copy"),
            };
            let reason = format!(
                "{which}, so each of its records would be found twice; name each store once"
            );
            return Err(Error::InvalidOptions { reason });
        }
    }
    Ok(())
}

/// Rejects the store of `state` if its segment `open` has another recipe than the store of `first`.
fn check_recipe(first: &Snapshot, state: &Snapshot, open: &OpenSegment) -> Result<()> {
    let Some(recipe) = first.recipe() else { return Ok(()) };
    match open.segment.check_recipe(&recipe) {
        Err(Error::RecipeMismatch { store, given }) => {
            let [one, other] = [first, state].map(|it| it.path.display().to_string());
            let reason = format!(
                "{one} and {other} cannot be queried together, their fingerprints were made in different \
                 ways: {}; query each store by itself",
                store.difference_of(&given, [&one, &other])
            );
            Err(Error::InvalidOptions { reason })
        }
        checked => checked,
    }
}
