//! The values of one side of a join: in memory, or in a store that is read again for each pass.

use std::sync::Arc;

use crate::base::error::{Error, Result};
use crate::base::in_order::in_order;
use crate::base::section::Rank;
use crate::base::side_by_side::Part;
use crate::join::JoinInput;
use crate::join::shares::range::TableRange;
use crate::search::snapshot::OpenSegment;
use crate::store::Store;
use fpstore_base::Fingerprint;
use fpstore_base::watch::Watch;

/// Number of values passed to a callback at once.
const RUN_COUNT: usize = 1 << 12;
/// Approximate number of sampled values to show that all bits vary.
const VARYING_COUNT: usize = 256;
/// Approximate number of values that a thread reads into memory at a time.
const PART_COUNT: u64 = if cfg!(test) { 64 } else { 1 << 16 };

/// The values of a side. They can be read any number of times.
#[derive(Clone, Debug)]
pub(in crate::join) enum JoinValues<'a> {
    /// The caller's fingerprints, sorted and distinct.
    Borrowed(&'a [Fingerprint]),
    Owned {
        values: Arc<Vec<u64>>,
        /// The result of [`JoinValues::count_max`]: the number of input values, repeated values
        /// included, so that it does not depend on whether the values fit into memory.
        count: u64,
        /// Whether values may repeat.
        repeats: bool,
        ascends: bool,
        /// The store that contains exactly these values, if any: its tables have them in other
        /// orders.
        store: Option<Store>,
    },
    /// The values of a store, read segment after segment: a value in two segments is read twice.
    Stored {
        store: Store,
        count: u64,
        /// Whether there are several non-empty segments.
        repeats: bool,
    },
    /// A range of a table of a store, which is read again for each pass.
    Range(TableRange),
}

/// A part of the values of a side, read by one thread.
#[derive(Clone, Copy, Debug)]
pub(in crate::join) struct Piece {
    /// The position of the side in the join.
    pub(in crate::join) side: usize,
    pub(in crate::join) part: Part,
}

impl Piece {
    /// All values of a side.
    pub(in crate::join) fn whole(side: usize) -> Self {
        Piece { side, part: Part::WHOLE }
    }
}

impl<'a> JoinValues<'a> {
    /// The values of an input. If the values of a store fit into `memory` bytes, they are read into
    /// memory by `threads` threads.
    pub(in crate::join) fn open(input: JoinInput<'a>, memory: u64, threads: usize) -> Result<Self> {
        let store = match input {
            JoinInput::Fingerprints(fingerprints) => {
                if fingerprints.is_sorted_by(|a, b| a < b) {
                    return Ok(JoinValues::Borrowed(fingerprints));
                }
                let mut values: Vec<u64> = fingerprints.iter().map(|f| f.value()).collect();
                distinct(&mut values);
                return Ok(JoinValues::owned(values));
            }
            JoinInput::Store(store) => store.pinned(),
            JoinInput::Segment(store, number) => {
                let store = store.pinned();
                let segments = store.snapshot().segments().len();
                if number >= segments {
                    let reason = format!("there is no segment {number} among {segments}");
                    return Err(Error::InvalidOptions { reason });
                }
                store.part(&[number])
            }
        };
        let snapshot = store.snapshot();
        let count: u64 = snapshot.segments().iter().map(|open| open.live_count()).sum();
        let repeats = snapshot.segments().iter().filter(|open| !open.is_empty()).count() > 1;
        let values = JoinValues::Stored { store: store.clone(), count, repeats };
        if count.saturating_mul(8) > memory {
            return Ok(values);
        }
        let values = values.in_memory(threads, None)?;
        let ascends = values.is_sorted();
        Ok(JoinValues::Owned { values, count, repeats: false, ascends, store: Some(store) })
    }

    /// The values of a range of a table. They are read into memory if they fit into `memory` bytes.
    pub(in crate::join) fn open_range(range: TableRange, memory: u64) -> Result<Self> {
        if range.count_max.saturating_mul(8) > memory {
            return Ok(JoinValues::Range(range));
        }
        let mut values = Vec::with_capacity(usize::try_from(range.count_max).unwrap_or(0));
        range.read(Part::WHOLE, &mut |run| {
            values.extend_from_slice(run);
            Ok(())
        })?;
        let (count, repeats) = (values.len() as u64, range.repeats);
        // Without a store, because ranges occur only in divided joins, which do not read tables in
        // order.
        let values = Arc::new(values);
        Ok(JoinValues::Owned { values, count, repeats, ascends: false, store: None })
    }

    /// A side of these values, which must be distinct.
    pub(in crate::join) fn owned(values: impl Into<Arc<Vec<u64>>>) -> Self {
        let values = values.into();
        let (count, ascends) = (values.len() as u64, values.is_sorted());
        JoinValues::Owned { values, count, repeats: false, ascends, store: None }
    }

    /// The store whose tables contain exactly these values, if there is one.
    pub(super) fn tables(&self) -> Option<&Store> {
        match self {
            JoinValues::Stored { store, .. } => Some(store),
            JoinValues::Owned { store, .. } => store.as_ref(),
            JoinValues::Borrowed(_) | JoinValues::Range(_) => None,
        }
    }

