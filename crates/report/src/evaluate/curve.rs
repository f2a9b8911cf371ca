//! Counts of labelled pairs at each distance, and precision and recall computed from them.

/// The greatest distance of the curve: the mean distance of two random fingerprints.
pub const K_MAX: usize = 32;

/// A count for each distance from 0 to 64.
pub(super) type Histogram = [u64; 65];

/// Counts of labelled pairs, in total and at each distance.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// The number of pairs of duplicates at each distance.
    pub(super) duplicates: Histogram,
    /// The number of pairs of different documents at each distance.
    pub(super) others: Histogram,
    /// The number of all pairs of duplicates, pairs without a distance included.
    pub(super) duplicate_count: u64,
    /// The number of all pairs of different documents, pairs without a distance included.
    pub(super) other_count: u64,
}

impl Default for Curve {
    fn default() -> Self {
        Curve { duplicates: [0; 65], others: [0; 65], duplicate_count: 0, other_count: 0 }
    }
}

/// Precision and recall if pairs within a distance `k` are taken for duplicates.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Point {
    /// The distance in bits.
    pub k: usize,
    /// The number of duplicate pairs within k.
    pub found: u64,
    /// The number of pairs of different documents within k.
    pub wrong: u64,
    /// The number of duplicate pairs that are not within k.
    pub missed: u64,
    /// The share of duplicates among all pairs within k; 1 if there are no pairs within k.
    pub precision: f64,
    /// The share of duplicate pairs that are within k; 1 if there are no duplicates.
    pub recall: f64,
    /// The harmonic mean of precision and recall.
    pub f1: f64,
}

impl Curve {
    /// Counts a pair. `distance` is `None` if one of the documents has no fingerprint.
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

    /// The point of each distance, from 0 to [`K_MAX`].
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
