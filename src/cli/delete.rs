//! `fpstore delete`: records go, by id or by fingerprint.

use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{ArgGroup, Args};
use fpstore::{Fingerprint, IdRef, Writer, WriterOptions, open_input, read_records};

use super::effort::{EffortArgs, Work};
use super::join_input::ReadArgs;
use super::output::counted;
use super::{StoreArg, Verdict};

/// The longest line of a list of ids.
const LINE_LEN_MAX: u64 = 1 << 17;

const LONG_ABOUT: &str = "\
Delete ids, or fingerprints with all their ids. They vanish from answers at once, for readers that open the store or \
refresh it; their space comes back with 'fpstore compact'.

An id is deleted wherever it stands; a fingerprint goes with its last id. Ids take a pass over the ids of the whole \
store, fingerprints a look-up each. All of it happens or nothing does.";

const AFTER_HELP: &str = "\
Examples:
  fpstore delete --ids gone.txt -s pages.fps
  fpstore delete --fingerprint ffffffffffffffff --fingerprint 0000000000000000

Exit status: 0 if anything was deleted, 1 if nothing of it was there, 2 if it could not.";

/// Delete ids, or fingerprints with all their ids
#[derive(Args, Debug)]
#[command(
    long_about = LONG_ABOUT,
    after_help = AFTER_HELP,
    group = ArgGroup::new("what").required(true).multiple(true).args(["ids", "id", "fingerprints", "fingerprint"])
)]
pub(super) struct DeleteArgs {
    /// Delete the ids of a file, one a line; - is standard input
    #[arg(long, value_name = "FILE")]
    ids: Vec<PathBuf>,
    /// Delete this id; may be repeated
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    id: Vec<String>,
    /// Delete the fingerprints of a file, as 'build' reads them; their ids there are passed over
    #[arg(long, value_name = "FILE")]
    fingerprints: Vec<PathBuf>,
    /// Delete this fingerprint; may be repeated
    #[arg(long, value_name = "HEX", allow_negative_numbers = true)]
    fingerprint: Vec<String>,
    #[command(flatten)]
    store: StoreArg,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    effort: EffortArgs,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &DeleteArgs) -> anyhow::Result<Verdict> {
    let by_id = !args.ids.is_empty() || !args.id.is_empty();
    let by_fingerprint = !args.fingerprints.is_empty() || !args.fingerprint.is_empty();
    if by_id && by_fingerprint {
        bail!("ids and fingerprints go one kind at a time, so that all of it happens or nothing");
    }
    let options = args.read.options();
    let mut fingerprints = args
        .fingerprint
        .iter()
        .map(|text| Fingerprint::parse(text, options.radix))
        .collect::<Result<Vec<Fingerprint>, _>>()?;
    for file in &args.fingerprints {
        check_terminal(file)?;
        let summary = read_records(file, &options, |record| {
            fingerprints.push(record.fingerprint);
            Ok(())
        })?;
        super::build::report_skipped(file, &summary);
    }
    let mut ids = args.id.clone();
    for file in &args.ids {
        check_terminal(file)?;
        read_ids(file, &mut ids)?;
    }
    if let Some(fault) = ids.iter().find_map(|id| IdRef::fault_of_text(id).map(|why| (id, why))) {
        bail!("'{}' is no id: {}", fault.0.escape_debug(), fault.1);
    }
    let work = Work::start(&args.effort, args.quiet)?;
    let mut options = WriterOptions::default();
    args.effort.limit(&mut options, &work);
    let mut writer = Writer::with_options(&args.store.store, options)?;
    let done = match by_id {
        true => writer.delete_ids(ids.iter().map(|id| IdRef::Text(id)))?,
        false => writer.delete_fingerprints(&fingerprints)?,
    };
    work.done();
    if !args.quiet {
        let (one, many) = if by_id { ("id", "ids") } else { ("fingerprint", "fingerprints") };
        let missing = done.wanted - done.found;
        let missing = match missing {
            0 => String::new(),
            count => format!("; {} not found", counted(count, "was", "were")),
        };
        say!("fpstore: {} found{missing}", counted(done.found, one, many));
        say!(
            "fpstore: {} and {} deleted",
            counted(done.fingerprints, "fingerprint", "fingerprints"),
            counted(done.ids, "id", "ids"),
        );
    }
    Ok(if done.found > 0 { Verdict::Yes } else { Verdict::No })
}

fn check_terminal(file: &Path) -> anyhow::Result<()> {
    if file == Path::new("-") && io::stdin().is_terminal() {
        bail!("no input: name a file, or pipe one in; see --help");
    }
    Ok(())
}

/// The ids of a file, one a line; blank lines do not count.
fn read_ids(file: &Path, ids: &mut Vec<String>) -> anyhow::Result<()> {
    let name = match file == Path::new("-") {
        true => "standard input".into(),
        false => file.display().to_string(),
    };
    let mut reader = BufReader::new(open_input(file)?);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = reader.by_ref().take(LINE_LEN_MAX).read_until(b'\n', &mut line);
        if read.with_context(|| format!("cannot read {name}"))? == 0 {
            break;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let text = str::from_utf8(text)
            .with_context(|| format!("{name}: line {number} is not UTF-8, expected an id"))?;
        if let (false, Some(fault)) = (text.is_empty(), IdRef::fault_of_text(text)) {
            bail!("{name}: line {number} is no id: {fault}");
        }
        if !text.is_empty() {
            ids.push(text.into());
        }
    }
    Ok(())
}