    /// Whether a value may be read more than once, from several segments. The segments are not
    /// merged, because finding the smallest value of many segments is expensive. Code that compares
    /// values removes repeats from each partition in memory, see [`Distinct`].
    ///
    /// [`Distinct`]: super::distinct::Distinct
    pub(in crate::join) fn may_repeat(&self) -> bool {
        match self {
            JoinValues::Stored { repeats, .. } | JoinValues::Owned { repeats, .. } => *repeats,
            JoinValues::Range(range) => range.repeats,
            JoinValues::Borrowed(_) => false,
        }
    }

    /// Whether a sample of the values shows that every bit varies. `false` is inconclusive.
    pub(super) fn vary_in_all_bits(&self) -> Result<bool> {
        let (mut any, mut all) = (0, u64::MAX);
        let mut look = |value: u64| (any, all) = (any | value, all & value);
        let steps = |len: usize| (0..len).step_by((len / VARYING_COUNT).max(1));
        match self {
            JoinValues::Borrowed(values) => {
                steps(values.len()).for_each(|at| look(values[at].value()))
            }
            JoinValues::Owned { values, .. } => steps(values.len()).for_each(|at| look(values[at])),
            JoinValues::Stored { store, .. } => {
                // Segments with deletions are left out, because the sample must not contain deleted
                // values.
                let snapshot = store.snapshot();
                for open in snapshot.segments().iter().filter(|open| open.deleted.is_none()) {
                    let Some(table) = open.segment.first_table() else { continue };
                    let len = usize::try_from(open.live_count()).unwrap_or(usize::MAX);
                    for rank in steps(len) {
                        let value = table.value_at(Rank(rank as u64))?;
                        look(table.permutation.invert(value).value());
                    }
                }
            }
            JoinValues::Range(_) => {}
        }
        Ok(any & !all == u64::MAX)
    }

    /// An upper bound of the number of distinct values: a value in two segments counts twice.
    pub(in crate::join) fn count_max(&self) -> u64 {
        match self {
            JoinValues::Borrowed(values) => values.len() as u64,
            JoinValues::Owned { count, .. } | JoinValues::Stored { count, .. } => *count,
            JoinValues::Range(range) => range.count_max,
        }
    }

    /// Bytes of memory that the values take, the memory of the caller excluded.
    pub(in crate::join) fn memory_len(&self) -> u64 {
        match self {
            JoinValues::Owned { values, .. } => 8 * values.len() as u64,
            JoinValues::Borrowed(_) | JoinValues::Stored { .. } | JoinValues::Range(_) => 0,
        }
    }

    /// Calls `each` with the values of a piece, some at a time, always in the same order.
    pub(in crate::join) fn read(
        &self,
        piece: Piece,
        mut each: impl FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        let Piece { part, .. } = piece;
        match self {
            JoinValues::Borrowed(fingerprints) => {
                let mut run = Vec::with_capacity(RUN_COUNT);
                let fingerprints = &fingerprints[part.of_len(fingerprints.len())];
                fingerprints.chunks(RUN_COUNT).try_for_each(|fingerprints| {
                    run.clear();
                    run.extend(fingerprints.iter().map(|fingerprint| fingerprint.value()));
                    each(&run)
                })
            }
            JoinValues::Owned { values, .. } => {
                values[part.of_len(values.len())].chunks(RUN_COUNT).try_for_each(each)
            }
            JoinValues::Stored { store, .. } => {
                let segments = 0..store.snapshot().segments().len();
                segments
                    .into_iter()
                    .try_for_each(|segment| store.for_each_run_of(segment, part, &mut each))
            }
            JoinValues::Range(range) => range.read(part, &mut each),
        }
    }

    /// All values in memory, without repeats; read by `threads` threads.
    pub(in crate::join) fn in_memory(
        &self,
        threads: usize,
        watch: Option<&Watch>,
    ) -> Result<Arc<Vec<u64>>> {
        if let JoinValues::Owned { values, repeats: false, .. } = self {
            return Ok(Arc::clone(values));
        }
        let mut values = Vec::with_capacity(usize::try_from(self.count_max()).unwrap_or(0));
        for segment in self.by_segments() {
            let worker = || {
                |part| {
                    let mut of_part = Vec::with_capacity(PART_COUNT as usize);
                    segment.read(Piece { side: 0, part }, |run| {
                        of_part.extend_from_slice(run);
                        Ok(())
                    })?;
                    watch.map_or(Ok(()), |watch| watch.tick(of_part.len() as u64))?;
                    Ok(of_part)
                }
            };
            let source = |give: &mut dyn FnMut(Part) -> Result<()>| {
                let count = segment.count_max().div_ceil(PART_COUNT);
                Part::all(count as usize).into_iter().try_for_each(give)
            };
            in_order(threads, worker, source, |of_part| {
                values.extend_from_slice(&of_part);
                Ok::<(), Error>(())
            })?;
        }
        if self.may_repeat() {
            // The values of a segment nearly always ascend, and a stable sort merges ascending runs
            // fast.
            values.sort();
            values.dedup();
        }
        Ok(Arc::new(values))
    }

    /// The same values as one `JoinValues` for each segment of the store.
    fn by_segments(&self) -> Vec<JoinValues<'_>> {
        let JoinValues::Stored { store, .. } = self else { return vec![self.clone()] };
        let of_segment = |(number, open): (usize, &OpenSegment)| JoinValues::Stored {
            store: store.part(&[number]),
            count: open.live_count(),
            repeats: false,
        };
        store.snapshot().segments().iter().enumerate().map(of_segment).collect()
    }
}

/// Sorts values and removes repeated values.
pub(in crate::join) fn distinct(values: &mut Vec<u64>) {
    values.sort_unstable();
    values.dedup();
}
