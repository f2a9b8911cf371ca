//! `fpstore completions`: prints scripts that complete commands and options in a shell.

use std::io::Write;

use clap::Args;
use clap_complete::Shell;

use super::command::{ExitStatus, Run};
use super::output::stdout;

const AFTER_HELP: &str = "\
Example:
  fpstore completions bash > ~/.local/share/bash-completion/completions/fpstore

Exit status: 0 done; 2 error.";

/// Print a completion script for a shell
#[derive(Args, Debug)]
#[command(
    after_help = AFTER_HELP
)]
pub(super) struct CompletionsArgs {
    /// The name of the shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Run for CompletionsArgs {
    fn run(&self) -> anyhow::Result<ExitStatus> {
        run(self)
    }
}

fn run(args: &CompletionsArgs) -> anyhow::Result<ExitStatus> {
    // The generator panics if it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::program(), "fpstore", &mut script);
    let mut out = stdout();
    out.write_all(&script)?;
    out.flush()?;
    Ok(ExitStatus::Done)
}
