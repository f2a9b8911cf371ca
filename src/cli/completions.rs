//! `fpstore completions`: scripts that let a shell complete commands and options.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::output::stdout;
use super::{Cli, Verdict};

/// Print a completion script for a shell
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  fpstore completions bash > ~/.local/share/bash-completion/completions/fpstore"
)]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs) -> anyhow::Result<Verdict> {
    // The generator panics when it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "fpstore", &mut script);
    let mut out = stdout();
    out.write_all(&script)?;
    out.flush()?;
    Ok(Verdict::Yes)
}
