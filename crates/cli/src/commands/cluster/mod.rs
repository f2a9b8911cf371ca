//! `fpstore cluster`: finds clusters of near-duplicates, and the documents to keep of each cluster.

mod groups;
mod previous;

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use fpstore::IdRef;
use fpstore::join::confirm::InClusters;
use fpstore::join::{
    ClusterMethod, EarlierClusters, Fate, JudgedDocuments, KeepRule, clusters, judged_clusters,
};
use fpstore::rows::{ClusterRow, RecordRow};
use fpstore_report::page::About;

use crate::args::format_args::HeaderArg;
use crate::args::inputs::read_judged;
use crate::args::reading_args::in_long_help;
use crate::args::resources::{QuietArgs, ResourceArgs};
use crate::output::row_writer::{Layout, RowWriter};
use crate::output::sink::{OutputArgs, Sink};
use crate::output::text::{TableFormat, counted};
use crate::run::confirm::{Confirmation, NearArgs};
use crate::run::group_page::{GroupPageArgs, OpenPage};
use crate::run::join_input::{Ids, JoinInputArgs, Order};
use crate::session::choice::choice;
use crate::session::command::ExitStatus;
use crate::session::monitor::Monitor;
use crate::session::stores::of_one;
use groups::{ConfirmedGroups, Groups, StoreGroups};

/// Ids that begin with the position of the record: some methods and rules of `--keep` depend on the
/// order of the records.
const POSITIONED: Ids = Ids::WithPositions(Order::Rising);

const LONG_ABOUT: &str = "\
Find the clusters of near-duplicates: groups of two or more documents.

The input is a store, or files as 'build' reads them. TSV has one line for each document: \
cluster, size, diameter, distance from the representative, fingerprint, id. The representative \
comes first. The size counts documents. The diameter is the largest distance between two \
members; a + after it means at least, which happens above 4096 fingerprints. JSON has one object \
for each cluster.

With --docs the input is documents, in files and folders. --confirm S then joins only documents \
with a Jaccard similarity of S or more; the similarity follows the distance.

'fpstore help clusters' describes the methods, the rules of --keep, --stable, and the page of --html.

Needs 24 bytes of memory for each fingerprint in addition to the join; pairs are not stored.";

const AFTER_HELP: &str = "\
Examples:
  fpstore cluster pages.tsv.zst --method star -o clusters.tsv
  fpstore cluster pages.fps --keep representative -o kept.tsv
  fpstore cluster --docs corpus.jsonl.zst --confirm 0.8 --keep first
  fpstore cluster pages.fps --stable clusters.tsv --format json
  fpstore cluster --docs corpus.jsonl.zst --html groups.html --link 'https://example.org/{id}'

Exit status: 0 clusters found, or with --keep; 1 no clusters; 2 error.";

/// Find clusters of near-duplicates, and which documents to keep
#[derive(Args, Debug)]
#[command(
    long_about = LONG_ABOUT,
    after_help = AFTER_HELP,
    mut_args = in_long_help,
    mut_arg("store", of_one)
)]
pub(crate) struct ClusterArgs {
    #[command(flatten)]
    input: JoinInputArgs,
    #[command(flatten)]
    near: NearArgs,
    /// The definition of a cluster
    #[arg(long, value_parser = choice::<ClusterMethod>(), default_value_t)]
    method: ClusterMethod,
    /// Pairs judged by people, one on each line: id, id, and 1 for the same document or 0 for
    /// different documents
    ///
    /// The format is the same as for 'evaluate'. Documents judged the same are in one cluster, near
    /// or not; documents judged different are never in one cluster, see 'fpstore help clusters'.
    /// Unknown ids have no effect.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pairs: Option<PathBuf>,
    /// Keep the cluster numbers of an earlier output
    #[arg(long, value_name = "FILE")]
    stable: Option<PathBuf>,
    /// Print the documents to keep instead of the clusters
    #[arg(long, value_parser = choice::<KeepRule>(), value_name = "RULE")]
    keep: Option<KeepRule>,
    /// With --keep: print the documents to drop instead
    #[arg(long, requires = "keep")]
    drop: bool,
    /// The output format [default: tsv]
    #[arg(long, value_enum)]
    format: Option<TableFormat>,
    #[command(flatten)]
    header: HeaderArg,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    page: GroupPageArgs,
    #[command(flatten)]
    resources: ResourceArgs,
    #[command(flatten)]
    quiet: QuietArgs,
}

