//! The distances of labelled pairs, and of all other pairs.

use fpstore_base::Fingerprint;
use fpstore_base::watch::Observer;

use super::curve::Curve;
use fpstore::Result;
use fpstore::profile::pair_distances;
use fpstore_base::labels::{Label, LabelledPairs};

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
        curve.others = pair_distances(&values, observer)?;
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
        assert_eq!(pair_distances(&values, None).unwrap(), expected);
        assert_eq!(pair_distances(&[], None).unwrap(), [0; 65]);
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
