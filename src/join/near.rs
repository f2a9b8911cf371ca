//! All near pairs among values in memory.
//!
//! Values that are near agree on some blocks of bits ([`Split`]); those that agree on the blocks of one
//! table are compared. Where very many agree, they are taken as a set of their own and split by
//! the bits in which they still vary, so crowds cost about as much as the pairs they really hold.

use crate::error::Result;
use crate::join::chains::{Chains, Sets, at_most, part};
use crate::join::split::{Split, Table};

/// Values of a part that is looked through at once, so that it stays in a core's cache.
pub(super) const PART_COUNT: usize = 1 << 13;
/// Parts that a set is divided into at a time.
pub(super) const PART_BITS_MAX: u32 = 10;
/// Pairs that are handed on together.
const BATCH_COUNT: usize = 1 << 12;

/// Two values that are near.
pub(super) type RawPair = (u64, u64);

/// Takes pairs some at a time; the vector comes back empty.
pub(super) type Sink<'a> = &'a mut dyn FnMut(&mut Vec<RawPair>) -> Result<()>;

/// What is compared with what. The order of values changes on the way.
#[derive(Debug)]
pub(super) enum Group<'a> {
    /// Distinct values with one another.
    Within(&'a mut [u64]),
    /// Each of the first with each of the second, each side distinct.
    Across(&'a mut [u64], &'a mut [u64]),
}

impl Group<'_> {
    fn sets(&self) -> Sets<'_> {
        match self {
            Group::Within(values) => Sets::Within(values),
            Group::Across(asking, held) => Sets::Across(asking, held),
        }
    }

    fn count(&self) -> usize {
        match self {
            Group::Within(values) => values.len(),
            Group::Across(asking, held) => asking.len() + held.len(),
        }
    }

    /// How many pairs there are.
    fn pair_count(&self) -> f64 {
        pair_count(&self.sets())
    }

    /// The bits in which the values are not all alike.
    fn varying(&self) -> u64 {
        let mut any = 0;
        let mut all = u64::MAX;
        let mut look = |values: &[u64]| {
            for value in values {
                any |= value;
                all &= value;
            }
        };
        match self {
            Group::Within(values) => look(values),
            Group::Across(asking, held) => {
                look(asking);
                look(held);
            }
        }
        any & !all
    }
}

fn pair_count(sets: &Sets<'_>) -> f64 {
    match sets {
        Sets::Within(values) => values.len() as f64 * (values.len() as f64 - 1.0) / 2.0,
        Sets::Across(asking, held) => asking.len() as f64 * held.len() as f64,
    }
}

/// Finds near pairs, and keeps its memory for the next set.
#[derive(Debug)]
pub(super) struct Finder {
    k: u32,
    chains: Chains,
    found: Vec<RawPair>,
    /// Where pairs must differ, or they belong to another table.
    differ: Vec<u64>,
    /// Where they must agree, for the same reason.
    agree: u64,
}

impl Finder {
    pub(super) fn new(k: u32) -> Self {
        Finder { k, chains: Chains::default(), found: Vec::new(), differ: Vec::new(), agree: 0 }
    }

    /// Finds only pairs that agree on the bits of `agree` and differ in each of the blocks `differ`.
    pub(super) fn within(mut self, agree: u64, differ: &[u64]) -> Self {
        self.agree = agree;
        self.differ.extend_from_slice(differ);
        self
    }

    /// Finds all pairs of a group.
    pub(super) fn find(&mut self, mut group: Group<'_>, sink: Sink<'_>) -> Result<()> {
        self.solve(&mut group, sink)?;
        self.hand_over(sink)
    }

    /// Finds the pairs of the tables that share the first block `block` in a group, which is one of
    /// `2^skipped` parts by that block. [`Finder::hand_over`] is to follow.
    pub(super) fn find_in_part(
        &mut self,
        group: &mut Group<'_>,
        block: u64,
        skipped: u32,
        tables: &[Table],
        sink: Sink<'_>,
    ) -> Result<()> {
        if group.count() <= 2 * PART_COUNT {
            self.look_up(group, tables, sink)
        } else {
            self.look_up_in_parts(group, block, skipped, tables, sink)
        }
    }

