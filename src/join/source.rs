//! Where the values of a join come from: memory, or a store that is read again for each pass.

use std::sync::Arc;

use super::JoinInput;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::store::Store;

/// Values handed out together.
const RUN_COUNT: usize = 1 << 12;

/// Distinct values that can be passed over any number of times.
#[derive(Clone, Debug)]
pub(super) enum Source<'a> {
    /// Sorted and distinct.
    Given(&'a [Fingerprint]),
    Memory(Arc<Vec<u64>>),
    Stored {
        store: Store,
        segment: Option<usize>,
        count: u64,
    },
}

impl<'a> Source<'a> {
    /// The values of an input: in memory if `room` bytes are enough for them.
    pub(super) fn open(input: JoinInput<'a>, room: u64) -> Result<Self> {
        let (store, segment) = match input {
            JoinInput::Fingerprints(fingerprints) => {
                if fingerprints.is_sorted_by(|a, b| a < b) {
                    return Ok(Source::Given(fingerprints));
                }
                let mut values: Vec<u64> = fingerprints.iter().map(|f| f.value()).collect();
                values.sort_unstable();
                values.dedup();
                return Ok(Source::Memory(Arc::new(values)));
            }
            JoinInput::Store(store) => (store, None),
            JoinInput::Segment(store, number) => (store, Some(number)),
        };
        let store = store.pinned();
        let snapshot = store.snapshot();
        let segments = snapshot.segments();
        let count = match segment {
            None => segments.iter().map(|open| open.live_count()).sum(),
            Some(number) => {
                let open = segments.get(number).ok_or_else(|| Error::InvalidOptions {
                    reason: format!("there is no segment {number} of {}", segments.len()),
                })?;
                open.live_count()
            }
        };
        let source = Source::Stored { store, segment, count };
        if count.saturating_mul(8) > room {
            Ok(source)
        } else {
            source.values().map(Source::Memory)
        }
    }

    /// How many values there are, or a few more.
    pub(super) fn count_max(&self) -> u64 {
        match self {
            Source::Given(values) => values.len() as u64,
            Source::Memory(values) => values.len() as u64,
            Source::Stored { count, .. } => *count,
        }
    }

    /// Bytes of memory held.
    pub(super) fn memory_len(&self) -> u64 {
        match self {
            Source::Memory(values) => 8 * values.len() as u64,
            // Those are the caller's own.
            Source::Given(_) | Source::Stored { .. } => 0,
        }
    }

    /// In how many pieces the values can be passed over side by side.
    pub(super) fn pieces(&self, threads: usize) -> usize {
        match self {
            Source::Given(_) | Source::Memory(_) => threads.max(1),
            Source::Stored { .. } => 1,
        }
    }

    /// Hands the values of a piece to `each`, some at a time, always in the same order.
    pub(super) fn pass(
        &self,
        piece: usize,
        pieces: usize,
        mut each: impl FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        let piece_of = |count: usize| count * piece / pieces..count * (piece + 1) / pieces;
        match self {
            Source::Given(fingerprints) => {
                let mut run = Vec::with_capacity(RUN_COUNT);
                fingerprints[piece_of(fingerprints.len())].chunks(RUN_COUNT).try_for_each(|given| {
                    run.clear();
                    run.extend(given.iter().map(|fingerprint| fingerprint.value()));
                    each(&run)
                })
            }
            Source::Memory(values) => {
                values[piece_of(values.len())].chunks(RUN_COUNT).try_for_each(each)
            }
            Source::Stored { store, segment: None, .. } => store.for_each_run(each),
            Source::Stored { store, segment: Some(number), .. } => {
                store.for_each_run_of(*number, &mut each)
            }
        }
    }

    /// All values, in memory.
    pub(super) fn values(&self) -> Result<Arc<Vec<u64>>> {
        if let Source::Memory(values) = self {
            return Ok(Arc::clone(values));
        }
        let mut values = Vec::with_capacity(usize::try_from(self.count_max()).unwrap_or(0));
        self.pass(0, 1, |run| {
            values.extend_from_slice(run);
            Ok(())
        })?;
        Ok(Arc::new(values))
    }
}
