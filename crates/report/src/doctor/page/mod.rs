//! The HTML page of the doctor: all statistics for a browser, in one file that needs no network.
//!
//! [`page()`] writes findings, plots and tables; `nearest` draws the distances from which k is
//! chosen, `plots` the statistics of bits, groups and gaps, `frontier` the schemes. Charts come
//! from the package `fpstore-plot`. Texts of the user are escaped. Below each plot, a table
//! contains its numbers.

mod frontier;
mod nearest;
mod plots;

use crate::doctor::words::{all_clear, chance_sentence, name_of};
use maud::{Markup, PreEscaped, html};

use crate::doctor::findings::Finding;
use crate::frame::{self, Page};
use fpstore::plan::{SchemeEstimate, SchemePlan};
use fpstore::profile::{Counted, Statistics, TableStatistics};
use fpstore_plot::numbers::{grouped, percent, rounded};
use fpstore_plot::{Chart, Marks};

const STYLE: &str = include_str!("style.css");
/// The largest number of tables whose plots are drawn: those with the largest prefix groups.
const TABLES_DRAWN: usize = 4;
/// The greatest distance for which the page shows the matches by chance.
const CHANCE_K_MAX: usize = 16;

/// Options of the page of the doctor.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageOptions<'a> {
    /// The title of the page, usually the name of the store or the input.
    pub title: &'a str,
    /// A plan of possible schemes to draw, see [`Statistics::plan_request`].
    pub plan: Option<&'a SchemePlan>,
    /// The estimated space and time of the existing tables, to draw beside the plan.
    pub now: Option<&'a SchemeEstimate>,
}

/// All statistics as one page of HTML. It makes no network request, fits narrow screens, follows
/// a dark theme, and has the numbers of each plot in a table.
///
/// ```
/// use fpstore::profile::Collector;
/// use fpstore::{Fingerprint, Scheme};
/// use fpstore_report::doctor::{PageOptions, page};
///
/// let mut collector = Collector::new();
/// let spread = |i: u64| Fingerprint::new(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
/// (0..100).for_each(|i| collector.push(spread(i)));
/// let statistics = collector.finish(&Scheme::named("2", 3)?);
/// let options = PageOptions { title: "pages.tsv", ..PageOptions::default() };
/// let page = page(&statistics, &options);
/// assert!(page.starts_with("<!DOCTYPE html>"));
/// # Ok::<(), fpstore::Error>(())
/// ```
pub fn page(statistics: &Statistics, options: &PageOptions<'_>) -> String {
    let findings = super::findings(statistics);
    let tables = most_crowded(statistics);
    let body = html! {
        main {
            h1 { (options.title) }
            (facts(statistics))
            (findings_section(statistics, &findings))
            @if statistics.fingerprint_count > 0 {
                section aria-label="Plots" {
                    h2 { "Plots" }
                    div.plots {
                        @if let Some(distances) = &statistics.nearest {
                            (nearest::nearest(distances))
                        }
                        (plots::bits(statistics))
                        (plots::duplicates(statistics))
                        @if let Some(plan) = options.plan {
                            (frontier::frontier(plan, options.now))
                        }
                        @for (number, table) in tables.iter().enumerate() {
                            @let name = name_of(statistics, table);
                            (plots::groups(table, &name, number))
                            (plots::gaps(table, &name, number))
                            (plots::largest(table, &name))
                        }
                    }
                }
                (tables_section(statistics))
                (heaviest_section(statistics))
                (by_chance_section(statistics))
            }
        }
        footer { (footer(statistics)) }
    };
    Page {
        title: options.title,
        made_by: "fpstore stats",
        policy: "img-src data:",
        styles: &[STYLE, fpstore_plot::STYLE],
        body,
    }
    .write()
}

/// The tables whose plots are drawn, in the order of the statistics.
fn most_crowded(statistics: &Statistics) -> Vec<&TableStatistics> {
    let mut tables: Vec<(usize, &TableStatistics)> = statistics.tables.iter().enumerate().collect();
    tables.sort_by(|(_, a), (_, b)| b.candidates_per_probe.total_cmp(&a.candidates_per_probe));
    tables.truncate(TABLES_DRAWN);
    tables.sort_by_key(|&(number, _)| number);
    tables.into_iter().map(|(_, table)| table).collect()
}

fn facts(statistics: &Statistics) -> Markup {
    let about = if statistics.sampling.is_some() { "about " } else { "" };
    let mut facts =
        vec![("fingerprints", format!("{about}{}", grouped(statistics.fingerprint_count)))];
    if statistics.counted != Counted::Fingerprints {
        facts.push((statistics.counted.noun(2), grouped(statistics.record_count)));
    }
    if let Some(worth) = statistics.effective_bits {
        facts.push(("effective bits, of 64", format!("{worth:.1}")));
    }
    facts.push(("distance k of the tables", statistics.tuned_k.to_string()));
    frame::facts(facts.into_iter().map(|(name, value)| (name, tied(&value))))
}

