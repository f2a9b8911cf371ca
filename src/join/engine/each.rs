//! Compares all pairs of values by XOR and popcount, eight values at a time.
//!
//! Each pair takes a fraction of a nanosecond, so for small groups of values this is faster than a
//! hash table or further division.

use std::ops::Range;

use crate::bytes::mask::low_bits;
use crate::search::kernel::{Kernel, Task, Vector};

/// Number of values in a line. A value is compared with a whole line at once.
const LINE_LEN: usize = 8;
/// Number of values that are compared with a line while it is in registers.
const WANTED: usize = 4;

/// Calls `emit` with each pair of a value of `probe` and a value of `build` within `k` bits.
pub(super) fn compare_across(
    kernel: Kernel,
    probe: &[u64],
    build: &[u64],
    k: u32,
    emit: impl FnMut(u64, u64),
) {
    kernel.run(CompareEach { probe, at: usize::MAX, build, k, emit });
}

/// Compares each value at a position in `range` with all values before it.
pub(super) fn compare_range(
    kernel: Kernel,
    values: &[u64],
    range: Range<usize>,
    k: u32,
    emit: impl FnMut(u64, u64),
) {
    let (at, probe, build) = (range.start, &values[range.clone()], &values[..range.end]);
    kernel.run(CompareEach { probe, at, build, k, emit });
}

/// Compares value `i` of `probe` with the first `at + i` values of `build`, or all if it has fewer.
struct CompareEach<'a, E> {
    probe: &'a [u64],
    at: usize,
    build: &'a [u64],
    k: u32,
    emit: E,
}

impl<E: FnMut(u64, u64)> Task for CompareEach<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, vector: V) {
        let CompareEach { probe, at, build, k, mut emit } = self;
        let (lines, rest) = build.as_chunks::<LINE_LEN>();
        let mut last = [0; LINE_LEN];
        last[..rest.len()].copy_from_slice(rest);
        for (number, some) in probe.chunks(WANTED).enumerate() {
            let mut wanted = [some[0]; WANTED];
            wanted[..some.len()].copy_from_slice(some);
            let first = at.saturating_add(WANTED * number);
            // All values of `some` are compared with the first `whole` lines.
            let whole = first.min(build.len()) / LINE_LEN;
            let mut from = 0;
            while let Some(more) = first_near(vector, &lines[from..whole], wanted, k) {
                let line = &lines[from + more];
                for &value in some {
                    emit_near(line, vector.near_words(line, value, k), value, &mut emit);
                }
                from += more + 1;
            }
            // Each value is also compared with the values after these lines, `count` values in all.
            for (more, &value) in some.iter().enumerate() {
                let count = first.saturating_add(more).min(build.len());
                for number in whole..count.div_ceil(LINE_LEN) {
                    let line = lines.get(number).unwrap_or(&last);
                    let part = low_bits((count - number * LINE_LEN).min(LINE_LEN) as u32) as u32;
                    let near = vector.near_words(line, value, k) & part;
                    emit_near(line, near, value, &mut emit);
                }
            }
        }
    }
}

/// The first line with a value near one of `wanted`.
///
/// Nearly all time is spent in this loop, so it keeps everything in registers and calls nothing.
#[inline(always)]
fn first_near<V: Vector>(
    vector: V,
    lines: &[[u64; LINE_LEN]],
    wanted: [u64; WANTED],
    k: u32,
) -> Option<usize> {
    let [one, two, three, four] = wanted;
    for (number, line) in lines.iter().enumerate() {
        let near = vector.near_words(line, one, k)
            | vector.near_words(line, two, k)
            | vector.near_words(line, three, k)
            | vector.near_words(line, four, k);
        if near != 0 {
            return Some(number);
        }
    }
    None
}

/// Emits `value` with each value of a line whose bit is set in `near`.
#[inline(always)]
fn emit_near(line: &[u64; LINE_LEN], mut near: u32, value: u64, emit: &mut impl FnMut(u64, u64)) {
    while near != 0 {
        emit(value, line[near.trailing_zeros() as usize % LINE_LEN]);
        near &= near - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::scramble::scramble;

    #[test]
    fn every_kernel_finds_the_near_pairs_and_no_others() {
        // Few bits vary, so many values are near.
        let values: Vec<u64> = (0..100).map(|at| scramble(at) & 0xff_00ff).collect();
        for kernel in Kernel::all() {
            for (count, k) in [0, 1, 2, 7, 8, 9, 16, 100]
                .into_iter()
                .flat_map(|count| [0, 1, 4, 64].map(|k| (count, k)))
            {
                let near = |one: u64, other: u64| (one ^ other).count_ones() <= k;
                let (some, build) = (&values[..count], &values[count / 3..]);
                let before = |at: usize| some[..at].iter().filter(move |&&b| near(some[at], b));
                let mut expected: Vec<(u64, u64)> =
                    (0..count).flat_map(|at| before(at).map(move |&b| (some[at], b))).collect();
                let mut ranged = Vec::new();
                for range in [0..count / 2, count / 2..count] {
                    compare_range(kernel, some, range, k, |a, b| ranged.push((a, b)));
                }
                ranged.sort_unstable();
                expected.sort_unstable();
                assert_eq!(ranged, expected, "{kernel:?}, {count}, {k}");

                let mut found = Vec::new();
                compare_across(kernel, some, build, k, |a, b| found.push((a, b)));
                let mut expected: Vec<(u64, u64)> = some
                    .iter()
                    .flat_map(|&a| build.iter().filter(move |&&b| near(a, b)).map(move |&b| (a, b)))
                    .collect();
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected, "{kernel:?}, {count}, {k}");
            }
        }
    }
}
