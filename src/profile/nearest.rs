//! The distances of fingerprints to their nearest other fingerprint, and the k proposed from them.
//!
//! A nearest fingerprint is of one of two kinds. Near copies are few bits away, and their number
//! falls with the distance. The number of unrelated fingerprints ("strangers") grows with each bit.
//! A k in the gap between the two kinds finds the copies and not the strangers.

use crate::base::error::Result;
use crate::join::{for_each_nearest_other, searched_count};
use crate::plan::Sample;
use crate::search::Hit;
use crate::search::kernel::{Kernel, Task, Vector};
use crate::store::Store;
use fpstore_base::watch::Watch;

/// Maximum distance at which a nearest fingerprint is searched for.
const DISTANCE_MAX: u32 = 24;
/// A k is proposed only if this many fingerprints have another one within k bits.
const NEAR_MIN: u64 = 8;
/// Maximum share of queries that find a stranger within the proposed k.
const CHANCE_MAX: f64 = 0.01;
/// Counts that differ by less than this share of the fingerprints are taken as equal.
const EVEN_SHARE: f64 = 0.005;

/// The distances to the nearest other fingerprint, for a sample of all fingerprints.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct NearestDistances {
    /// The number of fingerprints in the sample, which contains all fingerprints if there are few.
    #[cfg_attr(feature = "serde", serde(rename = "fingerprints"))]
    pub fingerprint_count: u64,
    /// By distance, 0 to 24: the number of fingerprints of the sample whose nearest other
    /// fingerprint has that distance. Equal fingerprints count as one, so the count at 0 is 0.
    pub counts: Vec<u64>,
    /// By distance, 0 to 24: the share of fingerprints that would have another fingerprint within
    /// that distance if the bits were independent, with their actual shares of ones.
    pub by_chance: Vec<f64>,
    /// The k at the start of the gap between near copies and strangers; `None` without a gap.
    pub proposed_k: Option<u32>,
}

impl NearestDistances {
    /// Searches a store for the nearest other fingerprint of the first fingerprints of its
    /// `sample`. `alike[d]` is the mean number of matches by chance within distance `d`, for a
    /// query with the same shares of ones.
    pub(super) fn of_store(
        store: &Store,
        sample: &Sample,
        fingerprint_count: u64,
        alike: &[f64],
        watch: &Watch,
    ) -> Result<Self> {
        let mut counts = vec![0; DISTANCE_MAX as usize + 1];
        let mut note = |other: Option<&Hit<'_>>| {
            other.into_iter().for_each(|other| count(&mut counts, other.distance()));
            watch.tick(1)?;
            Ok(watch.look()?)
        };
        let (n, most) = (fingerprint_count, DISTANCE_MAX);
        let searched = for_each_nearest_other(store, sample, n, most, |_, other| note(other))?;
        Ok(NearestDistances::new(searched, counts, fingerprint_count, alike))
    }

    /// Searches distinct values for the nearest other value of the first fingerprints of `sample`.
    pub(super) fn of_values(values: &[u64], sample: &Sample, alike: &[f64]) -> Self {
        let kernel = Kernel::detect();
        let mut counts = vec![0; DISTANCE_MAX as usize + 1];
        let searched = searched_count(sample, values.len() as u64);
        for &wanted in sample.values().iter().take(searched) {
            let nearest = kernel.run(NearestOf { values, wanted });
            nearest.into_iter().for_each(|distance| count(&mut counts, distance));
        }
        NearestDistances::new(searched, counts, values.len() as u64, alike)
    }

    fn new(searched: usize, counts: Vec<u64>, n: u64, alike: &[f64]) -> Self {
        let others = n.saturating_sub(1) as f64 / n.max(1) as f64;
        // The number of fingerprints within a distance follows a Poisson distribution.
        let by_chance = alike.iter().map(|alike| 1.0 - (-alike * others).exp());
        let by_chance: Vec<f64> = by_chance.take(counts.len()).collect();
        let strangers = searched as u64 - counts.iter().sum::<u64>();
        let proposed_k = propose(&counts, strangers, &by_chance);
        NearestDistances { fingerprint_count: searched as u64, counts, by_chance, proposed_k }
    }

    /// The share of the sample that has another fingerprint within `k` bits, for `k` up to 24.
    pub fn share_within(&self, k: u32) -> f64 {
        let within: u64 = self.counts.iter().take(k as usize + 1).sum();
        within as f64 / self.fingerprint_count.max(1) as f64
    }
}

fn count(counts: &mut [u64], distance: u32) {
    if let Some(count) = counts.get_mut(distance as usize) {
        *count += 1;
    }
}

