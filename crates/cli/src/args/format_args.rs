//! Options of commands that print rows: the format, and a line with the names of the columns.

use clap::Args;

use crate::output::row_writer::Layout;
use crate::output::text::{RowFormat, TableFormat};

/// The option for a header line with the names of the columns.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct HeaderArg {
    /// Print a line of column names first; csv always has one
    ///
    /// Columns without a value are then empty instead of absent.
    #[arg(long, hide_short_help = true)]
    pub(crate) header: bool,
}

/// The format of rows, for commands that can also write a Parquet table.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct TableArgs {
    /// The output format
    #[arg(long, value_enum, default_value = "tsv")]
    pub(crate) format: TableFormat,
    #[command(flatten)]
    header: HeaderArg,
}

impl TableArgs {
    pub(crate) fn layout(self) -> Layout {
        Layout::new(self.format, self.header.header)
    }

    /// Whether the options differ from their defaults.
    pub(crate) fn are_given(self) -> bool {
        self.format != TableFormat::Tsv || self.header.header
    }
}

/// The format of rows, for commands that print only lines.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct LinesArgs {
    /// The output format
    #[arg(long, value_enum, default_value = "tsv")]
    pub(crate) format: RowFormat,
    #[command(flatten)]
    header: HeaderArg,
}

impl LinesArgs {
    pub(crate) fn layout(self) -> Layout {
        Layout::new(self.format.into(), self.header.header)
    }
}
