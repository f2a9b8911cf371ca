//! The HTML page about a cleaning: counts of removed documents by reason, plots, and a sample of
//! removed documents, each next to the kept one.

use std::collections::BTreeMap;

use fpstore_plot::numbers::{counted, grouped, short};
use fpstore_plot::{Chart, Column, LogAxis, Marks, STYLE as PLOT_STYLE, Size};
use maud::{Markup, PreEscaped, html};

use super::words::marked;
use crate::frame::{Page, STYLE, beginning, characters, facts};

const OWN_STYLE: &str = include_str!("cleaning.css");
const SCRIPT: &str = include_str!("cleaning.js");
/// The hash of the script. The policy of the page allows only the script with this hash.
const SCRIPT_HASH: &str = include_str!("cleaning.js.sha256");

/// At most this many characters of each text are shown and compared.
const TEXT_MAX: usize = 20_000;
/// The width of a column in the histogram of similarities.
const SIMILARITY_STEP: f64 = 0.02;
/// The largest number of labels below a chart.
const LABELS_MAX: usize = 7;

/// A removed document and the document that is kept in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct RemovedPair {
    /// The id of the removed document.
    pub id: String,
    /// The id of the kept document.
    pub other_id: String,
    /// The text of the removed document.
    pub text: String,
    /// The text of the kept document.
    pub other_text: String,
    /// The distance between the fingerprints of the two documents, in bits.
    pub distance: u32,
    /// The Jaccard similarity of the two documents.
    pub similarity: f64,
    /// The reason for the removal, such as `near`.
    pub reason: String,
    /// Whether the reason is similarity, so that a higher threshold could keep the document.
    pub by_likeness: bool,
}

/// The page about the documents that a cleaning removed.
///
/// ```
/// use fpstore_report::page::{CleaningPage, RemovedPair};
///
/// let mut page = CleaningPage::default();
/// page.reasons = vec![("near".into(), 1)];
/// page.take(2, None);
/// page.pairs.push(RemovedPair {
///     id: "b".into(),
///     other_id: "a".into(),
///     text: "one two four".into(),
///     other_text: "one two three".into(),
///     distance: 2,
///     similarity: 0.9,
///     reason: "near".into(),
///     by_likeness: true,
/// });
/// let html = page.write("crawl", &[("documents", "2".into())]);
/// assert!(html.contains("<del>three</del><ins>four</ins>"), "{html}");
/// ```
#[derive(Clone, Debug, Default)]
pub struct CleaningPage {
    /// For each reason, the number of documents removed for it.
    pub reasons: Vec<(String, u64)>,
    /// The losses in total, of each file and of each source: name, number of documents, number of
    /// removed documents.
    pub losses: Vec<(String, u64, u64)>,
    /// For each cluster size from 2 on, the number of clusters of this size.
    pub cluster_sizes: BTreeMap<u64, u64>,
    /// The largest clusters: number of documents, id of the kept document, beginning of its text.
    pub clusters: Vec<(u64, String, String)>,
    /// A sample of the documents that were removed because of another new document. The page shows
    /// the least similar pairs first.
    pub pairs: Vec<RemovedPair>,
    /// The number of documents removed because of a stored document. They are in no pair, because
    /// the text of the stored document is unknown.
    pub stored_count: u64,
    distances: BTreeMap<u32, u64>,
    /// The number of removed documents for each similarity, rounded down to a multiple of
    /// [`SIMILARITY_STEP`].
    similarities: BTreeMap<u32, u64>,
    removed_count: u64,
}

impl CleaningPage {
    /// Counts a removed document: by its distance from the kept document, and by their similarity
    /// if it was computed.
    pub fn take(&mut self, distance: u32, similarity: Option<f64>) {
        self.removed_count += 1;
        *self.distances.entry(distance).or_default() += 1;
        if let Some(similarity) = similarity {
            let step = (similarity / SIMILARITY_STEP + 1e-9).floor() as u32;
            *self.similarities.entry(step).or_default() += 1;
        }
    }

