//! The printed summary of a cleaning: criterion, reasons, losses of files, and clusters.

use fpstore::rows::Side;
use fpstore_corpus::{LargeCluster, Loss, LossOf, Overview};

use crate::output::text::{counted, grouped};

/// The maximum number of files, and of sources, whose losses are printed.
const SHOWN_MAX: usize = 10;

/// Prints the summary. `counted` formats a number with the noun: "3 documents" or "3 passages".
pub(super) fn report(overview: &Overview, counted: &dyn Fn(u64) -> String) {
    message!("judged {}", overview.judgement);
    let reasons = overview.reasons.each().into_iter().filter(|(_, count)| *count > 0);
    let reasons = reasons.map(|(reason, count)| format!("{} {}", reason.name(), grouped(count)));
    let reasons: Vec<String> = reasons.collect();
    if !reasons.is_empty() {
        message!("removed by reason: {}", reasons.join(", "));
    }
    let is_file = |loss: &&Loss| matches!(loss.of, LossOf::File(_));
    let is_source = |loss: &&Loss| matches!(loss.of, LossOf::Source(_));
    let files: Vec<&Loss> = overview.losses.iter().filter(is_file).collect();
    // With a single file, its loss is the total, which is already printed.
    if files.len() > 1 {
        report_losses(files, "file", "files");
    }
    report_losses(overview.losses.iter().filter(is_source).collect(), "source", "sources");
    for cluster in &overview.clusters {
        report_cluster(cluster, counted);
    }
    let large = overview.losses.iter().filter(|loss| loss.is_large()).collect::<Vec<_>>();
    for loss in large.iter().take(SHOWN_MAX) {
        message!("warning: {} lost {loss}; see the largest clusters", loss.of);
    }
}

/// Prints the files or sources that lost the largest part of their documents; `one` and `many`
/// are the noun for them.
fn report_losses(mut losses: Vec<&Loss>, one: &str, many: &str) {
    losses.retain(|loss| loss.removed_count > 0);
    losses.sort_by(|one, other| other.part().total_cmp(&one.part()));
    for loss in losses.iter().take(SHOWN_MAX) {
        message!(
            "{:>5.1} % removed: {:>11} of {:>11}  {}",
            100.0 * loss.part(),
            grouped(loss.removed_count),
            grouped(loss.document_count),
            loss.of,
        );
    }
    if let Some(more) = losses.len().checked_sub(SHOWN_MAX).filter(|more| *more > 0) {
        message!("{} not shown; to list all, use --losses FILE", counted(more as u64, one, many));
    }
}

fn report_cluster(cluster: &LargeCluster, counted: &dyn Fn(u64) -> String) {
    let id = cluster.id.as_ref().map(ToString::to_string).unwrap_or_default();
    message!(
        "{} in a cluster of {}'{id}': {}",
        counted(cluster.document_count),
        if cluster.side == Side::Stored { "the stored " } else { "" },
        cluster.line.as_deref().unwrap_or_default(),
    );
}
