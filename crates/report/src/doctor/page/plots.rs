//! The plots of bits, duplicates, prefix groups and gaps, each with a table of its numbers.

use crate::doctor::words::counted_distinct;
use maud::{Markup, html};

use super::{figure, table, tied};
use fpstore::profile::{Counted, SizeClass, Statistics, TableStatistics};
use fpstore_plot::numbers::{grouped, percent, rounded, short, short_binary};
use fpstore_plot::{Chart, Column, LogAxis, Marks, Size, percent_axis};

/// The largest number of labels that fit below a plot.
const X_LABELS_MAX: usize = 8;
/// With fewer fingerprints, bits can be constant by chance, so no bit is marked as constant.
const FEW: u64 = 32;

/// Draws the share of fingerprints in which each bit is 1.
pub(super) fn bits(statistics: &Statistics) -> Markup {
    let says_something = counted_distinct(statistics) >= FEW;
    let dead = |share: f64| says_something && (share <= 0.0 || share >= 1.0);
    let with_records = statistics.counted != Counted::Fingerprints
        && statistics.record_count != statistics.fingerprint_count;
    let noun = statistics.counted.noun(2);
    let mut marks = Marks::new(Size::CARD);
    for (at, bit) in statistics.bits.iter().enumerate() {
        let class = if dead(bit.share) { "bar bad" } else { "bar" };
        let text = format!("bit {}: {} ones", bit.bit, percent(bit.share));
        marks.bar(Column { at, count: 64 }, (0.5, bit.share), class, &text);
    }
    marks.line(&[(0.0, 0.5), (1.0, 0.5)], "even");
    for (at, bit) in statistics.bits.iter().enumerate().filter(|_| with_records) {
        let share = percent(bit.record_share);
        let text = format!("bit {}: {share} ones over all {noun}", bit.bit);
        marks.dot((Column { at, count: 64 }.middle(), bit.record_share), 1.7, "dot over", &text);
    }
    let label = |percent: u32| (f64::from(percent) / 100.0, format!("{percent} %"));
    let bit_ticks = [63_usize, 56, 48, 40, 32, 24, 16, 8, 0];
    let dead_count = statistics.bits.iter().filter(|bit| dead(bit.share)).count();
    let shown = match (dead_count, statistics.effective_bits) {
        _ if !says_something => {
            "There are too few fingerprints for statements about their bits.".into()
        }
        (0, Some(worth)) => format!("All bits vary; they are worth {worth:.1} random bits."),
        (count, Some(worth)) => {
            format!("{count} of 64 bits never vary; all 64 are worth {worth:.1} random bits.")
        }
        (_, None) => String::new(),
    };
    let chart = Chart {
        id: "plot-bits",
        title: "Share of ones in each bit",
        description: &shown,
        x_label: "bit",
        y_label: "ones",
        x_ticks: bit_ticks
            .iter()
            .map(|&b| (Column { at: 63 - b, count: 64 }.middle(), b.to_string()))
            .collect(),
        y_ticks: [0, 25, 50, 75, 100].map(label).to_vec(),
    };
    let legend = html! {
        span.key.bar { "distinct fingerprints" }
        @if with_records { " " span.key.over { "all " (noun) } }
        @if dead_count > 0 { " " span.key.bad { "never vary" } }
    };
    let rows = statistics
        .bits
        .iter()
        .map(|bit| vec![bit.bit.to_string(), percent(bit.share), percent(bit.record_share)]);
    let head = ["bit", "ones, distinct", &format!("ones, all {noun}")];
    figure("Ones in each bit", &chart, &marks, &legend, &table(&head, rows))
}

/// The labels below a histogram of size classes: not every column has one.
fn class_ticks(classes: &[SizeClass]) -> Vec<(f64, String)> {
    let every = classes.len().div_ceil(X_LABELS_MAX).max(1);
    let at = |(at, class): (usize, &SizeClass)| {
        (Column { at, count: classes.len() }.middle(), short_binary(class.high))
    };
    classes.iter().enumerate().map(at).step_by(every).collect()
}