    /// Compares each of the values in `range` with all values before it.
    pub(super) fn find_in_range(
        &mut self,
        values: &[u64],
        range: std::ops::Range<usize>,
        sink: Sink<'_>,
    ) -> Result<()> {
        range.into_iter().try_for_each(|at| self.compare_one(values[at], &values[..at], sink))
    }

    /// Compares each of the asking values with all that are held.
    pub(super) fn find_across(
        &mut self,
        asking: &[u64],
        held: &[u64],
        sink: Sink<'_>,
    ) -> Result<()> {
        asking.iter().try_for_each(|&value| self.compare_one(value, held, sink))
    }

    /// Hands over what was found and not yet handed over.
    pub(super) fn hand_over(&mut self, sink: Sink<'_>) -> Result<()> {
        if self.found.is_empty() { Ok(()) } else { sink(&mut self.found) }
    }

    fn solve(&mut self, group: &mut Group<'_>, sink: Sink<'_>) -> Result<()> {
        if group.pair_count() < 1.0 {
            return Ok(());
        }
        let varying = group.varying();
        if self.differ.iter().any(|block| block & varying == 0) {
            return Ok(());
        }
        let count = group.count() as u64;
        let Some(split) = Split::choose(varying, count, group.pair_count(), self.k) else {
            return self.compare_all(group, sink);
        };
        for (first, &block) in split.firsts().iter().enumerate() {
            let tables = split.tables(first);
            self.find_in_part(group, block, 0, &tables, sink)?;
        }
        Ok(())
    }

    /// Divides a group that is too large for the cache by the first block of the tables.
    fn look_up_in_parts(
        &mut self,
        group: &mut Group<'_>,
        block: u64,
        skipped: u32,
        tables: &[Table],
        sink: Sink<'_>,
    ) -> Result<()> {
        let bits = part_bits(group.count());
        match group {
            Group::Within(values) => {
                let (mut parted, ends) = divide(values, block, skipped, bits);
                for part in Parts::new(&mut parted, &ends) {
                    self.look_up(&mut Group::Within(part), tables, sink)?;
                }
            }
            Group::Across(asking, held) => {
                let (mut asking, asking_ends) = divide(asking, block, skipped, bits);
                let (mut held, held_ends) = divide(held, block, skipped, bits);
                let parts =
                    Parts::new(&mut asking, &asking_ends).zip(Parts::new(&mut held, &held_ends));
                for (asking, held) in parts {
                    self.look_up(&mut Group::Across(asking, held), tables, sink)?;
                }
            }
        }
        Ok(())
    }

    fn look_up(&mut self, group: &mut Group<'_>, tables: &[Table], sink: Sink<'_>) -> Result<()> {
        if group.pair_count() < 1.0 {
            return Ok(());
        }
        for table in tables {
            let kept = self.found.len();
            let height = self.differ.len();
            self.differ.extend_from_slice(&table.differ);
            let done = self.meet(group.sets(), table.agree);
            if !done {
                // Too many agree: what was found so far comes again.
                self.found.truncate(kept);
                self.meet_in_crowds(group, table.agree, sink)?;
            }
            self.differ.truncate(height);
            if self.found.len() >= BATCH_COUNT {
                self.hand_over(sink)?;
            }
        }
        Ok(())
    }

