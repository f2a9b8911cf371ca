//! Marking what is worth having: the frontier, the choice, and why.

use crate::planner::estimate::SchemeEstimate;

/// Within so much of the fastest, the smallest scheme is taken.
const AS_FAST: f64 = 1.05;
/// Within so much of that one's length, the fastest: samples are not so exact.
const AS_SMALL: f64 = 1.02;
/// Within so much of that one's time, the plainest: on even bits they all are alike.
const ALIKE: f64 = 1.005;

/// Sorts by length, then time; marks the frontier and the choice; gives each its reason.
pub(super) fn mark(mut estimates: Vec<SchemeEstimate>) -> Vec<SchemeEstimate> {
    estimates.sort_by(|a, b| {
        a.tables_len.total_cmp(&b.tables_len).then(a.hot_micros.total_cmp(&b.hot_micros))
    });
    let mut fastest = f64::INFINITY;
    for estimate in &mut estimates {
        estimate.on_frontier = estimate.hot_micros < fastest;
        fastest = fastest.min(estimate.hot_micros);
    }
    let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
    let fits = || estimates.iter().filter(|e| e.within_budget);
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
    let way = if this.radii.is_none() { ", by a scan" } else { "" };
    if this.chosen {
        return format!("fastest within the budget{way}");
    }
    if !this.on_frontier {
        let better = estimates[..at].iter().rfind(|e| e.on_frontier);
        let name = better.map_or("another", |e| e.name.as_str());
        return format!("{name} is smaller and as fast{way}");
    }
    let Some(chosen) = chosen.and_then(|at| estimates.get(at)) else { return String::new() };
    let (space, time) = (this.tables_len / chosen.tables_len, this.hot_micros / chosen.hot_micros);
    if at == 0 {
        return format!("smallest, {} the time{way}", times(time));
    }
    let beyond = if this.within_budget { "" } else { "over the budget: " };
    format!("{beyond}{} the space for {} the time{way}", times(space), times(time))
}

fn times(ratio: f64) -> String {
    match ratio {
        r if r < 10.0 => format!("{r:.2} times"),
        r => format!("{r:.0} times"),
    }
}
