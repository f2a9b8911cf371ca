//! The report of the doctor: statistics as text for people.

use crate::doctor::words::{
    all_clear, chance_sentence, chance_within, last_shown, name_of, proposal_sentence,
};
use std::fmt;

use fpstore::profile::{Counted, Statistics, TableStatistics};
use fpstore_plot::numbers::{grouped, percent, rounded};

/// The length of the longest bar of a histogram, in characters.
const BAR_MAX: f64 = 30.0;
/// The largest number of tables in the report.
const TABLES_MAX: usize = 32;
/// The greatest distance for which the report shows the matches by chance.
const CHANCE_K_MAX: usize = 12;

/// Prints statistics as text: about one screen, the findings first.
#[derive(Debug)]
pub struct Report<'a>(pub &'a Statistics);

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statistics = self.0;
        summary(statistics, f)?;
        findings(statistics, f)?;
        if statistics.fingerprint_count > 0 {
            bits(statistics, f)?;
            if statistics.counted != Counted::Fingerprints {
                duplicates(statistics, f)?;
                heaviest(statistics, f)?;
            }
            tables(statistics, f)?;
            nearest(statistics, f)?;
            by_chance(statistics, f)?;
        }
        Ok(())
    }
}

fn summary(statistics: &Statistics, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let n = statistics.fingerprint_count;
    let about = if statistics.sampling.is_some() { "about " } else { "" };
    writeln!(f, "fingerprints   {about}{}", grouped(n))?;
    if statistics.counted != Counted::Fingerprints {
        let noun = statistics.counted.noun(2);
        writeln!(f, "{noun:<15}{}", grouped(statistics.record_count))?;
    }
    if let Some(worth) = statistics.effective_bits {
        let vary = statistics.bits.iter().filter(|bit| bit.share > 0.0 && bit.share < 1.0).count();
        writeln!(f, "bits           {vary} of 64 vary, worth {worth:.1} random bits")?;
    }
    writeln!(f, "tuned for k    {}", statistics.tuned_k)?;
    match statistics.sampling {
        None => writeln!(f, "exact          all numbers"),
        Some(sampling) => writeln!(
            f,
            "sample         {} fingerprints, one in {}; counts of records are exact",
            grouped(sampling.fingerprint_count),
            grouped(sampling.one_in)
        ),
    }
}

fn findings(statistics: &Statistics, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let findings = super::findings(statistics);
    if findings.is_empty() {
        return writeln!(f, "\n{}", all_clear(statistics));
    }
    writeln!(f, "\nfindings")?;
    for finding in findings {
        writeln!(f, "  {finding} [{}]", finding.code)?;
        writeln!(f, "    what to do: {}", finding.remedy)?;
    }
    Ok(())
}

fn bits(statistics: &Statistics, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "\nbits: in how many of 100 fingerprints each is 1")?;
    for row in statistics.bits.chunks(16) {
        if let (Some(first), Some(last)) = (row.first(), row.last()) {
            write!(f, "  {:>2}-{:<2} ", first.bit, last.bit)?;
        }
        for bit in row {
            // Only constant bits are printed as 0 or 100; other shares that would be rounded to 0
            // or 100 are printed as <1 or >99.
            match bit.share * 100.0 {
                share if bit.share > 0.0 && share < 0.5 => write!(f, "  <1")?,
                share if bit.share < 1.0 && share >= 99.5 => write!(f, " >99")?,
                share => write!(f, "{share:>4.0}")?,
            }
        }
        writeln!(f)?;
    }
    let shown = statistics.correlated.iter().take(5);
    let pairs: Vec<String> = shown
        .map(|pair| format!("{} and {} ({:+.2})", pair.high, pair.low, pair.correlation))
        .collect();
    match statistics.correlated.len() {
        0 => writeln!(f, "  no two of them are strongly correlated"),
        count => writeln!(f, "  correlated pairs: {}, the strongest {}", count, pairs.join(", ")),
    }
}

