//! Reads the fingerprints of a store to find their clusters, and limits the memory for this.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::base::error::{Error, Result};
use crate::base::in_order::in_order;
use crate::join::engine::values::JoinValues;
use crate::join::options::JoinOptions;
use crate::search::Hit;
use crate::segment::budget::WorkBudget;
use crate::store::Store;
use fpstore_base::IdRef;
use fpstore_base::watch::Phase;

/// Bytes of memory for each fingerprint: its value, its entry in the disjoint sets, its entry in
/// the list of members and a buffer for it.
const NODE_LEN: u64 = 8 + 4 + 12;

/// A thread reports to the observer, which all threads share, after reading this many fingerprints.
const TICKED: usize = 1 << 8;

/// The memory budget of the join, without the memory that clusters take.
pub(in crate::join) struct JoinMemory(pub(in crate::join) WorkBudget);

impl JoinMemory {
    pub(in crate::join) fn of(store: &Store, options: &JoinOptions) -> Result<Self> {
        let mut resources = options.budget()?;
        let count = store.info().fingerprint_count();
        if count >= u64::from(u32::MAX) {
            let reason = format!(
                "{count} fingerprints, clusters can be computed for at most 2^32 \
                                  - 2"
            );
            return Err(Error::TooLarge { reason });
        }
        let held = count * NODE_LEN;
        if held > resources.memory {
            let reason = format!(
                "the clusters of {count} fingerprints need {} MiB of memory in addition to the \
                 join, {} MiB are available",
                held >> 20,
                resources.memory >> 20
            );
            return Err(Error::InvalidOptions { reason });
        }
        // The memory of the values is not subtracted, because the join itself accounts for it.
        resources.memory -= held - 8 * count;
        Ok(JoinMemory(resources))
    }
}

/// The fingerprints of a store, and the positions of those with several documents.
pub(in crate::join) struct ReadValues {
    /// The fingerprints, ascending.
    pub(in crate::join) values: Arc<Vec<u64>>,
    /// The positions of values with more than one id.
    pub(in crate::join) copied: Vec<u32>,
    /// The smallest id of each value, if requested; `None` unless all values have ids and all ids
    /// are numbers.
    pub(in crate::join) numbers: Option<Vec<u64>>,
}

/// Reads all fingerprints of a store, on all threads; with `numbers` also their smallest ids.
pub(in crate::join) fn read(
    store: &Store,
    options: &JoinOptions,
    numbers: bool,
) -> Result<ReadValues> {
    let threads = options.budget()?.threads;
    let watch = options.watch(Phase::Read, Some(store.info().fingerprint_count()));
    if store.info().id_count() == 0 {
        let side = JoinValues::open(store.into(), 0, threads)?;
        let mut values = side.in_memory(threads, Some(&watch))?;
        // Without ids, the values are in the order of the first table, which may not be ascending.
        if !values.is_sorted() {
            Arc::make_mut(&mut values).sort_unstable();
        }
        return Ok(ReadValues { values, copied: Vec::new(), numbers: None });
    }
    let worker = || {
        |range| {
            let mut part = ReadPart { numbers: numbers.then(Vec::new), ..ReadPart::default() };
            store.for_each_within(range, 1, |hit| {
                part.add(hit)?;
                match part.values.len().is_multiple_of(TICKED) {
                    true => Ok(watch.tick(TICKED as u64)?),
                    false => Ok::<(), Error>(()),
                }
            })?;
            watch.tick((part.values.len() % TICKED) as u64)?;
            Ok(part)
        }
    };
    let source = |give: &mut dyn FnMut(RangeInclusive<u64>) -> Result<()>| {
        store.ranges_for(threads).into_iter().try_for_each(give)
    };
    let mut read = ReadPart { numbers: numbers.then(Vec::new), ..ReadPart::default() };
    in_order(threads, worker, source, |part| {
        read.append(part);
        Ok::<(), Error>(())
    })?;
    let ReadPart { values, copied, numbers } = read;
    Ok(ReadValues { values: Arc::new(values), copied, numbers })
}

/// The values of a range of fingerprints, with the fields of [`ReadValues`].
#[derive(Default)]
struct ReadPart {
    values: Vec<u64>,
    copied: Vec<u32>,
    numbers: Option<Vec<u64>>,
}

impl ReadPart {
    fn add(&mut self, hit: Hit<'_>) -> Result<()> {
        let mut ids = hit.ids();
        let (first, second) = (ids.next().transpose()?, ids.next().transpose()?);
        if first.is_some() && second.is_some() {
            self.copied.push(self.values.len() as u32);
        }
        self.values.push(hit.fingerprint().value());
        if let Some(numbers) = &mut self.numbers {
            let mut least = None;
            for id in first.into_iter().chain(second).map(Ok).chain(ids) {
                match id? {
                    IdRef::U64(id) => least = Some(least.map_or(id, |least: u64| least.min(id))),
                    IdRef::Text(_) => {
                        least = None;
                        break;
                    }
                }
            }
            match least {
                Some(least) => numbers.push(least),
                None => self.numbers = None,
            }
        }
        Ok(())
    }

    /// Adds the values of the next range.
    fn append(&mut self, part: ReadPart) {
        let before = self.values.len() as u32;
        self.copied.extend(part.copied.iter().map(|at| before + at));
        self.values.extend(part.values);
        self.numbers = self.numbers.take().zip(part.numbers).map(|(mut numbers, more)| {
            numbers.extend(more);
            numbers
        });
    }
}
