//! The result of an evaluation: precision and recall at each distance, and values derived from
//! them.

use fpstore_base::Fingerprint;
use fpstore_base::watch::Observer;

use super::curve::{Curve, Point};
use super::forecast::Forecast;
use fpstore::Result;
use fpstore::profile::pair_distances;
use fpstore_base::labels::{Label, LabelledPairs};

/// How well fingerprints find labelled duplicates at each distance.
#[derive(Clone, Debug)]
pub struct Evaluation {
    curve: Curve,
    points: Vec<Point>,
    document_count: u64,
}

impl Evaluation {
    /// Measures the distances of labelled pairs. `None` is a document without a fingerprint: its
    /// pairs are never found. With `unlisted_differ` every unlisted pair counts as a pair of
    /// different documents.
    ///
    /// With `unlisted_differ` all pairs are compared, on all cores: about two seconds of one core
    /// for 50 000 documents. The observer is called meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`](fpstore::Error::Interrupted) if the observer ends the work.
    pub fn of(
        pairs: &LabelledPairs,
        fingerprints: &[Option<Fingerprint>],
        unlisted_differ: bool,
        observer: Option<Observer>,
    ) -> Result<Self> {
        let curve = measure(pairs, fingerprints, unlisted_differ, observer)?;
        let document_count = fingerprints.iter().flatten().count() as u64;
        Ok(Evaluation { points: curve.points(), curve, document_count })
    }

    /// Precision and recall at each distance, from 0 to [`K_MAX`](super::K_MAX).
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The point with the greatest F1; of several with the same F1, the smallest distance.
    pub fn best(&self) -> Point {
        let best = self.points.iter().rev().max_by(|a, b| a.f1.total_cmp(&b.f1));
        *best.expect("there is a point for each distance")
    }

    /// The area under the curve of precision over recall, by the trapezoid rule, up to the greatest
    /// recall reached.
    pub fn area(&self) -> f64 {
        let (mut area, mut recall) = (0.0, 0.0);
        let mut precision = self.points.first().map_or(0.0, |point| point.precision);
        for point in &self.points {
            area += (point.recall - recall) * (point.precision + precision) / 2.0;
            (recall, precision) = (point.recall, point.precision);
        }
        area
    }

    /// The number of pairs labelled as duplicates, including pairs without a fingerprint.
    pub fn duplicate_count(&self) -> u64 {
        self.curve.duplicate_count
    }

    /// The number of pairs labelled as different, including pairs without a fingerprint; with
    /// `unlisted_differ`, all pairs of fingerprints except duplicates and ignored pairs.
    pub fn other_count(&self) -> u64 {
        self.curve.other_count
    }

    /// The expected results in a larger collection of the same kind of documents. They are valid
    /// only if all pairs were measured, with `unlisted_differ`.
    pub fn forecast(&self, collection_size: u64) -> Forecast {
        Forecast::of(&self.curve, &self.points, self.document_count, collection_size)
    }
}

/// Counts the labelled pairs by distance. With `unlisted_differ`, every unlisted pair counts as a
/// pair of different documents.
fn measure(
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
            // All pairs were counted as different above: this pair was listed, so it is subtracted.
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
    fn points_best_and_area_are_those_of_a_worked_example() {
        let mut curve = Curve::default();
        for (is_duplicate, distance) in [
            (true, Some(0)),
            (true, Some(2)),
            (true, Some(2)),
            (true, Some(40)),
            (true, None),
            (false, Some(2)),
            (false, Some(3)),
            (false, Some(40)),
        ] {
            curve.add(is_duplicate, distance);
        }
        let of = |curve: Curve| Evaluation { points: curve.points(), curve, document_count: 0 };
        let found = of(curve);
        let points = found.points();
        let at = |k: usize| (points[k].found, points[k].wrong, points[k].missed);
        assert_eq!([at(0), at(2), at(16)], [(1, 0, 4), (3, 1, 2), (3, 2, 2)]);
        assert_eq!((points[2].precision, points[2].recall), (0.75, 0.6));
        assert_eq!(found.best().k, 2);
        assert!((found.area() - (0.2 + 0.4 * 1.75 / 2.0)).abs() < 1e-12);
        let nothing = of(Curve::default()).points()[0];
        assert_eq!((nothing.precision, nothing.recall, nothing.f1), (1.0, 1.0, 1.0));
    }

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
        // Pairs at distances 0, 64 and 2, and a pair without a fingerprint.
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
