//! `fpstore pairs`: finds all pairs of near-duplicates.

use std::io::Write;

use anyhow::bail;
use clap::Args;
use fpstore::join::confirm::InPairs;
use fpstore::join::{JUDGED_DISTANCE, PlanReads, document_pairs, sampled_pairs};
use fpstore::rows::PairRow;
use fpstore::{Error, IdRef};
use fpstore_report::page::About;

use crate::args::first_given;
use crate::args::format_args::TableArgs;
use crate::args::reading_args::in_long_help;
use crate::args::resources::{QuietArgs, ResourceArgs};
use crate::args::share::{ShareArgs, plan_of};
use crate::output::row_writer::RowWriter;
use crate::output::sink::{OutputArgs, Sink};
use crate::output::text::counted;
use crate::run::confirm::{Confirmation, NearArgs};
use crate::run::group_page::{GroupPageArgs, of_pairs};
use crate::run::join_input::{Ids, JoinInputArgs};
use crate::session::command::ExitStatus;
use crate::session::monitor::Monitor;
use crate::session::stores::name_of;

/// The columns that the output does not always have: similarities only with `--confirm`, stores
/// only if there are several.
const WITHOUT: [&str; 3] = ["similarity", "first_store", "second_store"];

const LONG_ABOUT: &str = "\
Find every pair of documents whose fingerprints are within k bits, each pair once.

The input is a store, several (-s A -s B), or files as 'build' reads them. TSV has one line for each \
pair: first fingerprint, second fingerprint, distance, with several stores both stores, first id, \
second id. The first fingerprint is the smaller one; lines are sorted by the first, the second, then \
the ids. Documents that share a fingerprint are pairs at distance 0, which --distinct leaves out. A \
fingerprint without ids counts as one document.

The number of pairs is printed before the first pair is written. n equal documents make n(n-1)/2 \
pairs: set --max-pairs, or use 'cluster', which does not list pairs. Pairs that do not fit into \
--memory are sorted in temporary files of about 12 bytes for each pair.

With --docs the input is documents, in files and folders. --confirm S then finds the pairs with a \
Jaccard similarity of S or more, whatever their distance; the similarity follows the distance.

With --share I/N a process does one of N parts of the work. The outputs of all shares together contain \
each line once. With a store of --scheme blocks-4 (for k = 3; k + 1 blocks for any k) a share reads \
only its part; --explain prints which part.";

const AFTER_HELP: &str = "\
Examples:
  fpstore pairs pages.tsv.zst -k 3 --max-pairs 100000000 -o pairs.tsv
  fpstore pairs -s january.fps -s february.fps --distinct | cut -f4-7
  fpstore pairs --docs corpus.jsonl.zst --confirm 0.8 -o pairs.tsv
  fpstore pairs photos.fps --html judge.html --image '{id}'
  seq 0 7 | xargs -P 4 -I{} fpstore pairs pages.fps --share {}/8 --threads 1 -o pairs-{}.tsv

Exit status: 0 pairs found, or with --share; 1 no pairs; 2 error.";

/// Find all pairs of near-duplicates
#[derive(Args, Debug)]
#[command(
    long_about = LONG_ABOUT,
    after_help = AFTER_HELP,
    mut_args = |arg| of_pairs(in_long_help(arg))
)]
pub(crate) struct PairsArgs {
    #[command(flatten)]
    input: JoinInputArgs,
    #[command(flatten)]
    near: NearArgs,
    /// Leave out pairs of documents that share a fingerprint
    #[arg(long)]
    distinct: bool,
    /// Fail, and write nothing, if there are more than N pairs
    #[arg(long, value_name = "N")]
    max_pairs: Option<u64>,
    #[command(flatten)]
    format: TableArgs,
    #[command(flatten)]
    share: ShareArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    page: GroupPageArgs,
    #[command(flatten)]
    resources: ResourceArgs,
    #[command(flatten)]
    quiet: QuietArgs,
}

pub(crate) fn run(args: &PairsArgs) -> anyhow::Result<ExitStatus> {
    if args.page.is_given() {
        return pairs_to_judge(args);
    }
    args.share.check(args.input.has_files(), args.near.confirm.is_some())?;
    let mut out = args.output.open()?;
    let monitor = args.resources.monitor(args.quiet.is_on())?;
    if let Some(threshold) = args.near.confirm {
        return confirmed_pairs(args, threshold, out, &monitor);
    }
    let opened = args.input.open(&args.resources, &monitor, Ids::AsTheyAre, false)?;
    let k = args.near.k.unwrap_or(opened.default_k);
    let mut options = args.resources.join_options(k, &monitor)?.max_pairs(args.max_pairs);
    args.share.check_generation(&opened.store)?;
    if args.share.explain() {
        let (plan, words) = plan_of(&opened.store, k)?;
        monitor.finish();
        writeln!(out, "{plan}")?;
        if !args.quiet.is_on() {
            message!("{words}");
        }
        out.finish()?;
        return Ok(ExitStatus::Done);
    }
    if let Some(share) = args.share.share() {
        let (plan, words) = plan_of(&opened.store, k)?;
        if plan.reads() == PlanReads::Everything && share.count > 1 && !args.quiet.is_on() {
            monitor.suspend(|| message!("{words}"));
        }
        options = options.share(share);
    }
    let pairs = document_pairs(&opened.store, &options, args.distinct)?;
    monitor.finish();
    if !args.quiet.is_on() {
        args.input.report_default();
        let distance = counted(k.into(), "bit", "bits");
        message!("{} within {distance}", counted(pairs.len(), "pair", "pairs"));
    }
    let width = opened.store.width();
    let names = opened.stores.as_ref();
    let without = if names.is_some() { &WITHOUT[..1] } else { &WITHOUT };
    let mut rows = RowWriter::new::<PairRow<'_>>(args.format.layout(), out, without)?;
    pairs.for_each(|pair| -> anyhow::Result<()> {
        monitor.check()?;
        rows.push(&PairRow {
            first: width.hex(pair.pair.first),
            second: width.hex(pair.pair.second),
            distance: pair.pair.distance(),
            similarity: None,
            first_id: pair.first_id,
            second_id: pair.second_id,
            first_store: names.map(|names| name_of(names, pair.first_store)),
            second_store: names.map(|names| name_of(names, pair.second_store)),
        })
    })?;
    rows.finish()?;
    // A share without pairs is normal, so its status is 0: a scheduler would treat status 1 as a
    // failure.
    let is_negative = pairs.is_empty() && args.share.share().is_none();
    Ok(if is_negative { ExitStatus::Negative } else { ExitStatus::Done })
}

