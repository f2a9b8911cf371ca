//! A sample of the fingerprints of a store, for the planner.

use crate::base::error::{Error, Result};
use crate::plan::{Sample, Sampler};
use crate::store::Store;

impl Sample {
    /// A sample of the fingerprints of a store. Reads one whole table.
    ///
    /// # Errors
    ///
    /// * [`Error::Corrupt`] if the store is damaged.
    /// * [`Error::InvalidPlan`] if the store has fewer than [`Sample::COUNT_MIN`] fingerprints.
    pub fn of_store(store: &Store) -> Result<Self> {
        let mut sampler = Sampler::new(Sampler::CAPACITY);
        store.for_each(|entry| {
            sampler.push(entry.fingerprint());
            Ok::<(), Error>(())
        })?;
        sampler.finish()
    }
}
