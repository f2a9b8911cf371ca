//! Samples of a stream of records in bounded memory: of distinct fingerprints with exact
//! counts, and of records.

use crate::bits::scramble::scramble;

/// Distinct fingerprints, each with the number of its records: all of them as long as they
/// fit, then one half, one quarter, and so on, chosen by the fingerprint alone.
///
/// What is kept was kept from its first record on, so its count is exact.
#[derive(Debug)]
pub(super) struct DistinctSample {
    /// Ascending by fingerprint.
    kept: Vec<(u64, u64)>,
    /// Records not yet counted.
    fresh: Vec<u64>,
    fresh_max: usize,
    kept_max: usize,
    /// One fingerprint in 2^halvings is kept.
    halvings: u32,
}

impl DistinctSample {
    pub(super) fn new(kept_max: usize) -> Self {
        let kept_max = kept_max.max(1);
        let fresh_max = (kept_max / 8).max(1024);
        DistinctSample { kept: Vec::new(), fresh: Vec::new(), fresh_max, kept_max, halvings: 0 }
    }

    #[inline]
    pub(super) fn push(&mut self, value: u64) {
        if self.keeps(value) {
            self.fresh.push(value);
            if self.fresh.len() >= self.fresh_max {
                self.count_fresh();
            }
        }
    }

    #[inline]
    fn keeps(&self, value: u64) -> bool {
        self.halvings == 0 || scramble(value).leading_zeros() >= self.halvings
    }

    fn count_fresh(&mut self) {
        self.fresh.sort_unstable();
        let added = self.fresh.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64));
        self.kept = merged(&self.kept, added);
        self.fresh.clear();
        while self.kept.len() > self.kept_max && self.halvings < 64 {
            self.halvings += 1;
            let halvings = self.halvings;
            self.kept.retain(|&(value, _)| scramble(value).leading_zeros() >= halvings);
        }
    }

    /// The sample so far, ascending by fingerprint, and in how many halvings it was made.
    pub(super) fn so_far(&mut self) -> (&[(u64, u64)], u32) {
        self.count_fresh();
        (&self.kept, self.halvings)
    }

    /// The sample, ascending by fingerprint, and in how many halvings it was made.
    pub(super) fn finish(mut self) -> (Vec<(u64, u64)>, u32) {
        self.count_fresh();
        (self.kept, self.halvings)
    }
}

fn merged(kept: &[(u64, u64)], added: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut kept = kept.iter().copied().peekable();
    let mut out = Vec::with_capacity(kept.len());
    for (value, count) in added {
        while let Some(entry) = kept.next_if(|&(before, _)| before < value) {
            out.push(entry);
        }
        let known = kept.next_if(|&(same, _)| same == value).map_or(0, |(_, known)| known);
        out.push((value, known + count));
    }
    out.extend(kept);
    out
}

/// As many records as fit, each of the stream with the same chance.
///
/// # Source
///
/// K.-H. Li, "Reservoir-Sampling Algorithms of Time Complexity O(n(1+log(N/n)))", ACM
/// Transactions on Mathematical Software 20 (1994): algorithm L.
#[derive(Debug)]
pub(super) struct RecordSample {
    kept: Vec<u64>,
    kept_max: usize,
    /// Records still to be passed over.
    skip: u64,
    weight: f64,
    state: u64,
}

impl RecordSample {
    pub(super) fn new(kept_max: usize) -> Self {
        RecordSample { kept: Vec::new(), kept_max, skip: 0, weight: 1.0, state: 0 }
    }

    #[inline]
    pub(super) fn push(&mut self, value: u64) {
        if self.skip > 0 {
            self.skip -= 1;
        } else {
            self.take(value);
        }
    }

    fn take(&mut self, value: u64) {
        if self.kept.len() < self.kept_max {
            self.kept.push(value);
            if self.kept.len() < self.kept_max {
                return;
            }
        } else {
            let place = self.random() % self.kept_max as u64;
            self.kept[place as usize] = value;
        }
        self.weight *= (self.chance().ln() / self.kept_max as f64).exp();
        // The cast holds at 2^64 - 1, which is for ever.
        self.skip = (self.chance().ln() / (-self.weight).ln_1p()) as u64;
    }

    fn random(&mut self) -> u64 {
        self.state += 1;
        scramble(self.state)
    }

    /// Above 0 and at most 1.
    fn chance(&mut self) -> f64 {
        ((self.random() >> 11) + 1) as f64 / 2_f64.powi(53)
    }

    /// The fingerprints of the sample with how often each is in it, ascending by fingerprint,
    /// and the number of records in the sample.
    pub(super) fn finish(mut self) -> (Vec<(u64, u64)>, u64) {
        self.kept.sort_unstable();
        let counts = self.kept.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64));
        (counts.collect(), self.kept.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn what_fits_is_kept_whole_and_counts_stay_exact_when_it_does_not() {
        for (distinct, kept_max) in [(5000_u64, 10_000), (5000, 5000), (20_000, 1000), (3, 1)] {
            let mut sample = DistinctSample::new(kept_max);
            let mut expected = BTreeMap::new();
            for i in 0..3 * distinct {
                let value = scramble(i * i % distinct);
                sample.push(value);
                *expected.entry(value).or_insert(0) += 1;
            }
            let (kept, halvings) = sample.finish();
            assert!(kept.len() <= kept_max);
            assert!(kept.is_sorted_by(|a, b| a.0 < b.0));
            assert!(kept.iter().all(|(value, count)| expected[value] == *count));
            if expected.len() <= kept_max {
                assert_eq!((kept.len(), halvings), (expected.len(), 0));
            }
        }
    }

    #[test]
    fn a_thinned_sample_tells_how_many_there_are() {
        let mut sample = DistinctSample::new(4000);
        (0..300_000_u64).for_each(|i| sample.push(i % 100_000));
        let (kept, halvings) = sample.finish();
        let estimate = kept.len() as f64 * 2_f64.powi(halvings as i32);
        assert!((estimate / 100_000.0 - 1.0).abs() < 0.1, "{estimate}");
        assert!(kept.iter().all(|&(_, count)| count == 3));
    }

    #[test]
    fn a_sample_of_records_has_each_with_the_same_chance() {
        // A third of the records, at the beginning, in the middle or at the end, or spread.
        for place in 0..4_u64 {
            let mut sample = RecordSample::new(2000);
            for i in 0..90_000_u64 {
                let heavy = if place == 3 { i % 3 == 0 } else { i / 30_000 == place };
                sample.push(if heavy { 7 } else { 1000 + i });
            }
            let (counts, len) = sample.finish();
            assert_eq!((len, counts[0].0), (2000, 7));
            assert!((counts[0].1 as f64 / 2000.0 - 1.0 / 3.0).abs() < 0.05, "{:?}", counts[0]);
        }
        let mut few = RecordSample::new(10);
        [5, 5, 6].into_iter().for_each(|value| few.push(value));
        assert_eq!(few.finish(), (vec![(5, 2), (6, 1)], 3));
    }
}
