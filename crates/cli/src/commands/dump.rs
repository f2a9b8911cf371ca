//! `fpstore dump`: prints all records as lines that `build` can read, or as a table.

use anyhow::bail;
use clap::Args;
use fpstore::IdRef;
use fpstore::rows::RecordRow;

use crate::args::format_args::TableArgs;
use crate::args::resources::QuietArgs;
use crate::output::row_writer::RowWriter;
use crate::output::sink::OutputArgs;
use crate::output::text::TableFormat;
use crate::session::command::ExitStatus;
use crate::session::stores::StorePlace;

const LONG_ABOUT: &str = "\
Print every fingerprint and id, in fingerprint order.

'build' reads the lines, and with --fingerprint-field fingerprint also JSON Lines and Parquet, if all \
records have ids. The output does not contain the recipe of the fingerprints or the labels of segments. \
Give 'build' these options:

  --recipe         the recipe of the store: a name, or a file with the recipe that 'info' prints
  --label          a label
  -k, --scheme     as for the store
  --id-type text   if all ids are texts of digits

'export' copies a whole store.";

const AFTER_HELP: &str = "\
Examples:
  fpstore dump -s pages.fps | zstd > pages.tsv.zst
  fpstore dump -s pages.fps | fpstore build - -s larger.fps --scheme 4
  fpstore dump -s pages.fps --format parquet -o pages.parquet

Exit status: 0 done; 2 error.";

/// Print every fingerprint and id, in fingerprint order
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(crate) struct DumpArgs {
    #[command(flatten)]
    store: StorePlace,
    /// Separator of fingerprint and id in lines: tab, comma, colon or space [default: tab]
    #[arg(long, value_name = "C", value_parser = separator)]
    separator: Option<char>,
    /// Print at most N records
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    format: TableArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    quiet: QuietArgs,
}

/// Parses the name of a separator between fingerprint and id. `build` can read all of these.
fn separator(text: &str) -> Result<char, String> {
    match text {
        "tab" | "\t" | "\\t" => Ok('\t'),
        "comma" | "," => Ok(','),
        "colon" | ":" => Ok(':'),
        "space" | " " => Ok(' '),
        _ => Err("expected tab, comma, colon or space, which 'build' reads".into()),
    }
}

fn open(args: &DumpArgs) -> anyhow::Result<RowWriter> {
    let mut layout = args.format.layout();
    if let (Some(_), true) = (args.separator, layout.format != TableFormat::Tsv) {
        bail!("--separator is for lines; leave out --format");
    }
    let out = args.output.open()?;
    layout.separator = args.separator.unwrap_or(layout.separator);
    RowWriter::new::<RecordRow<'_>>(layout, out, &[])
}

/// Rejects an id that `build` could not read back unchanged after this separator.
fn check(record: RecordRow<'_>, separator: Option<char>) -> anyhow::Result<()> {
    match (record.id, separator.unwrap_or('\t')) {
        (Some(IdRef::Text(id)), separator) if id.starts_with(' ') && separator != '\t' => bail!(
            "the id '{}' of {} begins with a space, which 'build' ignores after '{separator}'; use \
             --separator tab",
            id.escape_debug(),
            record.fingerprint,
        ),
        _ => Ok(()),
    }
}

pub(crate) fn run(args: &DumpArgs) -> anyhow::Result<ExitStatus> {
    let store = args.store.open()?;
    let width = store.width();
    let mut rows = open(args)?;
    let most = args.limit.unwrap_or(u64::MAX);
    let mut count = 0;
    let walked = store.for_each(|entry| -> Result<(), Stop> {
        let fingerprint = entry.fingerprint();
        let mut ids = entry.ids().peekable();
        let bare = ids.peek().is_none().then_some(None);
        for id in ids.map(|id| id.map(Some)).chain(bare.map(Ok)) {
            if count == most {
                return Err(Stop::Enough);
            }
            let record = RecordRow { fingerprint: width.hex(fingerprint), id: id? };
            check(record, args.separator)
                .and_then(|()| rows.push(&record))
                .map_err(Stop::Failed)?;
            count += 1;
        }
        Ok(())
    });
    if let Err(Stop::Failed(error)) = walked {
        return Err(error);
    }
    rows.finish()?;
    Ok(ExitStatus::Done)
}

/// Why the iteration over a store ended early.
enum Stop {
    /// As many records were printed as `--limit` allows.
    Enough,
    Failed(anyhow::Error),
}

impl From<fpstore::Error> for Stop {
    fn from(error: fpstore::Error) -> Self {
        Stop::Failed(error.into())
    }
}
