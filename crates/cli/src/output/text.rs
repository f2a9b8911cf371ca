//! Output for scripts and for people: formats, messages, and ids on a terminal.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use clap::ValueEnum;
use fpstore_base::Interrupted;
pub(crate) use fpstore_base::packed::quoted;
pub(crate) use fpstore_plot::numbers::{bytes, counted, grouped};
use indicatif::{ProgressBar, ProgressDrawTarget};

/// The output format of rows, for commands that cannot write a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    /// Tab-separated columns
    Tsv,
    /// One JSON object on each line
    Json,
    /// Comma-separated columns below a line with their names
    Csv,
}

/// The output format of rows, for commands that can write a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// Tab-separated columns
    Tsv,
    /// One JSON object on each line
    Json,
    /// Comma-separated columns below a line with their names
    Csv,
    /// A Parquet file; needs -o
    Parquet,
}

impl From<RowFormat> for TableFormat {
    fn from(format: RowFormat) -> Self {
        match format {
            RowFormat::Tsv => TableFormat::Tsv,
            RowFormat::Json => TableFormat::Json,
            RowFormat::Csv => TableFormat::Csv,
        }
    }
}

/// The output format of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    Text,
    /// One JSON object
    Json,
}

/// Prints a message to standard error, prefixed with the name of the program. Errors of standard
/// error are ignored; `eprintln!` would panic.
macro_rules! message {
    ($($arguments:tt)*) => {
        $crate::output::text::print_message(format_args!($($arguments)*))
    };
}

/// See the macro `message`.
pub(crate) fn print_message(message: fmt::Arguments<'_>) {
    let _ = io::stderr().write_all(&line_of_message(message));
}

/// The line of a message on standard error, with its newline.
pub(crate) fn line_of_message(message: fmt::Arguments<'_>) -> Vec<u8> {
    let mut line = format!("fpstore: {message}");
    if io::stderr().is_terminal() {
        // Control characters are escaped on a terminal, because file names are untrusted input.
        line = without_controls(&line).into_owned();
    }
    line.push('\n');
    line.into_bytes()
}

/// A writer that adds the name of its destination to errors.
pub(crate) struct NamedWriter {
    name: String,
    to: Box<dyn Write + Send>,
}

impl NamedWriter {
    pub(crate) fn new(name: String, to: Box<dyn Write + Send>) -> Self {
        NamedWriter { name, to }
    }

    fn name_error(&self, source: io::Error) -> io::Error {
        if Interrupted::is_in(&source) {
            return source;
        }
        io::Error::new(source.kind(), CannotWrite { name: self.name.clone(), source })
    }
}

impl Write for NamedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes).map_err(|error| self.name_error(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush().map_err(|error| self.name_error(error))
    }
}

#[derive(Debug, thiserror::Error)]
#[error("cannot write {name}")]
struct CannotWrite {
    name: String,
    source: io::Error,
}

/// Standard output, buffered.
pub(crate) type Stdout = BufWriter<NamedWriter>;

/// Standard output. A signal ends a write that is blocked by a slow reader.
pub(crate) fn stdout() -> Stdout {
    let name = "standard output".to_string();
    BufWriter::with_capacity(1 << 16, NamedWriter::new(name, raw_stdout()))
}

fn raw_stdout() -> Box<dyn Write + Send> {
    if io::stdout().is_terminal() {
        return Box::new(InPlaceOfBar(plain_stdout()));
    }
    plain_stdout()
}

/// The progress bar on the last line of the terminal, if there is one.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Registers the progress bar, so that results on the terminal can remove it.
pub(crate) fn note_bar(bar: &ProgressBar) {
    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
}

/// A writer for results on a terminal. The first write removes the progress bar for good: a line
/// can be written in parts, and a new bar would be drawn over its beginning.
pub(super) struct InPlaceOfBar<W>(pub(super) W);

impl<W: Write> Write for InPlaceOfBar<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bar = BAR.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(bar) = bar {
            bar.finish_and_clear();
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn plain_stdout() -> Box<dyn Write + Send> {
    #[cfg(unix)]
    {
        use fpstore_base::waiting::WaitingFile;
        use std::os::fd::AsFd;
        let copy = io::stdout().as_fd().try_clone_to_owned().map(std::fs::File::from);
        if let Ok(file) = copy.and_then(WaitingFile::of) {
            return Box::new(file);
        }
    }
    Box::new(io::stdout())
}

/// Formats ids for output. On a terminal it escapes their control characters, because ids are
/// untrusted input.
#[derive(Clone)]
pub(crate) struct IdPrinter {
    escape: bool,
}

impl IdPrinter {
    /// A printer that escapes control characters if the output is a terminal.
    pub(crate) fn new(is_terminal: bool) -> Self {
        IdPrinter { escape: is_terminal }
    }

