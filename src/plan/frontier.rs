//! Determines the frontier of schemes, the chosen scheme, and the reason text of each scheme.
//!
//! A scheme is on the frontier if no smaller one is as fast (the Pareto front of length and time).
//! Of the fast schemes within the budget, the smallest is chosen.

use super::scheme_estimate::SchemeEstimate;

/// Schemes within this factor of the least time count as fast; of these, small ones are preferred.
const AS_FAST: f64 = 1.05;
/// Fast schemes within this factor of the least length count as small (estimates from samples are
/// not exact); of these, the fastest are preferred.
const AS_SMALL: f64 = 1.02;
/// Of the small schemes within this factor of the least time, the simplest is chosen: for evenly
/// distributed bits all layouts are equivalent.
const ALIKE: f64 = 1.005;

/// If `k` is above this, a scheme with syndromes is chosen only if the same masks without syndromes
/// exceed the budget: a syndrome then stands for so many possible values that an estimate from a
/// sample is unreliable.
const SYNDROMES_K_MAX: u32 = 3;

/// Sorts the estimates by length, then by time. Sets `on_frontier`, `chosen` and `reason` of each.
pub(super) fn mark(mut estimates: Vec<SchemeEstimate>, k: u32) -> Vec<SchemeEstimate> {
    estimates.sort_by(|a, b| {
        a.tables_len.total_cmp(&b.tables_len).then(a.hot_micros.total_cmp(&b.hot_micros))
    });
    let mut fastest = f64::INFINITY;
    for estimate in &mut estimates {
        estimate.on_frontier = estimate.hot_micros < fastest;
        fastest = fastest.min(estimate.hot_micros);
    }
    let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
    // Whether the scheme with the same masks but without syndromes also fits into the budget.
    let whole_fits = |of: &SchemeEstimate| {
        let is_whole = |e: &&SchemeEstimate| {
            e.within_budget
                && e.scheme.syndrome_bits() == 0
                && e.scheme.masks() == of.scheme.masks()
        };
        estimates.iter().any(|e| is_whole(&e))
    };
    let is_trusted = |e: &&SchemeEstimate| {
        e.scheme.syndrome_bits() == 0 || k <= SYNDROMES_K_MAX || !whole_fits(e)
    };
    let fits = || estimates.iter().filter(|e| e.within_budget).filter(is_trusted);
    let fastest = least(&mut fits().map(|e| e.hot_micros));
    let fast = || fits().filter(|e| e.hot_micros <= fastest * AS_FAST);
    let smallest = least(&mut fast().map(|e| e.tables_len));
    let small = || fast().filter(|e| e.tables_len <= smallest * AS_SMALL);
    let best = least(&mut small().map(|e| e.hot_micros));
    let plainest = small().filter(|e| e.hot_micros <= best * ALIKE).map(|e| e.order).min();
    let chosen = estimates.iter().position(|e| Some(e.order) == plainest);
    if let Some(chosen) = chosen {
        estimates[chosen].chosen = true;
    }
    let reasons: Vec<String> =
        (0..estimates.len()).map(|at| reason(&estimates, at, chosen)).collect();
    for (estimate, reason) in estimates.iter_mut().zip(reasons) {
        estimate.reason = reason;
    }
    estimates
}

fn reason(estimates: &[SchemeEstimate], at: usize, chosen: Option<usize>) -> String {
    let this = &estimates[at];
    let scan = if this.radii.is_none() { ", by a scan" } else { "" };
    if this.chosen {
        return format!("fastest within the budget{scan}");
    }
    if !this.on_frontier {
        let better = estimates[..at].iter().rfind(|e| e.on_frontier);
        let name = better.map_or("another", |e| e.name.as_str());
        return format!("{name} is smaller and as fast{scan}");
    }
    let Some(chosen) = chosen.and_then(|at| estimates.get(at)) else { return String::new() };
    let (space, time) = (this.tables_len / chosen.tables_len, this.hot_micros / chosen.hot_micros);
    if at == 0 {
        return format!("smallest, {} the time{scan}", times(time));
    }
    let beyond = if this.within_budget { "" } else { "over the budget: " };
    format!("{beyond}{} the space for {} the time{scan}", times(space), times(time))
}

fn times(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.2} times") } else { format!("{ratio:.0} times") }
}
