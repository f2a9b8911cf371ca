//! Statistics as one JSON object.

use fpstore::doctor::{Counted, Finding, SizeClass, Statistics, TableStatistics};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Report {
    source: String,
    /// The unit of `records`: records of an input, ids or fingerprints of a store.
    counted: &'static str,
    fingerprints: u64,
    records: u64,
    sample: Option<Sample>,
    tuned_k: u32,
    effective_bits: Option<f64>,
    findings: Vec<FindingReport>,
    bits: Vec<Bit>,
    correlated: Vec<Pair>,
    zero_count: u64,
    all_ones_count: u64,
    deleted_in_tables: u64,
    heaviest: Vec<Heavy>,
    duplicates: Vec<Class>,
    popcounts: Vec<u64>,
    tables: Vec<Table>,
    chance: Vec<Chance>,
}

#[derive(Serialize)]
struct Sample {
    fingerprints: u64,
    one_in: u64,
}

#[derive(Serialize)]
struct FindingReport {
    code: &'static str,
    severity: &'static str,
    sentence: String,
    remedy: String,
}

#[derive(Serialize)]
struct Bit {
    bit: u32,
    ones: u64,
    share: f64,
    record_share: f64,
}

#[derive(Serialize)]
struct Pair {
    high: u32,
    low: u32,
    correlation: f64,
}

#[derive(Serialize)]
struct Heavy {
    fingerprint: String,
    count: u64,
    exact: bool,
}

/// A class of sizes from `low` to `high`: the number of things and the sum of their sizes.
#[derive(Serialize)]
struct Class {
    low: u64,
    high: u64,
    count: u64,
    total: u64,
}

#[derive(Serialize)]
struct Table {
    segment: Option<u64>,
    table: u16,
    mask: String,
    prefix_bits: u32,
    values: u64,
    scale: f64,
    candidates_per_probe: f64,
    uniform_candidates_per_probe: f64,
    largest_groups: Vec<Group>,
    groups: Vec<Class>,
    gaps: Vec<Gap>,
}

#[derive(Serialize)]
struct Group {
    prefix: String,
    count: u64,
}

#[derive(Serialize)]
struct Gap {
    bits: u32,
    count: u64,
    uniform: f64,
}

#[derive(Serialize)]
struct Chance {
    k: u32,
    random: f64,
    alike: f64,
}

pub(super) fn report(statistics: &Statistics, source: &str) -> Report {
    Report {
        source: source.into(),
        counted: match statistics.counted {
            Counted::Ids => "ids",
            Counted::Fingerprints => "fingerprints",
            _ => "records",
        },
        fingerprints: statistics.fingerprint_count,
        records: statistics.record_count,
        sample: statistics.sampling.map(|sampling| Sample {
            fingerprints: sampling.fingerprint_count,
            one_in: sampling.one_in,
        }),
        tuned_k: statistics.tuned_k,
        effective_bits: statistics.effective_bits,
        findings: statistics.findings().into_iter().map(finding).collect(),
        bits: bits(statistics),
        correlated: pairs(statistics),
        zero_count: statistics.zero_count,
        all_ones_count: statistics.all_ones_count,
        deleted_in_tables: statistics.deleted_in_tables,
        heaviest: heaviest(statistics),
        duplicates: classes(&statistics.duplicates),
        popcounts: statistics.popcounts.clone(),
        tables: statistics.tables.iter().map(table).collect(),
        chance: chance(statistics),
    }
}

fn finding(finding: Finding) -> FindingReport {
    FindingReport {
        code: finding.code.name(),
        severity: finding.severity.name(),
        sentence: finding.sentence,
        remedy: finding.remedy,
    }
}

fn bits(statistics: &Statistics) -> Vec<Bit> {
    let bit = |bit: &fpstore::doctor::BitStatistics| Bit {
        bit: bit.bit,
        ones: bit.ones,
        share: bit.share,
        record_share: bit.record_share,
    };
    statistics.bits.iter().map(bit).collect()
}

fn pairs(statistics: &Statistics) -> Vec<Pair> {
    let pair = |pair: &fpstore::doctor::BitPair| Pair {
        high: pair.high,
        low: pair.low,
        correlation: pair.correlation,
    };
    statistics.correlated.iter().map(pair).collect()
}

fn heaviest(statistics: &Statistics) -> Vec<Heavy> {
    let heavy = |heavy: &fpstore::doctor::HeavyFingerprint| Heavy {
        fingerprint: heavy.fingerprint.to_string(),
        count: heavy.count,
        exact: heavy.exact,
    };
    statistics.heaviest.iter().map(heavy).collect()
}

fn classes(classes: &[SizeClass]) -> Vec<Class> {
    let class = |class: &SizeClass| Class {
        low: class.low,
        high: class.high,
        count: class.count,
        total: class.total,
    };
    classes.iter().map(class).collect()
}

fn table(table: &TableStatistics) -> Table {
    let groups = table
        .largest_groups
        .iter()
        .map(|group| Group { prefix: group.prefix.to_string(), count: group.count });
    let gaps =
        table.gaps.iter().map(|gap| Gap { bits: gap.bits, count: gap.count, uniform: gap.uniform });
    Table {
        segment: table.segment,
        table: table.table.0,
        mask: format!("{:016x}", table.mask),
        prefix_bits: table.prefix_bits,
        values: table.value_count,
        scale: table.scale,
        candidates_per_probe: table.candidates_per_probe,
        uniform_candidates_per_probe: table.uniform_candidates_per_probe,
        largest_groups: groups.collect(),
        groups: classes(&table.groups),
        gaps: gaps.collect(),
    }
}

fn chance(statistics: &Statistics) -> Vec<Chance> {
    let chance = |expected: &fpstore::doctor::ExpectedMatches| Chance {
        k: expected.k,
        random: expected.random,
        alike: expected.alike,
    };
    statistics.by_chance.iter().map(chance).collect()
}
