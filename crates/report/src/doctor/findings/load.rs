//! Findings about the cost of queries: fingerprints with very many records, tables with large
//! prefix groups, matches by chance.

use super::{Finding, FindingCode, Severity};
use crate::doctor::words::name_of;
use fpstore::profile::{Counted, HeavyFingerprint, Statistics, TableStatistics};
use fpstore_base::Fingerprint;
use fpstore_plot::numbers::{grouped, percent, rounded};

/// The least number of records for which a fingerprint is reported as heavy.
const HEAVY_COUNT_MIN: u64 = 100;
/// The least share of all records that a heavy fingerprint has: for a note, for a warning, and for
/// a serious finding.
const HEAVY_SHARES: [f64; 3] = [0.01, 0.05, 0.25];
/// The mean number of candidates for a probe from which a table gets a warning: checking so many
/// takes longer than the probe itself.
const CROWDED: f64 = 100.0;
/// The mean number of candidates for a probe from which the finding is serious.
const OVERCROWDED: f64 = 10_000.0;
/// A table is reported only if a probe has this many times more candidates than among random
/// values.
const CROWDED_RATIO: f64 = 10.0;
/// With fewer fingerprints, the estimate for queries that are distributed like the fingerprints is
/// not used.
const ALIKE_COUNT_MIN: u64 = 64;
/// Counts in a sample below this number are not meaningful.
const SAMPLED_MIN: f64 = 50.0;
/// The largest number of matches by chance for which there is no finding.
const CHANCE_MAX: f64 = 0.1;

pub(super) fn findings(statistics: &Statistics) -> Vec<Finding> {
    let heavy = heavy(statistics);
    let named = heavy.as_ref().map(|(fingerprint, _)| *fingerprint);
    let mut findings = constant(statistics, named);
    findings.extend(heavy.map(|(_, finding)| finding));
    findings.extend(crowded(statistics));
    findings.extend(by_chance(statistics));
    findings
}

fn is_constant(fingerprint: Fingerprint) -> bool {
    matches!(fingerprint.value(), 0 | u64::MAX)
}

fn heavy(statistics: &Statistics) -> Option<(Fingerprint, Finding)> {
    let &HeavyFingerprint { fingerprint, count, exact, .. } = statistics.heaviest.first()?;
    let share = count as f64 / statistics.record_count.max(1) as f64;
    let [note, warning, serious] = HEAVY_SHARES;
    let severity = match share {
        _ if count < HEAVY_COUNT_MIN || share < note => return None,
        _ if share >= serious => Severity::Serious,
        _ if share >= warning => Severity::Warning,
        _ => Severity::Note,
    };
    let noun = statistics.counted.noun(2);
    let empty = if is_constant(fingerprint) {
        " the value that many tools give an empty document,"
    } else {
        ""
    };
    let remedy = if is_constant(fingerprint) {
        format!(
            "leave empty documents out of the input: every query within k of {fingerprint} \
             returns all of its {noun}"
        )
    } else {
        format!(
            "inspect these documents (an error page, an empty template, a notice?) and leave \
             them out: every query within k of {fingerprint} returns all of its {noun}"
        )
    };
    let finding = Finding {
        code: FindingCode::HeavyFingerprint,
        severity,
        sentence: format!(
            "one fingerprint, {fingerprint},{empty} holds {}{} of {} {noun} ({})",
            if exact { "" } else { "about " },
            grouped(count),
            grouped(statistics.record_count),
            percent(share),
        ),
        remedy,
    };
    Some((fingerprint, finding))
}

