//! `fpstore dedup --within --docs --confirm`: documents whose features are not alike to those of an
//! earlier document that is kept.

use std::io::Write;

use anyhow::bail;
use fpstore::Error;
use fpstore::join::ClusterMethod;
use fpstore::join::confirm::ConfirmedClusters;

use super::command::ExitStatus;
use super::confirm::ConfirmedDocuments;
use super::dedup::DedupArgs;
use super::documents::Documents;
use super::inputs::inputs;
use super::monitor::Monitor;
use super::output::{IdPrinter, counted, grouped};
use super::sink::Sink;

pub(super) fn run(
    args: &DedupArgs,
    documents: &Documents,
    threshold: f64,
    (mut out, matches): (Sink, Option<Sink>),
    monitor: &Monitor,
) -> anyhow::Result<ExitStatus> {
    let files = inputs(&args.files)?;
    let (limits, resources) = ((threshold, args.k), &args.resources);
    let done = ConfirmedDocuments::read(&files, documents, limits, None, resources, monitor)?;
    let found = done.confirmed.clusters(ClusterMethod::Leader)?;

    let mut is_dropped = vec![false; done.ids.len()];
    found.for_each(|cluster| {
        let documents = cluster.members.iter().flat_map(|member| &member.documents);
        // The first one is the leader, which is kept.
        documents.skip(1).for_each(|&number| is_dropped[number as usize] = true);
        Ok::<(), Error>(())
    })?;
    let dropped_count = is_dropped.iter().filter(|dropped| **dropped).count() as u64;
    if matches.is_some() && dropped_count > args.max_matches {
        bail!(
            "--matches would have {}, more than --max-matches allows ({}); nothing was written: \
             leave out --matches, or raise --max-matches",
            counted(dropped_count, "line", "lines"),
            grouped(args.max_matches),
        );
    }
    if let Some(mut matches) = matches {
        write_matches(&done, &found, &mut matches, monitor)?;
        write_kept(&done, &is_dropped, &mut out, monitor)?;
        out.finish()?;
        matches.finish()?;
    } else {
        write_kept(&done, &is_dropped, &mut out, monitor)?;
        out.finish()?;
    }
    monitor.finish();
    if !args.quiet {
        done.report();
        let count = done.ids.len() as u64;
        message!(
            "{}: {} kept, {} dropped",
            counted(count, "new document", "new documents"),
            counted(count - dropped_count, "document", "documents"),
            counted(dropped_count, "document", "documents"),
        );
    }
    Ok(ExitStatus::Done)
}

/// Writes the kept documents in their order.
fn write_kept(
    done: &ConfirmedDocuments,
    is_dropped: &[bool],
    out: &mut Sink,
    monitor: &Monitor,
) -> anyhow::Result<()> {
    let printer = IdPrinter::new(out.is_terminal());
    for (number, _) in (0..).zip(is_dropped).filter(|(_, dropped)| !**dropped) {
        monitor.check()?;
        let Some(fingerprint) = done.confirmed.fingerprint(number) else { break };
        writeln!(out, "{fingerprint}\t{}", printer.show(&done.ids.text(number as usize)?))?;
    }
    Ok(())
}

/// Writes for each dropped document the one that is kept instead.
fn write_matches(
    done: &ConfirmedDocuments,
    found: &ConfirmedClusters<'_>,
    out: &mut Sink,
    monitor: &Monitor,
) -> anyhow::Result<()> {
    let printer = IdPrinter::new(out.is_terminal());
    found.for_each(|cluster| {
        let leader = &cluster.members[0];
        let (kept, kept_id) = (leader.fingerprint, done.ids.text(leader.documents[0] as usize)?);
        let kept_id = printer.show_column(&kept_id);
        for member in &cluster.members {
            for &number in member.documents.iter().filter(|number| **number != leader.documents[0])
            {
                monitor.check()?;
                let (own, distance, similarity) =
                    (member.fingerprint, member.distance, member.similarity);
                let id = done.ids.text(number as usize)?;
                let id = printer.show_column(&id);
                writeln!(out, "{own}\t{kept}\t{distance}\t{similarity:.4}\t{id}\t{kept_id}\tnew")?;
            }
        }
        Ok(())
    })
}
