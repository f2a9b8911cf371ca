//! Marking what is worth having: the frontier, the choice, and why.

use crate::planner::AS_FAST;
use crate::planner::estimate::SchemeEstimate;

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
    let fits = |estimate: &&SchemeEstimate| estimate.within_budget;
    let best = estimates.iter().filter(fits).map(|e| e.hot_micros).fold(f64::INFINITY, f64::min);
    let chosen = estimates.iter().position(|e| e.within_budget && e.hot_micros <= best * AS_FAST);
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
