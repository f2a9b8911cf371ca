//! Writes rows, as defined in the library, as tab-separated lines, CSV, JSON or Parquet.
//!
//! A command creates one [`RowWriter`] and pushes rows. If threads prepare the output, they share a
//! [`RowForm`], render the rows to bytes and pass the bytes to the writer.

use std::io::Write;

use fpstore::IdRef;
use fpstore::rows::{Cell, Column, Kind, Row};
use serde::Serialize;

use super::color::{self, Marked};
use super::sink::Sink;
use super::table::Table;
use super::text::{IdPrinter, TableFormat};

/// The format of rows, and whether the first line contains the names of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) format: TableFormat,
    pub(crate) header: bool,
    /// The character between columns of lines. CSV uses commas.
    pub(crate) separator: char,
}

impl Layout {
    pub(crate) fn new(format: TableFormat, header: bool) -> Self {
        let separator = if format == TableFormat::Csv { ',' } else { '\t' };
        Layout { format, header, separator }
    }
}

impl From<TableFormat> for Layout {
    fn from(format: TableFormat) -> Self {
        Layout::new(format, false)
    }
}

/// Converts rows to bytes.
#[derive(Clone)]
pub(crate) struct RowForm {
    pub(crate) format: TableFormat,
    printer: IdPrinter,
    separator: char,
    /// For output with a header: whether each column is printed. `None` without a header: then
    /// only absent cells are omitted.
    columns: Option<Vec<bool>>,
    is_colored: bool,
}

impl RowForm {
    /// A form for rows of type `R`. With a header, all columns except those in `without` are
    /// printed.
    pub(crate) fn new<R: Row>(layout: impl Into<Layout>, out: &Sink, without: &[&str]) -> Self {
        let Layout { format, header, separator } = layout.into();
        let is_csv = format == TableFormat::Csv;
        // A boolean (whether the number before it is exact) has its own column only in CSV. In
        // tab-separated lines, a `+` directly after the number marks that number as a lower bound.
        let is_kept = |column: &Column| {
            !without.contains(&column.name) && (is_csv || column.kind != Kind::Bool)
        };
        let has_names = is_csv || header && format == TableFormat::Tsv;
        RowForm {
            format,
            printer: IdPrinter::new(out.is_terminal()),
            separator,
            columns: has_names.then(|| R::COLUMNS.iter().map(is_kept).collect()),
            is_colored: format == TableFormat::Tsv && color::is_on(out.is_terminal()),
        }
    }

    /// The header line, if there is one.
    pub(crate) fn header<R: Row>(&self) -> Option<String> {
        let columns = self.columns.as_ref()?;
        let kept = R::COLUMNS.iter().zip(columns).filter(|(_, is_kept)| **is_kept);
        let names: Vec<&str> = kept.map(|(column, _)| column.name).collect();
        Some(names.join(&self.separator.to_string()) + "\n")
    }

    /// Appends a row as a line of text or JSON. Rows of a Parquet table produce no bytes here.
    pub(crate) fn render<R: Row + Serialize>(
        &self,
        out: &mut Vec<u8>,
        row: &R,
    ) -> anyhow::Result<()> {
        match self.format {
            TableFormat::Tsv | TableFormat::Csv => row.lines(|cells| self.line(out, cells)),
            TableFormat::Json => {
                serde_json::to_writer(&mut *out, row)?;
                out.push(b'\n');
                Ok(())
            }
            TableFormat::Parquet => Ok(()),
        }
    }

