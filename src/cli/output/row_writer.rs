//! Writes the rows of the library in one format: lines, JSON or Parquet.
//!
//! A command makes a [`RowWriter`] once and pushes rows. Commands whose threads prepare the output
//! render rows with a [`RowForm`], which threads share, and give the bytes to the writer.

use std::io::Write;

use fpstore::IdRef;
use fpstore::rows::{Cell, Row};
use serde::Serialize;

use super::sink::Sink;
#[cfg(feature = "parquet")]
use super::table::Table;
use super::text::{IdPrinter, TableFormat};

/// The form of rows as bytes.
#[derive(Clone)]
pub(in crate::cli) struct RowForm {
    pub(in crate::cli) format: TableFormat,
    printer: IdPrinter,
    separator: char,
}

impl RowForm {
    pub(in crate::cli) fn new(format: TableFormat, out: &Sink) -> Self {
        RowForm { format, printer: IdPrinter::new(out.is_terminal()), separator: '\t' }
    }

    /// Adds a row as lines or as a line of JSON; a row of a table has no bytes of its own.
    pub(in crate::cli) fn render<R: Row + Serialize>(
        &self,
        out: &mut Vec<u8>,
        row: &R,
    ) -> anyhow::Result<()> {
        match self.format {
            TableFormat::Tsv => row.lines(|cells| self.line(out, cells)),
            TableFormat::Json => {
                serde_json::to_writer(&mut *out, row)?;
                out.push(b'\n');
                Ok(())
            }
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => Ok(()),
        }
    }

    fn line(&self, out: &mut Vec<u8>, cells: &[Cell<'_>]) -> anyhow::Result<()> {
        let mut is_first = true;
        for (at, cell) in cells.iter().enumerate() {
            match cell {
                Cell::Absent => continue,
                // Belongs to the number before.
                Cell::Exact(is_exact) => {
                    out.extend_from_slice(if *is_exact { b"" } else { b"+" });
                    continue;
                }
                _ if is_first => is_first = false,
                _ => write!(out, "{}", self.separator)?,
            }
            // Only a text at the end may have tabs.
            let shown = |text| match at + 1 == cells.len() {
                true => self.printer.show(text),
                false => self.printer.show_column(text),
            };
            match *cell {
                Cell::Fingerprint(fingerprint) => write!(out, "{fingerprint}")?,
                Cell::Number(number) | Cell::Id(Some(IdRef::U64(number))) => {
                    write!(out, "{number}")?;
                }
                Cell::Distance(distance) => write!(out, "{distance}")?,
                Cell::Similarity(similarity) => write!(out, "{similarity:.4}")?,
                Cell::Id(Some(IdRef::Text(text))) | Cell::Text(text) => {
                    out.extend_from_slice(shown(text).as_bytes());
                }
                Cell::Id(None) | Cell::Exact(_) | Cell::Absent => {}
            }
        }
        out.push(b'\n');
        Ok(())
    }
}

/// Where rows of a kind go.
pub(in crate::cli) struct RowWriter {
    pub(in crate::cli) form: RowForm,
    to: Destination,
    /// The bytes of a row, kept for the next one.
    line: Vec<u8>,
}

enum Destination {
    Lines(Box<Sink>),
    #[cfg(feature = "parquet")]
    Table(Box<Table>),
}

impl RowWriter {
    /// A table has all columns of the rows but those in `without`.
    #[cfg_attr(
        not(feature = "parquet"),
        expect(
            unused_variables,
            clippy::extra_unused_type_parameters,
            reason = "lines need no columns"
        )
    )]
    pub(in crate::cli) fn new<R: Row>(
        format: TableFormat,
        out: Sink,
        without: &[&str],
    ) -> anyhow::Result<Self> {
        let form = RowForm::new(format, &out);
        let to = match format {
            TableFormat::Tsv | TableFormat::Json => Destination::Lines(Box::new(out)),
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => {
                Destination::Table(Box::new(Table::new(out, R::TABLE, R::COLUMNS, without)?))
            }
        };
        Ok(RowWriter { form, to, line: Vec::new() })
    }

    /// Rows in lines.
    pub(in crate::cli) fn tsv<R: Row>(out: Sink) -> anyhow::Result<Self> {
        RowWriter::new::<R>(TableFormat::Tsv, out, &[])
    }

    /// The same with another character between the columns of lines.
    pub(in crate::cli) fn separator(mut self, separator: char) -> Self {
        self.form.separator = separator;
        self
    }

    pub(in crate::cli) fn push<R: Row + Serialize>(&mut self, row: &R) -> anyhow::Result<()> {
        match &mut self.to {
            Destination::Lines(out) => {
                self.line.clear();
                self.form.render(&mut self.line, row)?;
                Ok(out.write_all(&self.line)?)
            }
            #[cfg(feature = "parquet")]
            Destination::Table(table) => row.lines(|cells| table.push(cells)),
        }
    }

    /// The lines, unless rows go to a table.
    pub(in crate::cli) fn lines(&mut self) -> Option<&mut Sink> {
        match &mut self.to {
            Destination::Lines(out) => Some(out),
            #[cfg(feature = "parquet")]
            Destination::Table(_) => None,
        }
    }

    pub(in crate::cli) fn finish(self) -> anyhow::Result<()> {
        match self.to {
            Destination::Lines(out) => out.finish(),
            #[cfg(feature = "parquet")]
            Destination::Table(table) => table.finish(),
        }
    }
}
