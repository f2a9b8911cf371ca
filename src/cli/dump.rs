//! `fpstore dump`: everything a store holds, as lines that `build` reads.

use std::io::Write;

use clap::Args;

use super::output::{IdPrinter, stdout};
use super::{StoreArg, Verdict};

/// Print every fingerprint and id, in fingerprint order
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  fpstore dump -s pages.fps | zstd > pages.tsv.zst\n  \
                  fpstore dump -s pages.fps | fpstore build - -s larger.fps --scheme 4")]
pub(super) struct DumpArgs {
    #[command(flatten)]
    store: StoreArg,
    /// What stands between fingerprint and id: tab, comma, colon or space, by name or itself
    #[arg(long, value_name = "C", default_value = "tab", value_parser = separator)]
    separator: char,
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

pub(super) fn run(args: &DumpArgs) -> anyhow::Result<Verdict> {
    let store = args.store.open()?;
    let printer = IdPrinter::for_stdout();
    let mut out = stdout();
    store.for_each(|entry| -> anyhow::Result<()> {
        let fingerprint = entry.fingerprint();
        let mut bare = true;
        for id in entry.ids() {
            bare = false;
            let id = id?.to_string();
            writeln!(out, "{fingerprint}{}{}", args.separator, printer.show(&id))?;
        }
        if bare {
            writeln!(out, "{fingerprint}")?;
        }
        Ok(())
    })?;
    out.flush()?;
    Ok(Verdict::Yes)
}
