//! `fpstore completions`: prints scripts that complete commands and options in a shell.

use std::io::Write;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::cli::output::text::stdout;
use crate::cli::session::command::ExitStatus;

const AFTER_HELP: &str = "\
Example:
  fpstore completions bash > ~/.local/share/bash-completion/completions/fpstore

Exit status: 0 done; 2 error.";

/// Print a completion script for a shell
#[derive(Args, Debug)]
#[command(
    after_help = AFTER_HELP
)]
pub(in crate::cli) struct CompletionsArgs {
    /// The name of the shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Does the work of the command for `program`, which is the whole program with all its commands.
pub(in crate::cli) fn run(
    args: &CompletionsArgs,
    mut program: Command,
) -> anyhow::Result<ExitStatus> {
    // The generator panics if it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "fpstore", &mut script);
    let mut out = stdout();
    out.write_all(&script)?;
    out.flush()?;
    Ok(ExitStatus::Done)
}
