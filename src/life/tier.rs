//! Which segments to merge: a rule that keeps them few, and what is written in all little.

use std::ops::Range;

/// The segments of a tier are merged once they hold so many of its units together; with the last they leave it.
const STEPS: [u64; 3] = [3, 6, 10];
/// Hundredths that weights are taken for: batches are not quite alike, and merging drops what comes twice.
const TOLERANCE: u64 = 108;
/// So many segments that are smaller by a tier than one after them are merged with all that follow.
const INVERSIONS_MAX: usize = 3;

/// A live segment, as the rule sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) label: String,
    /// Bytes of the file.
    pub(super) len: u64,
    /// Fingerprints in the file, and how many of them are deleted.
    pub(super) count: u64,
    pub(super) gone: u64,
    /// Ids in the file that are not deleted.
    pub(super) ids: u64,
}

impl Candidate {
    /// About how many bytes would be left of it.
    fn live_len(&self) -> u64 {
        let live = self.count.saturating_sub(self.gone) as f64 / self.count.max(1) as f64;
        (self.len as f64 * live) as u64
    }

    /// Records of it that are there: bytes would count the whole pages of small files.
    fn weight(&self) -> u64 {
        self.count.saturating_sub(self.gone).max(self.ids)
    }

    /// Its tier; the unit of tier t is 10^t records.
    fn tier(&self) -> u32 {
        tolerated(self.weight()).checked_ilog10().unwrap_or(0)
    }
}

/// The next neighbours to merge, oldest first, by the size-tiered rule; `None` if all is well.
///
/// Only neighbours of one label are merged, so that the order of age stays and each label can expire alone. Tiers are
/// powers of ten of records. Where the segments of a tier come to hold 3, 6 or 10 units of it, they are merged; ten
/// units are one of the next tier, and if that is enough for a step there, its segments are merged in the same go.
/// So equal batches end in one segment whenever their number is a power of ten, and each record is written about
/// twice for each power. A label has at most four segments of a tier, plus three that are older and smaller by a
/// tier than a younger one. A segment of which more than half is deleted is written anew by itself, and an empty one
/// goes.
pub(super) fn due(segments: &[Candidate]) -> Option<Range<usize>> {
    let mut start = 0;
    for run in segments.chunk_by(|a, b| a.label == b.label) {
        if let Some(range) = due_of_label(run) {
            return Some(start + range.start..start + range.end);
        }
        start += run.len();
    }
    let is_hollow = |segment: &Candidate| match segment.count {
        0 => segments.len() > 1,
        count => segment.gone > count / 2,
    };
    segments.iter().position(is_hollow).map(|at| at..at + 1)
}

fn due_of_label(run: &[Candidate]) -> Option<Range<usize>> {
    let mut end = run.len();
    while end > 1 {
        match full(&run[..end]) {
            Ok(start) => return Some(start..end),
            // Those before were looked at when they were the youngest, unless no one merged then.
            Err(rest) => end = rest,
        }
    }
    let mut most = 0;
    let mut inversions = (0..run.len()).rev().filter(|&at| {
        let tier = run[at].tier();
        most = most.max(tier);
        tier < most
    });
    let oldest = inversions.by_ref().nth(INVERSIONS_MAX - 1)?;
    Some(inversions.last().unwrap_or(oldest)..run.len())
}

/// Where the longest suffix begins that makes a step: tier by tier from the youngest on, as long as what is younger
/// fills a unit of the next tier. If there is none, how many are older than the tiers that were looked at.
fn full(run: &[Candidate]) -> Result<usize, usize> {
    let (mut start, mut tier) = (run.len(), run.last().map_or(0, Candidate::tier));
    let (mut found, mut weight) = (None, 0_u64);
    loop {
        let unit = 10_u64.saturating_pow(tier);
        // What is younger is one unit, or more.
        let mut largest = step(weight, unit);
        while let Some(older) = start.checked_sub(1).filter(|&at| run[at].tier() <= tier) {
            largest = largest.max(step(run[older].weight(), unit));
            weight = weight.saturating_add(run[older].weight());
            start = older;
        }
        if start + 1 < run.len() && step(weight, unit) > largest {
            found = Some(start);
        }
        if start == 0 || tolerated(weight) < unit.saturating_mul(10) {
            return found.ok_or(start);
        }
        tier += 1;
    }
}

/// The last step that so much weight makes in a tier; 1 and 0 are whether it is a unit at all.
fn step(weight: u64, unit: u64) -> u64 {
    let units = tolerated(weight) / unit;
    STEPS.into_iter().rev().find(|&step| step <= units).unwrap_or(units.min(1))
}

fn tolerated(weight: u64) -> u64 {
    (u128::from(weight) * u128::from(TOLERANCE) / 100).try_into().unwrap_or(u64::MAX)
}

/// The most of the youngest segments of one label that can be merged without writing more than `most` bytes, if that
/// are two or more: what a writer does at its end.
pub(super) fn settled(segments: &[Candidate], most: u64) -> Option<Range<usize>> {
    let label = &segments.last()?.label;
    let end = segments.len();
    let (mut start, mut len) = (end, 0);
    for (at, segment) in segments.iter().enumerate().rev() {
        len += segment.live_len();
        if segment.label != *label || len > most {
            break;
        }
        start = at;
    }
    (end - start > 1).then_some(start..end)
}

