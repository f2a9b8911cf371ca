//! Where the values of a join come from: memory, or a store that is read again for each pass.

use std::sync::Arc;

use super::JoinInput;
use crate::error::{Error, Result};
use crate::store::Store;

/// Distinct values that can be passed over any number of times.
#[derive(Debug)]
pub(super) enum Source {
    Memory(Arc<Vec<u64>>),
    Stored { store: Store, segment: Option<usize>, count: u64 },
}

impl Source {
    /// The values of an input: in memory if `room` bytes are enough for them.
    pub(super) fn open(input: JoinInput<'_>, room: u64) -> Result<Self> {
        let (store, segment) = match input {
            JoinInput::Fingerprints(fingerprints) => {
                let mut values: Vec<u64> = fingerprints.iter().map(|f| f.value()).collect();
                if !values.is_sorted_by(|a, b| a < b) {
                    values.sort_unstable();
                    values.dedup();
                }
                return Ok(Source::Memory(Arc::new(values)));
            }
            JoinInput::Store(store) => (store, None),
            JoinInput::Segment(store, number) => (store, Some(number)),
        };
        let segments = store.snapshot().segments();
        let count = match segment {
            None => segments.iter().map(|open| open.segment.header().fingerprint_count).sum(),
            Some(number) => {
                let open = segments.get(number).ok_or_else(|| Error::InvalidOptions {
                    reason: format!("there is no segment {number} of {}", segments.len()),
                })?;
                open.segment.header().fingerprint_count
            }
        };
        let source = Source::Stored { store: store.clone(), segment, count };
        if count.saturating_mul(8) > room { Ok(source) } else { source.load() }
    }

    fn load(self) -> Result<Self> {
        let mut values = Vec::with_capacity(usize::try_from(self.count_max()).unwrap_or(0));
        self.pass(0, 1, |run| {
            values.extend_from_slice(run);
            Ok(())
        })?;
        Ok(Source::Memory(Arc::new(values)))
    }

    /// How many values there are, or a few more.
    pub(super) fn count_max(&self) -> u64 {
        match self {
            Source::Memory(values) => values.len() as u64,
            Source::Stored { count, .. } => *count,
        }
    }

    /// Bytes of memory held.
    pub(super) fn memory_len(&self) -> u64 {
        match self {
            Source::Memory(values) => 8 * values.len() as u64,
            Source::Stored { .. } => 0,
        }
    }

    /// In how many pieces the values can be passed over side by side.
    pub(super) fn pieces(&self, threads: usize) -> usize {
        match self {
            Source::Memory(_) => threads.max(1),
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
        match self {
            Source::Memory(values) => {
                let at = |piece: usize| values.len() * piece / pieces;
                values[at(piece)..at(piece + 1)].chunks(1 << 14).try_for_each(each)
            }
            Source::Stored { store, segment: None, .. } => store.for_each_run(each),
            Source::Stored { store, segment: Some(number), .. } => {
                store.for_each_run_of(*number, &mut each)
            }
        }
    }

    /// All values, in memory.
    pub(super) fn values(&self) -> Result<Arc<Vec<u64>>> {
        match self {
            Source::Memory(values) => Ok(Arc::clone(values)),
            Source::Stored { store, segment, count } => {
                let again =
                    Source::Stored { store: store.clone(), segment: *segment, count: *count };
                match again.load()? {
                    Source::Memory(values) => Ok(values),
                    Source::Stored { .. } => Ok(Arc::default()),
                }
            }
        }
    }
}
