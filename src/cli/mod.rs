//! The command line: one file a command, on nothing but the public face of the library.

#[macro_use]
mod output;

mod add;
mod budget;
mod build;
mod cluster;
#[cfg(feature = "parquet")]
mod cluster_table;
mod compact;
mod compare;
mod completions;
mod costs;
mod curve;
mod dedup;
mod dedup_stream;
mod delete;
mod df;
mod documents;
mod dump;
mod effort;
mod evaluate;
mod expire;
mod follow;
mod info;
mod join_input;
mod pairs;
mod plan;
mod plot;
mod previous;
mod query;
mod query_many;
mod recipe_args;
mod simhash;
mod sink;
mod stats;
mod transfer;
mod verify;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use fpstore::{Error, Radix, Store};

const AFTER_HELP: &str = "\
Examples:
  fpstore build pages.tsv             make ./store.fps from lines of 'hex<TAB>id'
  fpstore query c0f1789bed2eb9b8      what is within 3 bits of it, and whose is it
  fpstore add more.tsv                add to it; 'delete', 'expire' and 'compact' take away
  fpstore info                        what the store holds and how large it is

Exit status: 0 found or done, 1 nothing found (query, delete, expire) or damaged (verify), 2 could not.";

/// What a report of a problem should say.
const LONG_VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), "\nreads format versions 1 to 1, writes 1");

/// Exact near-duplicate search over 64-bit fingerprints, compressed, on disk.
#[derive(Debug, Parser)]
#[command(name = "fpstore", version, long_version = LONG_VERSION, after_help = AFTER_HELP, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Build(build::BuildArgs),
    Add(add::AddArgs),
    Query(query::QueryArgs),
    Pairs(pairs::PairsArgs),
    Cluster(cluster::ClusterArgs),
    Dedup(dedup::DedupArgs),
    Delete(delete::DeleteArgs),
    Expire(expire::ExpireArgs),
    Compact(compact::CompactArgs),
    Import(transfer::ImportArgs),
    Export(transfer::ExportArgs),
    Info(info::InfoArgs),
    Stats(stats::StatsArgs),
    Plan(plan::PlanArgs),
    Verify(verify::VerifyArgs),
    Dump(dump::DumpArgs),
    Simhash(simhash::SimhashArgs),
    Df(df::DfArgs),
    Compare(compare::CompareArgs),
    Evaluate(evaluate::EvaluateArgs),
    Completions(completions::CompletionsArgs),
}

/// The store that a command works on.
#[derive(Args, Debug)]
struct StoreArg {
    /// The directory of the store
    #[arg(short, long, value_name = "DIR", env = "FPSTORE", default_value = "store.fps")]
    store: PathBuf,
}

impl StoreArg {
    fn open(&self) -> anyhow::Result<Store> {
        Ok(Store::open(&self.store)?)
    }
}

/// How fingerprints are spelled.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum RadixArg {
    /// 1 to 16 hex digits, with or without 0x
    Hex,
    /// Unsigned decimal
    Dec,
    /// Signed decimal, as databases without unsigned numbers keep it
    Sdec,
}

impl From<RadixArg> for Radix {
    fn from(arg: RadixArg) -> Radix {
        match arg {
            RadixArg::Hex => Radix::Hex,
            RadixArg::Dec => Radix::Decimal,
            RadixArg::Sdec => Radix::SignedDecimal,
        }
    }
}

/// What a command that could do its work has to say to the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Found, or done.
    Yes,
    /// Nothing found, or damaged.
    No,
}

/// Parses the arguments, runs the command, and reports what went wrong.
pub(crate) fn run() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.command {
        Command::Build(args) => build::run(args),
        Command::Add(args) => add::run(args),
        Command::Delete(args) => delete::run(args),
        Command::Expire(args) => expire::run(args),
        Command::Compact(args) => compact::run(args),
        Command::Import(args) => transfer::run_import(args),
        Command::Export(args) => transfer::run_export(args),
        Command::Query(args) => query::run(args),
        Command::Pairs(args) => pairs::run(args),
        Command::Cluster(args) => cluster::run(args),
        Command::Dedup(args) => dedup::run(args),
        Command::Info(args) => info::run(args),
        Command::Stats(args) => stats::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Dump(args) => dump::run(args),
        Command::Simhash(args) => simhash::run(args),
        Command::Df(args) => df::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Evaluate(args) => evaluate::run(args),
        Command::Completions(args) => completions::run(args),
    };
    match done {
        Ok(Verdict::Yes) => ExitCode::SUCCESS,
        Ok(Verdict::No) => ExitCode::from(1),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) if matches!(error.downcast_ref(), Some(Error::Interrupted)) => {
            match cli.command {
                Command::Compact(_) => say!("fpstore: interrupted; merges that were done stay"),
                _ => say!("fpstore: interrupted; nothing was changed"),
            }
            ExitCode::from(effort::INTERRUPTED)
        }
        Err(error) => {
            say!("fpstore: {error:#}");
            let cause = error.downcast_ref::<Error>();
            use Command::{Add, Build, Df, Simhash, Stats};
            let can_skip = matches!(cli.command, Add(_) | Build(_) | Df(_) | Simhash(_) | Stats(_));
            if can_skip && matches!(cause, Some(Error::BadInput { .. })) {
                say!("fpstore: --skip-bad counts bad records and goes on");
            }
            let makes_new = matches!(cli.command, Build(_));
            if let Some(hint) = cause.and_then(|cause| hint(cause, makes_new)) {
                say!("fpstore: {hint}");
            }
            ExitCode::from(2)
        }
    }
}

/// Whoever reads our output has seen enough.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// What to do next about an error.
fn hint(error: &Error, may_replace: bool) -> Option<String> {
    match error {
        Error::NoStore { path } => {
            Some(format!("make one with 'fpstore build FILE -s {}'", path.display()))
        }
        Error::StoreExists { .. } if may_replace => Some("--force replaces it once the new one is whole".into()),
        Error::Corrupt { path, .. } => {
            // A segment may be on its way, with no store around it.
            let store = path.parent().filter(|folder| folder.join("MANIFEST").exists())?;
            Some(format!("run 'fpstore verify -s {}' for a full report", store.display()))
        }
        Error::NoSpace { .. } => Some(
            "make room, or put temporary files elsewhere with --temp-dir; --skip-space-check begins \
             all the same"
                .into(),
        ),
        Error::TooManyPairs { .. } => Some(
            "nothing was written; raise --max-pairs, lower -k, or leave out copies with --distinct"
                .into(),
        ),
        Error::Locked { .. } | Error::Compacting { .. } => Some("try again when it is done".into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_version_names_the_format_versions() {
        let (oldest, newest) = fpstore::FORMAT_VERSIONS;
        let expected = format!("\nreads format versions {oldest} to {newest}, writes {newest}");
        assert!(LONG_VERSION.ends_with(&expected), "{LONG_VERSION}");
    }
}
