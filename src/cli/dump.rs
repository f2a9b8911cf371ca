//! `fpstore dump`: prints all records as lines that `build` reads.

use std::io::Write;

use anyhow::bail;
use clap::Args;

use super::command::{ExitStatus, Run, StorePlace};
use super::output::IdPrinter;
use super::sink::OutputArgs;

const LONG_ABOUT: &str = "\
Print every fingerprint and id, in fingerprint order.

Each line is one that 'build' reads. Lines do not say how the fingerprints were made, nor the \
label of their segment: give 'build' the recipe of the store with --recipe (a name, or a file with \
the recipe that 'info' prints), a label with --label, the same -k and --scheme, and --ids text if \
all ids are texts of digits. 'export' copies a store as it is.";

const AFTER_HELP: &str = "\
Examples:
  fpstore dump -s pages.fps | zstd > pages.tsv.zst
  fpstore dump -s pages.fps | fpstore build - -s larger.fps --scheme 4

Exit status: 0 done; 2 error.";

/// Print every fingerprint and id, in fingerprint order
#[derive(Args, Debug)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct DumpArgs {
    #[command(flatten)]
    store: StorePlace,
    /// The separator of fingerprint and id: tab, comma, colon or space
    #[arg(long, value_name = "C", default_value = "tab", value_parser = separator)]
    separator: char,
    #[command(flatten)]
    output: OutputArgs,
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

fn run(args: &DumpArgs) -> anyhow::Result<ExitStatus> {
    let store = args.store.open()?;
    let mut out = args.output.open()?;
    let printer = IdPrinter::new(out.is_terminal());
    store.for_each(|entry| -> anyhow::Result<()> {
        let fingerprint = entry.fingerprint();
        let mut bare = true;
        for id in entry.ids() {
            bare = false;
            let id = id?.to_string();
            if id.starts_with(' ') && args.separator != '\t' {
                bail!(
                    "the id '{}' of {fingerprint} begins with a space, which 'build' ignores \
                     after '{}'; use --separator tab",
                    id.escape_debug(),
                    args.separator
                );
            }
            writeln!(out, "{fingerprint}{}{}", args.separator, printer.show(&id))?;
        }
        if bare {
            writeln!(out, "{fingerprint}")?;
        }
        Ok(())
    })?;
    out.finish()?;
    Ok(ExitStatus::Done)
}
