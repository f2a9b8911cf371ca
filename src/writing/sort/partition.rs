//! Sorting in memory on several threads: entries are scattered by their leading bits into parts
//! that fit a core's cache, and each thread sorts one part after the other.
//!
//! The keys of random values spread evenly. A skewed part costs time, never correctness.

use std::sync::{Mutex, PoisonError};

/// Entries of a part: few enough to stay in a core's cache.
const PART_LEN: usize = 1 << 15;
/// The most parts, as a power of two; with more, TLB misses cost more than smaller parts save.
const PART_BITS_MAX: u32 = 10;

/// An entry that is sorted by its key.
pub(super) trait Entry: Copy + Default + Send {
    fn key(&self) -> u64;

    /// Sorts by key. Entries with equal keys keep their order if they can be told apart.
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
/// entries; its content before and after has no meaning.
pub(super) fn sort<T: Entry>(entries: &mut Vec<T>, scratch: &mut Vec<T>, threads: usize) {
    let part_bits = (entries.len() / PART_LEN).max(1).ilog2().min(PART_BITS_MAX);
    if part_bits == 0 {
        T::sort(entries);
        return;
    }
    let shift = 64 - part_bits;
    let mut ends = vec![0; 1 << part_bits];
    for entry in entries.iter() {
        ends[(entry.key() >> shift) as usize] += 1;
    }
    let mut next = 0;
    for end in &mut ends {
        next += std::mem::replace(end, next);
    }
    scratch.clear();
    scratch.resize(entries.len(), T::default());
    for entry in entries.iter() {
        let end = &mut ends[(entry.key() >> shift) as usize];
        scratch[*end] = *entry;
        *end += 1;
    }
    std::mem::swap(entries, scratch);
    sort_parts(entries, &ends, threads);
}

fn sort_parts<T: Entry>(entries: &mut [T], ends: &[usize], threads: usize) {
    let mut rest = entries;
    let mut start = 0;
    let mut parts = Vec::with_capacity(ends.len());
    for &end in ends {
        let (part, after) = rest.split_at_mut(end - start);
        parts.push(part);
        rest = after;
        start = end;
    }
    let parts = Mutex::new(parts.into_iter());
    let work = || {
        let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some(part) = next() {
            T::sort(part);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // The system may refuse some of very many threads; the others do the work.
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
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
