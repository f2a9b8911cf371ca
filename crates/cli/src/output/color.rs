//! Coloured output: the option `--color`, `NO_COLOR`, and fingerprints with coloured digits.

use std::fmt;
use std::sync::OnceLock;

use clap::{Args, ValueEnum};
use fpstore::HexFingerprint;

/// The values of `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    #[default]
    Auto,
    Always,
    Never,
}

/// The option `--color`.
#[derive(Args, Debug)]
pub(crate) struct ColorArgs {
    /// When to mark different digits; auto: on a terminal, unless NO_COLOR is set
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value = "auto",
        hide_short_help = true
    )]
    pub(crate) color: ColorWhen,
}

/// The value of `--color`; set once, before a command runs.
static WHEN: OnceLock<ColorWhen> = OnceLock::new();

const MARK: &str = "\u{1b}[1;31m";
const END: &str = "\u{1b}[0m";

pub(crate) fn set(when: ColorWhen) {
    let _ = WHEN.set(when);
}

/// Whether an output is coloured; `is_terminal` is whether it is a terminal.
pub(crate) fn is_on(is_terminal: bool) -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match WHEN.get().copied().unwrap_or_default() {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto => {
            is_terminal
                && !is_set("NO_COLOR")
                && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

/// Prints `fingerprint` in hex; the digits that differ from `from` are red.
pub(crate) struct Marked {
    pub(crate) fingerprint: HexFingerprint,
    pub(crate) from: HexFingerprint,
}

impl fmt::Display for Marked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (digits, others) = (self.fingerprint.to_string(), self.from.to_string());
        let mut is_marked = false;
        for (digit, other) in digits.chars().zip(others.chars()) {
            if (digit != other) != is_marked {
                is_marked = !is_marked;
                f.write_str(if is_marked { MARK } else { END })?;
            }
            write!(f, "{digit}")?;
        }
        if is_marked { f.write_str(END) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_that_differ_are_marked_and_runs_of_them_once() {
        let marked = |fingerprint: u64, from: u64| {
            let hex = |value: u64| fpstore::Fingerprint::new(value).into();
            Marked { fingerprint: hex(fingerprint), from: hex(from) }.to_string()
        };
        assert_eq!(marked(0xff, 0xff), "00000000000000ff");
        assert_eq!(marked(0x12ff, 0xff), format!("000000000000{MARK}12{END}ff"));
        assert_eq!(marked(0xf0, 0xff), format!("00000000000000f{MARK}0{END}"));
    }
}
