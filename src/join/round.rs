//! One round of a join: the values of some parts brought together in memory and looked through.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::chains::part;
use super::near::{Group, PART_COUNT};
use super::run::{Join, Take, side_by_side};
use super::split::Table;
use crate::error::Result;

/// How many values of each piece fall into each part.
#[derive(Debug)]
pub(super) struct PartCounts {
    pub(super) pieces: Vec<((usize, usize, usize), Vec<usize>)>,
}

impl PartCounts {
    pub(super) fn of_part(&self, part: usize) -> usize {
        self.pieces.iter().map(|(_, counts)| counts[part]).sum()
    }

    pub(super) fn of_side(&self, side: usize, part: usize) -> usize {
        let of_side = self.pieces.iter().filter(|((source, ..), _)| *source == side);
        of_side.map(|(_, counts)| counts[part]).sum()
    }

    pub(super) fn total(&self) -> usize {
        self.pieces.iter().flat_map(|(_, counts)| counts).sum()
    }
}

/// Some parts of one first block.
pub(super) struct Round<'a> {
    pub(super) join: &'a Join<'a>,
    pub(super) block: u64,
    pub(super) bits: u32,
    pub(super) tables: &'a [Table],
    pub(super) parts: Range<usize>,
}

impl Round<'_> {
    /// Brings the values of the parts together in the buffer, then looks through each part.
    pub(super) fn run(
        &self,
        counts: &PartCounts,
        buffer: &mut Vec<AtomicU64>,
        take: &Take<'_>,
    ) -> Result<()> {
        // Where each part of each piece begins; the pieces of a source lie side by side.
        let mut at = 0;
        let mut starts = vec![Vec::with_capacity(self.parts.len()); counts.pieces.len()];
        let mut sides: Vec<Vec<Range<usize>>> = Vec::with_capacity(self.parts.len());
        for part in self.parts.clone() {
            let mut ranges = vec![at..at; self.join.sources.len()];
            for (number, ((source, ..), counts)) in counts.pieces.iter().enumerate() {
                starts[number].push(at);
                if ranges[*source].is_empty() {
                    ranges[*source].start = at;
                }
                at += counts[part];
                ranges[*source].end = at;
            }
            sides.push(ranges);
        }
        if buffer.len() < at {
            buffer.resize_with(at, AtomicU64::default);
        }
        let pieces: Vec<_> = counts.pieces.iter().map(|(piece, _)| *piece).zip(starts).collect();
        side_by_side(&pieces, |(piece, starts)| self.scatter(*piece, starts.clone(), buffer))?;
        self.look_through(&sides, buffer, take)
    }

    /// Puts the values of a piece where their parts are. Each place belongs to one piece, so relaxed stores
    /// do; that the threads end before anyone reads orders them.
    fn scatter(
        &self,
        piece: (usize, usize, usize),
        mut next: Vec<usize>,
        buffer: &[AtomicU64],
    ) -> Result<()> {
        let all = self.parts.len() == 1 << self.bits;
        self.join.pass(piece, |run| {
            for &value in run {
                let part = part(value, self.block, 0, self.bits);
                if all || self.parts.contains(&part) {
                    let at = &mut next[part - self.parts.start];
                    buffer[*at].store(value, Ordering::Relaxed);
                    *at += 1;
                }
            }
            self.join.watch.report()
        })
    }

    fn look_through(
        &self,
        sides: &[Vec<Range<usize>>],
        buffer: &[AtomicU64],
        take: &Take<'_>,
    ) -> Result<()> {
        let next = AtomicUsize::new(0);
        self.join.on_all_threads(take, |finder, take| {
            let mut local: [Vec<u64>; 2] = std::array::from_fn(|_| Vec::with_capacity(PART_COUNT));
            while let Some(ranges) = sides.get(next.fetch_add(1, Ordering::Relaxed)) {
                for (local, range) in local.iter_mut().zip(ranges) {
                    let values = &buffer[range.clone()];
                    local.clear();
                    local.extend(values.iter().map(|value| value.load(Ordering::Relaxed)));
                }
                let [one, other] = &mut local;
                let count = one.len() + other.len();
                let mut group = match ranges.len() {
                    1 => Group::Within(one),
                    _ => Group::Across(one, other),
                };
                finder.find_in_part(&mut group, self.block, self.bits, self.tables, take)?;
                self.join.tick(count as u64)?;
            }
            Ok(())
        })
    }
}
