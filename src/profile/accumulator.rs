//! Computes [`Statistics`], except for tables, from distinct fingerprints in one pass.

use std::cmp::Reverse;

use crate::plan::profile::bits::{BitCounts, agreement};
use crate::plan::profile::pairs::PairCounts;
use crate::plan::profile::{Sampler, SizeCounts};
use crate::profile::by_chance::matches_by_agreement;
use crate::profile::statistics::{
    BitPair, BitStatistics, Counted, HeavyFingerprint, Sampling, Statistics,
};
use fpstore_base::Fingerprint;

/// Maximum number of fingerprints from which the correlations of bits are computed.
const PAIR_SAMPLE_MAX: u64 = 1 << 20;
/// Minimum absolute correlation of a reported pair of bits.
const CORRELATION_MIN: f64 = 0.3;
/// Minimum correlation of a reported pair of bits, in standard deviations: by chance, one of 10^11
/// pairs exceeds 7.
const CORRELATION_DEVIATIONS: f64 = 7.0;
/// Both bits of a reported pair have at least this many zeros and this many ones.
const SCARCE: u64 = 16;
const HEAVIEST_MAX: usize = 10;

/// Counts distinct fingerprints with their records, in any order.
#[derive(Debug)]
pub(super) struct Accumulator {
    bits: BitCounts,
    pairs: PairCounts,
    /// Pairs of bits are counted in one of every `pair_stride` blocks of 64 fingerprints.
    pair_stride: u64,
    blocks: u64,
    /// For each bit, the number of records with a one, except the first of each fingerprint.
    more_ones: [u64; 64],
    record_count: u64,
    duplicates: SizeCounts,
    /// The fingerprints with the most records: ascending by record count, then descending by
    /// fingerprint. A fingerprint with more records replaces the first.
    heaviest: Vec<(u64, Reverse<u64>)>,
    popcounts: [u64; 65],
    double_count: u64,
    decimal_looking_count: u64,
    range: Option<(u64, u64)>,
    zero_count: u64,
    all_ones_count: u64,
    sampler: Sampler,
}

impl Accumulator {
    /// `expected_count` is the approximate number of distinct fingerprints.
    pub(super) fn new(expected_count: u64) -> Self {
        Accumulator {
            bits: BitCounts::new(),
            pairs: PairCounts::new(),
            pair_stride: expected_count.div_ceil(PAIR_SAMPLE_MAX).max(1),
            blocks: 0,
            more_ones: [0; 64],
            record_count: 0,
            duplicates: SizeCounts::new(),
            heaviest: Vec::with_capacity(HEAVIEST_MAX + 1),
            popcounts: [0; 65],
            double_count: 0,
            decimal_looking_count: 0,
            range: None,
            zero_count: 0,
            all_ones_count: 0,
            sampler: Sampler::new(Sampler::CAPACITY),
        }
    }

    /// Counts a fingerprint that has `records` records, at least 1.
    pub(super) fn push(&mut self, value: u64, records: u64) {
        let Accumulator { bits, pairs, pair_stride, blocks, .. } = self;
        bits.push(value, |rows| {
            if blocks.is_multiple_of(*pair_stride) {
                pairs.add(rows, 64);
            }
            *blocks += 1;
        });
        if records > 1 {
            for (bit, ones) in self.more_ones.iter_mut().enumerate() {
                *ones += (value >> bit & 1) * (records - 1);
            }
            self.weigh(value, records);
        }
        self.sampler.push(Fingerprint::new(value));
        self.record_count += records;
        self.duplicates.push(records);
        self.popcounts[value.count_ones() as usize] += 1;
        self.double_count += u64::from(is_double(value));
        self.decimal_looking_count += u64::from(looks_decimal(value));
        let (least, greatest) = self.range.unwrap_or((value, value));
        self.range = Some((least.min(value), greatest.max(value)));
        match value {
            0 => self.zero_count = records,
            u64::MAX => self.all_ones_count = records,
            _ => {}
        }
    }

    fn weigh(&mut self, value: u64, records: u64) {
        let entry = (records, Reverse(value));
        if self.heaviest.len() == HEAVIEST_MAX && self.heaviest.first().is_some_and(|l| entry < *l)
        {
            return;
        }
        let at = self.heaviest.partition_point(|kept| *kept < entry);
        self.heaviest.insert(at, entry);
        if self.heaviest.len() > HEAVIEST_MAX {
            self.heaviest.remove(0);
        }
    }