    /// Compares what agrees on the mask; `false` if that is too much.
    fn meet(&mut self, sets: Sets<'_>, agree: u64) -> bool {
        let Finder { k, chains, found, differ, agree: agree_too } = self;
        let found = |one: u64, other: u64| {
            let diff = one ^ other;
            if diff & *agree_too == 0 && differ.iter().all(|block| diff & block != 0) {
                found.push((one, other));
            }
        };
        match *k {
            0 => chains.pairs(sets, agree, at_most::<0>, found),
            1 => chains.pairs(sets, agree, at_most::<1>, found),
            2 => chains.pairs(sets, agree, at_most::<2>, found),
            3 => chains.pairs(sets, agree, at_most::<3>, found),
            4 => chains.pairs(sets, agree, at_most::<4>, found),
            k => chains.pairs(sets, agree, |diff| diff.count_ones() <= k, found),
        }
    }

    /// Brings together what agrees on the mask by sorting, and takes each crowd for itself.
    fn meet_in_crowds(&mut self, group: &mut Group<'_>, agree: u64, sink: Sink<'_>) -> Result<()> {
        let by = |value: &u64| value & agree;
        match group {
            Group::Within(values) => {
                values.sort_unstable_by_key(by);
                for crowd in values.chunk_by_mut(|one, other| by(one) == by(other)) {
                    self.solve(&mut Group::Within(crowd), sink)?;
                }
            }
            Group::Across(asking, held) => {
                asking.sort_unstable_by_key(by);
                held.sort_unstable_by_key(by);
                let mut rest = &mut **held;
                for crowd in asking.chunk_by_mut(|one, other| by(one) == by(other)) {
                    let key = by(&crowd[0]);
                    let before = rest.partition_point(|value| by(value) < key);
                    rest = rest.split_at_mut(before).1;
                    let equal = rest.partition_point(|value| by(value) == key);
                    let (partners, after) = rest.split_at_mut(equal);
                    self.solve(&mut Group::Across(crowd, partners), sink)?;
                    rest = after;
                }
            }
        }
        Ok(())
    }

    /// Compares each with each.
    fn compare_all(&mut self, group: &Group<'_>, sink: Sink<'_>) -> Result<()> {
        match group {
            Group::Within(values) => self.find_in_range(values, 0..values.len(), sink),
            Group::Across(asking, held) => self.find_across(asking, held, sink),
        }
    }

    fn compare_one(&mut self, value: u64, others: &[u64], sink: Sink<'_>) -> Result<()> {
        for &other in others {
            let diff = value ^ other;
            let near = diff.count_ones() <= self.k && diff & self.agree == 0;
            if near && self.differ.iter().all(|block| diff & block != 0) {
                self.found.push((value, other));
            }
        }
        if self.found.len() >= BATCH_COUNT { self.hand_over(sink) } else { Ok(()) }
    }
}

/// The bits by which so many values are divided.
pub(super) fn part_bits(count: usize) -> u32 {
    (count / PART_COUNT).max(1).next_power_of_two().ilog2().clamp(1, PART_BITS_MAX)
}

/// The values in the order of their parts, and where each part ends.
fn divide(values: &[u64], block: u64, skipped: u32, bits: u32) -> (Vec<u64>, Vec<usize>) {
    let mut ends = vec![0; 1 << bits];
    for &value in values {
        ends[part(value, block, skipped, bits)] += 1;
    }
    let mut next = 0;
    for end in &mut ends {
        next += std::mem::replace(end, next);
    }
    let mut parted = vec![0; values.len()];
    for &value in values {
        let end = &mut ends[part(value, block, skipped, bits)];
        parted[*end] = value;
        *end += 1;
    }
    (parted, ends)
}

/// The parts of divided values.
struct Parts<'a> {
    rest: &'a mut [u64],
    ends: std::slice::Iter<'a, usize>,
    start: usize,
}

impl<'a> Parts<'a> {
    fn new(values: &'a mut [u64], ends: &'a [usize]) -> Self {
        Parts { rest: values, ends: ends.iter(), start: 0 }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a mut [u64];

    fn next(&mut self) -> Option<&'a mut [u64]> {
        let end = *self.ends.next()?;
        let (part, rest) = std::mem::take(&mut self.rest).split_at_mut(end - self.start);
        self.rest = rest;
        self.start = end;
        Some(part)
    }
}