/// Proposes the k at the gap between near copies and strangers; `None` without a gap.
///
/// The gap is the smallest distance at which the counts, each averaged with its two neighbours, are
/// about lowest. An average before it must be four times as high, and one beyond it, or
/// `strangers`, twice as high. `strangers` is the number of fingerprints without another one within
/// the counted distances. By chance, almost no fingerprint may have another one up to the gap.
fn propose(counts: &[u64], strangers: u64, by_chance: &[f64]) -> Option<u32> {
    let smooth = |at: usize| {
        let around = counts.iter().skip(at.saturating_sub(1)).take(if at == 0 { 2 } else { 3 });
        let (sum, len) = around.fold((0, 0), |(sum, len), count| (sum + count, len + 1));
        sum as f64 / f64::from(len.max(1))
    };
    let smoothed: Vec<f64> = (0..counts.len()).map(smooth).collect();
    let last = by_chance.iter().rposition(|&chance| chance <= CHANCE_MAX)?;
    let even = EVEN_SHARE * (counts.iter().sum::<u64>() + strangers) as f64;
    let highest = |part: &[f64]| part.iter().copied().fold(0.0, f64::max);
    let is_gap = |&(at, &level): &(usize, &f64)| {
        let (before, beyond) = smoothed.split_at(at);
        let beyond = highest(beyond).max(strangers as f64);
        // A count of nearly zero is a gap, too, even if there are no strangers within 24 bits.
        let parts = 2.0 * level <= beyond || level <= even;
        at <= last && 4.0 * level <= highest(before) && parts
    };
    let mut gaps = smoothed.iter().enumerate().filter(is_gap);
    let lowest = gaps.clone().map(|(_, level)| *level).reduce(f64::min)?;
    let (gap, _) = gaps.find(|(_, level)| **level <= lowest + even)?;
    let near: u64 = counts.iter().take(gap + 1).sum();
    (near >= NEAR_MIN).then_some(gap as u32)
}

/// The distance from `wanted` to the nearest other of the distinct values, up to [`DISTANCE_MAX`].
#[derive(Clone, Copy)]
struct NearestOf<'a> {
    values: &'a [u64],
    wanted: u64,
}

impl Task for NearestOf<'_> {
    type Output = Option<u32>;

    #[inline(always)]
    fn run<V: Vector>(self, vector: V) -> Option<u32> {
        let NearestOf { values, wanted } = self;
        let mut nearest = DISTANCE_MAX + 1;
        let (lines, rest) = values.as_chunks();
        for line in lines {
            let mut near = vector.near_words(line, wanted, nearest - 1);
            while near != 0 {
                let distance = (line[near.trailing_zeros() as usize % 8] ^ wanted).count_ones();
                near &= near - 1;
                if distance > 0 && distance < nearest {
                    nearest = distance;
                }
            }
        }
        for value in rest {
            let distance = (value ^ wanted).count_ones();
            if distance > 0 && distance < nearest {
                nearest = distance;
            }
        }
        (nearest <= DISTANCE_MAX).then_some(nearest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::scramble::scramble;
    use crate::plan::Sampler;
    use crate::profile::by_chance::matches_by_agreement;
    use fpstore_base::Fingerprint;

    /// A hundred groups of three near copies, up to two bits from the first, and about two thousand
    /// unrelated values.
    fn copies_among_strangers() -> Vec<u64> {
        let strangers = (0..2000).map(scramble);
        let copies = (0..100).flat_map(|i| [scramble(i) ^ 1 << (i % 64), scramble(i) ^ 5 << 20]);
        let mut values: Vec<u64> = strangers.chain(copies).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    fn of(values: &[u64]) -> NearestDistances {
        let sample = Sampler::new(Sampler::CAPACITY);
        let sample = values.iter().fold(sample, |mut sampler, &value| {
            sampler.push(Fingerprint::new(value));
            sampler
        });
        let alike = matches_by_agreement(values.len() as u64, &[0.5; 64]);
        NearestDistances::of_values(values, &sample.finish().unwrap(), &alike)
    }

    #[test]
    fn distances_are_those_of_a_scan() {
        let values = copies_among_strangers();
        let mut expected = vec![0; DISTANCE_MAX as usize + 1];
        for value in &values {
            let others = values.iter().filter(|other| *other != value);
            let nearest = others.map(|other| (other ^ value).count_ones()).min().unwrap();
            count(&mut expected, nearest);
        }
        let distances = of(&values);
        assert_eq!(distances.counts, expected);
        assert_eq!(distances.fingerprint_count, values.len() as u64);
    }

    #[test]
    fn a_gap_is_proposed_where_there_is_one() {
        assert_eq!(of(&copies_among_strangers()).proposed_k, Some(4));
        let strangers: Vec<u64> = (0..2000).map(scramble).collect();
        let distances = of(&strangers);
        assert_eq!(distances.proposed_k, None, "{distances:?}");
        let fading = [0, 90, 60, 30, 10, 4, 2, 3, 9, 20, 50];
        let certain = [0.0; 11];
        assert_eq!(propose(&fading, 0, &certain), Some(6));
        // Random pairs are too frequent at the gap, so no k is proposed.
        let chance = [0.0, 0.0, 0.0, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7];
        assert_eq!(propose(&fading, 0, &chance), None);
        // Unrelated values alone, and near copies without a gap.
        assert_eq!(propose(&[0, 0, 0, 1, 2, 5, 20, 80], 0, &certain), None);
        assert_eq!(propose(&[0, 9, 9, 9, 9, 9, 9, 9], 0, &certain), None);
        assert_eq!(propose(&[0, 90, 20, 0, 0, 0], 1000, &certain), Some(4));
    }
}