fn duplicates(statistics: &Statistics, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let noun = statistics.counted.noun(2);
    let of_sample = if statistics.sampling.is_some() { ", in the sample" } else { "" };
    writeln!(f, "\n{noun} of a fingerprint{of_sample}")?;
    let most = statistics.duplicates.iter().map(|class| class.total).max().unwrap_or(0);
    writeln!(f, "  {:>15}  {:>15}  {noun:>15}", "each has", "fingerprints")?;
    for class in statistics.duplicates.iter().filter(|class| class.count > 0) {
        let bar = (class.total as f64 / most as f64 * BAR_MAX).ceil() as usize;
        let (count, total) = (grouped(class.count), grouped(class.total));
        writeln!(f, "  {:>15}  {count:>15}  {total:>15}  {}", class.name(), "#".repeat(bar))?;
    }
    Ok(())
}

fn heaviest(statistics: &Statistics, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let noun = statistics.counted.noun(2);
    writeln!(
        f,
        "\nconstant fingerprints: 0 has {}, all ones has {} {noun}",
        grouped(statistics.zero_count),
        grouped(statistics.all_ones_count)
    )?;
    if statistics.heaviest.is_empty() {
        return Ok(());
    }
    writeln!(f, "most {noun}")?;
    for heavy in statistics.heaviest.iter().take(5) {
        let share = percent(heavy.count as f64 / statistics.record_count.max(1) as f64);
        let about = if heavy.exact { "" } else { "about " };
        writeln!(f, "  {}  {about}{} ({share})", heavy.fingerprint, grouped(heavy.count))?;
    }
    Ok(())
}

fn tables(statistics: &Statistics, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let deleted = match statistics.deleted_in_tables {
        0 => "",
        1 => "; they count 1 deleted fingerprint until the store is compacted",
        count => &format!(
            "; they count {} deleted fingerprints until the store is compacted",
            grouped(count)
        ),
    };
    writeln!(f, "\ntables: candidates a probe meets, here and if all bits were random{deleted}")?;
    let name = |table: &TableStatistics| {
        name_of(statistics, table).replacen("table ", "", 1).replacen("of segment ", "of ", 1)
    };
    writeln!(f, "  table  mask              prefix        here      random  largest group")?;
    for table in statistics.tables.iter().take(TABLES_MAX) {
        let largest = match (table.largest_groups.first(), table.largest_group_estimate()) {
            (Some(group), Some(count)) => format!("{} at {}", rounded_count(count), group.prefix),
            _ => "-".into(),
        };
        writeln!(
            f,
            "  {:>5}  {:016x}  {:>6}  {:>10}  {:>10}  {largest}",
            name(table),
            table.mask,
            table.prefix_bits,
            rounded(table.candidates_per_probe),
            rounded(table.uniform_candidates_per_probe),
        )?;
    }
    match statistics.tables.len().saturating_sub(TABLES_MAX) {
        0 => Ok(()),
        more => writeln!(f, "  and {more} more"),
    }
}

/// Formats a count, rounded to a whole number.
fn rounded_count(count: f64) -> String {
    grouped(count.round() as u64)
}

fn nearest(statistics: &Statistics, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Some(nearest) = &statistics.nearest else { return Ok(()) };
    let count = grouped(nearest.fingerprint_count);
    writeln!(f, "\nwhich k: of {count} fingerprints, those that have another within k bits")?;
    writeln!(f, "   k             here        by chance")?;
    for k in 1..=last_shown(nearest) {
        let (here, chance) = (nearest.share_within(k), chance_within(nearest, k));
        let bar = "#".repeat((here * BAR_MAX).ceil() as usize);
        let row = format!("  {k:>2}  {:>15}  {:>15}  {bar}", percent(here), percent(chance));
        writeln!(f, "{}", row.trim_end())?;
    }
    writeln!(f, "{}", proposal_sentence(nearest))
}

fn by_chance(statistics: &Statistics, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "\nmatches by chance: by a random query, and by one with the same shares of ones")?;
    writeln!(f, "   k      random       alike")?;
    for expected in statistics.by_chance.iter().take(CHANCE_K_MAX + 1) {
        let (random, alike) = (rounded(expected.random), rounded(expected.alike));
        writeln!(f, "  {:>2}  {random:>10}  {alike:>10}", expected.k)?;
    }
    writeln!(f, "{}", chance_sentence(statistics))
}
