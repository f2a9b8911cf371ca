//! Partition passes: assigns partitions to passes, and runs a pass, in which the values of some
//! partitions are read into one buffer and joined there.
//!
//! If the values exceed the memory budget of a join, the join makes several passes for each first
//! block, each over some of the partitions.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::blocking::OfFirst;
use super::distinct::Distinct;
use super::finder::{Division, VALUES_PER_PARTITION};
use super::hashing::partition_of;
use super::one_join::{Join, SharedEmit};
use super::sides::SidesMut;
use super::values::Piece;
use crate::base::error::Result;
use crate::base::side_by_side::{Part, side_by_side};

/// For each piece of the input, the number of its values in each partition.
#[derive(Debug)]
pub(in crate::join) struct PartitionCounts {
    pub(in crate::join) pieces: Vec<(Piece, Vec<usize>)>,
}

impl PartitionCounts {
    pub(in crate::join) fn of_partition(&self, partition: usize) -> usize {
        self.pieces.iter().map(|(_, counts)| counts[partition]).sum()
    }

    pub(in crate::join) fn of_side(&self, side: usize, partition: usize) -> usize {
        let of_side = self.pieces.iter().filter(|(piece, _)| piece.side == side);
        of_side.map(|(_, counts)| counts[partition]).sum()
    }

    pub(in crate::join) fn total(&self) -> usize {
        self.pieces.iter().flat_map(|(_, counts)| counts).sum()
    }
}

impl Join<'_> {
    /// Counts the values of each piece in each partition, for each first block.
    pub(in crate::join) fn count_partitions(
        &self,
        firsts: &[u64],
        bits: u32,
    ) -> Result<Vec<PartitionCounts>> {
        let pieces = self.pieces();
        let count_piece = |&piece: &Piece| {
            let mut counts = vec![vec![0_usize; 1 << bits]; firsts.len()];
            self.read(piece, |run| {
                for (&block, counts) in firsts.iter().zip(&mut counts) {
                    for &value in run {
                        counts[partition_of(value, block, 0, bits)] += 1;
                    }
                }
                Ok(())
            })?;
            Ok(counts)
        };
        let counted = side_by_side(&pieces, count_piece)?;
        let of_first = |first: usize| {
            let of_pieces = counted.iter().map(|counts| counts[first].clone());
            PartitionCounts { pieces: pieces.iter().copied().zip(of_pieces).collect() }
        };
        Ok((0..firsts.len()).map(of_first).collect())
    }

    /// The pieces of all sides: one piece of each side for each thread.
    pub(in crate::join) fn pieces(&self) -> Vec<Piece> {
        let parts = Part::all(self.resources.threads);
        let of_side = |side| parts.iter().map(move |&part| Piece { side, part });
        (0..self.sides.len()).flat_map(of_side).collect()
    }

    /// The partitions of the share, in ranges that each fit into memory. The first `share_bits`
    /// bits of the number of a partition determine its share.
    pub(in crate::join) fn passes(
        &self,
        counts: &PartitionCounts,
        bits: u32,
        share_bits: u32,
    ) -> Vec<Range<usize>> {
        let in_share = |&p: &usize| self.share.contains(p >> (bits - share_bits), 1 << share_bits);
        let values_max = self.values_max();
        let mut passes: Vec<Range<usize>> = Vec::new();
        let mut filled = 0;
        for partition in (0..1 << bits).filter(in_share) {
            let count = counts.of_partition(partition);
            match passes.last_mut() {
                Some(pass) if filled + count <= values_max => {
                    pass.end = partition + 1;
                    filled += count;
                }
                _ => {
                    passes.push(partition..partition + 1);
                    filled = count;
                }
            }
        }
        passes
    }

    /// Finds the near pairs in each of `count` partitions by a first block, on all threads. `read`
    /// appends the values of a partition and a side to a list, and returns whether they may repeat.
    pub(super) fn join_each(
        &self,
        of_first: &OfFirst<'_>,
        division: Division,
        count: usize,
        emit: &SharedEmit<'_>,
        read: impl Fn(usize, usize, &mut Vec<u64>) -> Result<bool> + Sync,
    ) -> Result<()> {
        let next = AtomicUsize::new(0);
        let steps = of_first.blocking.steps(of_first.first);
        self.on_all_threads(emit, |finder, emit| {
            let mut distinct = Distinct::default();
            let mut local: [Vec<u64>; 2] =
                std::array::from_fn(|_| Vec::with_capacity(VALUES_PER_PARTITION));
            while let Some(partition) = Some(next.fetch_add(1, Ordering::Relaxed))
                && partition < count
            {
                let mut value_count = 0;
                for (side, values) in local.iter_mut().enumerate().take(self.sides.len()) {
                    values.clear();
                    let may_repeat = read(partition, side, values)?;
                    value_count += values.len() as u64;
                    if may_repeat {
                        distinct.retain(values);
                    }
                }
                let mut sides = SidesMut::of(&mut local, self.sides.len());
                finder.find_in_partition(&mut sides, of_first, division, emit)?;
                self.tick(value_count * steps)?;
            }
            Ok(())
        })
    }
}