    /// The statistics without tables. One distinct fingerprint in 2^`halvings` was pushed.
    pub(super) fn finish(self, counted: Counted, tuned_k: u32, halvings: u32) -> Statistics {
        let mut pairs = self.pairs;
        // Pairs are counted in the last, partial block only if they are counted in all blocks.
        let all = self.pair_stride == 1;
        let (ones, n) = self.bits.finish(|rows, len| {
            if all {
                pairs.add(rows, len);
            }
        });
        let one_in = 1_u64 << halvings.min(63);
        let fingerprint_count = n.saturating_mul(one_in);
        let agreements: Vec<f64> = ones.iter().map(|&ones| agreement(ones, n)).collect();
        let alike = matches_by_agreement(fingerprint_count, &agreements);
        let effective_bits = (n > 1).then(|| {
            let sum: f64 = agreements.iter().map(|agree| -agree.max(1e-18).log2()).sum();
            sum.clamp(0.0, 64.0)
        });
        let bit = |bit: u32| {
            let ones_of = ones[bit as usize];
            let of_records = ones_of + self.more_ones[bit as usize];
            BitStatistics {
                bit,
                ones: ones_of,
                share: share(ones_of, n),
                record_share: share(of_records, self.record_count),
            }
        };
        let heaviest = self.heaviest.iter().rev().map(|&(count, Reverse(value))| {
            HeavyFingerprint { fingerprint: Fingerprint::new(value), count, exact: true }
        });
        Statistics {
            counted,
            fingerprint_count,
            record_count: self.record_count,
            sampling: (halvings > 0).then_some(Sampling { fingerprint_count: n, one_in }),
            tuned_k,
            bits: (0..64).rev().map(bit).collect(),
            effective_bits,
            correlated: correlated(&pairs),
            heaviest: heaviest.collect(),
            zero_count: self.zero_count,
            all_ones_count: self.all_ones_count,
            deleted_in_tables: 0,
            duplicates: self.duplicates.classes(),
            popcounts: self.popcounts.to_vec(),
            double_count: self.double_count,
            decimal_looking_count: self.decimal_looking_count,
            range: self.range.map(|(low, high)| (low.into(), high.into())),
            by_chance: Statistics::expected_by_chance(fingerprint_count, &alike),
            nearest: None,
            tables: Vec::new(),
            scheme_sample: self.sampler.finish().ok(),
        }
    }
}

pub(super) fn share(ones: u64, of: u64) -> f64 {
    if of == 0 { 0.5 } else { ones as f64 / of as f64 }
}

/// Whether an `f64`, which has 53 significant bits, represents the number exactly.
fn is_double(value: u64) -> bool {
    value.leading_zeros() + value.trailing_zeros() >= 11
}

/// Whether no hex digit is above 9: bit 3 of a digit is not set together with bit 2 or 1.
fn looks_decimal(value: u64) -> bool {
    value >> 3 & (value >> 2 | value >> 1) & 0x1111_1111_1111_1111 == 0
}

fn correlated(pairs: &PairCounts) -> Vec<BitPair> {
    let least = CORRELATION_DEVIATIONS / (pairs.value_count().max(1) as f64).sqrt();
    let mut found: Vec<BitPair> = (0..64)
        .rev()
        .flat_map(|high| (0..high).rev().map(move |low| (high, low)))
        .filter_map(|(high, low)| {
            let correlation = pairs.correlation(high, low, SCARCE)?;
            let strong = correlation.abs() >= CORRELATION_MIN.max(least);
            strong.then_some(BitPair { high, low, correlation })
        })
        .collect();
    // The sort is stable, so ties keep their order: by descending bit.
    found.sort_by(|a, b| b.correlation.abs().total_cmp(&a.correlation.abs()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_and_decimal_digits_are_recognised() {
        for value in [0, 1, 0x3ff, 1 << 53, (1 << 53) - 1, u64::MAX << 11, 1 << 63] {
            assert!(is_double(value), "{value:x}");
        }
        for value in [(1 << 53) + 1, u64::MAX, u64::MAX << 10, 1 << 63 | 1] {
            assert!(!is_double(value), "{value:x}");
        }
        for value in [0_u64, 0x0123_4567_8990_1234, 0x9999_9999_9999_9999] {
            assert!(looks_decimal(value), "{value:x}");
        }
        for digit in 10..16_u64 {
            assert!((0..16).all(|at| !looks_decimal(digit << (4 * at))), "{digit:x}");
        }
    }

    #[test]
    fn records_weigh_bits_and_fingerprints() {
        let mut accumulator = Accumulator::new(4);
        for (value, records) in [(0, 1), (1, 5), (3, 1), (u64::MAX, 3)] {
            accumulator.push(value, records);
        }
        let statistics = accumulator.finish(Counted::Ids, 3, 0);
        assert_eq!((statistics.fingerprint_count, statistics.record_count), (4, 10));
        let (first, last) = (statistics.bits[0], statistics.bits[63]);
        assert_eq!((first.bit, first.ones, first.share, first.record_share), (63, 1, 0.25, 0.3));
        assert_eq!((last.bit, last.ones, last.share, last.record_share), (0, 3, 0.75, 0.9));
        let heaviest: Vec<(u64, u64)> =
            statistics.heaviest.iter().map(|h| (h.fingerprint.value(), h.count)).collect();
        assert_eq!(heaviest, [(1, 5), (u64::MAX, 3)]);
        assert_eq!((statistics.zero_count, statistics.all_ones_count), (1, 3));
        assert_eq!(statistics.range, Some((0.into(), u64::MAX.into())));
    }

    #[test]
    fn the_heaviest_are_kept_and_ties_go_to_the_least() {
        let mut accumulator = Accumulator::new(100);
        (0..100).for_each(|value| accumulator.push(value, 2 + value / 99));
        let statistics = accumulator.finish(Counted::Records, 3, 0);
        let kept: Vec<u64> = statistics.heaviest.iter().map(|h| h.fingerprint.value()).collect();
        assert_eq!(kept, [99, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