/// `pairs --html`: writes a page on which people judge a sample of pairs.
fn pairs_to_judge(args: &PairsArgs) -> anyhow::Result<ExitStatus> {
    let given = [
        (args.near.confirm.is_some(), "--confirm"),
        (args.distinct, "--distinct"),
        (args.max_pairs.is_some(), "--max-pairs"),
        (args.output.output.is_some(), "--output"),
        (args.share.first_given().is_some(), "--share"),
        (args.format.are_given(), "--format and --header"),
    ];
    if let Some(option) = first_given(given) {
        bail!("--html writes pairs to judge and no rows; leave out {option}");
    }
    args.input.check_one("--html")?;
    args.input.check_twice("--html")?;
    let Some(mut page) = args.page.open(args.output.force)? else { return Ok(ExitStatus::Done) };
    let monitor = args.resources.monitor(args.quiet.is_on())?;
    let reads_texts = !args.page.texts.is_empty();
    let opened = args.input.open(&args.resources, &monitor, Ids::AsTheyAre, reads_texts)?;
    let k = args.near.k.unwrap_or(JUDGED_DISTANCE);
    let options = args.resources.join_options(k, &monitor)?;
    let pairs = sampled_pairs(&opened.store, &options, args.page.group_max())?;
    if pairs.is_empty() && opened.store.info().id_count() == 0 {
        bail!("{}: it has no ids, and labels identify documents by id", args.input.title());
    }
    page.groups.take_pairs(&pairs);
    if !args.quiet.is_on() {
        monitor.suspend(|| args.input.report_default());
    }
    let source = args.input.text_source(&args.page.texts, &args.resources)?;
    let (title, limit) = (args.input.title(), format!("0 to {}", counted(k.into(), "bit", "bits")));
    let about = About { title: &title, limit: &limit, judged: true, ..About::default() };
    args.page.write(page, source, &about, &args.resources, &monitor, args.quiet.is_on())?;
    if !args.quiet.is_on() && !pairs.is_empty() {
        message!(
            "judge the pairs in a browser and save labels.tsv; to find the distance that separates \
             duplicates from other documents, run 'fpstore evaluate INPUT --pairs labels.tsv', \
             with the store or the files of this page as INPUT"
        );
    }
    Ok(if pairs.is_empty() { ExitStatus::Negative } else { ExitStatus::Done })
}

/// `pairs --confirm`: finds and prints the pairs of documents whose features have at least the
/// similarity `threshold`.
fn confirmed_pairs(
    args: &PairsArgs,
    threshold: f64,
    out: Sink,
    monitor: &Monitor,
) -> anyhow::Result<ExitStatus> {
    let (k, max_pairs, resources) = (args.near.k, args.max_pairs, &args.resources);
    let goal = InPairs;
    let confirmation = Confirmation { goal, threshold, k, max_pairs, resources, monitor };
    let (confirmed, k) = confirmation.of(&args.input, false)?;
    monitor.finish();
    let count = confirmed.pair_count(args.distinct);
    if !args.quiet.is_on() {
        args.input.report_default();
        confirmation.report(confirmed.candidate_count(), k);
        message!("{} of similarity {threshold} or more", counted(count, "pair", "pairs"));
    }
    let mut rows = RowWriter::new::<PairRow<'_>>(args.format.layout(), out, &WITHOUT[1..])?;
    let id = |document| Ok::<_, Error>(confirmed.id(document)?.map(|id| id.to_string()));
    confirmed.for_each_pair(args.distinct, |pair| -> anyhow::Result<()> {
        monitor.check()?;
        let [first, second] = pair.fingerprints;
        let (one, other) = (id(pair.first)?, id(pair.second)?);
        rows.push(&PairRow {
            first: first.into(),
            second: second.into(),
            distance: first.distance(second),
            similarity: Some(pair.similarity),
            first_id: one.as_deref().map(IdRef::Text),
            second_id: other.as_deref().map(IdRef::Text),
            first_store: None,
            second_store: None,
        })
    })?;
    rows.finish()?;
    Ok(if count == 0 { ExitStatus::Negative } else { ExitStatus::Done })
}