fn constant(statistics: &Statistics, named: Option<Fingerprint>) -> Vec<Finding> {
    let both = [(0, statistics.zero_count), (u64::MAX, statistics.all_ones_count)];
    let left = both
        .into_iter()
        .map(|(value, count)| (Fingerprint::new(value), count))
        .filter(|&(fingerprint, count)| count > 0 && Some(fingerprint) != named);
    let finding = |(fingerprint, count): (Fingerprint, u64)| Finding {
        code: FindingCode::ConstantFingerprint,
        severity: Severity::Note,
        sentence: match statistics.counted {
            Counted::Fingerprints => format!("the fingerprint {fingerprint} is stored"),
            _ => format!(
                "the fingerprint {fingerprint} has {} {}",
                grouped(count),
                statistics.counted.noun(count)
            ),
        },
        remedy: "this is what many tools give an empty document; if so, leave those out".into(),
    };
    left.map(finding).collect()
}

fn crowded(statistics: &Statistics) -> Option<Finding> {
    let is_notable = |table: &&TableStatistics| {
        let mean = table.candidates_per_probe;
        let seen = mean / table.scale * table.value_count as f64 >= SAMPLED_MIN;
        let largest = table.largest_group_estimate().unwrap_or(0.0);
        let base = CROWDED_RATIO * table.uniform_candidates_per_probe;
        seen && (mean >= CROWDED.max(base) || largest >= OVERCROWDED.max(10.0 * base))
    };
    let crowded: Vec<&TableStatistics> = statistics.tables.iter().filter(is_notable).collect();
    let worst =
        crowded.iter().max_by(|a, b| a.candidates_per_probe.total_cmp(&b.candidates_per_probe))?;
    let mean = worst.candidates_per_probe;
    let largest = match (worst.largest_group_estimate(), worst.largest_groups.first()) {
        (Some(count), Some(group)) => format!(
            "; the largest group has {} of them, {}",
            rounded(count),
            percent(group.count as f64 / worst.value_count.max(1) as f64)
        ),
        _ => String::new(),
    };
    let (count, of) = (crowded.len(), statistics.tables.len());
    Some(Finding {
        code: FindingCode::CrowdedTable,
        severity: match mean {
            _ if mean >= OVERCROWDED => Severity::Serious,
            _ if mean >= CROWDED => Severity::Warning,
            _ => Severity::Note,
        },
        sentence: format!(
            "{count} of {of} {} crowded: in {} (mask {:016x}) a probe meets {} other \
             fingerprints on average, where random bits would give {}{largest}",
            if of == 1 { "table is" } else { "tables are" },
            name_of(statistics, worst),
            worst.mask,
            rounded(mean),
            rounded(worst.uniform_candidates_per_probe),
        ),
        remedy:
            "build with --scheme auto, which makes tables from the bits that vary; 'fpstore plan \
             --sample FILE' lists the possible schemes"
                .into(),
    })
}

fn by_chance(statistics: &Statistics) -> Option<Finding> {
    let k = statistics.tuned_k;
    let at = statistics.by_chance.get(k as usize)?;
    let n = grouped(statistics.fingerprint_count);
    // With few fingerprints, the estimate for queries that are distributed like them is unreliable:
    // only the exact number for random queries is used.
    let few = statistics.fingerprint_count < ALIKE_COUNT_MIN;
    let expected = if few { at.random } else { at.random.max(at.alike) };
    if expected < CHANCE_MAX {
        return None;
    }
    let sentence = if at.random >= CHANCE_MAX {
        format!(
            "at k = {k} and {n} fingerprints a random query finds {} by chance",
            rounded(at.random)
        )
    } else {
        format!(
            "at k = {k} a query finds {} of {n} fingerprints by chance, because the 64 bits are \
             worth only {:.1} random bits",
            rounded(at.alike),
            statistics.effective_bits.unwrap_or(64.0),
        )
    };
    let remedy = match statistics.distance_without_chance() {
        Some(safe) => format!(
            "query with k = {safe} or less, where fewer than one in a thousand random queries \
             find anything by chance; or compare the documents of each match"
        ),
        None => "compare the documents of each match".into(),
    };
    Some(Finding {
        code: FindingCode::ChanceMatches,
        severity: Severity::Warning,
        sentence,
        remedy,
    })
}
