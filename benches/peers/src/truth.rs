//! The true answers, computed by a linear scan.

use crate::contenders::Built;
use crate::set::Set;

/// The answers to a sample of the queries.
pub struct Truth<'a> {
    pub k: u32,
    pub sample: &'a [u64],
    /// For each query of the sample the values within `k`, in ascending order.
    pub answers: Vec<Vec<u64>>,
}

/// The result of comparing a contender's answers with the true answers.
#[derive(Clone, Copy, Debug)]
pub struct Checked {
    pub sample_count: u64,
    /// The share of true matches that were found; 1 if there are no true matches.
    pub recall: f64,
    /// Number of reported values that are beyond `k`, not stored, or reported twice.
    pub wrong_count: u64,
}

impl<'a> Truth<'a> {
    /// Compares every value with every query of the sample.
    pub fn find(set: &Set, sample: &'a [u64], k: u32) -> Self {
        let near = |needle: u64| {
            let within = |value: &u64| (value ^ needle).count_ones() <= k;
            let mut found: Vec<u64> = set.values.iter().copied().filter(within).collect();
            found.sort_unstable();
            found
        };
        let answers = sample.iter().map(|needle| near(*needle)).collect();
        Truth { k, sample, answers }
    }

    /// Runs the sample on a contender, and compares its answers with the true answers.
    pub fn compare(&self, contender: &Built) -> Checked {
        let mut session = contender.index.session();
        let (mut found_count, mut true_count, mut reported_count) = (0, 0, 0);
        let mut found = Vec::new();
        for (needle, answer) in self.sample.iter().zip(&self.answers) {
            found.clear();
            session.values(*needle, &mut found);
            reported_count += found.len();
            true_count += answer.len();
            found.sort_unstable();
            found.dedup();
            found_count += found.iter().filter(|v| answer.binary_search(v).is_ok()).count();
        }
        Checked {
            sample_count: self.sample.len() as u64,
            recall: if true_count == 0 { 1.0 } else { found_count as f64 / true_count as f64 },
            wrong_count: (reported_count - found_count) as u64,
        }
    }
}
