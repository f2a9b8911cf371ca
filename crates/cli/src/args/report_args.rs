//! The options of commands that print one report.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use super::resources::QuietArgs;
use crate::output::sink::{OutputArgs, Sink};
use crate::output::text::{IdPrinter, ReportFormat};

/// Options for the format and the destination of a report.
#[derive(Args, Debug)]
#[command(mut_arg("quiet", |arg| arg.help("Print only the report and errors")))]
pub(crate) struct ReportArgs {
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ReportFormat,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    quiet: QuietArgs,
}

impl ReportArgs {
    /// Whether messages are suppressed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet.is_on()
    }

    /// Opens the destination. A file gets its name only when the report is finished.
    pub(crate) fn open(&self) -> anyhow::Result<ReportOut> {
        let out = self.output.open()?;
        let printer = IdPrinter::new(out.is_terminal());
        Ok(ReportOut { format: self.format, out, printer })
    }
}

/// An open destination for a report, with the format.
pub(crate) struct ReportOut {
    pub(crate) format: ReportFormat,
    pub(crate) out: Sink,
    pub(crate) printer: IdPrinter,
}

impl ReportOut {
    /// Writes the report as one JSON object on one line.
    pub(crate) fn write_json(&mut self, report: &impl Serialize) -> anyhow::Result<()> {
        serde_json::to_writer(&mut self.out, report)?;
        Ok(writeln!(self.out)?)
    }

    pub(crate) fn finish(self) -> anyhow::Result<()> {
        self.out.finish()
    }
}
