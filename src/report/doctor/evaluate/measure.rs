//! The distances of labelled pairs, and of all other pairs.

use std::ops::Range;

use fpstore_base::Fingerprint;
use fpstore_base::parallel::Parallel;
use fpstore_base::watch::{Observer, Phase, Watch};

use super::curve::{Curve, Histogram};
use crate::base::error::Result;
use crate::base::labels::{Label, LabelledPairs};
use crate::bytes::distances::distances_from;

/// Documents that a thread compares with all later ones at a time.
const RANGE_LEN: usize = 64;

/// The curve of the labelled pairs. With `unlisted_differ`, every pair that is not listed counts as
/// different documents.
pub(super) fn measure(
    pairs: &LabelledPairs,
    fingerprints: &[Option<Fingerprint>],
    unlisted_differ: bool,
    observer: Option<Observer>,
) -> Result<Curve> {
    let mut curve = Curve::default();
    let of = |number: usize| fingerprints.get(number).copied().flatten();
    if unlisted_differ {
        let values: Vec<u64> = fingerprints.iter().flatten().map(|value| value.value()).collect();
        curve.others = all_distances(&values, observer)?;
    }
    for ((a, b), label) in pairs.iter() {
        let distance = of(a).zip(of(b)).map(|(a, b)| a.distance(b));
        if let (true, Some(distance)) = (unlisted_differ, distance) {
            // It was counted with all pairs.
            curve.others[distance as usize] -= 1;
        }
        match label {
            Label::Duplicate => curve.add(true, distance),
            Label::Different => curve.add(false, distance),
            Label::Ignored => {}
        }
    }
    if unlisted_differ {
        curve.other_count = curve.others.iter().sum();
    }
    Ok(curve)
}

/// Counts all pairs by distance: every value with every later one.
fn all_distances(values: &[u64], observer: Option<Observer>) -> Result<Histogram> {
    let watch = Watch::new(observer, Phase::Join, Some(values.len() as u64));
    // Early values have many later ones: small ranges keep all threads busy to the end.
    let ranges = (0..values.len()).step_by(RANGE_LEN);
    let ranges = ranges.map(|start| start..values.len().min(start + RANGE_LEN));
    let mut sums = [0; 65];
    std::thread::scope(|scope| {
        let results = Parallel::new(0).run_in(
            scope,
            |feed| {
                let _ = ranges.into_iter().all(|range| feed.push(range, 0));
            },
            || |range: Range<usize>| (range.len() as u64, distances_in(values, range)),
        );
        for (count, counts) in results {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            watch.tick(count).and_then(|()| watch.report())?;
        }
        Ok(sums)
    })
}

fn distances_in(values: &[u64], range: Range<usize>) -> Histogram {
    // Equal distances often follow each other. Four histograms in turn keep one addition from
    // waiting for the one before.
    let mut counts = [[0_u64; 65]; 4];
    for first in range {
        distances_from(values[first], &values[first + 1..], |_, distances| {
            for quad in distances.chunks(4) {
                for (counts, &distance) in counts.iter_mut().zip(quad) {
                    counts[usize::from(distance)] += 1;
                }
            }
        });
    }
    std::array::from_fn(|distance| counts.iter().map(|counts| counts[distance]).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_pairs_are_counted_once_and_listed_ones_by_their_label() {
        let values = [0_u64, 1, 3, u64::MAX, 0, 7];
        let mut expected = [0; 65];
        for (at, a) in values.iter().enumerate() {
            values[at + 1..].iter().for_each(|b| expected[(a ^ b).count_ones() as usize] += 1);
        }
        assert_eq!(all_distances(&values, None).unwrap(), expected);
        assert_eq!(all_distances(&[], None).unwrap(), [0; 65]);
        let mut fingerprints: Vec<Option<Fingerprint>> =
            values.iter().map(|&value| Some(Fingerprint::new(value))).collect();
        fingerprints.push(None);
        // At distances 0, 64, 2, and one without a fingerprint.
        let mut pairs = LabelledPairs::default();
        for (number, label) in [
            (4, Label::Duplicate),
            (3, Label::Different),
            (2, Label::Ignored),
            (6, Label::Duplicate),
        ] {
            pairs.insert(0, number, label).unwrap();
        }
        let curve = measure(&pairs, &fingerprints, true, None).unwrap();
        assert_eq!((curve.duplicate_count, curve.duplicates[0]), (2, 1));
        expected[0] -= 1;
        expected[2] -= 1;
        assert_eq!(curve.others, expected);
        let listed = measure(&pairs, &fingerprints, false, None).unwrap();
        assert_eq!((listed.other_count, listed.others[64]), (1, 1));
    }
}