/// Draws the number of fingerprints for each number of records.
pub(super) fn duplicates(statistics: &Statistics) -> Markup {
    let classes = &statistics.duplicates;
    let noun = statistics.counted.noun(2);
    // Bars begin a little below 1 on the log axis, so that a class with one fingerprint is visible.
    let axis =
        LogAxis::around(1.0, classes.iter().map(|c| c.count).max().unwrap_or(1) as f64 * 1.3);
    let height = |count: u64| 0.04 + 0.96 * axis.at(count as f64);
    let mut marks = Marks::new(Size::CARD);
    for (at, class) in classes.iter().enumerate().filter(|(_, class)| class.count > 0) {
        let text = format!("{} {noun}: {} fingerprints", class.name(), grouped(class.count));
        marks.bar(Column { at, count: classes.len() }, (0.0, height(class.count)), "bar", &text);
    }
    let repeated: u64 = classes.iter().filter(|class| class.low > 1).map(|class| class.count).sum();
    let n: u64 = classes.iter().map(|class| class.count).sum();
    let shown = match statistics.counted {
        Counted::Fingerprints => {
            "The store has no ids, so the records of each fingerprint are not counted.".into()
        }
        _ if repeated == 0 => format!("Each fingerprint has one {}.", statistics.counted.noun(1)),
        _ => format!(
            "{} of {} fingerprints have more than one {}.",
            grouped(repeated),
            grouped(n),
            statistics.counted.noun(1)
        ),
    };
    let x_label = match statistics.counted {
        Counted::Fingerprints => "times that a fingerprint is stored".into(),
        _ => format!("{noun} of a fingerprint, up to"),
    };
    let chart = Chart {
        id: "plot-duplicates",
        title: "Fingerprints by how often they occur",
        description: &shown,
        x_label: &x_label,
        y_label: "fingerprints (log)",
        x_ticks: class_ticks(classes),
        y_ticks: axis.ticks(short).into_iter().map(|(at, l)| (0.04 + 0.96 * at, l)).collect(),
    };
    let rows = classes
        .iter()
        .filter(|class| class.count > 0)
        .map(|class| vec![class.name(), grouped(class.count), grouped(class.total)]);
    let head = [&format!("{noun} each"), "fingerprints", noun];
    let legend = html! { span.key.bar { "fingerprints" } };
    figure("Duplicates", &chart, &marks, &legend, &table(&head, rows))
}

/// Draws the sizes of the prefix groups of a table: the values with the same leading bits.
pub(super) fn groups(of: &TableStatistics, name: &str, number: usize) -> Markup {
    let n = of.value_count.max(1) as f64;
    let mut classes = of.groups.clone();
    // Random data would have groups larger than any here: add classes for them.
    while classes.len() < 64
        && classes.last().is_some_and(|c| of.uniform_share_of_groups(c.high + 1, u64::MAX) > 0.01)
    {
        let high = classes.last().map_or(1, |c| c.high);
        classes.push(SizeClass { low: high + 1, high: 2 * high, count: 0, total: 0 });
    }
    let even: Vec<f64> =
        classes.iter().map(|c| of.uniform_share_of_groups(c.low, c.high)).collect();
    let share = |class: &SizeClass| class.total as f64 / n;
    let most = classes.iter().map(share).chain(even.iter().copied()).fold(0.0, f64::max);
    let (top, y_ticks) = percent_axis(most);
    let count = classes.len();
    let mut marks = Marks::new(Size::CARD);
    for (at, class) in classes.iter().enumerate().filter(|(_, class)| class.count > 0) {
        let part = percent(share(class));
        let text = format!("groups of {}: {part} of the fingerprints", class.name());
        marks.bar(Column { at, count }, (0.0, share(class) / top), "bar", &text);
    }
    for (at, even) in even.iter().enumerate().filter(|&(_, &even)| even > 1e-4) {
        marks.level(Column { at, count }, even / top, "even");
    }
    let mean = rounded(of.candidates_per_probe);
    let uniform = rounded(of.uniform_candidates_per_probe);
    let shown = format!(
        "A probe for a fingerprint like the stored ones meets {mean} others on average; with random \
         bits it would be {uniform}."
    );
    let title = format!("Prefix groups, {name}");
    let chart = Chart {
        id: &format!("plot-groups-{number}"),
        title: &title,
        description: &shown,
        x_label: "fingerprints that share a prefix, up to",
        y_label: "share of fingerprints",
        x_ticks: class_ticks(&classes),
        y_ticks,
    };
    let rows = classes.iter().zip(&even).map(|(class, &even)| {
        vec![class.name(), grouped(class.count), percent(share(class)), percent(even)]
    });
    let head = ["group", "groups", "fingerprints", "random bits"];
    let legend = html! { span.key.bar { "here" } " " span.key.even { "random bits" } };
    figure(&title, &chart, &marks, &legend, &table(&head, rows))
}

