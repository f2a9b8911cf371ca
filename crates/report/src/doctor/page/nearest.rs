//! The plot for choosing k: the distances from each fingerprint to its nearest neighbour.

use crate::doctor::words::{chance_within, last_shown, proposal_sentence};
use maud::{Markup, html};

use super::{figure, sentence, table};
use fpstore::profile::NearestDistances;
use fpstore_plot::numbers::{grouped, percent};
use fpstore_plot::{Chart, Column, Marks, Size, percent_axis};

/// Draws how many fingerprints have their nearest neighbour at each distance, and how many would by
/// chance.
pub(super) fn nearest(distances: &NearestDistances) -> Markup {
    let last = last_shown(distances) as usize;
    let asked = distances.fingerprint_count.max(1) as f64;
    let shares: Vec<f64> = distances.counts.iter().map(|&count| count as f64 / asked).collect();
    let before = [0.0].into_iter().chain(distances.by_chance.iter().copied());
    let chance: Vec<f64> =
        distances.by_chance.iter().zip(before).map(|(within, before)| within - before).collect();
    let shown = |of: &[f64]| of.iter().copied().skip(1).take(last).fold(0.0, f64::max);
    let (top, y_ticks) = percent_axis(shown(&shares).max(shown(&chance)));
    let column = |k: usize| Column { at: k - 1, count: last };
    let is_near = |k: usize| distances.proposed_k.is_some_and(|proposed| k <= proposed as usize);
    let mut marks = Marks::new(Size::CARD);
    for (k, &share) in shares.iter().enumerate().take(last + 1).skip(1).filter(|at| *at.1 > 0.0) {
        let class = if is_near(k) { "bar near" } else { "bar" };
        let text = format!("{k} bits: {} of the fingerprints", percent(share));
        marks.bar(column(k), (0.0, share / top), class, &text);
    }
    for (k, &share) in chance.iter().enumerate().take(last + 1).skip(1) {
        if share > 1e-4 {
            marks.level(column(k), share / top, "even");
        }
    }
    let said = sentence(&proposal_sentence(distances));
    let chart = Chart {
        id: "plot-nearest",
        title: "Which k: distance to the nearest other fingerprint",
        description: &said,
        x_label: "bits to the nearest other fingerprint",
        y_label: "share of fingerprints",
        x_ticks: (1..=last).step_by(2).map(|k| (column(k).middle(), k.to_string())).collect(),
        y_ticks,
    };
    let rows = (1..=last as u32).map(|k| {
        let count = distances.counts.get(k as usize).copied().unwrap_or_default();
        let within = percent(distances.share_within(k));
        let by_chance = percent(chance_within(distances, k));
        vec![k.to_string(), grouped(count), within, by_chance]
    });
    let head = ["k", "nearest at k bits", "within k bits", "within k bits by chance"];
    let legend = html! {
        @if let Some(k) = distances.proposed_k { span.key.near { "within the proposed k = " (k) } " " }
        span.key.bar { "farther" } " " span.key.even { "by chance" }
    };
    figure("Which k?", &chart, &marks, &legend, &table(&head, rows))
}
