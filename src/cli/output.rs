//! Printing for scripts and for people.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use clap::ValueEnum;

/// How answers are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    /// Tab-separated columns
    Tsv,
    /// One JSON object a line
    Json,
}

/// How reports are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    Text,
    /// One JSON object
    Json,
}

/// Writes a line to standard error, for people. If no one listens there, that is no reason to
/// stop: `eprintln!` would panic.
macro_rules! say {
    ($($arguments:tt)*) => {
        $crate::cli::output::say(format_args!($($arguments)*))
    };
}

/// See the macro of the same name.
pub(crate) fn say(line: fmt::Arguments<'_>) {
    let mut line = line.to_string();
    let mut stderr = io::stderr();
    if stderr.is_terminal() {
        // Names of files are other people's text, too.
        line = without_controls(&line).into_owned();
    }
    let _ = writeln!(stderr, "{line}");
}

/// Standard output, buffered.
pub(crate) fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// Makes an id fit to be shown where it goes: ids are other people's text, and a terminal
/// obeys control characters.
pub(crate) struct IdPrinter {
    escape: bool,
}

impl IdPrinter {
    /// Escapes if standard output is a terminal.
    pub(crate) fn for_stdout() -> Self {
        IdPrinter { escape: io::stdout().is_terminal() }
    }

    /// Escapes if the results go to a terminal.
    pub(crate) fn for_sink(sink: &super::sink::Sink) -> Self {
        IdPrinter { escape: sink.is_terminal() }
    }

    /// An id in a column that is not the last one: its tabs are spelled out.
    pub(crate) fn show_column<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.show(text) {
            Cow::Borrowed(text) if text.contains('\t') => Cow::Owned(text.replace('\t', "\\t")),
            shown => shown,
        }
    }

    pub(crate) fn show<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.escape { without_controls(text) } else { Cow::Borrowed(text) }
    }
}

/// The text with its control characters spelled out.
fn without_controls(text: &str) -> Cow<'_, str> {
    if !text.chars().any(char::is_control) {
        return Cow::Borrowed(text);
    }
    let escaped = text.chars().map(|c| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    });
    Cow::Owned(escaped.collect())
}

/// A count with its digits in groups, as people read it.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// A count with its noun, in the number that it asks for.
pub(crate) fn counted(count: u64, singular: &str, plural: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { singular } else { plural })
}

/// A number of bytes in the largest unit that leaves at least one.
pub(crate) fn bytes(len: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = (len.max(1).ilog2() / 10).min(5);
    match unit {
        0 => format!("{len} B"),
        _ => format!("{:.1} {}", len as f64 / 1024_f64.powi(unit as i32), UNITS[unit as usize]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_reach_a_terminal() {
        let terminal = IdPrinter { escape: true };
        assert_eq!(terminal.show("a\u{1b}[31mb\tc"), "a\\u{1b}[31mb\\tc");
        assert_eq!(terminal.show("\u{4e2d}\u{6587}"), "\u{4e2d}\u{6587}");
        assert_eq!(IdPrinter { escape: false }.show("a\tb"), "a\tb");
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1_572_864), "1.5 MiB");
    }
}
