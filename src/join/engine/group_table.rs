//! A hash table whose buckets are contiguous groups of values.
//!
//! The values are counted by bucket, then moved, as in a radix sort. Each value is compared with
//! the next eight values at once, whatever their bucket. Only groups of more than nine values need
//! a branch; they are traversed once more. A table takes 8 bytes for each value and 4 for each
//! bucket, a quarter to a half of a [`line_table`](super::line_table), so more values fit the cache
//! of a core. In a large group, a value takes one comparison for every eight values of the group.

use super::hashing::bucket;
use super::line_table::lines_max;
use super::sides::Sides;
use crate::search::kernel::Vector;

/// Number of values compared at once.
const LINE_LEN: usize = 8;
/// Binary logarithm of the number of buckets, except for very few or very many values. The counts
/// of so many buckets fit the cache of a core.
const BITS: u32 = 14;
/// Binary logarithm of the maximum mean number of values in a bucket: with very many values, there
/// are more buckets.
const GROUP_BITS: u32 = 5;

/// The memory of a table, reused for the next set of values.
#[derive(Debug, Default)]
pub(super) struct GroupTable {
    /// The values, group by group, and room for a line after the last.
    values: Vec<u64>,
    /// The end of each group.
    ends: Vec<u32>,
}

/// The parameters of a comparison.
#[derive(Clone, Copy)]
struct Comparison<V> {
    vector: V,
    mask: u64,
    k: u32,
    /// The number of values, without the room after them.
    count: usize,
}

impl GroupTable {
    /// The algorithm of [`HashTable::pairs`](super::hash_table::HashTable::pairs) for many values.
    #[inline(always)]
    pub(super) fn pairs<V: Vector>(
        &mut self,
        vector: V,
        sides: Sides<'_>,
        mask: u64,
        k: u32,
        mut emit: impl FnMut(u64, u64),
    ) -> bool {
        let build = sides.build();
        if u32::try_from(build.len()).is_err() {
            return false;
        }
        let count_bits = build.len().max(8).ilog2();
        let bits = (count_bits - 1).min(BITS.max(count_bits.saturating_sub(GROUP_BITS)));
        let lines = self.divide(build, mask, bits);
        let near = Comparison { vector, mask, k, count: build.len() };
        match sides {
            Sides::Within(_) => {
                if lines > lines_max(build.len()) {
                    return false;
                }
                near.within(&self.values, &self.ends, &mut emit);
                true
            }
            Sides::Across { probe, .. } => {
                near.across(probe, &self.values, &self.ends, bits, &mut emit)
            }
        }
    }

    /// The algorithm of
    /// [`HashTable::pairs_side_by_side`](super::hash_table::HashTable::pairs_side_by_side).
    #[inline(always)]
    pub(super) fn pairs_side_by_side<V: Vector>(
        &mut self,
        vector: V,
        values: &[u64],
        mask: u64,
        k: u32,
        mut emit: impl FnMut(u64, u64),
    ) -> bool {
        if u32::try_from(values.len()).is_err() {
            return false;
        }
        self.make_room(values.len());
        let GroupTable { values: divided, ends } = self;
        divided[..values.len()].copy_from_slice(values);
        ends.clear();
        let (mut start, mut lines) = (0, 0);
        for (at, pair) in values.windows(2).enumerate() {
            if (pair[0] ^ pair[1]) & mask != 0 {
                let end = at as u32 + 1;
                lines += lines_of(end - start);
                ends.push(end);
                start = end;
            }
        }
        lines += lines_of(values.len() as u32 - start);
        ends.push(values.len() as u32);
        if lines > lines_max(values.len()) {
            return false;
        }
        Comparison { vector, mask, k, count: values.len() }.within(divided, ends, &mut emit);
        true
    }

    /// Makes room for `count` values and a line after the last.
    fn make_room(&mut self, count: usize) {
        if self.values.len() < count + 1 + LINE_LEN {
            self.values.resize(count + 1 + LINE_LEN, 0);
        }
    }

