//! The expected precision and recall of a recipe in a larger collection than the measured one.
//!
//! The number of pairs of different documents grows with the square of the number of documents, the
//! number of duplicates linearly. So precision at each k decreases, and the best k becomes smaller.

use super::curve::{Curve, K_MAX, Point};

/// The expected results in a collection of a given size.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Forecast {
    /// The number of documents.
    pub collection_size: u64,
    /// The distance with the greatest expected F1; of several with the same F1, the smallest.
    pub recommended_k: usize,
    /// The expected results at each distance, from 0 on.
    pub points: Vec<Expected>,
}

/// The expected results at a distance.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Expected {
    /// The distance in bits.
    pub k: usize,
    /// The expected number of duplicate pairs within k.
    pub found: f64,
    /// The expected number of pairs of different documents within k, from their measured share.
    pub wrong: f64,
    /// The expected number of pairs within k among random fingerprints, which no recipe can avoid.
    pub by_chance: f64,
    /// The share of duplicates among all pairs within k.
    pub precision: f64,
    /// The share of duplicate pairs that are within k.
    pub recall: f64,
    /// The harmonic mean of precision and recall.
    pub f1: f64,
}

impl Forecast {
    /// The expected results in a collection of `collection_size` documents, from the pairs of
    /// `document_count` measured documents.
    pub(super) fn of(
        curve: &Curve,
        points: &[Point],
        document_count: u64,
        collection_size: u64,
    ) -> Self {
        let pairs = |count: f64| count * (count - 1.0) / 2.0;
        let all_pairs = pairs(collection_size as f64);
        let measured: u64 = curve.others.iter().sum();
        let growth = collection_size as f64 / document_count.max(1) as f64;
        let expected = |point: &Point| {
            let by_chance = all_pairs * chance_within(point.k);
            let share = point.wrong as f64 / measured.max(1) as f64;
            let wrong = (all_pairs * share).max(by_chance);
            let found = point.found as f64 * growth;
            let missed = point.missed as f64 * growth;
            let ratio = |part: f64, whole: f64| if whole == 0.0 { 1.0 } else { part / whole };
            Expected {
                k: point.k,
                found,
                wrong,
                by_chance,
                precision: ratio(found, found + wrong),
                recall: ratio(found, found + missed),
                f1: ratio(2.0 * found, 2.0 * found + wrong + missed),
            }
        };
        let points: Vec<Expected> = points.iter().map(expected).collect();
        let recommended = points.iter().rev().max_by(|a, b| a.f1.total_cmp(&b.f1));
        let recommended_k = recommended.map_or(0, |best| best.k);
        Forecast { collection_size, recommended_k, points }
    }
}

/// The probability that two random fingerprints are within k bits.
fn chance_within(k: usize) -> f64 {
    let mut term = 0.5_f64.powi(64);
    let mut sum = 0.0;
    for distance in 0..=k.min(K_MAX) {
        sum += term;
        term *= (64 - distance) as f64 / (distance + 1) as f64;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_grow_with_the_square_and_duplicates_with_the_collection() {
        assert!((chance_within(0) * 2_f64.powi(64) - 1.0).abs() < 1e-9);
        // Values within 2 bits of a value: 1 + 64 + 64 * 63 / 2 = 2081.
        assert!((chance_within(2) * 2_f64.powi(64) - 2081.0).abs() < 1e-6);
        let mut curve = Curve::default();
        curve.add(true, Some(1));
        curve.add(true, Some(9));
        curve.others[3] = 2;
        curve.others[30] = 998;
        let forecast = Forecast::of(&curve, &curve.points(), 100, 1000);
        let expected = &forecast.points;
        let near = &expected[2];
        assert_eq!((near.found, near.recall), (10.0, 0.5));
        assert!(near.wrong < 1e-9 && near.by_chance < 1e-9 && near.precision > 0.999);
        // 2 of 1000 measured pairs of different documents, scaled to 499 500 pairs.
        assert!((expected[3].wrong - 999.0).abs() < 1e-6, "{:?}", expected[3]);
        assert_eq!(forecast.recommended_k, 1);
    }
}
