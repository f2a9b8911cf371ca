//! The options of commands that print rows: their format, and a line with the names of columns.

use clap::Args;

use crate::cli::output::row_writer::Layout;
use crate::cli::output::text::{RowFormat, TableFormat};

/// A line with the names of the columns.
#[derive(Args, Clone, Copy, Debug)]
pub(in crate::cli) struct HeaderArg {
    /// Begin with a line of the names of the columns; csv has it in any case
    ///
    /// Columns without a value are then empty, and are not left out.
    #[arg(long, hide_short_help = true)]
    pub(in crate::cli) header: bool,
}

/// The format of rows that may go to a table.
#[derive(Args, Clone, Copy, Debug)]
pub(in crate::cli) struct TableArgs {
    /// The output format
    #[arg(long, value_enum, default_value = "tsv")]
    pub(in crate::cli) format: TableFormat,
    #[command(flatten)]
    header: HeaderArg,
}

impl TableArgs {
    pub(in crate::cli) fn layout(self) -> Layout {
        Layout::new(self.format, self.header.header)
    }

    /// Whether they differ from the default.
    pub(in crate::cli) fn are_given(self) -> bool {
        self.format != TableFormat::Tsv || self.header.header
    }
}

/// The format of rows in lines.
#[derive(Args, Clone, Copy, Debug)]
pub(in crate::cli) struct LinesArgs {
    /// The output format
    #[arg(long, value_enum, default_value = "tsv")]
    pub(in crate::cli) format: RowFormat,
    #[command(flatten)]
    header: HeaderArg,
}

impl LinesArgs {
    pub(in crate::cli) fn layout(self) -> Layout {
        Layout::new(self.format.into(), self.header.header)
    }
}
