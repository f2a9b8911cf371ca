//! The size-tiered rule: picks segments to merge, balancing their number against the bytes written.
//!
//! Compaction passes the live segments as [`Candidate`]s and merges the returned range. This module
//! opens no file.

use std::ops::Range;

/// The segments of a tier are merged when their total weight reaches one of these numbers of units
/// (a unit of tier `t` is `10^t` records). At the last number they move to the next tier.
const STEPS: [u64; 3] = [3, 6, 10];
/// Weights are raised to this percentage before they are compared with a step: batches vary in
/// size, and a merge drops repeated fingerprints, so that sums fall slightly short.
const TOLERANCE: u64 = 108;
/// An inversion is a segment before a segment of a greater tier. If a label has this many, all its
/// segments from the oldest inversion on are merged.
const INVERSIONS_MAX: usize = 3;

/// A live segment, with the numbers that the rule needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) label: String,
    /// The length of the file in bytes.
    pub(super) file_len: u64,
    /// The number of fingerprints in the file, deleted ones included.
    pub(super) fingerprints: u64,
    /// The number of deleted fingerprints.
    pub(super) deleted: u64,
    /// The number of ids that are not deleted.
    pub(super) live_ids: u64,
}

impl Candidate {
    pub(super) fn live_fingerprints(&self) -> u64 {
        self.fingerprints.saturating_sub(self.deleted)
    }

    /// An estimate of the number of bytes that a merge writes for this segment.
    pub(super) fn live_len(&self) -> u64 {
        let live = self.live_fingerprints() as f64 / self.fingerprints.max(1) as f64;
        (self.file_len as f64 * live) as u64
    }

    /// The number of live records. Bytes would overrate small segments, whose files consist of
    /// whole pages.
    fn weight(&self) -> u64 {
        self.live_fingerprints().max(self.live_ids)
    }

    /// The tier of the segment: tier `t` starts at about `10^t` records.
    fn tier(&self) -> u32 {
        tolerated(self.weight()).checked_ilog10().unwrap_or(0)
    }
}

/// Picks the next neighbours to merge, oldest first; `None` if no merge is due.
///
/// Only neighbours with the same label are merged, so that segments remain in the order of their
/// age and each label can expire separately. The unit of a tier is a power of ten of records. When
/// the segments of a tier together reach a step, 3, 6 or 10 units, they are merged. Ten units are
/// one unit of the next tier; if this completes a step there, its segments join the same merge. So
/// equal batches end in one segment whenever their number is a power of ten, and each record is
/// written about twice for each power. A label has at most four segments of a tier, and three
/// inversions. A segment with more than half of its records deleted is rewritten alone, and an
/// empty one removed.
pub(super) fn pick(segments: &[Candidate]) -> Option<Range<usize>> {
    let mut start = 0;
    for run in segments.chunk_by(|a, b| a.label == b.label) {
        if let Some(range) = pick_in_label(run) {
            return Some(start + range.start..start + range.end);
        }
        start += run.len();
    }
    let is_mostly_deleted = |segment: &Candidate| match segment.fingerprints {
        0 => segments.len() > 1,
        count => segment.deleted > count / 2,
    };
    segments.iter().position(is_mostly_deleted).map(|at| at..at + 1)
}

/// The neighbours to merge among the segments of one label.
fn pick_in_label(run: &[Candidate]) -> Option<Range<usize>> {
    let mut end = run.len();
    while end > 1 {
        match complete_step(&run[..end]) {
            Ok(start) => return Some(start..end),
            // Older segments alone can complete a step if nothing was merged when they were added.
            Err(older) => end = older,
        }
    }
    let mut greatest = 0;
    let mut inversions = (0..run.len()).rev().filter(|&at| {
        let tier = run[at].tier();
        greatest = greatest.max(tier);
        tier < greatest
    });
    let third = inversions.by_ref().nth(INVERSIONS_MAX - 1)?;
    let oldest = inversions.last().unwrap_or(third);
    Some(oldest..run.len())
}

