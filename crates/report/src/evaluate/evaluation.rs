//! The result of an evaluation: the curve, and what follows from it.

use fpstore_base::Fingerprint;
use fpstore_base::watch::Observer;

use super::curve::{Curve, Point};
use super::forecast::Forecast;
use super::measure::measure;
use fpstore::Result;
use fpstore_base::labels::LabelledPairs;

/// How well fingerprints find labelled duplicates at each distance.
#[derive(Clone, Debug)]
pub struct Evaluation {
    curve: Curve,
    points: Vec<Point>,
    document_count: u64,
}

impl Evaluation {
    /// Measures the distances of labelled pairs. A document without a fingerprint is `None`; its
    /// pairs are not found. With `unlisted_differ` every pair that is not listed counts as different
    /// documents.
    ///
    /// `unlisted_differ` compares all pairs, on all cores: about two seconds for 50 000 documents on
    /// one core. The observer is called meanwhile.
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

    /// What each distance finds, from 0 to [`K_MAX`](super::K_MAX).
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The point with the greatest F1; of equal ones the first.
    pub fn best(&self) -> Point {
        let best = self.points.iter().rev().max_by(|a, b| a.f1.total_cmp(&b.f1));
        *best.expect("there is a point for each distance")
    }

    /// The area under precision over recall, by the trapezoid rule, as far as the curve goes.
    pub fn area(&self) -> f64 {
        let (mut area, mut recall) = (0.0, 0.0);
        let mut precision = self.points.first().map_or(0.0, |point| point.precision);
        for point in &self.points {
            area += (point.recall - recall) * (point.precision + precision) / 2.0;
            (recall, precision) = (point.recall, point.precision);
        }
        area
    }

    /// Pairs that are labelled as duplicates, with fingerprints or without.
    pub fn duplicate_count(&self) -> u64 {
        self.curve.duplicate_count
    }

    /// Pairs that are labelled as different, with fingerprints or without. Where unlisted pairs
    /// count as different: all pairs of fingerprints but the duplicates and those left out.
    pub fn other_count(&self) -> u64 {
        self.curve.other_count
    }

    /// What to expect in a collection of this many such documents. It is sound only where all pairs
    /// were measured, with `unlisted_differ`.
    pub fn forecast(&self, collection_size: u64) -> Forecast {
        Forecast::of(&self.curve, &self.points, self.document_count, collection_size)
    }
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
}
