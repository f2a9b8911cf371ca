//! Four raw sorted tables, searched with the best instruction set of the processor: with stored
//! bucket bounds or binary search, with and without prefetching.

use std::hint::black_box;
use std::rc::Rc;

use multiversion::multiversion;

use crate::near::push_near;

/// The maximum distance of queries to four blocks of 16 bits.
pub const K: u32 = 3;
const TABLE_COUNT: usize = 4;
const BLOCK_BITS: u32 = 16;
/// Values in a cache line.
const LINE_VALUES: usize = 8;
/// Number of values of a bucket that are prefetched before the first use, as in `baseline`.
const AHEAD_MAX: usize = 32 * LINE_VALUES;

/// The distinct fingerprints in each table: rotated to bring the block of the table to the front,
/// ascending.
pub type Values = [Vec<u64>; TABLE_COUNT];
/// The start of each block's bucket in each table, followed by the end of the last bucket.
pub type Bounds = [Vec<u32>; TABLE_COUNT];

/// The method to find a bucket.
#[derive(Clone, Debug)]
pub enum Find {
    /// By reading both bounds of the bucket from an array.
    Bounds(Rc<Bounds>),
    /// By a binary search.
    Search,
}

/// Tables and the method to find buckets.
#[derive(Clone, Debug)]
pub struct RawTables {
    pub values: Rc<Values>,
    pub find: Find,
    /// Whether the buckets of all tables are prefetched before the first bucket is compared.
    pub ahead: bool,
}

/// Makes the sorted tables of the fingerprints.
pub fn sort(fingerprints: &[u64]) -> Values {
    std::array::from_fn(|table| {
        let rotation = BLOCK_BITS * table as u32;
        let mut values: Vec<u64> = fingerprints.iter().map(|v| v.rotate_left(rotation)).collect();
        values.sort_unstable();
        values
    })
}

/// Computes the bounds of the buckets, of at most 2^32 - 1 values.
pub fn bound(values: &Values) -> Bounds {
    std::array::from_fn(|table| {
        let mut bounds = vec![0_u32; (1 << BLOCK_BITS) + 1];
        for value in &values[table] {
            bounds[block_of(*value) + 1] += 1;
        }
        for block in 1..bounds.len() {
            bounds[block] += bounds[block - 1];
        }
        bounds
    })
}

impl RawTables {
    /// Replaces `found` by the distinct fingerprints within 3 bits of `needle`, in any order.
    pub fn search(&self, needle: u64, found: &mut Vec<u64>) {
        found.clear();
        search(self, needle, found);
    }

    #[inline(always)]
    fn bucket(&self, table: usize, rotated: u64) -> &[u64] {
        let values = &self.values[table][..];
        let block = block_of(rotated);
        match &self.find {
            Find::Bounds(bounds) => {
                let bounds = &bounds[table];
                &values[bounds[block] as usize..bounds[block + 1] as usize]
            }
            Find::Search => {
                let start = values.partition_point(|value| block_of(*value) < block);
                let rest = &values[start..];
                &rest[..end_of(rest, block)]
            }
        }
    }
}

/// The end of the bucket that `values` begins with. Doubles the step from its start, and then
/// bisects: buckets are short compared with the table.
#[inline(always)]
fn end_of(values: &[u64], block: usize) -> usize {
    let mut step = 1;
    while values.get(step).is_some_and(|value| block_of(*value) == block) {
        step *= 2;
    }
    let reach = &values[..step.min(values.len())];
    reach.partition_point(|value| block_of(*value) == block)
}

/// Compiled separately for each instruction set, so that scanning a bucket needs no call.
#[multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512bw+avx512dq+avx512vpopcntdq+avx2+popcnt+bmi1+bmi2+lzcnt",
    "x86_64+avx2+popcnt+bmi1+bmi2+lzcnt",
    "x86_64+popcnt",
))]
fn search(tables: &RawTables, needle: u64, found: &mut Vec<u64>) {
    let buckets: [&[u64]; TABLE_COUNT] = std::array::from_fn(|table| {
        tables.bucket(table, needle.rotate_left(BLOCK_BITS * table as u32))
    });
    if tables.ahead {
        let mut touched = 0;
        for bucket in buckets {
            let near = &bucket[..bucket.len().min(AHEAD_MAX)];
            touched ^= near.iter().step_by(LINE_VALUES).fold(0, |sum, value| sum ^ value);
        }
        black_box(touched);
    }
    for (table, bucket) in buckets.into_iter().enumerate() {
        let rotation = BLOCK_BITS * table as u32;
        let start = found.len();
        push_near(bucket, needle.rotate_left(rotation), K, found);
        let mut kept = start;
        for place in start..found.len() {
            let natural = found[place].rotate_right(rotation);
            if !seen_before(natural ^ needle, table) {
                found[kept] = natural;
                kept += 1;
            }
        }
        found.truncate(kept);
    }
}

#[inline(always)]
fn block_of(rotated: u64) -> usize {
    (rotated >> (64 - BLOCK_BITS)) as usize
}

/// Whether a match with the difference `diff` was already found in a table before this one.
#[inline(always)]
fn seen_before(diff: u64, table: usize) -> bool {
    (0..table).any(|earlier| diff << (BLOCK_BITS * earlier as u32) >> (64 - BLOCK_BITS) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Spread, query_mix};

    #[test]
    fn every_way_into_the_tables_finds_what_a_plain_loop_finds() {
        let mut stored = Spread::Clustered.fingerprints(20_000);
        // Two buckets of thousands of values, one of them the last.
        stored.extend((0..3000).map(|low| low * 0x1_0001));
        stored.extend((0..3000).map(|low| u64::MAX - low));
        stored.sort_unstable();
        stored.dedup();
        let values = Rc::new(sort(&stored));
        let bounds = Rc::new(bound(&values));
        let mut found = Vec::new();
        for (find, ahead) in [
            (Find::Bounds(bounds.clone()), true),
            (Find::Bounds(bounds), false),
            (Find::Search, false),
        ] {
            let tables = RawTables { values: values.clone(), find, ahead };
            for needle in query_mix(&stored, 600).into_iter().chain([0, u64::MAX]) {
                tables.search(needle, &mut found);
                found.sort_unstable();
                let near = |value: &u64| (value ^ needle).count_ones() <= K;
                let expected: Vec<u64> = stored.iter().copied().filter(near).collect();
                assert_eq!(found, expected, "needle {needle:016x}");
            }
        }
    }
}
