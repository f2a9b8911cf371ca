//! `fpstore completions`: prints scripts that complete commands, options and values in a shell.

use std::io::Write;

use anyhow::Context;
use clap::Args;
use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::output::text::stdout;
use crate::run::completing::VARIABLE;
use crate::session::command::ExitStatus;

const AFTER_HELP: &str = "\
Example:
  fpstore completions bash > ~/.local/share/bash-completion/completions/fpstore

Exit status: 0 done; 2 error.";

/// Print a completion script for a shell
#[derive(Args, Debug)]
#[command(
    after_help = AFTER_HELP
)]
pub(crate) struct CompletionsArgs {
    /// The name of the shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the completion script. The script calls the program, which computes the completions.
pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<ExitStatus> {
    let shells = Shells::builtins();
    let name = args.shell.to_string();
    let shell =
        shells.completer(&name).with_context(|| format!("no completion script for {name}"))?;
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "fpstore", "fpstore", "fpstore", &mut script)?;
    let mut out = stdout();
    out.write_all(&script)?;
    out.flush()?;
    Ok(ExitStatus::Done)
}