/// The start of the longest suffix of `run` that completes a step. The suffix begins with the tier
/// of the youngest segment, and continues to the next tier if it has at least one unit of that
/// tier. Without a step, the error is the number of segments older than the suffix.
fn complete_step(run: &[Candidate]) -> Result<usize, usize> {
    let (mut start, mut tier) = (run.len(), run.last().map_or(0, Candidate::tier));
    let (mut found, mut weight) = (None, 0_u64);
    loop {
        let unit = 10_u64.saturating_pow(tier);
        // The greatest step that one segment, or all lower tiers together, reaches.
        let mut reached = step_of(weight, unit);
        while let Some(older) = start.checked_sub(1).filter(|&at| run[at].tier() <= tier) {
            reached = reached.max(step_of(run[older].weight(), unit));
            weight = weight.saturating_add(run[older].weight());
            start = older;
        }
        if start + 1 < run.len() && step_of(weight, unit) > reached {
            found = Some(start);
        }
        if start == 0 || tolerated(weight) < unit.saturating_mul(10) {
            return found.ok_or(start);
        }
        tier += 1;
    }
}

/// The greatest step that `weight` reaches. Below the first step: 1 from one unit on, else 0.
fn step_of(weight: u64, unit: u64) -> u64 {
    let units = tolerated(weight) / unit;
    STEPS.into_iter().rev().find(|&step| step <= units).unwrap_or(units.min(1))
}

fn tolerated(weight: u64) -> u64 {
    (u128::from(weight) * u128::from(TOLERANCE) / 100).try_into().unwrap_or(u64::MAX)
}

/// Picks as many of the youngest segments of one label as can be merged by writing at most
/// `len_max` bytes, if there are two or more: the final merge of a writer.
pub(super) fn pick_youngest(segments: &[Candidate], len_max: u64) -> Option<Range<usize>> {
    let label = &segments.last()?.label;
    let end = segments.len();
    let (mut start, mut len) = (end, 0);
    for (at, segment) in segments.iter().enumerate().rev() {
        len += segment.live_len();
        if segment.label != *label || len > len_max {
            break;
        }
        start = at;
    }
    (end - start > 1).then_some(start..end)
}

