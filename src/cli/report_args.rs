//! The options of commands that print one report.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use super::output::{IdPrinter, ReportFormat};
use super::sink::{OutputArgs, Sink};

/// How a report is printed, and where.
#[derive(Args, Debug)]
pub(super) struct ReportArgs {
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: ReportFormat,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    /// Print only the report and errors
    #[arg(short, long)]
    pub(super) quiet: bool,
}

impl ReportArgs {
    /// Opens the destination; the report is there when it is finished.
    pub(super) fn open(&self) -> anyhow::Result<ReportOut> {
        let out = self.output.open()?;
        let printer = IdPrinter::new(out.is_terminal());
        Ok(ReportOut { format: self.format, out, printer })
    }
}

/// A report on its way.
pub(super) struct ReportOut {
    pub(super) format: ReportFormat,
    pub(super) out: Sink,
    pub(super) printer: IdPrinter,
}

impl ReportOut {
    /// Writes the report as one JSON object, on a line.
    pub(super) fn write_json(&mut self, report: &impl Serialize) -> anyhow::Result<()> {
        serde_json::to_writer(&mut self.out, report)?;
        Ok(writeln!(self.out)?)
    }

    pub(super) fn finish(self) -> anyhow::Result<()> {
        self.out.finish()
    }
}