    /// Writes the page. `rows` are facts shown below the title: names and values.
    pub fn write(mut self, title: &str, rows: &[(&str, String)]) -> String {
        self.pairs.sort_by(|one, other| {
            let by_similarity = one.similarity.total_cmp(&other.similarity);
            by_similarity.then_with(|| (&one.id, &one.other_id).cmp(&(&other.id, &other.other_id)))
        });
        let body = html! {
            main {
                h1 { "What was removed from " bdi { (title) } }
                (facts(rows.iter().map(|(name, value)| (*name, value))))
                @if self.removed_count == 0 { p.note { "Nothing was removed." } }
                @else { (self.sections()) }
            }
            footer { "fpstore " (env!("CARGO_PKG_VERSION")) }
            @if self.lowest().is_some() { script { (PreEscaped(SCRIPT)) } }
        };
        let script = SCRIPT_HASH.trim();
        let policy = format!(
            "script-src 'sha256-{script}'; img-src data:; base-uri 'none'; \
                              form-action 'none'"
        );
        let title = format!("What was removed from {title}");
        let styles = [PLOT_STYLE, STYLE, OWN_STYLE];
        Page { title: &title, made_by: "fpstore", policy: &policy, styles: &styles, body }.write()
    }

    fn sections(&self) -> Markup {
        html! {
            section aria-label="Plots" {
                div.plots { (self.likeness()) (self.sizes()) }
            }
            section aria-label="Reasons" {
                h2 { "Reasons for removals" }
                (table(&["reason", "documents"], self.reasons.iter().map(|(reason, count)| {
                    vec![reason.clone(), grouped(*count)]
                })))
            }
            section aria-label="Files" {
                h2 { "Files of removed documents" }
                (table(&["name", "documents", "removed", "share"], self.losses.iter().map(
                    |(of, count, removed)| {
                        let part = 100.0 * *removed as f64 / (*count).max(1) as f64;
                        let part = format!("{part:.1} %");
                        vec![of.clone(), grouped(*count), grouped(*removed), part]
                    },
                )))
            }
            @if !self.clusters.is_empty() {
                section aria-label="The largest clusters" {
                    h2 { "The largest clusters" }
                    (table(&["documents", "kept document", "begins"], self.clusters.iter().map(
                        |(count, id, line)| vec![grouped(*count), id.clone(), line.clone()],
                    )))
                }
            }
            section aria-label="A sample" { h2 { "A sample" } (self.sample()) }
        }
    }

    /// The histogram of similarities between removed and kept documents, or of distances if no
    /// similarity was computed.
    fn likeness(&self) -> Markup {
        if let (Some((&first, _)), Some((&last, _))) =
            (self.similarities.first_key_value(), self.similarities.last_key_value())
        {
            let columns: Vec<(String, u64)> = (first..=last)
                .map(|step| {
                    let name = format!("{:.2}", f64::from(step) * SIMILARITY_STEP);
                    (name, self.similarities.get(&step).copied().unwrap_or(0))
                })
                .collect();
            return histogram(
                "plot-similarity",
                "Similarity to the kept document",
                "Jaccard similarity, from",
                &columns,
            );
        }
        let last = self.distances.last_key_value().map_or(0, |(&last, _)| last);
        let columns: Vec<(String, u64)> = (0..=last)
            .map(|at| (at.to_string(), self.distances.get(&at).copied().unwrap_or(0)))
            .collect();
        histogram("plot-distance", "Distance in bits to the kept document", "bits", &columns)
    }

    /// The histogram of cluster sizes, in classes that end at powers of two.
    fn sizes(&self) -> Markup {
        let mut classes: BTreeMap<u32, u64> = BTreeMap::new();
        for (&size, &count) in &self.cluster_sizes {
            *classes.entry(size.saturating_sub(1).max(1).ilog2()).or_default() += count;
        }
        let last = classes.last_key_value().map_or(0, |(&last, _)| last);
        let columns: Vec<(String, u64)> = (0..=last)
            .map(|class| {
                (
                    short(f64::from(2_u32.pow(class.min(30) + 1))),
                    classes.get(&class).copied().unwrap_or(0),
                )
            })
            .collect();
        histogram("plot-sizes", "Clusters by size", "documents of a cluster, up to", &columns)
    }

    /// The lowest similarity among the pairs whose removed document a higher threshold would keep,
    /// if there are any.
    fn lowest(&self) -> Option<f64> {
        let by_likeness = self.pairs.iter().filter(|pair| pair.by_likeness);
        by_likeness.map(|pair| pair.similarity).reduce(f64::min).filter(|it| *it < 1.0)
    }

