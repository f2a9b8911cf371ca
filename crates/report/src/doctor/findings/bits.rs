//! Findings about bits: single bits that hardly vary, and pairs of bits that depend on each other.

use super::{Finding, FindingCode, Severity};
use crate::doctor::words::{bits, counted_distinct, listed};
use fpstore::profile::{BitPair, Statistics};
use fpstore_plot::numbers::{grouped, percent};

/// The smallest number of fingerprints for which a constant bit is reported: of random sets of this
/// size, only 1 in 10^7 has one.
const DEAD_COUNT_MIN: u64 = 32;
/// A bit also counts as constant if at most one in this number of fingerprints has the other value.
const NEARLY_DEAD: u64 = 1000;
/// A bit is biased if its share of ones differs from one half by more than this: with a share below
/// 0.3 or above 0.7, a bit of a table is worth 0.8 random bits or less.
const BIAS: f64 = 0.2;
/// A bit is biased only if its share of ones differs from one half by this many standard
/// deviations.
const BIAS_DEVIATIONS: f64 = 6.0;
/// The least correlation of two bits that is reported.
const CORRELATION: f64 = 0.5;
/// The least share of fingerprints with an even number of ones, or with an odd one, that is
/// reported.
const PARITY_SHARE: f64 = 0.99;
const PARITY_COUNT_MIN: u64 = 64;
/// The largest number of bit pairs that a sentence names.
const PAIRS_NAMED: usize = 3;
/// The smallest number of fingerprints for which [`MEDIAN_SHARE`] is meaningful.
const MEDIAN_COUNT_MIN: u64 = 32;
/// The least share of fingerprints with 31 to 33 ones that indicates hashes of pictures; among
/// random fingerprints it is 0.29.
const MEDIAN_SHARE: f64 = 0.9;
/// For hashes of pictures, a store tuned for a smaller k than this gets a warning: similar pictures
/// differ in up to 8 or 10 bits.
const MEDIAN_K_MIN: u32 = 8;

/// A bit that has the same value in all or nearly all fingerprints.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stuck {
    pub(super) bit: u32,
    /// Whether the bit is 1 in these fingerprints, not 0.
    pub(super) one: bool,
    /// Whether the bit has this value in all fingerprints, without exception.
    pub(super) always: bool,
}

/// The bits that have the same value in all or nearly all fingerprints, in descending order.
pub(super) fn stuck_bits(statistics: &Statistics) -> Vec<Stuck> {
    let n = counted_distinct(statistics);
    let stuck = statistics.bits.iter().filter_map(|bit| {
        let rare = bit.ones.min(n - bit.ones);
        let always = rare == 0 && n >= DEAD_COUNT_MIN;
        let nearly = n >= NEARLY_DEAD && rare <= n / NEARLY_DEAD;
        (always || nearly).then_some(Stuck { bit: bit.bit, one: 2 * bit.ones > n, always })
    });
    stuck.collect()
}

/// Findings about bits. `explained` contains the findings about the format, which already explain
/// some bits. With `are_of_pictures`, a constant bit 63 is normal and not reported.
pub(super) fn findings(
    statistics: &Statistics,
    explained: &[Finding],
    are_of_pictures: bool,
) -> Vec<Finding> {
    let explains = |code: FindingCode| explained.iter().any(|finding| finding.code == code);
    let mut findings = Vec::new();
    if !explains(FindingCode::ZeroExtended) {
        findings.extend(dead(statistics, are_of_pictures));
    }
    let copied = copied(statistics);
    if !explains(FindingCode::SignExtended) {
        findings.extend(copied_finding(&copied));
        findings.extend(correlated(statistics, &copied));
    }
    findings.extend(biased(statistics));
    findings.extend(parity(statistics));
    findings
}

