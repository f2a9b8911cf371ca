//! Sorting in memory on several threads: entries are scattered by their leading bits into parts
//! that fit in the cache of a core. Each thread takes one part after the other, scatters it by the
//! following bits into groups, and sorts the groups.
//!
//! Random keys give parts of about the same size. Other keys can give larger parts, which cost
//! time, never correctness.

use crate::base::side_by_side::on_threads;

/// The number of entries of a part, small enough to stay in the cache of a core.
const PART_LEN: usize = 1 << 15;
/// The approximate number of entries of a group, small enough for the branchless sorts of the
/// standard library.
const GROUP_LEN: usize = 1 << 4;
/// The binary logarithm of the maximum number of parts: with more parts, additional TLB misses cost
/// more than smaller parts save.
const PART_BITS_MAX: u32 = 10;

/// An entry that is sorted by its key.
pub(super) trait Entry: Copy + Default + Send + Sync {
    fn key(&self) -> u64;

    /// Sorts by key. Entries with equal keys and different payloads keep their order.
    fn sort(entries: &mut [Self]);
}

impl Entry for u64 {
    fn key(&self) -> u64 {
        *self
    }

    fn sort(entries: &mut [Self]) {
        entries.sort_unstable();
    }
}

/// A key and its payload.
impl Entry for (u64, u64) {
    fn key(&self) -> u64 {
        self.0
    }

    fn sort(entries: &mut [Self]) {
        entries.sort_by_key(|entry| entry.0);
    }
}

/// Sorts by key. Entries with equal keys keep their order. `scratch` is memory for the scattered
/// entries; its content is meaningless before and after.
pub(super) fn sort<T: Entry>(entries: &mut [T], scratch: &mut Vec<T>, threads: usize) {
    let part_bits = bits_of(entries.len() / PART_LEN);
    if part_bits == 0 {
        T::sort(entries);
        return;
    }
    make_len(scratch, entries.len());
    // Each thread scatters one stretch of the entries into the stretch of `scratch` at the same
    // position.
    let stretch_len = entries.len().div_ceil(threads.max(1));
    let mut ends = vec![vec![0; 1 << part_bits]; entries.len().div_ceil(stretch_len)];
    let stretches = entries.chunks(stretch_len).zip(scratch.chunks_mut(stretch_len));
    let jobs = stretches.zip(&mut ends);
    on_threads(threads, jobs, |((from, to), ends)| {
        scatter(&[from], to, |key| key >> (64 - part_bits), ends);
    });
    // A part is the concatenation of its pieces in all stretches.
    let stretches: Vec<(&[T], &Vec<usize>)> = scratch.chunks(stretch_len).zip(&ends).collect();
    let ends = (0..1 << part_bits).map(|part| ends.iter().map(|ends| ends[part]).sum());
    let jobs = parts_mut(entries, ends).enumerate();
    on_threads(threads, jobs, |(number, whole)| {
        let part = stretches.iter().map(|(stretch, ends)| {
            let start = number.checked_sub(1).map_or(0, |before| ends[before]);
            &stretch[start..ends[number]]
        });
        sort_part(&part.collect::<Vec<_>>(), whole, part_bits);
    });
}

/// Moves the entries of a part, whose keys agree on their first bits, to `whole`, and sorts them in
/// groups by the following bits: small groups are sorted faster.
fn sort_part<T: Entry>(part: &[&[T]], whole: &mut [T], agreed_bits: u32) {
    let bits = bits_of(whole.len() / GROUP_LEN);
    let mut ends = vec![0; 1 << bits];
    scatter(part, whole, |key| ((key << agreed_bits) >> 1) >> (63 - bits), &mut ends);
    parts_mut(whole, ends.into_iter()).for_each(T::sort);
}

/// The number of leading bits that divide entries into about `part_count` parts.
fn bits_of(part_count: usize) -> u32 {
    part_count.max(1).ilog2().min(PART_BITS_MAX)
}

/// Resizes a vector whose content need not be preserved.
fn make_len<T: Entry>(scratch: &mut Vec<T>, len: usize) {
    if scratch.capacity() >= len {
        scratch.resize(len, T::default());
    } else {
        // Free the old vector before allocating the new one. The system provides zero pages on
        // first write.
        *scratch = Vec::new();
        *scratch = vec![T::default(); len];
    }
}

/// Copies each entry to the part that `part_of` returns for its key. The entries of a part keep
/// their order. Sets `ends` to the ends of the parts.
fn scatter<T: Entry>(
    entries: &[&[T]],
    parts: &mut [T],
    part_of: impl Fn(u64) -> u64,
    ends: &mut [usize],
) {
    for entry in entries.iter().copied().flatten() {
        ends[part_of(entry.key()) as usize] += 1;
    }
    let mut next = 0;
    for end in &mut *ends {
        next += std::mem::replace(end, next);
    }
    for entry in entries.iter().copied().flatten() {
        let end = &mut ends[part_of(entry.key()) as usize];
        parts[*end] = *entry;
        *end += 1;
    }
}

/// Splits a slice into parts that end at the given positions.
fn parts_mut<T>(
    entries: &mut [T],
    ends: impl Iterator<Item = usize>,
) -> impl Iterator<Item = &mut [T]> {
    let (mut rest, mut start) = (entries, 0);
    ends.map(move |end| {
        let (part, after) = std::mem::take(&mut rest).split_at_mut(end - start);
        (rest, start) = (after, end);
        part
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spread(n: u64, keep: u64) -> Vec<(u64, u64)> {
        (0..n).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & keep, i)).collect()
    }

    #[test]
    fn many_entries_are_sorted_and_equals_keep_their_order() {
        for keep in [u64::MAX, 0xffff_ffff, 0xff00_0000_0000_00ff, 0] {
            for threads in [1, 3] {
                let mut entries = spread(200_000, keep);
                let mut expected = entries.clone();
                expected.sort_by_key(|entry| entry.0);
                sort(&mut entries, &mut Vec::new(), threads);
                assert!(entries == expected, "{keep:x}, {threads} threads");
            }
        }
    }

    proptest! {
        #[test]
        fn few_entries_are_sorted(mut entries: Vec<u64>) {
            let mut expected = entries.clone();
            expected.sort();
            sort(&mut entries, &mut Vec::new(), 2);
            prop_assert_eq!(entries, expected);
        }
    }
}
