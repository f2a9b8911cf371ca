//! Precision and recall by distance.

/// The largest distance at which pairs are counted.
pub const K_MAX: usize = 20;

/// Counts of pairs by distance, 0 to `K_MAX`.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// The number of pairs at each distance: duplicates (`good`) and others (`bad`). `duplicates`
    /// counts the duplicates at all distances.
    pub good: [u64; K_MAX + 1],
    pub bad: [u64; K_MAX + 1],
    pub duplicates: u64,
}

impl Curve {
    pub fn add(&mut self, other: &Curve) {
        for k in 0..=K_MAX {
            self.good[k] += other.good[k];
            self.bad[k] += other.bad[k];
        }
        self.duplicates += other.duplicates;
    }

    /// Counts a pair; `distance` is `None` if it exceeds `K_MAX`.
    pub fn count(&mut self, is_duplicate: bool, distance: Option<usize>) {
        self.duplicates += u64::from(is_duplicate);
        if let Some(d) = distance {
            let counts = if is_duplicate { &mut self.good } else { &mut self.bad };
            counts[d] += 1;
        }
    }

    pub fn sums(&self, k: usize) -> (f64, f64) {
        let sum = |counts: &[u64]| counts.iter().take(k + 1).sum::<u64>() as f64;
        (sum(&self.good), sum(&self.bad))
    }

    pub fn precision(&self, k: usize) -> f64 {
        let (good, bad) = self.sums(k);
        if good + bad == 0.0 { 1.0 } else { good / (good + bad) }
    }

    pub fn recall(&self, k: usize) -> f64 {
        // `max(1)`, because one half of a set may contain no duplicates.
        self.sums(k).0 / self.duplicates.max(1) as f64
    }

    pub fn f1(&self, k: usize) -> f64 {
        let (precision, recall) = (self.precision(k), self.recall(k));
        if precision + recall == 0.0 {
            0.0
        } else {
            2.0 * precision * recall / (precision + recall)
        }
    }

    pub fn best(&self) -> usize {
        (0..=K_MAX).rev().max_by(|&a, &b| self.f1(a).total_cmp(&self.f1(b))).unwrap_or(0)
    }

    pub fn best_f1(&self) -> f64 {
        self.f1(self.best())
    }

    /// The area under the curve of precision over recall, by the trapezoidal rule.
    pub fn area(&self) -> f64 {
        let (mut area, mut recall, mut precision) = (0.0, 0.0, self.precision(0));
        for k in 0..=K_MAX {
            let (r, p) = (self.recall(k), self.precision(k));
            area += (r - recall) * (p + precision) / 2.0;
            (recall, precision) = (r, p);
        }
        area
    }
}
