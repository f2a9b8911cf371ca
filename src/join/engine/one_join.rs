//! A join of one set with itself, or of two sets with each other: its parameters, and functions to
//! read its values.
//!
//! `Join::run` chooses the method, `partition_pass` finds the pairs of some partitions.

use std::sync::{Arc, Mutex, PoisonError};

use super::density::Connect;
use super::finder::{Emit, LOOKED_COUNT, PairFinder, ValuePair};
use super::skew::SkewedPartition;
use super::values::{JoinValues, Piece, distinct};
use crate::base::error::Result;
use crate::base::side_by_side::side_by_side;
use crate::join::options::{JoinOptions, Share};
use crate::segment::budget::WorkBudget;
use fpstore_base::watch::{Phase, Watch};

/// A partition with more values than this many times the mean is uneven.
pub(super) const UNEVEN: u64 = 8;

/// A join of a set of values with itself or with another set.
pub(in crate::join) struct Join<'a> {
    /// The only side, or the probe side and the build side.
    pub(in crate::join) sides: Vec<JoinValues<'a>>,
    pub(in crate::join) k: u32,
    pub(in crate::join) share: Share,
    pub(in crate::join) resources: WorkBudget,
    pub(in crate::join) watch: Watch,
    pub(in crate::join) partition: SkewedPartition,
    /// Callback for dense values, if the caller only needs to know which values near pairs connect.
    pub(in crate::join) connect: Option<Connect<'a>>,
}

/// Callback for found pairs, called by one thread at a time; it empties the vector.
pub(in crate::join) type SharedEmit<'a> =
    Mutex<&'a mut (dyn FnMut(&mut Vec<ValuePair>) -> Result<()> + Send)>;

impl<'a> Join<'a> {
    pub(in crate::join) fn new(
        sides: Vec<JoinValues<'a>>,
        options: &JoinOptions,
        resources: WorkBudget,
    ) -> Self {
        let watch = options.watch(Phase::Join, None);
        let (k, share) = (options.k, options.share);
        let partition = SkewedPartition::default();
        Join { sides, k, share, resources, watch, partition, connect: None }
    }

    /// The same join of one side for a caller that only needs to know which values near pairs
    /// connect: dense values are passed to `connect` instead of finding all their pairs.
    pub(in crate::join) fn connecting(self, connect: Connect<'a>) -> Self {
        Join { connect: Some(connect), ..self }
    }

    /// Reports `count` more values as joined. The values of a skewed partition are reported by the
    /// outer join, after the join of the partition.
    pub(in crate::join) fn tick(&self, count: u64) -> Result<()> {
        if self.partition.is_all() {
            Ok(self.watch.tick(count)?)
        } else {
            Ok(self.watch.report()?)
        }
    }

    /// Calls `each` with the values of a piece that belong to this join. Checks the observer before
    /// the first values and at intervals.
    pub(in crate::join) fn read(
        &self,
        piece: Piece,
        mut each: impl FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        let side = &self.sides[piece.side];
        let (mut own, mut count) = (Vec::new(), LOOKED_COUNT);
        side.read(piece, |run| {
            count += run.len();
            if count > LOOKED_COUNT {
                count = 0;
                self.watch.report()?;
            }
            if self.partition.is_all() {
                return each(run);
            }
            own.clear();
            own.extend(run.iter().copied().filter(|&value| self.partition.contains(value)));
            each(&own)
        })
    }

    fn vary_in_all_bits(&self) -> Result<bool> {
        self.sides.iter().try_fold(false, |vary, side| Ok(vary || side.vary_in_all_bits()?))
    }

    /// The bits that vary: those that are not equal in all values of both sides.
    pub(in crate::join) fn varying(&self) -> Result<u64> {
        if self.partition.is_all() && self.vary_in_all_bits()? {
            return Ok(u64::MAX);
        }
        let of_pieces = side_by_side(&self.pieces(), |&piece| {
            let (mut any, mut all) = (0, u64::MAX);
            self.read(piece, |run| {
                for value in run {
                    any |= value;
                    all &= value;
                }
                Ok(())
            })?;
            Ok((any, all))
        })?;
        let (any, all) = of_pieces
            .iter()
            .fold((0, u64::MAX), |so_far, of_piece| (so_far.0 | of_piece.0, so_far.1 & of_piece.1));
        Ok(any & !all)
    }

    /// The number of values that fit into the unused part of the memory budget.
    pub(in crate::join) fn values_max(&self) -> usize {
        let held: u64 = self.sides.iter().map(JoinValues::memory_len).sum();
        (self.resources.memory.saturating_sub(held) / 8).max(1) as usize
    }

    /// Maximum number of values of a partition whose copies on all threads fit into memory.
    pub(super) fn copied_max(&self) -> usize {
        self.values_max() / (2 * (self.resources.threads + 2))
    }

    /// All values of a side that belong to this join, without repeats.
    pub(in crate::join) fn in_memory(&self, side: usize) -> Result<Arc<Vec<u64>>> {
        if self.partition.is_all() {
            return self.sides[side].in_memory(self.resources.threads, None);
        }
        let mut values = Vec::new();
        self.read(Piece::whole(side), |run| {
            values.extend_from_slice(run);
            Ok(())
        })?;
        if self.sides[side].may_repeat() {
            distinct(&mut values);
        }
        Ok(Arc::new(values))
    }

    /// Runs `work` on all threads, each with a finder of its own.
    pub(in crate::join) fn on_all_threads(
        &self,
        emit: &SharedEmit<'_>,
        work: impl Fn(&mut PairFinder<'_>, Emit<'_>) -> Result<()> + Sync,
    ) -> Result<()> {
        let on_thread = |_: &usize| {
            let SkewedPartition { agree, differ, .. } = &self.partition;
            let finder = PairFinder::new(self.k).within(*agree, differ);
            let mut finder = finder.connecting(self.connect);
            let mut emit = |found: &mut Vec<ValuePair>| {
                // The observer is also checked here, because a skewed partition may take very long.
                self.watch.report()?;
                if found.is_empty() {
                    return Ok(());
                }
                (emit.lock().unwrap_or_else(PoisonError::into_inner))(found)
            };
            work(&mut finder, &mut emit)?;
            finder.flush(&mut emit)
        };
        let threads: Vec<usize> = (0..self.resources.threads.max(1)).collect();
        side_by_side(&threads, on_thread).map(drop)
    }
}
