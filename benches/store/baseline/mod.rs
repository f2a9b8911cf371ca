//! Baselines for fpstore: uncompressed tables in memory, and a linear scan.

/// The maximum distance for four blocks of 16 bits: three flips leave one block unchanged.
const K: u32 = 3;
const TABLE_COUNT: usize = 4;
const BLOCK_BITS: u32 = 16;
/// Values compared before the first branch on any of them.
const GROUP_LEN: usize = 8;
/// Values in a cache line.
const LINE_VALUES: usize = 8;
/// Number of values of a bucket that are prefetched before the first use. More would not fit into
/// the L1 cache.
const AHEAD_MAX: usize = 32 * LINE_VALUES;

/// Distance and fingerprint of each match, sorted by distance, then by fingerprint.
pub type Matches = Vec<(u32, u64)>;

/// The baseline: four raw sorted tables, each with another 16-bit block in front.
///
/// A query at k = 3 compares one bucket of each table, value by value: without binary search,
/// decoding or checksums. For n fingerprints it needs `32 n + 2^20` bytes of memory.
///
/// # Source
///
/// Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, the
/// design with four tables, kept in memory and uncompressed.
#[derive(Debug)]
pub struct RawBucketed {
    tables: [RawTable; TABLE_COUNT],
}

#[derive(Debug)]
struct RawTable {
    /// The left rotation of a fingerprint that brings the block of this table to the front.
    rotation: u32,
    /// Rotated distinct values, ascending.
    values: Vec<u64>,
    /// The start of each block's bucket, followed by the end of the last bucket.
    bounds: Vec<u32>,
}

impl RawBucketed {
    /// Makes the tables of the distinct values among at most 2^32 - 1 fingerprints.
    pub fn new(fingerprints: &[u64]) -> Self {
        let table = |number: usize| RawTable::new(fingerprints, BLOCK_BITS * number as u32);
        RawBucketed { tables: std::array::from_fn(table) }
    }

    /// The bytes of all values and bounds.
    pub fn memory_len(&self) -> usize {
        let len = |table: &RawTable| 8 * table.values.len() + 4 * table.bounds.len();
        self.tables.iter().map(len).sum()
    }

    /// Replaces `matches` by the fingerprints within 3 bits of `needle`.
    pub fn search(&self, needle: u64, matches: &mut Matches) {
        matches.clear();
        let buckets: [(u64, &[u64]); TABLE_COUNT] = std::array::from_fn(|number| {
            let table = &self.tables[number];
            let rotated = needle.rotate_left(table.rotation);
            (rotated, table.bucket(rotated))
        });
        // All buckets are prefetched before the first comparison. Without this the tables would
        // wait for memory one after the other, and the baseline would lose a quarter to a half of
        // its speed.
        let mut touched = 0;
        for (_, bucket) in buckets {
            let near = &bucket[..bucket.len().min(AHEAD_MAX)];
            touched ^= near.iter().step_by(LINE_VALUES).fold(0, |sum, value| sum ^ value);
        }
        std::hint::black_box(touched);
        for (number, (rotated, bucket)) in buckets.into_iter().enumerate() {
            for_each_near(bucket, rotated, |value| {
                let diff = value ^ rotated;
                let distance = diff.count_ones();
                let natural = diff.rotate_right(BLOCK_BITS * number as u32);
                if distance <= K && !seen_before(natural, number) {
                    matches.push((distance, natural ^ needle));
                }
            });
        }
        matches.sort_unstable();
    }
}

impl RawTable {
    fn new(fingerprints: &[u64], rotation: u32) -> Self {
        let mut values: Vec<u64> = fingerprints.iter().map(|v| v.rotate_left(rotation)).collect();
        values.sort_unstable();
        values.dedup();
        values.shrink_to_fit();
        assert!(u32::try_from(values.len()).is_ok(), "bounds have 32 bits");
        let mut bounds = vec![0_u32; (1 << BLOCK_BITS) + 1];
        for value in &values {
            bounds[block_of(*value) + 1] += 1;
        }
        for block in 1..bounds.len() {
            bounds[block] += bounds[block - 1];
        }
        RawTable { rotation, values, bounds }
    }

    fn bucket(&self, rotated: u64) -> &[u64] {
        let block = block_of(rotated);
        &self.values[self.bounds[block] as usize..self.bounds[block + 1] as usize]
    }
}

fn block_of(rotated: u64) -> usize {
    (rotated >> (64 - BLOCK_BITS)) as usize
}

/// Whether a match with the difference `diff` was already found in a table before this one.
fn seen_before(diff: u64, table_number: usize) -> bool {
    (0..table_number).any(|earlier| diff << (BLOCK_BITS * earlier as u32) >> (64 - BLOCK_BITS) == 0)
}

/// Calls the closure with every value within 3 bits of `needle`, and with few other values.
#[inline]
fn for_each_near(values: &[u64], needle: u64, mut report: impl FnMut(u64)) {
    let (groups, rest) = values.as_chunks::<GROUP_LEN>();
    for group in groups {
        let mut any = false;
        for value in group {
            any |= may_be_near(value ^ needle);
        }
        if any {
            group.iter().copied().for_each(&mut report);
        }
    }
    rest.iter().copied().filter(|value| may_be_near(value ^ needle)).for_each(report);
}

/// Whether a value that differs by `diff` can be within 3 bits.
///
/// On targets without a popcount instruction, clearing the lowest set bit three times is faster,
/// and even faster on only the low 32 bits, because SSE2 processes four numbers of 32 bits at a
/// time. The low 32 bits of a random value have at most 3 flips only once in a million. Selecting
/// the instruction at run time would need `unsafe`; use `-C target-cpu=native` instead.
#[inline]
fn may_be_near(diff: u64) -> bool {
    if cfg!(any(target_feature = "popcnt", not(target_arch = "x86_64"))) {
        return diff.count_ones() <= K;
    }
    let mut low = diff as u32;
    for _ in 0..K {
        low &= low.wrapping_sub(1);
    }
    low == 0
}

/// Compares every fingerprint in turn: the slowest method, and the reference for correctness.
#[derive(Debug)]
pub struct LinearScan {
    values: Vec<u64>,
}

impl LinearScan {
    /// Makes a scan of the distinct values among `fingerprints`.
    pub fn new(fingerprints: &[u64]) -> Self {
        let mut values = fingerprints.to_vec();
        values.sort_unstable();
        values.dedup();
        LinearScan { values }
    }

    /// Replaces `matches` by the fingerprints within 3 bits of `needle`.
    pub fn search(&self, needle: u64, matches: &mut Matches) {
        matches.clear();
        for_each_near(&self.values, needle, |value| {
            let distance = (value ^ needle).count_ones();
            if distance <= K {
                matches.push((distance, value));
            }
        });
        matches.sort_unstable();
    }
}