/// Draws the lengths of the gaps between consecutive values of a table; nothing for fewer than two
/// values.
pub(super) fn gaps(of: &TableStatistics, name: &str, number: usize) -> Markup {
    let count = of.gaps.len();
    if count == 0 {
        return html! {};
    }
    let n = of.gaps.iter().map(|gap| gap.count).sum::<u64>().max(1) as f64;
    let most = of.gaps.iter().map(|gap| gap.uniform.max(gap.count as f64) / n).fold(0.0, f64::max);
    let (top, y_ticks) = percent_axis(most);
    let points: Vec<(f64, f64)> = of
        .gaps
        .iter()
        .enumerate()
        .map(|(at, gap)| (Column { at, count }.middle(), (gap.uniform / n / top).min(1.0)))
        .collect();
    let mut marks = Marks::new(Size::CARD);
    for (at, gap) in of.gaps.iter().enumerate().filter(|(_, gap)| gap.count > 0) {
        let text = format!("{} bits: {} gaps", gap.bits, grouped(gap.count));
        marks.bar(Column { at, count }, (0.0, gap.count as f64 / n / top), "bar", &text);
    }
    if count > 1 {
        marks.line(&points, "even");
    }
    let every = count.div_ceil(X_LABELS_MAX).max(1);
    let ticks = of.gaps.iter().enumerate().step_by(every);
    let mean = of.gaps.iter().map(|gap| f64::from(gap.bits) * gap.count as f64).sum::<f64>() / n;
    let shown =
        format!("A gap between neighbours takes {mean:.1} bits on average as a binary number.");
    let title = format!("Gap lengths, {name}");
    let chart = Chart {
        id: &format!("plot-gaps-{number}"),
        title: &title,
        description: &shown,
        x_label: "bits of the gap",
        y_label: "share of gaps",
        x_ticks: ticks
            .map(|(at, gap)| (Column { at, count }.middle(), gap.bits.to_string()))
            .collect(),
        y_ticks,
    };
    let rows = of
        .gaps
        .iter()
        .map(|gap| vec![gap.bits.to_string(), grouped(gap.count), rounded(gap.uniform)]);
    let legend = html! { span.key.bar { "here" } " " span.key.even { "random bits" } };
    figure(&title, &chart, &marks, &legend, &table(&["bits", "gaps", "random bits"], rows))
}

/// Lists the largest prefix groups of a table, as an HTML table with bars.
pub(super) fn largest(of: &TableStatistics, name: &str) -> Markup {
    let groups: Vec<_> = of.largest_groups.iter().filter(|group| group.count > 1).collect();
    let most = groups.first().map_or(1, |group| group.count) as f64;
    let n = of.value_count.max(1) as f64;
    let title = format!("Largest prefix groups, {name}");
    let shown = match groups.len() {
        0 => "No two fingerprints share their prefix.".into(),
        _ => format!(
            "By the {} bits of mask {:016x}; the other bits are shown as 0.",
            of.prefix_bits, of.mask
        ),
    };
    html! {
        figure.list {
            figcaption { h3 { (title) } p { (shown) } }
            @if !groups.is_empty() {
                div.scroll tabindex="0" role="region" aria-label=(title) { table.bars {
                    thead { tr { th scope="col" { "prefix" } th scope="col" { "fingerprints" } } }
                    tbody { @for group in &groups {
                        @let share = group.count as f64 / n;
                        @let width = format!("--share: {:.1}%", group.count as f64 / most * 100.0);
                        tr { td { code { (group.prefix) } } td.filled style=(width) {
                            (tied(&grouped(group.count)))
                            @if share >= 0.001 { " (" (percent(share)) ")" }
                        } }
                    } }
                } }
            }
        }
    }
}