    fn sample(&self) -> Markup {
        let count = self.pairs.len() as u64;
        let drawn_from = self.removed_count.saturating_sub(self.stored_count);
        html! {
            @if count == 0 && drawn_from == 0 {
                p.note {
                    "No removed document can be compared with the kept document: the kept \
                     documents are in a store, which has no texts."
                }
            } @else if count == 0 {
                p.note { "No sample was requested, or the texts cannot be read again." }
            } @else {
                p.soft {
                    @if count < drawn_from {
                        (counted(count, "document", "documents")) ", drawn at random from the "
                        (grouped(drawn_from)) " removed as duplicates of kept documents of the corpus. "
                    }
                    @if self.stored_count > 0 {
                        (counted(self.stored_count, "document", "documents")) " more were removed as \
                         duplicates of stored documents and are not shown: a store has no texts. "
                    }
                    "Similarities are computed from all features. The least similar pairs come first."
                }
                @if let Some(lowest) = self.lowest() { (bar((lowest * 100.0).floor() / 100.0, drawn_from)) }
                p.key {
                    span { del { "only in the kept document" } }
                    span { ins { "only in the removed document" } }
                }
                div #groups { @for pair in &self.pairs { (article(pair)) } }
            }
        }
    }
}

/// The slider that sets the similarity threshold, and shows its effect on the sample.
fn bar(lowest: f64, drawn_from: u64) -> Markup {
    html! {
        div.tools hidden {
            label.range { span { "Effect of another minimum similarity" }
                input #bar type="range" min=(lowest) max="1" step="0.01" value=(lowest)
                    data-removed=(drawn_from) aria-describedby="status";
            }
        }
        p #status role="status" {}
    }
}

fn article(pair: &RemovedPair) -> Markup {
    let (text, is_all) = beginning(pair.text.trim(), TEXT_MAX);
    let (other, all_of_other) = beginning(pair.other_text.trim(), TEXT_MAX);
    html! {
        // Only documents removed for their similarity get the attribute, because only they
        // depend on the threshold.
        article data-similarity=[pair.by_likeness.then_some(pair.similarity)] {
            h2 {
                span { bdi.id { (pair.id) } }
                span.badge { "similarity " (format!("{:.3}", pair.similarity)) }
                span.badge { (counted(pair.distance.into(), "bit", "bits")) }
                span.badge { (pair.reason) }
                span.badge.fate { "removed" }
            }
            p.line.soft { span { "kept: " bdi.id { (pair.other_id) } } }
            @if !(is_all && all_of_other) {
                p.note { "The first " (characters(TEXT_MAX)) " of each are shown and compared." }
            }
            @if text == other { p.soft { "The texts are the same, letter for letter." } }
            div.text dir="auto" {
                (marked(other, text))
            }
        }
    }
}

/// A bar chart of named counts, with a table of the same counts.
fn histogram(id: &str, title: &str, x_label: &str, columns: &[(String, u64)]) -> Markup {
    let most = columns.iter().map(|column| column.1).max().unwrap_or(1).max(1);
    let axis = LogAxis::around(1.0, most as f64 * 1.3);
    let height = |count: u64| 0.04 + 0.96 * axis.at(count as f64);
    let mut marks = Marks::new(Size::CARD);
    for (at, (name, count)) in columns.iter().enumerate().filter(|(_, column)| column.1 > 0) {
        let text = format!("{name}: {}", grouped(*count));
        marks.bar(Column { at, count: columns.len() }, (0.0, height(*count)), "bar", &text);
    }
    let every = columns.len().div_ceil(LABELS_MAX).max(1);
    let ticks = columns.iter().enumerate().step_by(every);
    let total: u64 = columns.iter().map(|column| column.1).sum();
    let description = format!("{} in all.", grouped(total));
    let chart = Chart {
        id,
        title,
        description: &description,
        x_label,
        y_label: "count (log)",
        x_ticks: ticks
            .map(|(at, (name, _))| (Column { at, count: columns.len() }.middle(), name.clone()))
            .collect(),
        y_ticks: axis.ticks(short).into_iter().map(|(at, l)| (0.04 + 0.96 * at, l)).collect(),
    };
    let rows = columns.iter().filter(|column| column.1 > 0);
    let rows = rows.map(|(name, count)| vec![name.clone(), grouped(*count)]);
    html! {
        figure {
            figcaption { h3 { (title) } p { (description) } }
            (PreEscaped(chart.inline(&marks)))
            details { summary { "Numbers" } (table(&[x_label, "count"], rows)) }
        }
    }
}

