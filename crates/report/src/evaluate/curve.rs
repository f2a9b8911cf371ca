//! Precision and recall by distance.

/// The greatest distance of the curve. Half of all pairs of random fingerprints are farther apart.
pub const K_MAX: usize = 32;

/// Counts by distance, from 0 to 64.
pub(super) type Histogram = [u64; 65];

/// Counts of labelled pairs at each distance.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// Pairs of duplicates at each distance.
    pub(super) duplicates: Histogram,
    /// Other pairs at each distance.
    pub(super) others: Histogram,
    /// All pairs of duplicates, pairs without a distance included.
    pub(super) duplicate_count: u64,
    /// All other pairs, pairs without a distance included.
    pub(super) other_count: u64,
}

impl Default for Curve {
    fn default() -> Self {
        Curve { duplicates: [0; 65], others: [0; 65], duplicate_count: 0, other_count: 0 }
    }
}

/// The labelled pairs within a distance.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Point {
    /// The distance.
    pub k: usize,
    /// Pairs of duplicates within k.
    pub found: u64,
    /// Other pairs within k.
    pub wrong: u64,
    /// Pairs of duplicates beyond k.
    pub missed: u64,
    /// The share of duplicates among the pairs within k; 1 without such pairs.
    pub precision: f64,
    /// The share of pairs within k among the duplicates; 1 without duplicates.
    pub recall: f64,
    /// The harmonic mean of precision and recall.
    pub f1: f64,
}

impl Curve {
    /// Counts a pair. It has no distance if one of its documents has no fingerprint.
    pub(super) fn add(&mut self, is_duplicate: bool, distance: Option<u32>) {
        let (counts, count) = match is_duplicate {
            true => (&mut self.duplicates, &mut self.duplicate_count),
            false => (&mut self.others, &mut self.other_count),
        };
        *count += 1;
        if let Some(at) = distance.and_then(|distance| counts.get_mut(distance as usize)) {
            *at += 1;
        }
    }

    /// The pairs within each distance, from 0 on.
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