    /// A printer for standard output.
    pub(crate) fn for_stdout() -> Self {
        IdPrinter::new(io::stdout().is_terminal())
    }

    /// Formats an id or a name for a column that is not the last: backslashes, tabs and line ends
    /// are escaped. Different texts have different escaped forms.
    pub(crate) fn show_column<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if !text.contains(['\\', '\t', '\n', '\r']) {
            return self.show(text);
        }
        let escaped = [('\\', "\\\\"), ('\t', "\\t"), ('\n', "\\n"), ('\r', "\\r")]
            .into_iter()
            .fold(text.to_string(), |text, (from, to)| text.replace(from, to));
        Cow::Owned(self.show(&escaped).into_owned())
    }

    pub(crate) fn show<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.escape { without_controls(text) } else { Cow::Borrowed(text) }
    }
}

/// Escapes characters that control a terminal or change the writing direction.
fn without_controls(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| if is_unsafe(c) { c.escape_default().to_string() } else { c.into() };
    let escaped = text.chars().map(escape);
    Cow::Owned(escaped.collect())
}

/// Whether a character must not be printed to a terminal: control characters, line and paragraph
/// separators, and marks of writing direction, which can make one name look like another.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2066}'..='\u{2069}')
}

/// Formats a count with its noun: passages if passages are compared, else documents.
pub(crate) fn counted_texts(count: u64, are_passages: bool) -> String {
    match are_passages {
        true => counted(count, "passage", "passages"),
        false => counted(count, "document", "documents"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use indicatif::TermLike;

    use super::*;

    /// A fake terminal that records the text written to it.
    #[derive(Clone, Debug, Default)]
    struct Terminal(Arc<Mutex<String>>);

    impl Terminal {
        fn take(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }
    }

    impl TermLike for Terminal {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.take(&format!("{text}\n"))
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.take(text)
        }
        fn clear_line(&self) -> io::Result<()> {
            self.take("<cleared>")
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Write for Terminal {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.take(str::from_utf8(bytes).unwrap()).map(|()| bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_row_on_the_terminal_takes_the_place_of_the_bar() {
        let terminal = Terminal::default();
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let bar = ProgressBar::with_draw_target(Some(9), target);
        note_bar(&bar);
        bar.tick();
        assert!(terminal.0.lock().unwrap().contains("0/9"));
        let mut rows = InPlaceOfBar(terminal.clone());
        rows.write_all(b"a row, and half ").unwrap();
        bar.reset();
        bar.set_position(3);
        bar.tick();
        rows.write_all(b"of another\n").unwrap();
        let shown = terminal.0.lock().unwrap().clone();
        assert!(shown.ends_with("<cleared>a row, and half of another\n"), "{shown:?}");
    }

    #[test]
    fn control_characters_do_not_reach_a_terminal() {
        let terminal = IdPrinter { escape: true };
        assert_eq!(terminal.show("a\u{1b}[31mb\tc"), "a\\u{1b}[31mb\\tc");
        assert_eq!(terminal.show("a\u{202e}fdp.exe\u{2069}"), "a\\u{202e}fdp.exe\\u{2069}");
        assert_eq!(terminal.show("\u{4e2d}\u{6587}"), "\u{4e2d}\u{6587}");
        assert_eq!(IdPrinter { escape: false }.show("a\tb"), "a\tb");
    }

    #[test]
    fn different_ids_have_different_spellings_between_columns() {
        let plain = IdPrinter { escape: false };
        let ids =
            ["C:\\temp", "C:\temp", "C:\\\temp", "C:\\\\temp", "C:\nemp", "C:\\nemp", "C:\remp"];
        let shown: Vec<_> = ids.iter().map(|id| plain.show_column(id)).collect();
        assert_eq!(shown[..3], ["C:\\\\temp", "C:\\temp", "C:\\\\\\temp"]);
        let distinct: std::collections::BTreeSet<_> = shown.iter().collect();
        assert_eq!(distinct.len(), ids.len());
        assert!(shown.iter().all(|id| !id.contains(['\t', '\n', '\r'])));
    }
}
