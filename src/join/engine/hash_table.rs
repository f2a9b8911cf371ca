//! Finds near pairs of values that agree on a mask, with a hash table.
//!
//! [`HashTable::pairs`] inserts the values of one partition, hashed by their masked bits, and
//! compares each value with the values in its bucket. The pair finder calls it once for each
//! partition and combination of blocks, so hundreds of thousands of times in a large join.
//!
//! The table is specialized because it must be refilled that often and fit the cache of a core. One
//! fill empties it, and it can contain any number of values with the same key. A hashbrown map from
//! key to position would take 17 bytes for each entry plus free space, and a list for each key. If
//! the processor compares eight values at once, a bucket is a line of eight values
//! ([`line_table`](super::line_table)) or, with many values, a contiguous group
//! ([`group_table`](super::group_table)). Otherwise it is a chain ([`chains`](super::chains)).

use super::chains::Chains;
use super::group_table::GroupTable;
use super::line_table::LineTable;
use super::sides::Sides;
use crate::bytes::mask::at_most_bits;
use crate::search::kernel::{Kernel, Task, Vector};

/// Maximum number of values in a table of lines. With more values, lines exceed the cache of a
/// core, and groups, which take less memory, are faster.
pub(super) const LINES_MAX: usize = 1 << 14;

/// The memory of a hash table, reused for the next set of values.
#[derive(Debug)]
pub(in crate::join) struct HashTable {
    kernel: Kernel,
    /// Maximum number of values in a table of lines.
    lines_max: usize,
    tables: Tables,
}

/// The tables for few and for many values: `lines` and `groups` if the processor compares eight
/// values at once, otherwise `small` and `large`.
#[derive(Debug, Default)]
struct Tables {
    lines: LineTable,
    groups: GroupTable,
    small: Chains<u16>,
    large: Chains<u32>,
}

impl HashTable {
    /// An empty table that uses the instructions of `kernel`.
    pub(in crate::join) fn new(kernel: Kernel) -> Self {
        HashTable { kernel, lines_max: LINES_MAX, tables: Tables::default() }
    }

    /// Calls `emit` with each pair that agrees on `mask` and differs in at most `k` bits.
    ///
    /// Returns `false` if the values are skewed: too many values agree on the mask, and not all
    /// pairs were emitted.
    pub(in crate::join) fn pairs(
        &mut self,
        sides: Sides<'_>,
        mask: u64,
        k: u32,
        emit: impl FnMut(u64, u64),
    ) -> bool {
        self.find(sides, false, mask, k, emit)
    }

    /// Like [`HashTable::pairs`], but values that agree on `mask` must be adjacent in `values`.
    pub(in crate::join) fn pairs_side_by_side(
        &mut self,
        values: &[u64],
        mask: u64,
        k: u32,
        emit: impl FnMut(u64, u64),
    ) -> bool {
        self.find(Sides::Within(values), true, mask, k, emit)
    }

    fn find(
        &mut self,
        sides: Sides<'_>,
        side_by_side: bool,
        mask: u64,
        k: u32,
        emit: impl FnMut(u64, u64),
    ) -> bool {
        let HashTable { kernel, lines_max, tables } = self;
        kernel.run(FindPairs { tables, lines_max: *lines_max, sides, side_by_side, mask, k, emit })
    }
}

/// The task of [`HashTable::pairs`] for the kernel.
struct FindPairs<'a, E> {
    tables: &'a mut Tables,
    lines_max: usize,
    sides: Sides<'a>,
    /// Whether values that agree on the mask are already adjacent.
    side_by_side: bool,
    mask: u64,
    k: u32,
    emit: E,
}

impl<E: FnMut(u64, u64)> Task for FindPairs<'_, E> {
    type Output = bool;

    #[inline(always)]
    fn run<V: Vector>(self, vector: V) -> bool {
        let FindPairs { tables, lines_max, sides, side_by_side, mask, k, emit } = self;
        if V::COMPARES_WORDS {
            if let (Sides::Within(values), true) = (sides, side_by_side) {
                return tables.groups.pairs_side_by_side(vector, values, mask, k, emit);
            }
            return match sides.build().len() > lines_max {
                true => tables.groups.pairs(vector, sides, mask, k, emit),
                false => tables.lines.pairs(vector, sides, mask, k, emit),
            };
        }
        // With a `k` that is a constant, the compiler unrolls the comparison.
        match k {
            0 => tables.chained(sides, mask, |diff| at_most_bits(diff, 0), emit),
            1 => tables.chained(sides, mask, |diff| at_most_bits(diff, 1), emit),
            2 => tables.chained(sides, mask, |diff| at_most_bits(diff, 2), emit),
            3 => tables.chained(sides, mask, |diff| at_most_bits(diff, 3), emit),
            4 => tables.chained(sides, mask, |diff| at_most_bits(diff, 4), emit),
            k => tables.chained(sides, mask, |diff| diff.count_ones() <= k, emit),
        }
    }
}

