//! Precision and recall by distance.

use serde::Serialize;

/// The greatest distance of the curve. Of random fingerprints half of all pairs lie beyond it.
pub(super) const K_MAX: usize = 32;

/// Counts by distance, from 0 to 64.
pub(super) type Histogram = [u64; 65];

/// Counts of labelled pairs at each distance.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// Pairs of duplicates at each distance.
    pub(super) duplicates: Histogram,
    /// Other pairs at each distance.
    pub(super) others: Histogram,
    /// All pairs of duplicates, at any distance.
    pub(super) duplicate_count: u64,
}

impl Default for Curve {
    fn default() -> Self {
        Curve { duplicates: [0; 65], others: [0; 65], duplicate_count: 0 }
    }
}

/// The pairs that a distance finds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Point {
    pub(super) k: usize,
    /// Pairs of duplicates within k.
    pub(super) found: u64,
    /// Other pairs within k.
    pub(super) wrong: u64,
    /// Pairs of duplicates beyond k.
    pub(super) missed: u64,
    pub(super) precision: f64,
    pub(super) recall: f64,
    pub(super) f1: f64,
}

impl Curve {
    /// Counts a pair. If one of its documents has no fingerprint it has no distance.
    pub(super) fn add(&mut self, is_duplicate: bool, distance: Option<u32>) {
        self.duplicate_count += u64::from(is_duplicate);
        let counts = if is_duplicate { &mut self.duplicates } else { &mut self.others };
        if let Some(count) = distance.and_then(|distance| counts.get_mut(distance as usize)) {
            *count += 1;
        }
    }

    /// The pairs that each distance finds, from 0 on. Where it finds none, precision is 1.
    pub(super) fn points(&self) -> Vec<Point> {
        let (mut found, mut wrong) = (0, 0);
        let ratio =
            |part: u64, whole: u64| if whole == 0 { 1.0 } else { part as f64 / whole as f64 };
        (0..=K_MAX)
            .map(|k| {
                found += self.duplicates[k];
                wrong += self.others[k];
                let missed = self.duplicate_count - found;
                let precision = ratio(found, found + wrong);
                let recall = ratio(found, self.duplicate_count);
                let f1 = ratio(2 * found, 2 * found + wrong + missed);
                Point { k, found, wrong, missed, precision, recall, f1 }
            })
            .collect()
    }
}

/// The point with the greatest F1; of equal ones the first.
pub(super) fn best(points: &[Point]) -> Option<&Point> {
    points.iter().rev().max_by(|a, b| a.f1.total_cmp(&b.f1))
}

/// The area under precision over recall, by the trapezoid rule, as far as the curve goes.
pub(super) fn area(points: &[Point]) -> f64 {
    let (mut area, mut recall) = (0.0, 0.0);
    let mut precision = points.first().map_or(0.0, |point| point.precision);
    for point in points {
        area += (point.recall - recall) * (point.precision + precision) / 2.0;
        (recall, precision) = (point.recall, point.precision);
    }
    area
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
        let points = curve.points();
        let at = |k: usize| (points[k].found, points[k].wrong, points[k].missed);
        assert_eq!([at(0), at(2), at(16)], [(1, 0, 4), (3, 1, 2), (3, 2, 2)]);
        assert_eq!((points[2].precision, points[2].recall), (0.75, 0.6));
        assert_eq!(best(&points).map(|point| point.k), Some(2));
        assert!((area(&points) - (0.2 + 0.4 * 1.75 / 2.0)).abs() < 1e-12);
        let nothing = Curve::default().points();
        assert_eq!((nothing[0].precision, nothing[0].recall, nothing[0].f1), (1.0, 1.0, 1.0));
    }
}
