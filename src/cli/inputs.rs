//! Files of fingerprints and ids: which ones, how they are read, and what was wrong with them.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{Args, ValueEnum};
use fpstore::input::{InputEstimate, InputFormat, InputOptions, InputSummary, estimate_input};
use fpstore::{IdPolicy, Radix};
use fpstore_base::source::name_of;

use super::output::counted;

/// How records are read from files.
#[derive(Args, Debug)]
pub(super) struct ReadArgs {
    /// The spelling of fingerprints in the input; the output is always hex
    #[arg(long, value_enum, default_value = "hex")]
    pub(super) radix: RadixArg,
    /// How records are laid out in files
    #[arg(long, value_enum, default_value = "lines", hide_short_help = true)]
    input_format: InputFormatArg,
    /// Count bad records, show the first ten, and go on
    #[arg(long)]
    pub(super) skip_bad: bool,
}

impl ReadArgs {
    /// The first option on the form of records that differs from its default.
    pub(super) fn first_given(&self) -> Option<&'static str> {
        match (self.radix, self.input_format) {
            (RadixArg::Hex, InputFormatArg::Lines) => None,
            (_, InputFormatArg::Lines) => Some("--radix"),
            _ => Some("--input-format"),
        }
    }

    /// Whether files of fingerprints have another layout than lines.
    pub(super) fn has_layout(&self) -> bool {
        !matches!(self.input_format, InputFormatArg::Lines)
    }

    pub(super) fn options(&self) -> InputOptions {
        let format = self.input_format.into();
        InputOptions::default().format(format).radix(self.radix.into()).skip_bad(self.skip_bad)
    }
}

/// How fingerprints are spelled.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum RadixArg {
    /// 1 to 16 hex digits, with or without 0x
    Hex,
    /// Unsigned decimal
    Dec,
    /// Signed decimal, for databases without unsigned numbers
    Sdec,
}

impl From<RadixArg> for Radix {
    fn from(arg: RadixArg) -> Radix {
        match arg {
            RadixArg::Hex => Radix::Hex,
            RadixArg::Dec => Radix::Decimal,
            RadixArg::Sdec => Radix::SignedDecimal,
        }
    }
}

/// How records are laid out.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum InputFormatArg {
    /// One line for each record: fingerprint and id
    Lines,
    /// 8 bytes for each record, little-endian
    U64le,
    /// 16 bytes for each record: fingerprint and id, little-endian
    U64leId,
}

impl From<InputFormatArg> for InputFormat {
    fn from(arg: InputFormatArg) -> InputFormat {
        match arg {
            InputFormatArg::Lines => InputFormat::Lines,
            InputFormatArg::U64le => InputFormat::U64Le,
            InputFormatArg::U64leId => InputFormat::U64LeId,
        }
    }
}

/// Which ids a store keeps.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum IdsArg {
    Auto,
    None,
    U64,
    Text,
}

impl From<IdsArg> for IdPolicy {
    fn from(arg: IdsArg) -> IdPolicy {
        match arg {
            IdsArg::Auto => IdPolicy::Auto,
            IdsArg::None => IdPolicy::None,
            IdsArg::U64 => IdPolicy::U64,
            IdsArg::Text => IdPolicy::Text,
        }
    }
}

/// The files, or standard input if there are none; see [`check_stdin`].
pub(super) fn inputs(files: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let files = if files.is_empty() { vec![PathBuf::from("-")] } else { files.to_vec() };
    files.iter().try_for_each(|file| check_stdin(file))?;
    Ok(files)
}

/// Refuses to read standard input from a terminal: the user most likely forgot the file.
pub(super) fn check_stdin(file: &Path) -> anyhow::Result<()> {
    if file == Path::new("-") && io::stdin().is_terminal() {
        bail!("no input: name a file, or pipe one in; see --help");
    }
    Ok(())
}

/// About how much all files hold, or `None` if one of them does not tell.
pub(super) fn estimate(
    files: &[PathBuf],
    options: &InputOptions,
) -> anyhow::Result<Option<InputEstimate>> {
    let mut all = InputEstimate::default();
    for file in files {
        match estimate_input(file, options)? {
            Some(estimate) => all = all.plus(estimate),
            None => return Ok(None),
        }
    }
    Ok(Some(all))
}

/// Prints the bad records that were skipped in a file.
pub(super) fn report_skipped(file: &Path, summary: &InputSummary) {
    let name = name_of(file);
    for bad in &summary.skipped {
        message!("{name}: {}: {}", bad.place, bad.reason);
    }
    if summary.skipped_count > 0 {
        let count = counted(summary.skipped_count, "bad record", "bad records");
        message!("{name}: {count} skipped");
    }
}