/// An HTML table, with a CSS class for columns of numbers.
fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Markup {
    let rows: Vec<Vec<String>> = rows.collect();
    let is_number = |at: usize| {
        let is_digit = |c: char| c.is_ascii_digit() || "\u{a0} .%".contains(c);
        rows.iter().all(|row| row[at].chars().all(is_digit))
    };
    let classes: Vec<Option<&str>> =
        (0..head.len()).map(|at| is_number(at).then_some("number")).collect();
    html! {
        div.scroll tabindex="0" role="region" aria-label=(head.join(", ")) {
            table {
                thead { tr { @for (name, class) in head.iter().zip(&classes) {
                    th scope="col" class=[class] { (name) }
                } } }
                tbody { @for row in &rows { tr { @for (cell, class) in row.iter().zip(&classes) {
                    td class=[class] { bdi { (cell) } }
                } } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::scripts::assert_policy_names;

    fn pair(id: &str, text: &str, other: &str, similarity: f64) -> RemovedPair {
        RemovedPair {
            id: id.into(),
            other_id: format!("of {id}"),
            text: text.into(),
            other_text: other.into(),
            distance: 3,
            similarity,
            reason: "near".into(),
            by_likeness: true,
        }
    }

    #[test]
    fn hostile_texts_ids_and_names_are_shown_as_text() {
        let hostile = "<script>alert(1)</script><img src=x onerror=alert(2)>";
        let mut page = CleaningPage {
            reasons: vec![(hostile.into(), 1)],
            losses: vec![(hostile.into(), 2, 1)],
            clusters: vec![(12, hostile.into(), hostile.into())],
            cluster_sizes: BTreeMap::from([(12, 1)]),
            pairs: vec![pair(hostile, hostile, &format!("{hostile} more"), 0.5)],
            ..CleaningPage::default()
        };
        page.take(3, Some(0.5));
        let html = page.write(hostile, &[("documents", hostile.into())]);
        assert_eq!(html.matches("<script").count(), 1, "{html}");
        assert!(!html.contains("<img") && html.contains("default-src 'none'"));
    }

    #[test]
    fn the_least_similar_come_first_and_the_bar_begins_below_them() {
        let mut page = CleaningPage::default();
        for (at, similarity) in [(2, 0.9), (1, 0.637), (3, 1.0)] {
            page.take(at, None);
            page.pairs.push(pair(&format!("d{at}"), "one two", "one two", similarity));
        }
        page.cluster_sizes = BTreeMap::from([(2, 5), (3, 1), (4, 1), (5, 1), (900, 1)]);
        let html = page.write("t", &[]);
        let at = |id: &str| html.find(&format!(">{id}<")).unwrap();
        assert!(at("d1") < at("d2") && at("d2") < at("d3"));
        assert!(html.contains("min=\"0.63\" max=\"1\""));
        assert!(html.contains("letter for letter"));
        // The classes of sizes are 2, 3 to 4, 5 to 8, and so on up to 513 to 1024.
        for row in ["<title>2: 5</title>", "<title>4: 2</title>", "<title>8: 1</title>"] {
            assert!(html.contains(row), "{row}");
        }
    }

    #[test]
    fn a_page_of_nothing_says_so_and_one_without_texts_why() {
        let html = CleaningPage::default().write("t", &[]);
        assert!(html.contains("Nothing was removed.") && !html.contains("<script"));
        let mut page = CleaningPage { stored_count: 1, ..CleaningPage::default() };
        page.take(0, None);
        assert!(page.clone().write("t", &[]).contains("the kept documents are in a store"));
        page.take(0, None);
        assert!(page.write("t", &[]).contains("No sample was requested"));
    }

    #[test]
    fn what_another_bar_would_keep_is_counted_among_what_was_near() {
        let mut page = CleaningPage { stored_count: 7, ..CleaningPage::default() };
        (0..20).for_each(|_| page.take(3, Some(0.9)));
        page.pairs = vec![pair("a", "one", "one", 0.9), pair("b", "one", "two", 0.0)];
        page.pairs[1].by_likeness = false;
        page.pairs[1].reason = "address".into();
        let html = page.clone().write("t", &[]);
        assert!(html.contains("min=\"0.9\" max=\"1\"") && html.contains("data-removed=\"13\""));
        assert_eq!(html.matches("<article data-similarity").count(), 1);
        assert!(
            html.contains("drawn at random from the 13 removed")
                && html.contains("7 documents more")
        );
        page.pairs.remove(0);
        let html = page.write("t", &[]);
        assert!(!html.contains("id=\"bar\"") && !html.contains("<script"));
    }

    #[test]
    fn the_policy_names_the_script() {
        assert_policy_names(SCRIPT, SCRIPT_HASH, "cleaning.js");
    }
}