    fn line(&self, out: &mut Vec<u8>, cells: &[Cell<'_>]) -> anyhow::Result<()> {
        let is_csv = self.format == TableFormat::Csv;
        let mut is_first = true;
        // In later fingerprints of the line, digits that differ from the first one are coloured.
        let mut first = None;
        for (at, cell) in cells.iter().enumerate() {
            let is_kept = self.columns.as_ref().map(|columns| columns.get(at) == Some(&true));
            match cell {
                // Printed without a separator: the `+` directly follows the number before it.
                Cell::Exact(is_exact) if !is_csv => {
                    out.extend_from_slice(if *is_exact { b"" } else { b"+" });
                    continue;
                }
                _ if is_kept == Some(false) => continue,
                Cell::Absent if is_kept.is_none() => continue,
                _ if is_first => is_first = false,
                _ => out.extend_from_slice(self.separator.encode_utf8(&mut [0; 4]).as_bytes()),
            }
            // An id in the last column is printed without escapes, because no column follows.
            let is_last_id = matches!(cell, Cell::Id(_)) && at + 1 == cells.len();
            let shown = |text| match is_csv || is_last_id {
                true => self.printer.show(text),
                false => self.printer.show_column(text),
            };
            match *cell {
                Cell::Fingerprint(fingerprint) => match first.replace(fingerprint) {
                    Some(from) if self.is_colored => {
                        write!(out, "{}", Marked { fingerprint, from })?
                    }
                    _ => fingerprint.write(|digits| out.extend_from_slice(digits.as_bytes())),
                },
                Cell::Number(number) | Cell::Id(Some(IdRef::U64(number))) => {
                    write!(out, "{number}")?;
                }
                Cell::Distance(distance) => write!(out, "{distance}")?,
                Cell::Similarity(similarity) => write!(out, "{similarity:.4}")?,
                Cell::Id(Some(IdRef::Text(text))) | Cell::Text(text) if is_csv => {
                    push_cell(out, &shown(text));
                }
                Cell::Id(Some(IdRef::Text(text))) | Cell::Text(text) => {
                    out.extend_from_slice(shown(text).as_bytes());
                }
                Cell::Exact(is_exact) => write!(out, "{is_exact}")?,
                Cell::Id(None) | Cell::Absent => {}
            }
        }
        out.push(b'\n');
        Ok(())
    }
}

/// Appends a cell of CSV, as in RFC 4180: a cell with a comma, quote or newline is quoted, and its
/// quotes are doubled.
fn push_cell(out: &mut Vec<u8>, cell: &str) {
    if !cell.contains([',', '"', '\n', '\r']) {
        return out.extend_from_slice(cell.as_bytes());
    }
    out.push(b'"');
    out.extend_from_slice(cell.replace('"', "\"\"").as_bytes());
    out.push(b'"');
}

/// Writes rows of one type, in one format, to a sink.
pub(crate) struct RowWriter {
    pub(crate) form: RowForm,
    to: Destination,
    /// A buffer for the bytes of the current row.
    line: Vec<u8>,
}

enum Destination {
    Lines(Box<Sink>),
    Table(Box<Table>),
}

impl RowWriter {
    /// A writer for rows of type `R`. Parquet tables and lines with a header have all columns
    /// except those in `without`.
    pub(crate) fn new<R: Row>(
        layout: impl Into<Layout>,
        mut out: Sink,
        without: &[&str],
    ) -> anyhow::Result<Self> {
        let form = RowForm::new::<R>(layout, &out, without);
        if let Some(names) = form.header::<R>() {
            out.write_all(names.as_bytes())?;
        }
        let to = match form.format {
            TableFormat::Tsv | TableFormat::Json | TableFormat::Csv => {
                Destination::Lines(Box::new(out))
            }
            TableFormat::Parquet => {
                Destination::Table(Box::new(Table::new(out, R::TABLE, R::COLUMNS, without)?))
            }
        };
        Ok(RowWriter { form, to, line: Vec::new() })
    }

    /// A writer of tab-separated lines.
    pub(crate) fn tsv<R: Row>(out: Sink) -> anyhow::Result<Self> {
        RowWriter::new::<R>(TableFormat::Tsv, out, &[])
    }

    pub(crate) fn push<R: Row + Serialize>(&mut self, row: &R) -> anyhow::Result<()> {
        match &mut self.to {
            Destination::Lines(out) => {
                self.line.clear();
                self.form.render(&mut self.line, row)?;
                Ok(out.write_all(&self.line)?)
            }
            Destination::Table(table) => row.lines(|cells| table.push(cells)),
        }
    }

    /// The sink, for writing rendered lines directly; `None` for a Parquet table.
    pub(crate) fn lines(&mut self) -> Option<&mut Sink> {
        match &mut self.to {
            Destination::Lines(out) => Some(out),
            Destination::Table(_) => None,
        }
    }

    pub(crate) fn finish(self) -> anyhow::Result<()> {
        match self.to {
            Destination::Lines(out) => out.finish(),
            Destination::Table(table) => table.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn cells_with_signs_of_the_format_are_quoted() {
        let cell = |text: &str| {
            let mut out = Vec::new();
            super::push_cell(&mut out, text);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(cell("a b"), "a b");
        assert_eq!(cell("a,b"), "\"a,b\"");
        assert_eq!(cell("say \"no\""), "\"say \"\"no\"\"\"");
        assert_eq!(cell("a\nb"), "\"a\nb\"");
    }
}
