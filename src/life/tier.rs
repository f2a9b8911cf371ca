//! Which segments to merge: a rule that keeps them few, and what is written in all little.

use std::ops::Range;

/// Older segments are merged with the younger ones once these hold this share less one of them: of four segments of
/// one length comes one.
const FAN_IN: u64 = 4;

/// A live segment, as the rule sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) label: String,
    /// Bytes of the file.
    pub(super) len: u64,
    /// Fingerprints in the file, and how many of them are deleted.
    pub(super) count: u64,
    pub(super) gone: u64,
}

impl Candidate {
    /// About how many bytes would be left of it.
    fn live_len(&self) -> u64 {
        let live = self.count.saturating_sub(self.gone) as f64 / self.count.max(1) as f64;
        (self.len as f64 * live) as u64
    }
}

/// The next neighbours to merge, oldest first, by the size-tiered rule; `None` if all is well.
///
/// Only neighbours of one label are merged, so that the order of age stays and each label can expire alone. In each
/// run of equal labels the oldest segment is sought that is no longer than a third of all younger ones together: it
/// is merged with them. Then every segment is longer than a third of the younger ones together, so that n bytes in
/// segments of at least m bytes are at most log(n / m) / log(4 / 3) + 1 segments of a label. A segment of which more
/// than half is deleted is written anew by itself.
pub(super) fn due(segments: &[Candidate]) -> Option<Range<usize>> {
    let mut start = 0;
    for run in segments.chunk_by(|a, b| a.label == b.label) {
        let end = start + run.len();
        let mut younger: u64 = run.iter().map(Candidate::live_len).sum();
        for (at, segment) in (start..end).zip(run) {
            younger -= segment.live_len();
            if at + 1 < end && segment.live_len().saturating_mul(FAN_IN - 1) <= younger {
                return Some(at..end);
            }
        }
        start = end;
    }
    let emptied = segments.iter().position(|segment| segment.gone > segment.count / 2);
    emptied.map(|at| at..at + 1)
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
        Candidate { label: label.into(), len, count: len, gone: 0 }
    }

    /// Adds segments of these lengths, merging as the rule says: the segments in the end, the most there were, and
    /// the bytes written.
    fn live(lens: impl IntoIterator<Item = u64>) -> (Vec<Candidate>, usize, u64) {
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
        (segments, most, written)
    }

    #[test]
    fn segments_stay_few_and_are_not_written_often() {
        for (n, few, often) in [(100, 10, 5.0), (1000, 15, 6.0), (10_000, 20, 8.0)] {
            let (_, most, written) = live((0..n).map(|_| 1));
            assert!(most <= few, "{most} segments of {n}");
            assert!(written as f64 <= often * n as f64, "{written} written of {n}");
        }
        // Of any lengths: a generator of its own keeps the test repeatable.
        let mut state = 1_u64;
        let lens = (0..3000).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            1 << (state >> 60)
        });
        let lens: Vec<u64> = lens.collect();
        let total: u64 = lens.iter().sum();
        let (_, most, written) = live(lens);
        assert!(most <= 30, "{most}");
        assert!(written <= 8 * total, "{written} of {total}");
    }

    #[test]
    fn labels_are_not_mixed_and_emptied_segments_are_written_anew() {
        let mut segments: Vec<Candidate> =
            ["a", "a", "a", "b", "b", "b", "b", "a"].map(|label| candidate(label, 10)).into();
        assert_eq!(due(&segments), Some(3..7));
        assert_eq!(mergeable(&segments), Some(0..3));
        segments.splice(3..7, [candidate("b", 40)]);
        assert_eq!(due(&segments), None);
        segments[4].gone = 6;
        assert_eq!(due(&segments), Some(4..5));
        assert_eq!(due(&[]), None);
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