fn findings_section(statistics: &Statistics, findings: &[Finding]) -> Markup {
    html! {
        section aria-label="Findings" {
            h2 { "Findings" }
            @if findings.is_empty() {
                p.sound { (sentence(all_clear(statistics))) }
            } @else {
                ul.findings { @for finding in findings {
                    li class=(finding.severity) {
                        p {
                            strong.badge { (finding.severity) } " "
                            (sentence(&finding.sentence))
                        }
                        p.remedy { (sentence(&finding.remedy)) }
                    }
                } }
            }
        }
    }
}

/// Replaces spaces between groups of digits by no-break spaces.
fn tied(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let is_digit =
        |at: Option<usize>| at.and_then(|at| letters.get(at)).is_some_and(char::is_ascii_digit);
    let tied = |(at, &letter): (usize, &char)| {
        let within = letter == ' ' && is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
        if within { '\u{a0}' } else { letter }
    };
    letters.iter().enumerate().map(tied).collect()
}

/// Changes a message to a sentence: a capital letter at the start, a period at the end.
fn sentence(text: &str) -> String {
    let text = tied(text);
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}

fn tables_section(statistics: &Statistics) -> Markup {
    let rows = statistics.tables.iter().map(|table| {
        let largest = match (table.largest_groups.first(), table.largest_group_estimate()) {
            (Some(group), Some(count)) => {
                format!("{} at {}", grouped(count.round() as u64), group.prefix)
            }
            _ => "-".into(),
        };
        vec![
            name_of(statistics, table),
            format!("{:016x}", table.mask),
            table.prefix_bits.to_string(),
            rounded(table.candidates_per_probe),
            rounded(table.uniform_candidates_per_probe),
            largest,
        ]
    });
    let head =
        ["table", "mask", "prefix bits", "candidates a probe", "random bits", "largest group"];
    html! {
        section aria-label="Tables" { h2 { "Tables" } (table(&head, rows)) }
    }
}

fn heaviest_section(statistics: &Statistics) -> Markup {
    if statistics.counted == Counted::Fingerprints {
        return html! {};
    }
    let noun = statistics.counted.noun(2);
    let of_all = |count: u64| percent(count as f64 / statistics.record_count.max(1) as f64);
    let constant = [
        ("0000000000000000", statistics.zero_count),
        ("ffffffffffffffff", statistics.all_ones_count),
    ];
    let constant = constant
        .map(|(name, count)| vec![format!("{name} (constant)"), grouped(count), of_all(count)]);
    let heavy = statistics
        .heaviest
        .iter()
        .filter(|heavy| !matches!(heavy.fingerprint.value(), 0 | u64::MAX));
    let rows = heavy.map(|heavy| {
        let about = if heavy.exact { "" } else { "about " };
        vec![
            heavy.fingerprint.to_string(),
            format!("{about}{}", grouped(heavy.count)),
            of_all(heavy.count),
        ]
    });
    html! {
        section aria-label="Heaviest fingerprints" {
            h2 { "Fingerprints with the most " (noun) }
            (table(&["fingerprint", noun, "share"], constant.into_iter().chain(rows)))
        }
    }
}

fn by_chance_section(statistics: &Statistics) -> Markup {
    let rows = statistics.by_chance.iter().take(CHANCE_K_MAX + 1).map(|expected| {
        vec![expected.k.to_string(), rounded(expected.random), rounded(expected.alike)]
    });
    html! {
        section aria-label="Matches by chance" {
            h2 { "Matches by chance" }
            p { (sentence(&chance_sentence(statistics))) }
            (table(&["k", "by a random query", "by a query with the same shares of ones"], rows))
        }
    }
}

fn footer(statistics: &Statistics) -> Markup {
    let version = env!("CARGO_PKG_VERSION");
    match statistics.sampling {
        None => html! { "fpstore " (version) "; all numbers except the estimates of schemes are \
        exact." },
        Some(sampling) => html! {
            "fpstore " (version) "; one in " (grouped(sampling.one_in)) " distinct fingerprints \
             was counted (" (grouped(sampling.fingerprint_count)) "); groups and gaps are those of \
             the sample, counts of records are exact."
        },
    }
}

/// A figure: a heading, a chart, its legend, and a table with the numbers of the chart.
fn figure(
    title: &str,
    chart: &Chart<'_>,
    marks: &Marks,
    legend: &Markup,
    numbers: &Markup,
) -> Markup {
    html! {
        figure {
            figcaption { h3 { (title) } p { (tied(chart.description)) } }
            (PreEscaped(chart.inline(marks)))
            p.legend aria-hidden="true" { (legend) }
            details { summary { "Numbers" } (numbers) }
        }
    }
}

fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Numbers" {
            table {
                thead { tr { @for name in head { th scope="col" { (name) } } } }
                tbody { @for row in rows { tr { @for cell in row { td { (cell) } } } } }
            }
        }
    }
}
