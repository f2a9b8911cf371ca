//! The fingerprints of a store, and the memory that finding their clusters takes.

use std::sync::Arc;

use crate::base::error::{Error, Result};
use crate::base::side_by_side::Part;
use crate::join::options::JoinOptions;
use crate::store::Store;
use crate::writing::sort::SortResources;
use fpstore_base::watch::Phase;

/// Bytes for each fingerprint: its value, its place in the disjoint sets, its place among the
/// members.
const NODE_LEN: u64 = 8 + 4 + 12;

/// The memory of the join beside the memory that clusters take.
pub(in crate::join) struct JoinMemory(pub(in crate::join) SortResources);

impl JoinMemory {
    pub(in crate::join) fn of(store: &Store, options: &JoinOptions) -> Result<Self> {
        let mut resources = options.sort_resources()?;
        let count = store.info().fingerprint_count();
        if count >= u64::from(u32::MAX) {
            let reason = format!("{count} fingerprints, clusters are found among 2^32 - 2 at most");
            return Err(Error::TooLarge { reason });
        }
        let held = count * NODE_LEN;
        if held > resources.memory {
            let reason = format!(
                "{count} fingerprints take {} MiB of memory beside the join, there are {} MiB",
                held >> 20,
                resources.memory >> 20
            );
            return Err(Error::InvalidOptions { reason });
        }
        // The join counts the values itself.
        resources.memory -= held - 8 * count;
        Ok(JoinMemory(resources))
    }
}

/// Fingerprints of a store, and which of them have copies.
pub(in crate::join) struct ReadValues {
    /// In ascending order.
    pub(in crate::join) values: Arc<Vec<u64>>,
    /// The positions of values with more than one id.
    pub(in crate::join) copied: Vec<u32>,
}

/// Reads all fingerprints of a store.
pub(in crate::join) fn read(store: &Store, options: &JoinOptions) -> Result<ReadValues> {
    let mut values = Vec::new();
    let mut copied = Vec::new();
    let watch = options.watch(Phase::Read, Some(store.info().fingerprint_count()));
    if store.info().id_count() == 0 {
        for segment in 0..store.snapshot().segments().len() {
            store.for_each_run_of(segment, Part::WHOLE, &mut |run| {
                values.extend_from_slice(run);
                Ok(watch.tick(run.len() as u64)?)
            })?;
        }
        // The runs of the segments mostly ascend. The stable sort finds and merges them.
        values.sort();
        values.dedup();
        return Ok(ReadValues { values: Arc::new(values), copied });
    }
    store.for_each(|hit| {
        let mut ids = hit.ids();
        let (first, second) = (ids.next().transpose()?, ids.next().transpose()?);
        if first.is_some() && second.is_some() {
            copied.push(values.len() as u32);
        }
        values.push(hit.fingerprint().value());
        Ok::<(), Error>(watch.tick(1)?)
    })?;
    Ok(ReadValues { values: Arc::new(values), copied })
}
