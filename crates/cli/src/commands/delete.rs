//! `fpstore delete`: deletes records by id or by fingerprint.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{ArgGroup, Args};
use fpstore::input::{open_input, read_records};
use fpstore::{Fingerprint, IdRef, Writer, WriterOptions};
use fpstore_base::source::name_of;
use fpstore_base::{fields, lists};

use crate::args::fingerprint_arg;
use crate::args::inputs::{ReadArgs, check_stdin, report_skipped};
use crate::args::resources::WriteArgs;
use crate::output::text::{ReportFormat, counted, stdout};
use crate::session::command::ExitStatus;
use crate::session::stores::StorePlace;

const LONG_ABOUT: &str = "\
Delete ids, or fingerprints with all their ids. Readers that open or refresh the store no longer \
find them. 'fpstore compact' frees their space.

An id is deleted from every fingerprint that has it; a fingerprint is deleted with its last id. \
Deleting ids reads the ids of the whole store; deleting a fingerprint takes one look-up. Either all \
are deleted or none.";

const AFTER_HELP: &str = "\
Examples:
  fpstore delete --ids gone.txt -s pages.fps --dry-run
  fpstore delete --ids gone.txt -s pages.fps
  fpstore delete --fingerprint ffffffffffffffff --fingerprint 0000000000000000

Exit status: 0 done; 1 nothing to delete in the store; 2 error.";

/// Delete ids, or fingerprints with all their ids
#[derive(Args, Debug)]
#[command(
    long_about = LONG_ABOUT,
    after_help = AFTER_HELP,
    group = ArgGroup::new("what").required(true).multiple(true).args(["ids", "id", "fingerprints", "fingerprint"])
)]
pub(crate) struct DeleteArgs {
    /// Delete the ids in a file, one on each line, with # before comments; - is standard input
    #[arg(long, value_name = "FILE")]
    ids: Vec<PathBuf>,
    /// Delete this id; may be repeated
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    id: Vec<String>,
    /// Delete the fingerprints of a file, read as by 'build'; ids in it are ignored
    #[arg(long, value_name = "FILE")]
    fingerprints: Vec<PathBuf>,
    /// Delete this fingerprint; may be repeated
    #[arg(long, value_name = "HEX", allow_negative_numbers = true)]
    fingerprint: Vec<String>,
    /// Print what would be deleted and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Format of the counts: text, on standard error; json: also as an object on standard output
    #[arg(long, value_enum, default_value = "text")]
    format: ReportFormat,
    #[command(flatten)]
    store: StorePlace,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    work: WriteArgs,
}

pub(crate) fn run(args: &DeleteArgs) -> anyhow::Result<ExitStatus> {
    let by_id = !args.ids.is_empty() || !args.id.is_empty();
    let by_fingerprint = !args.fingerprints.is_empty() || !args.fingerprint.is_empty();
    if by_id && by_fingerprint {
        bail!("ids and fingerprints cannot be deleted by one command");
    }
    let width = args.store.open()?.width();
    let read = args.read.of_width(width)?;
    let options = read.options();
    let mut fingerprints = args
        .fingerprint
        .iter()
        .map(|text| fingerprint_arg::parse(text, read.radix(), width, args.work.is_quiet()))
        .collect::<anyhow::Result<Vec<Fingerprint>>>()?;
    for file in &args.fingerprints {
        check_stdin(file)?;
        let summary = read_records(file, &options, |record| {
            fingerprints.push(record.fingerprint);
            Ok::<(), fpstore::Error>(())
        })?;
        report_skipped(file, &summary);
    }
    let mut ids = args.id.clone();
    for file in &args.ids {
        check_stdin(file)?;
        read_ids(file, &mut ids)?;
    }
    if let Some(fault) = ids.iter().find_map(|id| IdRef::fault_of_text(id).map(|why| (id, why))) {
        bail!("'{}' is not an id: {}", fault.0.escape_debug(), fault.1);
    }
    let monitor = args.work.monitor()?;
    let options = args.work.limit(WriterOptions::default(), &monitor)?;
    let mut writer = Writer::with_options(args.store.path(), options)?;
    let wanted = ids.iter().map(|id| IdRef::Text(id));
    let done = match (by_id, args.dry_run) {
        (true, false) => writer.delete_ids(wanted)?,
        (true, true) => writer.would_delete_ids(wanted)?,
        (false, false) => writer.delete_fingerprints(&fingerprints)?,
        (false, true) => writer.would_delete_fingerprints(&fingerprints)?,
    };
    monitor.finish();
    if args.format == ReportFormat::Json {
        let mut out = stdout();
        serde_json::to_writer(&mut out, &done)?;
        writeln!(out)?;
        out.flush()?;
    }
    if !args.work.is_quiet() {
        let (one, many) = if by_id { ("id", "ids") } else { ("fingerprint", "fingerprints") };
        let missing = done.wanted - done.found;
        let missing = match missing {
            0 => String::new(),
            count => format!("; {} not found", counted(count, "was", "were")),
        };
        message!("{} found{missing}", counted(done.found, one, many));
        message!(
            "{} and {} {}",
            counted(done.fingerprints, "fingerprint", "fingerprints"),
            counted(done.ids, "id", "ids"),
            if args.dry_run { "would be deleted; nothing was changed" } else { "deleted" },
        );
    }
    let is_missing = done.found == 0 && done.wanted > 0;
    Ok(if is_missing { ExitStatus::Negative } else { ExitStatus::Done })
}

/// Appends the ids of a file to `ids`. The file has one id on each line; a header line is skipped.
fn read_ids(file: &Path, ids: &mut Vec<String>) -> anyhow::Result<()> {
    let name = name_of(file);
    let text = lists::text_of(open_input(file)?).with_context(|| format!("cannot read {name}"))?;
    let mut rows = lists::rows(&text).peekable();
    if lists::rows(&text).nth(1).is_some()
        && let Some((number, header)) = rows.next_if(|(_, row)| fields::is_id(row))
    {
        message!("{name}: line {number}, '{header}', is taken for a header, not for an id");
    }
    for (number, id) in rows {
        if let Some(fault) = IdRef::fault_of_text(id) {
            bail!("{name}: line {number} is not an id: {fault}");
        }
        ids.push(id.into());
    }
    Ok(())
}
