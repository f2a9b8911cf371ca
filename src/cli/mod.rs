//! The command line, with one file for each command. It uses only the public face of the library.
//!
//! A command parses its arguments, calls the library and prints. Results go to standard output in a
//! form that scripts can rely on; messages go to standard error and begin with `fpstore: `.

#[macro_use]
mod output;

mod add;
mod build;
mod build_report;
mod byte_table;
mod clean;
mod cluster;
mod cluster_groups;
mod cluster_rows;
mod command;
mod commit;
mod compact;
mod compare;
mod compare_features;
mod compare_stored;
mod completions;
mod confirm;
mod costs;
mod dedup;
mod dedup_records;
mod dedup_stream;
mod delete;
mod df;
mod document_reader;
mod documents;
mod dump;
mod evaluate;
mod expire;
mod features;
mod fingerprint;
mod follow;
mod info;
mod inputs;
mod join_input;
mod leftovers;
mod man;
mod monitor;
mod new_file;
mod new_records;
mod overview;
mod page;
mod pairs;
mod plan;
mod previous;
mod query;
mod query_documents;
mod query_files;
mod query_output;
#[cfg(feature = "serve")]
mod query_server;
mod reading_args;
mod recipe_args;
mod recipe_files;
mod remedy;
mod report_args;
mod resources;
mod rows;
mod scheme_arg;
mod scheme_help;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "serve")]
mod server_client;
mod share;
mod sink;
mod stats;
mod stream;
#[cfg(feature = "parquet")]
mod table;
mod transfer;
mod turns;
mod verify;
mod wait;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use fpstore::{Error, Recipe};
use fpstore_base::Interrupted;

use command::{ExitStatus, Run};

const AFTER_HELP: &str = "\
Examples:
  fpstore build pages.tsv             make ./store.fps from lines of 'hex<TAB>id'
  fpstore query c0f1789bed2eb9b8      find the fingerprints within 3 bits, and their ids
  fpstore add more.tsv                add records; 'delete', 'expire' and 'compact' remove them
  fpstore info                        show what the store holds and how large it is

Exit status: 0 found or done; 1 nothing found (query, pairs, cluster) or damaged (verify); 2 error;
130 ended by a signal: an interrupt, SIGTERM or SIGHUP.";

/// What a bug report should contain.
const LONG_VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), "\nreads format versions 2 to 2, writes 2");

/// Exact near-duplicate search over 64-bit fingerprints, compressed, on disk.
#[derive(Debug, Parser)]
#[command(
    name = "fpstore",
    version,
    long_version = LONG_VERSION,
    after_help = AFTER_HELP,
    arg_required_else_help = true,
    args_override_self = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Build(build::BuildArgs),
    Add(add::AddArgs),
    Query(query::QueryArgs),
    #[cfg(feature = "serve")]
    Serve(Box<serve::ServeArgs>),
    Pairs(pairs::PairsArgs),
    Cluster(cluster::ClusterArgs),
    Dedup(dedup::DedupArgs),
    Delete(delete::DeleteArgs),
    Expire(expire::ExpireArgs),
    Compact(compact::CompactArgs),
    Commit(commit::CommitArgs),
    Import(transfer::ImportArgs),
    Export(transfer::ExportArgs),
    Info(info::InfoArgs),
    Stats(stats::StatsArgs),
    Plan(plan::PlanArgs),
    Verify(verify::VerifyArgs),
    Dump(dump::DumpArgs),
    Fingerprint(fingerprint::FingerprintArgs),
    Simhash(fingerprint::SimhashArgs),
    Features(features::FeaturesArgs),
    Df(df::DfArgs),
    Compare(compare::CompareArgs),
    Evaluate(evaluate::EvaluateArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

impl Command {
    fn as_run(&self) -> &dyn Run {
        match self {
            Command::Build(args) => args,
            Command::Add(args) => args,
            Command::Query(args) => args,
            #[cfg(feature = "serve")]
            Command::Serve(args) => &**args,
            Command::Pairs(args) => args,
            Command::Cluster(args) => args,
            Command::Dedup(args) => args,
            Command::Delete(args) => args,
            Command::Expire(args) => args,
            Command::Compact(args) => args,
            Command::Commit(args) => args,
            Command::Import(args) => args,
            Command::Export(args) => args,
            Command::Info(args) => args,
            Command::Stats(args) => args,
            Command::Plan(args) => args,
            Command::Verify(args) => args,
            Command::Dump(args) => args,
            Command::Fingerprint(args) => args,
            Command::Simhash(args) => args,
            Command::Features(args) => args,
            Command::Df(args) => args,
            Command::Compare(args) => args,
            Command::Evaluate(args) => args,
            Command::Completions(args) => args,
            Command::Man(args) => args,
        }
    }
}

/// The program as its users see it.
fn program() -> clap::Command {
    overview::with_groups(overview::with_own_headings(Cli::command()))
}

const SKIP_BAD_HINT: &str = "--skip-bad counts bad records and goes on";

const RECIPE_HINT: &str = "if the fingerprints were made by the recipe of the store, say so: \
                           --recipe with its name, or with a file that holds what 'info' prints \
                           of it";

/// Parses the arguments, runs the command and reports errors. The exit status is that of the
/// command, 2 after an error, 130 after a signal.
pub(crate) fn run() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    // The help on help itself, as for every other command.
    if arguments.len() == 3
        && arguments[1] == "help"
        && ["-h", "--help"].map(OsString::from).contains(&arguments[2])
    {
        arguments[2] = "help".into();
    }
    let cli = match Cli::from_arg_matches(&program().get_matches_from(arguments)) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    monitor::survive_file_limits();
    let command = cli.command.as_run();
    match command.run() {
        Ok(ExitStatus::Done) => ExitCode::SUCCESS,
        Ok(ExitStatus::Negative) => ExitCode::from(1),
        Ok(ExitStatus::Interrupted) => ExitCode::from(monitor::INTERRUPTED),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) if is_interrupted(&error) => {
            message!("interrupted; {}", command.after_interruption());
            ExitCode::from(monitor::INTERRUPTED)
        }
        Err(error) => {
            message!("{error:#}");
            let of_store = error.downcast_ref().and_then(|error| hint(error, command));
            let of_text = || error.downcast_ref().and_then(|error| text_hint(error, command));
            if let Some(hint) = of_store.or_else(of_text) {
                message!("{hint}");
            }
            ExitCode::from(2)
        }
    }
}