/// A pass over some of the `2^bits` partitions by a first block.
pub(in crate::join) struct PartitionPass<'a> {
    pub(in crate::join) join: &'a Join<'a>,
    pub(in crate::join) of_first: &'a OfFirst<'a>,
    pub(in crate::join) bits: u32,
    pub(in crate::join) partitions: Range<usize>,
}

impl PartitionPass<'_> {
    /// Reads the values of the partitions into the buffer, then finds the near pairs in each.
    pub(in crate::join) fn run(
        &self,
        counts: &PartitionCounts,
        buffer: &mut Vec<AtomicU64>,
        emit: &SharedEmit<'_>,
    ) -> Result<()> {
        // The buffer is filled partition by partition, and in each partition piece by piece. The
        // pieces of a side are adjacent. `ranges` contains, for each partition, the positions of
        // the values of each side.
        let mut at = 0;
        let mut starts = vec![Vec::with_capacity(self.partitions.len()); counts.pieces.len()];
        let mut ranges: Vec<Vec<Range<usize>>> = Vec::with_capacity(self.partitions.len());
        for partition in self.partitions.clone() {
            let mut sides = vec![at..at; self.join.sides.len()];
            for ((piece, counts), starts) in counts.pieces.iter().zip(&mut starts) {
                starts.push(at);
                let range = &mut sides[piece.side];
                if range.start == range.end {
                    range.start = at;
                }
                at += counts[partition];
                range.end = at;
            }
            ranges.push(sides);
        }
        if buffer.len() < at {
            *buffer = Vec::new();
            // The pages of the new buffer are zeroed by the system when a thread first writes to
            // them; the conversion to `AtomicU64` compiles to nothing.
            *buffer = vec![0; at].into_iter().map(AtomicU64::new).collect();
        }
        let pieces: Vec<_> = counts.pieces.iter().map(|(piece, _)| *piece).zip(starts).collect();
        side_by_side(&pieces, |(piece, starts)| self.scatter(*piece, starts.clone(), buffer))?;
        let (division, count) = (Division::Hashed { bits: self.bits }, ranges.len());
        self.join.join_each(self.of_first, division, count, emit, |partition, side, values| {
            let stored = &buffer[ranges[partition][side].clone()];
            values.extend(stored.iter().map(|value| value.load(Ordering::Relaxed)));
            Ok(self.join.sides[side].may_repeat())
        })
    }

    /// Writes the values of a piece to the positions of their partitions in the buffer.
    ///
    /// Relaxed stores are enough: each position of the buffer belongs to one piece, and is read
    /// only after the writing threads have ended.
    fn scatter(&self, piece: Piece, mut next: Vec<usize>, buffer: &[AtomicU64]) -> Result<()> {
        let all = self.partitions.len() == 1 << self.bits;
        let block = self.of_first.block();
        self.join.read(piece, |run| {
            for &value in run {
                let partition = partition_of(value, block, 0, self.bits);
                if all || self.partitions.contains(&partition) {
                    let at = &mut next[partition - self.partitions.start];
                    buffer[*at].store(value, Ordering::Relaxed);
                    *at += 1;
                }
            }
            Ok(())
        })
    }
}