impl Tables {
    #[inline(always)]
    fn chained(
        &mut self,
        sides: Sides<'_>,
        mask: u64,
        is_near: impl Fn(u64) -> bool,
        emit: impl FnMut(u64, u64),
    ) -> bool {
        if sides.build().len() < usize::from(u16::MAX) {
            self.small.pairs(sides, mask, is_near, emit)
        } else {
            self.large.pairs(sides, mask, is_near, emit)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::scramble::scramble;

    /// Two tables for each kernel: one with `lines_max` 0, which uses groups as buckets even for
    /// small inputs, and one with the default limit, which then uses lines of eight values. Kernels
    /// that do not compare eight values at once use chains in both.
    fn tables() -> impl Iterator<Item = HashTable> {
        let of_kernel = |kernel: Kernel| {
            [0, LINES_MAX].map(|lines_max| HashTable { lines_max, ..HashTable::new(kernel) })
        };
        Kernel::all().into_iter().flat_map(of_kernel)
    }

    /// The pairs within `k` bits found by `table`, sorted; `None` if the values count as skewed.
    fn pairs(
        table: &mut HashTable,
        sides: Sides<'_>,
        mask: u64,
        k: u32,
    ) -> Option<Vec<(u64, u64)>> {
        let mut found = Vec::new();
        let whole = table.pairs(sides, mask, k, |a, b| found.push((a, b)));
        found.sort_unstable();
        whole.then_some(found)
    }

    /// The pairs within `k` bits found by comparing all pairs, sorted.
    fn compared(sides: Sides<'_>, mask: u64, k: u32) -> Vec<(u64, u64)> {
        let near = |a: u64, b: u64| (a ^ b) & mask == 0 && (a ^ b).count_ones() <= k;
        let mut found = Vec::new();
        match sides {
            Sides::Within(values) => {
                for (at, &value) in values.iter().enumerate() {
                    let before = values[..at].iter().filter(|&&other| near(value, other));
                    found.extend(before.map(|&other| (value, other)));
                }
            }
            Sides::Across { probe, build } => {
                for &value in probe {
                    let all = build.iter().filter(|&&other| near(value, other));
                    found.extend(all.map(|&other| (value, other)));
                }
            }
        }
        found.sort_unstable();
        found
    }

    #[test]
    fn only_near_values_that_agree_on_the_mask_are_paired() {
        let values = [0b0000, 0b0001, 0b0011, 0b1000];
        for mut table in tables() {
            let mut within = |mask| pairs(&mut table, Sides::Within(&values), mask, 1);
            assert_eq!(within(0b1100), Some(vec![(1, 0), (3, 1)]));
            assert_eq!(within(0b0011), Some(vec![(8, 0)]));
            let sides = Sides::Across { probe: &values[..2], build: &values[1..] };
            assert_eq!(pairs(&mut table, sides, 0b1100, 1), Some(vec![(0, 1), (1, 1), (1, 3)]));
        }
    }

    #[test]
    fn every_kernel_finds_what_comparing_each_with_each_finds() {
        // Few bits vary, so many values are near and many agree on a mask.
        let random = |at: u64| scramble(at) & 0x8000_0000_0f0f_00ff;
        let mut skewed = 0;
        for count in [0, 1, 2, 8, 9, 17, 100, 1500] {
            let mut values: Vec<u64> = (0..count).map(random).collect();
            values.sort_unstable();
            values.dedup();
            values.sort_unstable_by_key(|&value| scramble(value));
            let others: Vec<u64> = (count / 2..2 * count).map(random).collect();
            for (mask, k) in [0x8000_0000_0f00_0000, 0x0f00_00f0, 0xff, 1 << 63]
                .into_iter()
                .flat_map(|mask| [0, 1, 3, 4, 9, 64].map(|k| (mask, k)))
            {
                for sides in [
                    Sides::Within(&values),
                    Sides::Across { probe: &values, build: &others },
                    Sides::Across { probe: &others, build: &values },
                ] {
                    let expected = compared(sides, mask, k);
                    for mut table in tables() {
                        match pairs(&mut table, sides, mask, k) {
                            Some(found) => {
                                assert_eq!(found, expected, "{:?}, {count}, {k}", table.kernel);
                            }
                            None => skewed += 1,
                        }
                    }
                }
            }
        }
        // Only lists made of 1500 values may count as skewed, and only for masks of few varying
        // bits.
        assert!(skewed <= 2 * 3 * 3 * 2 * 6 * 2, "{skewed}");
    }

    /// More values than a line table takes, in groups from one value to several lines.
    #[test]
    fn many_values_are_paired_as_few_are() {
        let random = |at: u64| scramble(at) & 0x7_ffff_0000_3fff & !(scramble(at) >> 52 & 0xfff);
        let values: Vec<u64> = {
            let distinct: std::collections::BTreeSet<_> =
                (0..LINES_MAX as u64 + 999).map(random).collect();
            distinct.into_iter().collect()
        };
        assert!(values.len() > LINES_MAX);
        let (mask, k) = (0x7_0000_0000_0fff, 4);
        let (probe, build) = values.split_at(100);
        for sides in [
            Sides::Within(&values),
            Sides::Across { probe, build: &values },
            Sides::Across { probe: build, build: probe },
        ] {
            let expected = compared(sides, mask, k);
            assert!(!expected.is_empty());
            for kernel in Kernel::all() {
                assert!(
                    pairs(&mut HashTable::new(kernel), sides, mask, k) == Some(expected.clone()),
                    "{kernel:?}"
                );
            }
        }
    }

    #[test]
    fn values_that_all_agree_are_reported_as_skewed() {
        let values: Vec<u64> = (0..2000).collect();
        for mut table in tables() {
            let mut found = |sides| pairs(&mut table, sides, 1 << 63, 1);
            assert_eq!(found(Sides::Within(&values)), None);
            let one = Sides::Across { probe: &[1 << 40], build: &values };
            assert!(found(one).is_some());
            assert_eq!(found(Sides::Across { probe: &values, build: &values }), None);
        }
    }
}