fn is_interrupted(error: &anyhow::Error) -> bool {
    let is_ended_wait = |cause: &io::Error| Interrupted::is_in(cause);
    error.chain().any(|cause| cause.downcast_ref().is_some_and(is_ended_wait))
        || matches!(error.downcast_ref(), Some(Error::Interrupted))
        || matches!(error.downcast_ref(), Some(fpstore_text::Error::Interrupted))
}

/// Whether the reader of the output has closed it, which is no error.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// What the user can do about an error.
fn hint(error: &Error, command: &dyn Run) -> Option<String> {
    match error {
        Error::BadInput { name, reason, .. } => remedy::of_fingerprints(name, reason)
            .or_else(|| command.can_skip_bad().then(|| SKIP_BAD_HINT.into())),
        Error::NoStore { path } => {
            Some(format!("make one with 'fpstore build FILE -s {}'", path.display()))
        }
        Error::StoreExists { .. } if command.can_replace() => {
            Some("--force replaces it once the new one is complete".into())
        }
        Error::Corrupt { path, .. } => {
            // The file may be a segment outside of a store, such as one to import.
            let store = path.parent().filter(|folder| folder.join("MANIFEST").exists())?;
            Some(format!("run 'fpstore verify -s {}' for a full report", store.display()))
        }
        Error::NoSpace { .. } => Some(
            "make room, or put temporary files elsewhere with --temp-dir; --skip-space-check \
             starts anyway"
                .into(),
        ),
        Error::TooManyPairs { .. } => Some(
            "nothing was written; raise --max-pairs, lower -k, or leave out copies with --distinct"
                .into(),
        ),
        Error::RecipeMismatch { given, .. } if *given == Recipe::external() => {
            command.takes_recipe().then(|| RECIPE_HINT.into())
        }
        Error::Locked { .. } | Error::Compacting { .. } => {
            Some("--wait waits until it has finished".into())
        }
        _ => None,
    }
}

/// What the user can do about an error in a document.
fn text_hint(error: &fpstore_text::Error, command: &dyn Run) -> Option<String> {
    let fpstore_text::Error::BadInput { reason, .. } = error else { return None };
    remedy::of_documents(reason).or_else(|| command.can_skip_bad().then(|| SKIP_BAD_HINT.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_version_names_the_format_versions() {
        let (oldest, newest) = fpstore::FORMAT_VERSIONS.into_inner();
        let expected = format!("\nreads format versions {oldest} to {newest}, writes {newest}");
        assert!(LONG_VERSION.ends_with(&expected), "{LONG_VERSION}");
    }
}
