//! `fpstore dump`: prints all records as lines that `build` reads, or as a table.

use std::io::Write;

use anyhow::bail;
use clap::Args;
use fpstore::{Fingerprint, Id, IdRef};
use serde::Serialize;

use super::command::{ExitStatus, Run, StorePlace};
use super::output::{IdPrinter, TableFormat};
use super::sink::{OutputArgs, Sink};
#[cfg(feature = "parquet")]
use super::table::{Cell, Kind, Table};

const LONG_ABOUT: &str = "\
Print every fingerprint and id, in fingerprint order.

Each line is one that 'build' reads, and so are JSON Lines and Parquet with --fingerprint-field \
fingerprint, if all records have ids. Records do not say how the fingerprints were made, nor the \
label of their segment: give 'build' the recipe of the store with --recipe (a name, or a file with \
the recipe that 'info' prints), a label with --label, the same -k and --scheme, and --ids text if \
all ids are texts of digits. 'export' copies a store as it is.";

const AFTER_HELP: &str = "\
Examples:
  fpstore dump -s pages.fps | zstd > pages.tsv.zst
  fpstore dump -s pages.fps | fpstore build - -s larger.fps --scheme 4
  fpstore dump -s pages.fps --format parquet -o pages.parquet

Exit status: 0 done; 2 error.";

/// Print every fingerprint and id, in fingerprint order
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct DumpArgs {
    #[command(flatten)]
    store: StorePlace,
    /// The separator of fingerprint and id in lines: tab, comma, colon or space [default: tab]
    #[arg(long, value_name = "C", value_parser = separator)]
    separator: Option<char>,
    /// Print at most N records
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// The output format
    #[arg(long, value_enum, default_value = "tsv")]
    format: TableFormat,
    #[command(flatten)]
    output: OutputArgs,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

/// One of the separators that `build` understands.
fn separator(text: &str) -> Result<char, String> {
    match text {
        "tab" | "\t" | "\\t" => Ok('\t'),
        "comma" | "," => Ok(','),
        "colon" | ":" => Ok(':'),
        "space" | " " => Ok(' '),
        _ => Err("expected tab, comma, colon or space, which 'build' reads".into()),
    }
}

impl Run for DumpArgs {
    fn run(&self) -> anyhow::Result<ExitStatus> {
        run(self)
    }
}

/// A record as a JSON object.
#[derive(Serialize)]
struct Row {
    fingerprint: String,
    #[serde(serialize_with = "id_as_it_is")]
    id: Option<Id>,
}

/// A number stays one, as 'build' takes ids of JSON.
fn id_as_it_is<S: serde::Serializer>(id: &Option<Id>, to: S) -> Result<S::Ok, S::Error> {
    match id {
        None => to.serialize_none(),
        Some(Id::U64(number)) => to.serialize_u64(*number),
        Some(Id::Text(text)) => to.serialize_str(text),
    }
}

/// Where records go.
enum Printer {
    Lines(Sink, char, IdPrinter),
    Json(Sink),
    #[cfg(feature = "parquet")]
    Table(Box<Table>),
}

impl Printer {
    fn new(args: &DumpArgs) -> anyhow::Result<Self> {
        if let (Some(_), true) = (args.separator, args.format != TableFormat::Tsv) {
            bail!("--separator is for lines; leave out --format");
        }
        let out = args.output.open()?;
        Ok(match args.format {
            TableFormat::Tsv => {
                let ids = IdPrinter::new(out.is_terminal());
                Printer::Lines(out, args.separator.unwrap_or('\t'), ids)
            }
            TableFormat::Json => Printer::Json(out),
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => {
                let columns = [("fingerprint", Kind::U64), ("id", Kind::Text)];
                Printer::Table(Box::new(Table::new(out, "records", &columns)?))
            }
        })
    }

    fn print(&mut self, fingerprint: Fingerprint, id: Option<IdRef<'_>>) -> anyhow::Result<()> {
        match self {
            Printer::Lines(out, separator, ids) => match id.map(|id| id.to_string()) {
                Some(id) if id.starts_with(' ') && *separator != '\t' => bail!(
                    "the id '{}' of {fingerprint} begins with a space, which 'build' ignores \
                     after '{separator}'; use --separator tab",
                    id.escape_debug(),
                ),
                Some(id) => writeln!(out, "{fingerprint}{separator}{}", ids.show(&id))?,
                None => writeln!(out, "{fingerprint}")?,
            },
            Printer::Json(out) => {
                let id = id.map(IdRef::to_id);
                serde_json::to_writer(
                    &mut *out,
                    &Row { fingerprint: fingerprint.to_string(), id },
                )?;
                writeln!(out)?;
            }
            #[cfg(feature = "parquet")]
            Printer::Table(table) => {
                let id = id.map(|id| id.to_string());
                table.push([Cell::U64(fingerprint.value()), Cell::Text(id.as_deref())])?;
            }
        }
        Ok(())
    }

    fn finish(self) -> anyhow::Result<()> {
        match self {
            Printer::Lines(out, ..) | Printer::Json(out) => out.finish(),
            #[cfg(feature = "parquet")]
            Printer::Table(table) => table.finish(),
        }
    }
}

fn run(args: &DumpArgs) -> anyhow::Result<ExitStatus> {
    let store = args.store.open()?;
    let mut printer = Printer::new(args)?;
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
            printer.print(fingerprint, id?).map_err(Stop::Failed)?;
            count += 1;
        }
        Ok(())
    });
    if let Err(Stop::Failed(error)) = walked {
        return Err(error);
    }
    printer.finish()?;
    Ok(ExitStatus::Done)
}

/// Why a walk over a store ends early.
enum Stop {
    /// As many records are printed as were asked for.
    Enough,
    Failed(anyhow::Error),
}

impl From<fpstore::Error> for Stop {
    fn from(error: fpstore::Error) -> Self {
        Stop::Failed(error.into())
    }
}
