//! Findings about values that were read in the wrong format, or are not 64-bit fingerprints.

use super::{Finding, FindingCode, Severity};
use crate::doctor::findings::bits::{Stuck, stuck_bits};
use crate::doctor::words::{bits, counted_distinct};
use fpstore::profile::Statistics;
use fpstore_plot::numbers::grouped;

/// The smallest number of values from which the wrong format can be recognised.
const COUNT_MIN: u64 = 64;
/// Maximum mean gap between values that are reported as consecutive numbers.
const COUNTER_GAP_MAX: u64 = 64;

/// The first finding that explains the values, if any.
pub(super) fn findings(statistics: &Statistics) -> Vec<Finding> {
    if counted_distinct(statistics) < COUNT_MIN {
        return Vec::new();
    }
    let stuck = stuck_bits(statistics);
    counting(statistics)
        .or_else(|| decimal(statistics))
        .or_else(|| double(statistics, &stuck))
        .or_else(|| zero_extended(statistics, &stuck))
        .or_else(|| sign_extended(statistics))
        .into_iter()
        .collect()
}

fn counting(statistics: &Statistics) -> Option<Finding> {
    let (least, greatest) = statistics.range?;
    let room = greatest.value() - least.value();
    let n = statistics.fingerprint_count;
    (room <= n.saturating_mul(COUNTER_GAP_MAX)).then(|| Finding {
        code: FindingCode::CountingNumbers,
        severity: Severity::Serious,
        sentence: format!(
            "{} fingerprints lie between {least} and {greatest}, as close together as consecutive \
             numbers",
            grouped(n)
        ),
        remedy: "check that the first column of the input is the fingerprint and not the id".into(),
    })
}

fn decimal(statistics: &Statistics) -> Option<Finding> {
    (statistics.decimal_looking_count == counted_distinct(statistics)).then(|| Finding {
        code: FindingCode::DecimalReadAsHex,
        severity: Severity::Serious,
        sentence: "no fingerprint has a hex digit above 9: decimal numbers were read as hex".into(),
        remedy: "build again with --radix dec, or --radix sdec if some are negative".into(),
    })
}

/// Detects values rounded to double precision. A double keeps 53 bits, so values without a leading
/// zero bit lose bits 10 to 0, values with one leading zero bit lose bits 9 to 0, and so on. So bit
/// 10 of random values is still 1 in one of four, and must vary.
fn double(statistics: &Statistics, stuck: &[Stuck]) -> Option<Finding> {
    let lives = |bit: u32| !stuck.iter().any(|stuck| stuck.bit == bit);
    let all = statistics.double_count == counted_distinct(statistics);
    (all && lives(63) && lives(11) && lives(10)).then(|| Finding {
        code: FindingCode::RoundedByDouble,
        severity: Severity::Serious,
        sentence: "every fingerprint is rounded to the 53 bits of a floating-point number, so the \
                   low 11 bits are lost"
            .into(),
        remedy:
            "carry fingerprints as hex text or 64-bit integers: JSON numbers in JavaScript and \
                 columns of doubles round them; then build again from the source"
                .into(),
    })
}

fn zero_extended(statistics: &Statistics, stuck: &[Stuck]) -> Option<Finding> {
    let leading =
        (0..64).rev().zip(stuck).take_while(|&(bit, stuck)| stuck.bit == bit && !stuck.one).count()
            as u32;
    let width = 64 - leading;
    if leading == 0 || leading == 64 || !width.is_multiple_of(8) {
        return None;
    }
    let exact = stuck[..leading as usize].iter().all(|stuck| stuck.always);
    let all_but_few = if exact { "every fingerprint" } else { "nearly every fingerprint" };
    let dead: Vec<u32> = (width..64).rev().collect();
    Some(Finding {
        code: FindingCode::ZeroExtended,
        severity: Severity::Serious,
        sentence: format!(
            "{} are 0 in {all_but_few}: these are {width}-bit values with leading zeros",
            bits(&dead)
        ),
        remedy: format!(
            "make 64-bit fingerprints: {width} bits are too few to distinguish {} documents{}; \
             until then build with --scheme auto, which makes tables from the varying bits",
            grouped(statistics.fingerprint_count),
            if width == 32 { ", and a hash truncated to 32 bits is the usual cause" } else { "" },
        ),
    })
}

fn sign_extended(statistics: &Statistics) -> Option<Finding> {
    let repeats = |high: u32, low: u32| {
        statistics
            .correlated
            .iter()
            .any(|pair| (pair.high, pair.low) == (high, low) && pair.correlation > 0.9999)
    };
    let width = [32, 16, 48].into_iter().find(|&w| (w..64).all(|high| repeats(high, w - 1)))?;
    Some(Finding {
        code: FindingCode::SignExtended,
        severity: Severity::Serious,
        sentence: format!(
            "bits 63-{width} always equal bit {}: these are signed {width}-bit values",
            width - 1
        ),
        remedy: format!(
            "make 64-bit fingerprints; a signed {width}-bit type truncates them, so widen the \
             column or variable that holds them"
        ),
    })
}
