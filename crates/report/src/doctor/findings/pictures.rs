//! A finding about hashes of pictures that compare with a median.

use super::{Finding, FindingCode, Severity};
use crate::doctor::words::StatisticsWords as _;
use fpstore::profile::Statistics;
use fpstore_plot::numbers::percent;

/// Fewer fingerprints show nothing.
const COUNT_MIN: u64 = 32;
/// The least share of fingerprints with 31 to 33 ones: of random ones 0.29 have so many.
const SHARE: f64 = 0.9;
/// Tables that are meant for less do not suit such hashes.
const K_MIN: u32 = 8;

/// The pHash of a picture has a one for each of 64 frequencies that is above their median, so it has 32
/// ones, but for ties. The first frequency, bit 63, is the brightness, and nearly always above.
pub(super) fn finding(statistics: &Statistics) -> Option<Finding> {
    let n = statistics.counted_distinct();
    let balanced: u64 = statistics.popcounts.get(31..34)?.iter().sum();
    let share = balanced as f64 / n.max(1) as f64;
    (n >= COUNT_MIN && share >= SHARE).then(|| {
        let tuned = statistics.tuned_k;
        Finding {
            code: FindingCode::MedianHash,
            severity: if tuned < K_MIN { Severity::Warning } else { Severity::Note },
            sentence: format!(
                "{} of the fingerprints have 31 to 33 ones, as the pHash of pictures has (by DCT, such \
                 as imagehash.phash): near pictures differ in up to 8 or 10 bits, the tables are meant \
                 for -k {tuned}",
                percent(share)
            ),
            remedy: "ask with -k 8 to -k 10, and build with -k 10 for tables that suit; pairs --html \
                     shows pairs of each distance to judge"
                .into(),
        }
    })
}