/// Picks all neighbours with the same label, if there are several, or a single one with deletions,
/// or an empty one among others.
pub(super) fn pick_label(segments: &[Candidate]) -> Option<Range<usize>> {
    let mut start = 0;
    for run in segments.chunk_by(|a, b| a.label == b.label) {
        let range = start..start + run.len();
        start = range.end;
        let is_left_out = |segment: &Candidate| match segment.fingerprints {
            0 => segments.len() > 1,
            _ => segment.deleted > 0,
        };
        if run.len() > 1 || run.iter().any(is_left_out) {
            return Some(range);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(label: &str, len: u64) -> Candidate {
        Candidate { label: label.into(), file_len: len, fingerprints: len, deleted: 0, live_ids: 0 }
    }

    /// Adds segments of these lengths and merges by the rule. Returns the lengths of the final
    /// segments, the maximum number of segments, and the number of records written.
    fn simulate(lens: impl IntoIterator<Item = u64>) -> (Vec<u64>, usize, u64) {
        let mut segments: Vec<Candidate> = Vec::new();
        let (mut most, mut written) = (0, 0);
        for len in lens {
            segments.push(candidate("", len));
            written += len;
            while let Some(range) = pick(&segments) {
                let merged: u64 = segments[range.clone()].iter().map(|one| one.file_len).sum();
                segments.splice(range, [candidate("", merged)]);
                written += merged;
            }
            most = most.max(segments.len());
        }
        (segments.iter().map(|one| one.file_len).collect(), most, written)
    }

    /// A private generator keeps the tests repeatable.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *state >> 33
    }

    #[test]
    fn equal_batches_end_in_one_segment_at_each_power_of_ten() {
        // The merges of a tier write 3, 6 and 10 of its 10 units: 1.9 times all records.
        for batch in [1, 10, 93, 95, 100, 102, 930, 1000, 1020] {
            for (power, count) in [(1, 10), (2, 100), (3, 1000), (4, 10_000)] {
                let (segments, most, written) = simulate((0..count).map(|_| batch));
                assert_eq!(segments, [batch * count], "{count} of {batch}");
                assert!(most <= 4 * power, "{most} of {count} of {batch}");
                assert!(written <= batch * count * (10 + 19 * power as u64) / 10);
            }
        }
        assert_eq!(simulate((0..13).map(|_| 1000)).0, [10_000, 3000]);
        assert_eq!(simulate((0..368).map(|_| 10)).0, [3000, 600, 60, 10, 10]);
        // A merge of ten units can give only nine, because it drops repeated fingerprints.
        assert_eq!(pick(&[60, 9, 9, 9, 6, 1, 1, 1, 1].map(|len| candidate("", len))), Some(0..9));
    }

    #[test]
    fn segments_stay_few_and_are_not_written_often_whatever_their_lengths() {
        let mut state = 1;
        let mut powers = |most: u64| -> Vec<u64> {
            (0..3000).map(|_| 1 << (random(&mut state) % most)).collect()
        };
        let (any, small) = (powers(16), powers(8));
        let mut jitter = 2;
        let about: Vec<u64> = (0..3000).map(|_| 800 + random(&mut jitter) % 400).collect();
        let between: Vec<u64> = (0..600).flat_map(|_| [100_000, 10]).collect();
        let after_much: Vec<u64> = std::iter::once(1_000_000).chain((0..3000).map(|_| 7)).collect();
        for lens in [any, small, about, between, after_much] {
            let total: u64 = lens.iter().sum();
            let (_, most, written) = simulate(lens);
            assert!(most <= 18, "{most}");
            assert!(written <= 9 * total, "{written} of {total}");
        }
    }

    #[test]
    fn segments_that_were_never_merged_are_merged_at_once() {
        let mut segments = vec![candidate("", 10_000); 50];
        segments.push(candidate("", 1));
        assert_eq!(pick(&segments), Some(0..50));
        segments.splice(0..50, [candidate("", 500_000)]);
        assert_eq!(pick(&segments), None);
        // Three older and smaller segments before the youngest one.
        let mut segments: Vec<Candidate> = [10, 200, 20, 4000].map(|len| candidate("", len)).into();
        assert_eq!(pick(&segments), Some(0..4));
        segments.remove(0);
        assert_eq!(pick(&segments), None);
        assert_eq!(pick(&[candidate("", u64::MAX), candidate("", u64::MAX)]), None);
    }

    #[test]
    fn many_ids_of_one_fingerprint_count() {
        let of_ids = |live_ids| Candidate { live_ids, ..candidate("", 1) };
        assert_eq!(pick(&[of_ids(300), of_ids(1), of_ids(1)]), None);
        assert_eq!(pick(&[of_ids(1), of_ids(1), of_ids(1)]), Some(0..3));
    }

    #[test]
    fn labels_are_not_mixed_and_emptied_segments_are_rewritten() {
        let mut segments: Vec<Candidate> =
            ["a", "a", "b", "b", "b", "b", "a"].map(|label| candidate(label, 10)).into();
        assert_eq!(pick(&segments), Some(2..6));
        assert_eq!(pick_label(&segments), Some(0..2));
        segments.splice(2..6, [candidate("b", 40)]);
        assert_eq!(pick(&segments), None);
        segments[3].deleted = 6;
        assert_eq!(pick(&segments), Some(3..4));
        assert_eq!(pick(&[]), None);
        // An empty segment is removed if there are other segments.
        assert_eq!(pick(&[candidate("a", 0)]), None);
        assert_eq!(pick(&[candidate("a", 0), candidate("b", 5)]), Some(0..1));
        // The only segment of a label is not rewritten unless some of its records are deleted.
        let mut alone = ["a", "b", "a"].map(|label| candidate(label, 10));
        assert_eq!(pick_label(&alone), None);
        alone[1].deleted = 1;
        assert_eq!(pick_label(&alone), Some(1..2));
        alone[1] = candidate("", 0);
        assert_eq!(pick_label(&alone), Some(1..2));
        assert_eq!(pick_label(&alone[1..2]), None);
    }

    #[test]
    fn the_final_merge_takes_the_youngest_within_its_bytes() {
        let segments: Vec<Candidate> = [100, 10, 5, 1].map(|len| candidate("", len)).into();
        assert_eq!(pick_youngest(&segments, 5), None);
        assert_eq!(pick_youngest(&segments, 6), Some(2..4));
        assert_eq!(pick_youngest(&segments, 99), Some(1..4));
        assert_eq!(pick_youngest(&segments, 1000), Some(0..4));
        assert_eq!(pick_youngest(&[candidate("a", 1), candidate("b", 1)], 100), None);
        assert_eq!(pick_youngest(&[], 100), None);
        // Deleted records are not written.
        let half = [Candidate { deleted: 5, ..candidate("", 10) }, candidate("", 5)];
        assert_eq!(pick_youngest(&half, 9), None);
        assert_eq!(pick_youngest(&half, 10), Some(0..2));
    }
}