    /// Moves the values to their groups. Returns the number of lines that must be compared in
    /// addition to the eight values after each value.
    #[inline(always)]
    fn divide(&mut self, values: &[u64], mask: u64, bits: u32) -> u64 {
        self.make_room(values.len());
        let GroupTable { values: divided, ends } = self;
        ends.clear();
        ends.resize(1 << bits, 0);
        for &value in values {
            ends[bucket(value, mask, bits)] += 1;
        }
        let (mut next, mut lines) = (0, 0);
        for end in ends.iter_mut() {
            lines += lines_of(*end);
            next += std::mem::replace(end, next);
        }
        for &value in values {
            let end = &mut ends[bucket(value, mask, bits)];
            divided[*end as usize] = value;
            *end += 1;
        }
        lines
    }
}

/// The number of lines to compare in a group of `count` values, in addition to the eight values
/// after each value.
#[inline(always)]
fn lines_of(count: u32) -> u64 {
    let more = u64::from(count.saturating_sub(1 + LINE_LEN as u32));
    more * (more + LINE_LEN as u64) / (2 * LINE_LEN as u64)
}

impl<V: Vector> Comparison<V> {
    /// Compares each value with the later values in its group.
    #[inline(always)]
    fn within(self, values: &[u64], ends: &[u32], emit: &mut impl FnMut(u64, u64)) {
        for (at, window) in values[..self.count + LINE_LEN].windows(1 + LINE_LEN).enumerate() {
            let near = self.near(&window[1..], window[0]);
            if near != 0 {
                self.emit(values, at + 1, near, |other| emit(other, values[at]), values[at]);
            }
        }
        let mut start = 0;
        for &end in ends {
            let (group, end) = (start, end as usize);
            start = end;
            if end - group > 1 + LINE_LEN {
                for at in group..end - 1 - LINE_LEN {
                    let value = values[at];
                    for line in (at + 1 + LINE_LEN..end).step_by(LINE_LEN) {
                        let near = self.near(&values[line..line + LINE_LEN], value);
                        if near != 0 {
                            self.emit(values, line, near, |other| emit(other, value), value);
                        }
                    }
                }
            }
        }
    }

    /// Compares each value of the probe side with its group on the build side; returns `false` if
    /// too many values agree.
    #[inline(always)]
    fn across(
        self,
        probe: &[u64],
        values: &[u64],
        ends: &[u32],
        bits: u32,
        emit: &mut impl FnMut(u64, u64),
    ) -> bool {
        let mut lines = 0;
        for (at, &value) in probe.iter().enumerate() {
            let slot = bucket(value, self.mask, bits);
            let start = slot.checked_sub(1).map_or(0, |before| ends[before] as usize);
            let end = ends[slot] as usize;
            let most = lines_max(at + self.count);
            let mut line = start;
            loop {
                let near = self.near(&values[line..line + LINE_LEN], value);
                if near != 0 {
                    self.emit(values, line, near, |other| emit(value, other), value);
                }
                line += LINE_LEN;
                if line >= end {
                    break;
                }
                lines += 1;
                if lines > most {
                    return false;
                }
            }
        }
        true
    }

    #[inline(always)]
    fn near(self, line: &[u64], value: u64) -> u32 {
        let line = line.first_chunk::<LINE_LEN>().unwrap_or(&[0; LINE_LEN]);
        self.vector.near_words(line, value, self.k)
    }

    /// Emits the values of a line that are near and agree on the mask.
    #[inline(always)]
    fn emit(
        self,
        values: &[u64],
        line: usize,
        mut near: u32,
        mut emit: impl FnMut(u64),
        value: u64,
    ) {
        while near != 0 {
            let at = line + near.trailing_zeros() as usize;
            near &= near - 1;
            if at < self.count && (values[at] ^ value) & self.mask == 0 {
                emit(values[at]);
            }
        }
    }
}