fn dead(statistics: &Statistics, are_of_pictures: bool) -> Option<Finding> {
    let mut stuck = stuck_bits(statistics);
    stuck.retain(|stuck| !are_of_pictures || stuck.bit != 63);
    if stuck.is_empty() {
        return None;
    }
    let part = |one: bool| -> Option<String> {
        let of: Vec<u32> = stuck.iter().filter(|s| s.one == one).map(|s| s.bit).collect();
        let verb = if of.len() == 1 { "is" } else { "are" };
        (!of.is_empty()).then(|| format!("{} {verb} {}", bits(&of), u32::from(one)))
    };
    let parts: Vec<String> = [part(false), part(true)].into_iter().flatten().collect();
    let always = stuck.iter().all(|stuck| stuck.always);
    let count = stuck.len() as u32;
    let are = if count == 1 { "is" } else { "are" };
    Some(Finding {
        code: FindingCode::DeadBits,
        severity: match count {
            1..=3 => Severity::Note,
            4..=15 => Severity::Warning,
            _ => Severity::Serious,
        },
        sentence: format!(
            "{count} of 64 bits {are} constant, with one value in {}: {}",
            if always { "every fingerprint" } else { "all but one in a thousand fingerprints" },
            listed(&parts),
        ),
        remedy: format!(
            "look for the cause where the fingerprints are made (a short hash, a mask, a truncated \
             number): only {} bits distinguish documents; --scheme auto makes tables from these \
             bits",
            64 - count
        ),
    })
}

/// For each bit that repeats or negates a higher bit: the pair of the two. If there are several
/// such higher bits, the highest.
fn copied(statistics: &Statistics) -> Vec<BitPair> {
    let mut copied: Vec<BitPair> = Vec::new();
    for pair in statistics.correlated.iter().filter(|pair| pair.correlation.abs() > 0.9999) {
        match copied.iter_mut().find(|known| known.low == pair.low) {
            Some(known) if known.high < pair.high => *known = *pair,
            Some(_) => {}
            None => copied.push(*pair),
        }
    }
    copied.sort_by_key(|pair| std::cmp::Reverse(pair.low));
    copied
}

fn copied_finding(copied: &[BitPair]) -> Option<Finding> {
    let count = copied.len();
    if count == 0 {
        return None;
    }
    let half = count == 32 && copied.iter().all(|p| p.high == p.low + 32 && p.correlation > 0.0);
    let what = if half {
        "bits 31-0 repeat bits 63-32".into()
    } else {
        let shown = copied.iter().take(PAIRS_NAMED).map(|pair| {
            let verb = if pair.correlation > 0.0 { "repeats" } else { "negates" };
            format!("bit {} always {verb} bit {}", pair.low, pair.high)
        });
        let mut shown: Vec<String> = shown.collect();
        if count > PAIRS_NAMED {
            shown.push(format!("{} more", count - PAIRS_NAMED));
        }
        listed(&shown)
    };
    Some(Finding {
        code: FindingCode::CopiedBits,
        severity: if count > 3 { Severity::Serious } else { Severity::Warning },
        sentence: format!("{what}, so {} of 64 bits are redundant", count),
        remedy:
            "look for the cause where the fingerprints are made: each of the 64 bits needs its \
                 own hash bits"
                .into(),
    })
}

fn correlated(statistics: &Statistics, copied: &[BitPair]) -> Option<Finding> {
    let is_copy = |bit: u32| copied.iter().any(|pair| pair.low == bit);
    let strong: Vec<&BitPair> = statistics
        .correlated
        .iter()
        .filter(|p| p.correlation.abs() >= CORRELATION && !is_copy(p.high) && !is_copy(p.low))
        .collect();
    if strong.is_empty() {
        return None;
    }
    let shown = strong
        .iter()
        .take(PAIRS_NAMED)
        .map(|pair| format!("{} and {} ({:+.2})", pair.high, pair.low, pair.correlation));
    let shown: Vec<String> = shown.collect();
    let count = strong.len();
    let what = match count {
        1 => "two bits vary together,".into(),
        _ => format!("{count} pairs of bits vary together, such as"),
    };
    Some(Finding {
        code: FindingCode::CorrelatedBits,
        severity: if count >= 64 { Severity::Warning } else { Severity::Note },
        sentence: format!(
            "{what} {}: tables with both bits in their masks are more crowded",
            shown.join(", ")
        ),
        remedy: "build with --scheme auto, which puts such bits into different tables if that is \
             faster; if you make the fingerprints, use a separate hash for each bit"
            .into(),
    })
}