pub(crate) fn run(args: &ClusterArgs) -> anyhow::Result<ExitStatus> {
    args.input.check_one("the command")?;
    let has_form = args.format.is_some_and(|format| format != TableFormat::Tsv);
    if args.keep.is_some() && (has_form || args.header.header) {
        bail!("--keep prints lines that 'build' reads; leave out --format and --header");
    }
    if args.pairs.is_some() && args.near.confirm.is_some() {
        bail!(
            "--pairs is for clusters of fingerprints, and --confirm compares documents; leave one out"
        );
    }
    if args.pairs.is_some() && args.method != ClusterMethod::Components {
        bail!("--pairs is for --method components; leave out one of --pairs and --method");
    }
    let judged = args.pairs.as_deref().map(read_judged).transpose()?;
    let page = args.page.open(args.output.force)?;
    if page.is_some() {
        args.input.check_twice("--html")?;
    }
    let reads_texts = !args.page.texts.is_empty();
    let out = args.output.open()?;
    let earlier = args.stable.as_deref().map(previous::read).transpose()?;
    let monitor = args.resources.monitor(args.quiet.is_on())?;
    let method = args.method;
    if let Some(threshold) = args.near.confirm {
        let (k, resources, monitor) = (args.near.k, &args.resources, &monitor);
        let (goal, max_pairs) = (InClusters(method), None);
        let confirmation = Confirmation { goal, threshold, k, max_pairs, resources, monitor };
        let (found, k) = confirmation.of(&args.input, reads_texts)?;
        if !args.quiet.is_on() {
            monitor.suspend(|| confirmation.report(found.compared_count(), k));
        }
        let limit = format!("of similarity {threshold}");
        return print(args, ConfirmedGroups(found), earlier.as_ref(), (out, page), &limit, monitor);
    }
    let by_position = args.keep == Some(KeepRule::First)
        || args.method == ClusterMethod::Leader && args.input.has_files();
    let ids = if by_position { POSITIONED } else { Ids::AsTheyAre };
    let opened = args.input.open(&args.resources, &monitor, ids, reads_texts)?;
    let k = args.near.k.unwrap_or(opened.default_k);
    let options = args.resources.join_options(k, &monitor)?;
    let found = match &judged {
        None => clusters(&opened.store, &options, method)?,
        Some(pairs) => {
            let own_id: fn(&str) -> &str = match ids {
                Ids::AsTheyAre => |id| id,
                _ => |id| POSITIONED.split(IdRef::Text(id)).1.unwrap_or_default(),
            };
            let (found, obeyed) = judged_clusters(&opened.store, &options, pairs, own_id)?;
            if !args.quiet.is_on() {
                monitor.suspend(|| report_judged(&obeyed));
            }
            found
        }
    };
    let found = StoreGroups { found, ids, width: opened.store.width() };
    let limit = format!("within {}", counted(k.into(), "bit", "bits"));
    print(args, found, earlier.as_ref(), (out, page), &limit, &monitor)
}

/// Prints how many of the pairs judged by people were applied.
fn report_judged(obeyed: &JudgedDocuments) {
    message!(
        "applied {}, {} of the same document and {} of different documents; {} with unknown ids",
        counted(obeyed.duplicate_count + obeyed.different_count, "judged pair", "judged pairs"),
        obeyed.duplicate_count,
        obeyed.different_count,
        obeyed.unknown_count,
    );
}

/// Prints the clusters, or the documents to keep, and writes the HTML page if the user wants one.
fn print(
    args: &ClusterArgs,
    mut found: impl Groups,
    earlier: Option<&EarlierClusters>,
    (out, mut page): (Sink, Option<OpenPage>),
    limit: &str,
    monitor: &Monitor,
) -> anyhow::Result<ExitStatus> {
    if !args.quiet.is_on() {
        monitor.suspend(|| args.input.report_default());
    }
    if let Some(earlier) = earlier {
        found.keep_numbers(earlier)?;
    }
    if let Some(rule) = args.keep {
        let mut rows = RowWriter::tsv::<RecordRow<'_>>(out)?;
        let done = print_fates(&found, rule, args.drop, &mut rows)?;
        if let Some(page) = &mut page {
            found.for_each(&mut |group| {
                page.take(&group);
                Ok(())
            })?;
        }
        monitor.finish();
        rows.finish()?;
        if !args.quiet.is_on() {
            message!(
                "{} kept, {} dropped",
                counted(done.0, "document", "documents"),
                counted(done.1, "document", "documents")
            );
        }
        write_page(args, page, limit, monitor)?;
        return Ok(ExitStatus::Done);
    }
    let (mut count, mut documents) = (0, 0);
    let has_rows = page.is_none() || args.output.output.is_some() || args.format.is_some();
    let layout = Layout::new(args.format.unwrap_or(TableFormat::Tsv), args.header.header);
    let without: &[&str] = if args.near.confirm.is_some() { &[] } else { &["similarity"] };
    let mut output = RowWriter::new::<ClusterRow>(layout, out, without)?;
    found.for_each(&mut |group| {
        count += 1;
        documents += group.size;
        monitor.check()?;
        if let Some(page) = &mut page {
            page.take(&group);
        }
        if has_rows { output.push(&group) } else { Ok(()) }
    })?;
    monitor.finish();
    output.finish()?;
    if !args.quiet.is_on() {
        message!(
            "{} of {} {limit}",
            counted(count, "cluster", "clusters"),
            counted(documents, "document", "documents"),
        );
    }
    write_page(args, page, limit, monitor)?;
    Ok(if count == 0 { ExitStatus::Negative } else { ExitStatus::Done })
}

fn write_page(
    args: &ClusterArgs,
    page: Option<OpenPage>,
    limit: &str,
    monitor: &Monitor,
) -> anyhow::Result<()> {
    let Some(page) = page else { return Ok(()) };
    let source = args.input.text_source(&args.page.texts, &args.resources)?;
    let method = args.method.shape();
    let about = About { title: &args.input.title(), limit, method, ..About::default() };
    args.page.write(page, source, &about, &args.resources, monitor, args.quiet.is_on())
}

/// Prints the documents to keep, or with `--drop` the others. Returns the numbers of documents
/// kept and dropped.
fn print_fates(
    found: &impl Groups,
    rule: KeepRule,
    dropped: bool,
    rows: &mut RowWriter,
) -> anyhow::Result<(u64, u64)> {
    let mut counts = (0, 0);
    found.for_each_document(rule, &mut |fate, fingerprint, id| {
        match fate {
            Fate::Keep => counts.0 += 1,
            Fate::Drop => counts.1 += 1,
        }
        if (fate == Fate::Drop) != dropped {
            return Ok(());
        }
        let fingerprint = found.width().hex(fingerprint);
        rows.push(&RecordRow { fingerprint, id: id.map(IdRef::Text) })
    })?;
    Ok(counts)
}
