//! Output for scripts and for people: formats, messages, numbers, and ids on a terminal.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use clap::ValueEnum;
pub(crate) use fpstore_plot::numbers::{bytes, grouped};

/// The output format of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    /// Tab-separated columns
    Tsv,
    /// One JSON object on each line
    Json,
}

/// The output format of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    Text,
    /// One JSON object
    Json,
}

/// Prints a message to standard error, after the name of the program. A standard error that cannot
/// be written is ignored; `eprintln!` would panic.
macro_rules! message {
    ($($arguments:tt)*) => {
        $crate::cli::output::print_message(format_args!($($arguments)*))
    };
}

/// See the macro `message`.
pub(crate) fn print_message(message: fmt::Arguments<'_>) {
    let mut line = format!("fpstore: {message}");
    let mut stderr = io::stderr();
    if stderr.is_terminal() {
        // Names of files come from other people.
        line = without_controls(&line).into_owned();
    }
    let _ = writeln!(stderr, "{line}");
}

/// Standard output, buffered.
pub(crate) fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// Prints ids, and escapes their control characters on a terminal, which would obey them: ids come
/// from other people.
pub(crate) struct IdPrinter {
    escape: bool,
}

impl IdPrinter {
    /// Escapes control characters if the output is a terminal.
    pub(crate) fn new(is_terminal: bool) -> Self {
        IdPrinter { escape: is_terminal }
    }

    /// For standard output.
    pub(crate) fn for_stdout() -> Self {
        IdPrinter::new(io::stdout().is_terminal())
    }

    /// An id in a column before the last one, with its tabs escaped.
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

/// The text with its control characters escaped.
fn without_controls(text: &str) -> Cow<'_, str> {
    if !text.chars().any(char::is_control) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    let escaped = text.chars().map(escape);
    Cow::Owned(escaped.collect())
}

/// A count with its noun, singular or plural.
pub(crate) fn counted(count: u64, singular: &str, plural: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { singular } else { plural })
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
}
