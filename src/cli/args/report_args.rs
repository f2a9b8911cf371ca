//! The options of commands that print one report.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use super::resources::QuietArgs;
use crate::cli::output::sink::{OutputArgs, Sink};
use crate::cli::output::text::{IdPrinter, ReportFormat};

/// How a report is printed, and where.
#[derive(Args, Debug)]
#[command(mut_arg("quiet", |arg| arg.help("Print only the report and errors")))]
pub(in crate::cli) struct ReportArgs {
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(in crate::cli) format: ReportFormat,
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
    #[command(flatten)]
    quiet: QuietArgs,
}

impl ReportArgs {
    /// Whether messages are left out.
    pub(in crate::cli) fn is_quiet(&self) -> bool {
        self.quiet.is_on()
    }

    /// Opens the destination; the report is there when it is finished.
    pub(in crate::cli) fn open(&self) -> anyhow::Result<ReportOut> {
        let out = self.output.open()?;
        let printer = IdPrinter::new(out.is_terminal());
        Ok(ReportOut { format: self.format, out, printer })
    }
}

/// A report on its way.
pub(in crate::cli) struct ReportOut {
    pub(in crate::cli) format: ReportFormat,
    pub(in crate::cli) out: Sink,
    pub(in crate::cli) printer: IdPrinter,
}

impl ReportOut {
    /// Writes the report as one JSON object, on a line.
    pub(in crate::cli) fn write_json(&mut self, report: &impl Serialize) -> anyhow::Result<()> {
        serde_json::to_writer(&mut self.out, report)?;
        Ok(writeln!(self.out)?)
    }

    pub(in crate::cli) fn finish(self) -> anyhow::Result<()> {
        self.out.finish()
    }
}
