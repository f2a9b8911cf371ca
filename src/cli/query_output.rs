//! Where the answers to queries go: lines of TSV or JSON, or rows of a Parquet file.

use std::io::Write;

use fpstore::Answer;

use super::output::{IdPrinter, RowFormat, TableFormat};
use super::rows::Query;
#[cfg(feature = "parquet")]
use super::rows::{TableRow, columns};
use super::sink::Sink;
#[cfg(feature = "parquet")]
use super::table::Table;

/// The form of answers; threads share it.
pub(super) struct Form {
    pub(super) format: TableFormat,
    printer: IdPrinter,
}

/// Answers in their form, on the way to the output.
#[derive(Default)]
pub(super) struct Rendered {
    lines: Vec<u8>,
    #[cfg(feature = "parquet")]
    rows: Vec<TableRow>,
    /// Whether any of the queries found anything.
    pub(super) found: bool,
}

impl Form {
    pub(super) fn new(format: TableFormat, out: &Sink) -> Self {
        Form { format, printer: IdPrinter::new(out.is_terminal()) }
    }

    /// Adds the answer to a query.
    pub(super) fn render(
        &self,
        rendered: &mut Rendered,
        query: &Query<'_>,
        answer: &Answer<'_>,
    ) -> anyhow::Result<()> {
        let lines = &mut rendered.lines;
        rendered.found |= match self.format {
            TableFormat::Tsv => query.write(lines, answer, RowFormat::Tsv, &self.printer)?,
            TableFormat::Json => query.write(lines, answer, RowFormat::Json, &self.printer)?,
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => {
                let count = rendered.rows.len();
                query.push_rows(&mut rendered.rows, answer)?;
                rendered.rows.len() > count
            }
        };
        Ok(())
    }
}

/// The open output.
pub(super) enum QueryOutput {
    Lines(Box<Sink>),
    #[cfg(feature = "parquet")]
    Table(Box<Table>),
}

impl QueryOutput {
    /// Opens a table with the columns that the queries fill, or prints lines.
    #[cfg_attr(
        not(feature = "parquet"),
        expect(unused_variables, reason = "lines need no columns")
    )]
    pub(super) fn new(
        form: &Form,
        out: Sink,
        confirms: bool,
        labels: bool,
    ) -> anyhow::Result<Self> {
        match form.format {
            TableFormat::Tsv | TableFormat::Json => Ok(QueryOutput::Lines(Box::new(out))),
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => {
                let columns = columns(confirms, labels);
                Ok(QueryOutput::Table(Box::new(Table::new(out, "matches", &columns)?)))
            }
        }
    }

    /// Writes answers, and forgets them but for whether anything was found.
    pub(super) fn put(&mut self, rendered: &mut Rendered) -> anyhow::Result<()> {
        match self {
            QueryOutput::Lines(out) => out.write_all(&rendered.lines)?,
            #[cfg(feature = "parquet")]
            QueryOutput::Table(table) => {
                for row in rendered.rows.drain(..) {
                    table.push(row.cells())?;
                }
            }
        }
        rendered.lines.clear();
        Ok(())
    }

    /// The lines, if that is what is printed.
    pub(super) fn lines(&mut self) -> Option<&mut Sink> {
        match self {
            QueryOutput::Lines(out) => Some(out),
            #[cfg(feature = "parquet")]
            QueryOutput::Table(_) => None,
        }
    }

    pub(super) fn finish(self) -> anyhow::Result<()> {
        match self {
            QueryOutput::Lines(out) => out.finish(),
            #[cfg(feature = "parquet")]
            QueryOutput::Table(table) => table.finish(),
        }
    }
}