/// All neighbours of one label, where there are several, or something is deleted.
pub(super) fn mergeable(segments: &[Candidate]) -> Option<Range<usize>> {
    let mut start = 0;
    for run in segments.chunk_by(|a, b| a.label == b.label) {
        let range = start..start + run.len();
        start = range.end;
        if run.len() > 1 || run.iter().any(|segment| segment.gone > 0) {
            return Some(range);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(label: &str, len: u64) -> Candidate {
        Candidate { label: label.into(), len, count: len, gone: 0, ids: 0 }
    }

    /// Adds segments of these lengths, merging as the rule says: the segments in the end, the most there were, and
    /// the records written.
    fn live(lens: impl IntoIterator<Item = u64>) -> (Vec<u64>, usize, u64) {
        let mut segments: Vec<Candidate> = Vec::new();
        let (mut most, mut written) = (0, 0);
        for len in lens {
            segments.push(candidate("", len));
            written += len;
            while let Some(range) = due(&segments) {
                let merged: u64 = segments[range.clone()].iter().map(|one| one.len).sum();
                segments.splice(range, [candidate("", merged)]);
                written += merged;
            }
            most = most.max(segments.len());
        }
        (segments.iter().map(|one| one.len).collect(), most, written)
    }

    /// A generator of its own keeps tests repeatable.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *state >> 33
    }

    #[test]
    fn equal_batches_end_in_one_segment_at_each_power_of_ten() {
        // In a tier 3, 6 and 10 of 10 units are written by its steps: 1.9 times all records for each power.
        for batch in [1, 10, 93, 95, 100, 102, 930, 1000, 1020] {
            for (power, count) in [(1, 10), (2, 100), (3, 1000), (4, 10_000)] {
                let (segments, most, written) = live((0..count).map(|_| batch));
                assert_eq!(segments, [batch * count], "{count} of {batch}");
                assert!(most <= 4 * power, "{most} of {count} of {batch}");
                assert!(written <= batch * count * (10 + 19 * power as u64) / 10);
            }
        }
        assert_eq!(live((0..13).map(|_| 1000)).0, [10_000, 3000]);
        assert_eq!(live((0..368).map(|_| 10)).0, [3000, 600, 60, 10, 10]);
        // What comes twice goes in each merge.
        assert_eq!(due(&[60, 9, 9, 9, 6, 1, 1, 1, 1].map(|len| candidate("", len))), Some(0..9));
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
            let (_, most, written) = live(lens);
            assert!(most <= 18, "{most}");
            assert!(written <= 9 * total, "{written} of {total}");
        }
    }

    #[test]
    fn what_no_one_merged_is_merged_at_once() {
        let mut segments = vec![candidate("", 10_000); 50];
        segments.push(candidate("", 1));
        assert_eq!(due(&segments), Some(0..50));
        segments.splice(0..50, [candidate("", 500_000)]);
        assert_eq!(due(&segments), None);
        // Older and smaller ones, three of them.
        let mut segments: Vec<Candidate> = [10, 200, 20, 4000].map(|len| candidate("", len)).into();
        assert_eq!(due(&segments), Some(0..4));
        segments.remove(0);
        assert_eq!(due(&segments), None);
        assert_eq!(due(&[candidate("", u64::MAX), candidate("", u64::MAX)]), None);
    }

    #[test]
    fn many_ids_of_one_fingerprint_count() {
        let of_ids = |ids| Candidate { ids, ..candidate("", 1) };
        assert_eq!(due(&[of_ids(300), of_ids(1), of_ids(1)]), None);
        assert_eq!(due(&[of_ids(1), of_ids(1), of_ids(1)]), Some(0..3));
    }

    #[test]
    fn labels_are_not_mixed_and_emptied_segments_are_written_anew() {
        let mut segments: Vec<Candidate> =
            ["a", "a", "b", "b", "b", "b", "a"].map(|label| candidate(label, 10)).into();
        assert_eq!(due(&segments), Some(2..6));
        assert_eq!(mergeable(&segments), Some(0..2));
        segments.splice(2..6, [candidate("b", 40)]);
        assert_eq!(due(&segments), None);
        segments[3].gone = 6;
        assert_eq!(due(&segments), Some(3..4));
        assert_eq!(due(&[]), None);
        // An empty one goes where there are others.
        assert_eq!(due(&[candidate("a", 0)]), None);
        assert_eq!(due(&[candidate("a", 0), candidate("b", 5)]), Some(0..1));
    }

    #[test]
    fn a_writer_settles_what_is_cheap() {
        let segments: Vec<Candidate> = [100, 10, 5, 1].map(|len| candidate("", len)).into();
        assert_eq!(settled(&segments, 5), None);
        assert_eq!(settled(&segments, 6), Some(2..4));
        assert_eq!(settled(&segments, 99), Some(1..4));
        assert_eq!(settled(&segments, 1000), Some(0..4));
        assert_eq!(settled(&[candidate("a", 1), candidate("b", 1)], 100), None);
        assert_eq!(settled(&[], 100), None);
    }
}