fn biased(statistics: &Statistics) -> Option<Finding> {
    let n = counted_distinct(statistics) as f64;
    let stuck = stuck_bits(statistics);
    let is_biased = |share: f64| {
        let off = (share - 0.5).abs();
        off > BIAS && off * 2.0 * n.sqrt() > BIAS_DEVIATIONS
    };
    let biased: Vec<_> = statistics
        .bits
        .iter()
        .filter(|bit| is_biased(bit.share) && !stuck.iter().any(|stuck| stuck.bit == bit.bit))
        .collect();
    let worst = biased.iter().max_by(|a, b| {
        let off = |share: f64| (share - 0.5).abs();
        off(a.share).total_cmp(&off(b.share))
    })?;
    let named: Vec<u32> = biased.iter().map(|bit| bit.bit).collect();
    let worth = statistics.effective_bits.unwrap_or(64.0);
    Some(Finding {
        code: FindingCode::BiasedBits,
        severity: if worth < 56.0 { Severity::Warning } else { Severity::Note },
        sentence: format!(
            "{} of 64 bits {} uneven ({}), most of all bit {} with {} ones: all 64 are worth \
             {worth:.1} random bits",
            named.len(),
            if named.len() == 1 { "is" } else { "are" },
            bits(&named),
            worst.bit,
            percent(worst.share),
        ),
        remedy:
            "build with --scheme auto, which accounts for it; if you make the fingerprints, look \
             for features shared by nearly all documents"
                .into(),
    })
}

fn parity(statistics: &Statistics) -> Option<Finding> {
    let n = counted_distinct(statistics);
    let odd: u64 = statistics.popcounts.iter().skip(1).step_by(2).sum();
    let most = odd.max(n - odd);
    if n < PARITY_COUNT_MIN || (most as f64) < PARITY_SHARE * n as f64 {
        return None;
    }
    let parity = if odd > n / 2 { "odd" } else { "even" };
    let all = match n - most {
        0 => "every fingerprint has".into(),
        few => format!("all but {} fingerprints have", grouped(few)),
    };
    Some(Finding {
        code: FindingCode::EvenDistances,
        severity: Severity::Note,
        sentence: format!("{all} an {parity} number of ones, so distances between them are even"),
        remedy: "query with an even k: an odd k finds hardly more than the even k below it".into(),
    })
}

/// The finding that the values are hashes of pictures, from their number of ones. The pHash of a
/// picture has a one for each of 64 frequencies that is above their median, so it has 32 ones
/// except for ties. Bit 63, the first frequency, is the brightness: nearly always above the median.
pub(super) fn median_hash(statistics: &Statistics) -> Option<Finding> {
    let n = counted_distinct(statistics);
    let balanced: u64 = statistics.popcounts.get(31..34)?.iter().sum();
    let share = balanced as f64 / n.max(1) as f64;
    (n >= MEDIAN_COUNT_MIN && share >= MEDIAN_SHARE).then(|| {
        let tuned = statistics.tuned_k;
        Finding {
            code: FindingCode::MedianHash,
            severity: if tuned < MEDIAN_K_MIN { Severity::Warning } else { Severity::Note },
            sentence: format!(
                "{} of the fingerprints have 31 to 33 ones, like a pHash of pictures (by DCT, such \
                 as imagehash.phash): near pictures differ in up to 8 or 10 bits, but the tables \
                 are tuned for -k {tuned}",
                percent(share)
            ),
            remedy: "query with -k 8 to -k 10, and build with -k 10 for suitable tables; pairs \
                     --html shows pairs of each distance to judge"
                .into(),
        }
    })
}
