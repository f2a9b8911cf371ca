//! The `fpstore` program. It uses only the public API of the library.
//!
//! `commands` contains a module for each command of `fpstore help`. The other modules, in order:
//! `run` (work that several commands share), `args` (arguments that they share), `session`
//! (signals, progress, the store), `output` (messages, rows, files). A module imports only from
//! modules after it.
//!
//! A command parses its arguments, calls the library and prints the results. Results go to standard
//! output in a form for scripts; messages go to standard error with the prefix `fpstore: `.

#![deny(unsafe_code)]
#![deny(clippy::print_stderr, clippy::print_stdout)]

#[macro_use]
mod output;
mod args;
mod commands;
mod run;
mod session;

use std::any::TypeId;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::CompleteEnv;
use fpstore_base::read_inputs;

use commands::{
    add, backup, build, clean, cluster, commit, compact, compare, completions, contamination,
    dedup, delete, df, dump, evaluate, expire, export, features, fingerprint, import, info, join,
    log, man, pairs, plan, promote, query, serve, stats, verify,
};
use output::color::{self, ColorArgs};
use output::exit::{NotFound, is_closed_pipe, is_interrupted};
use output::text::stdout;
use output::{corpus_error, hint};
use run::topics::{Topic, list_of_topics, rare_options, with_topics};
use run::{aliases, completing, inferred_options, overview};
use session::command::ExitStatus;
use session::monitor;

const EXAMPLES: &str = "\
Examples:
  fpstore build pages.tsv             make ./store.fps from lines of 'hex<TAB>id'
  fpstore query c0f1789bed2eb9b8      find the fingerprints within 3 bits, and their ids
  fpstore add more.tsv                add records; 'delete', 'expire' and 'compact' remove them
  fpstore info                        show the contents and the size of the store

Exit status: 0 found or done; 1 not found, or damaged (verify); 2 error; 130 ended by a signal.";

/// The end of the program's help: the list of topics, examples, and the exit statuses.
fn after_help() -> String {
    format!("Topics, as 'fpstore help documents':\n{}\n{EXAMPLES}", list_of_topics())
}

/// The text of `--version`, with all facts that a bug report should contain.
const LONG_VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), "\nreads stores of format versions 2 to 3, writes 2 and 3");
/// The text of `-V`: the version of the program, and the versions of the store format, which are
/// numbered separately.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (format versions 2 to 3)");

/// Exact near-duplicate search over 64-bit fingerprints, compressed, on disk.
#[derive(Debug, Parser)]
#[command(
    name = "fpstore",
    version = VERSION,
    long_version = LONG_VERSION,
    after_help = after_help(),
    arg_required_else_help = true,
    args_override_self = true
)]
struct Cli {
    #[command(flatten)]
    color: ColorArgs,
    #[command(subcommand)]
    command: Command,
}

/// Generates the enum [`Command`] from a list: the name of each command, its arguments, and the
/// function that runs it.
macro_rules! commands {
    ($($name:ident($module:ident::$args:ident) => $run:expr,)+) => {
        #[derive(Debug, Subcommand)]
        enum Command {
            $($name(Box<$module::$args>),)+
        }

        impl Command {
            fn run(&self) -> anyhow::Result<ExitStatus> {
                match self {
                    $(Command::$name(args) => $run(args),)+
                }
            }
        }
    };
}

commands! {
    Build(build::BuildArgs) => build::run,
    Add(add::AddArgs) => add::run,
    Query(query::QueryArgs) => query::run,
    Join(join::JoinArgs) => join::run,
    Serve(serve::ServeArgs) => serve::run,
    Pairs(pairs::PairsArgs) => pairs::run,
    Cluster(cluster::ClusterArgs) => cluster::run,
    Clean(clean::CleanArgs) => clean::run,
    Dedup(dedup::DedupArgs) => dedup::run,
    Contamination(contamination::ContaminationArgs) => contamination::run,
    Delete(delete::DeleteArgs) => delete::run,
    Expire(expire::ExpireArgs) => expire::run,
    Compact(compact::CompactArgs) => compact::run,
    Commit(commit::CommitArgs) => commit::run,
    Import(import::ImportArgs) => import::run,
    Export(export::ExportArgs) => export::run,
    Backup(backup::BackupArgs) => backup::run,
    Promote(promote::PromoteArgs) => promote::run,
    Info(info::InfoArgs) => info::run,
    Log(log::LogArgs) => log::run,
    Stats(stats::StatsArgs) => stats::run,
    Plan(plan::PlanArgs) => plan::run,
    Verify(verify::VerifyArgs) => verify::run,
    Dump(dump::DumpArgs) => dump::run,
    Fingerprint(fingerprint::FingerprintArgs) => fingerprint::run,
    Simhash(fingerprint::SimhashArgs) => fingerprint::run_simhash,
    Features(features::FeaturesArgs) => features::run,
    Df(df::DfArgs) => df::run,
    Compare(compare::CompareArgs) => compare::run,
    Evaluate(evaluate::EvaluateArgs) => evaluate::run,
    Completions(completions::CompletionsArgs) => completions::run,
    Man(man::ManArgs) => run_man,
}

fn run_man(args: &man::ManArgs) -> anyhow::Result<ExitStatus> {
    man::run(args, program())
}

impl Command {
    /// The message after an interruption: what was changed or kept.
    fn after_interruption(&self) -> &'static str {
        match self {
            Command::Compact(_) => "finished merges are kept",
            Command::Backup(_) => "copied segments are kept, and the next backup continues",
            Command::Clean(args) => args.after_interruption(),
            Command::Serve(_) => "the server did not start",
            _ => "nothing was changed",
        }
    }
}

/// The command line parser of the program.
fn program() -> clap::Command {
    let program = overview::with_groups(overview::with_own_headings(Cli::command()));
    completing::with_values(aliases::with_aliases(program))
}

/// Parses the arguments, runs the command and reports errors. Returns the exit status of the
/// command, 2 after an error, 130 after a signal.
fn main() -> ExitCode {
    monitor::give_back_memory();
    CompleteEnv::with_factory(program).var(completing::VARIABLE).complete();
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    // `fpstore help -h` and `fpstore help --help` print the help of the command `help`.
    if arguments.len() == 3
        && arguments[1] == "help"
        && ["-h", "--help"].map(OsString::from).contains(&arguments[2])
    {
        arguments[2] = "help".into();
    }
    if let Some(topic) = topic_asked(&arguments) {
        return print_topic(topic);
    }
    if let Some(renamed) = inferred_options::renamed(&arguments) {
        arguments = renamed;
    }
    let mut program = with_help_page(program(), &mut arguments);
    let mut matches = program.try_get_matches_from_mut(&arguments).or_else(|error| {
        match inferred_options::after_error(&error, &arguments) {
            Some(inferred) => program.try_get_matches_from_mut(inferred),
            None => Err(error),
        }
    });
    if let Some(inferred) =
        matches.as_ref().ok().and_then(|given| inferred_options::implied(given, &arguments))
    {
        matches = program.try_get_matches_from_mut(inferred);
    }
    let matches =
        matches.unwrap_or_else(|error| aliases::with_good_tips(error, &arguments, &program).exit());
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    color::set(cli.color.color);
    let command = cli.command;
    let given = arguments;
    let of_command = matches.subcommand_name().and_then(|name| program.find_subcommand(name));
    let offers = |option: &str| {
        of_command.is_some_and(|it| it.get_arguments().any(|arg| arg.get_id() == option))
    };
    monitor::survive_file_limits();
    read_inputs::remember();
    let noted = match (matches.subcommand(), of_command) {
        (Some((_, given)), Some(command)) => note_places(given, command),
        _ => Ok(()),
    };
    match noted.and_then(|()| command.run()).map_err(corpus_error::unwrapped) {
        Ok(ExitStatus::Done) => ExitCode::SUCCESS,
        Ok(ExitStatus::Negative) => ExitCode::from(1),
        Ok(ExitStatus::Interrupted) => ExitCode::from(monitor::INTERRUPTED),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) if is_interrupted(&error) => {
            message!("interrupted; {}", command.after_interruption());
            ExitCode::from(monitor::INTERRUPTED)
        }
        Err(error) if error.is::<NotFound>() => {
            message!("{error}");
            ExitCode::from(1)
        }
        Err(error) => {
            let told = format!("{error:#}");
            message!("{told}");
            if let Some(hint) = hint::of(&error, &told, &given, offers) {
                hint.lines().for_each(|line| message!("{line}"));
            }
            ExitCode::from(2)
        }
    }
}

/// Ids of the options that name output files. Of two conflicting outputs, messages name the earlier
/// option in this list first.
const OUTPUTS: [&str; 9] =
    ["output", "removed", "losses", "manifest", "found", "html", "svg", "lost_ids", "segment_file"];

/// Registers all paths of a command line before any file is opened, and rejects an output that
/// would replace an input or another output. Inputs are the positional arguments (with --docs also
/// folders), and the files of all options not in [`OUTPUTS`].
fn note_places(given: &clap::ArgMatches, command: &clap::Command) -> anyhow::Result<()> {
    let paths = |id: &str| -> Vec<PathBuf> {
        let words = given.try_get_raw(id).ok().flatten();
        words.into_iter().flatten().map(PathBuf::from).collect()
    };
    let reads_folders = given.try_get_one::<bool>("docs").is_ok_and(|is_on| is_on == Some(&true));
    for argument in command.get_positionals() {
        for path in paths(argument.get_id().as_str()) {
            match path.metadata() {
                Ok(found) if found.is_dir() && reads_folders => read_inputs::note_folder(&path),
                Ok(found) => read_inputs::note_file(&path, &found),
                Err(_) => {}
            }
        }
    }
    let name_of = |argument: &clap::Arg| argument.get_long().map(|long| format!("--{long}"));
    for argument in command.get_arguments() {
        let is_path = argument.get_value_parser().type_id() == TypeId::of::<PathBuf>();
        let id = argument.get_id().as_str();
        if let (Some(option), true) = (name_of(argument), is_path && !OUTPUTS.contains(&id)) {
            paths(id).iter().for_each(|path| read_inputs::note_input(&option, path));
        }
    }
    for id in OUTPUTS {
        let argument = command.get_arguments().find(|argument| argument.get_id() == id);
        let Some(option) = argument.and_then(name_of) else { continue };
        for path in paths(id) {
            read_inputs::note_output(&option, &path).map_err(anyhow::Error::msg)?;
        }
    }
    Ok(())
}

/// The topic, if the arguments are `help` and the name of a topic.
fn topic_asked(arguments: &[OsString]) -> Option<&'static Topic> {
    match arguments {
        [_, help, name] if help == "help" => name.to_str().and_then(Topic::named),
        _ => None,
    }
}

fn print_topic(topic: &Topic) -> ExitCode {
    let mut out = stdout();
    let printed = writeln!(out, "{}", topic.help().to_string().trim_end());
    match printed.and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            message!("{error}");
            ExitCode::from(2)
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Makes `--help` print a help page of moderate length: the options of `-h`, then only the names of
/// all other options, by topic. `fpstore help COMMAND --all` prints the full help of each option,
/// like the manual.
fn with_help_page(program: clap::Command, arguments: &mut Vec<OsString>) -> clap::Command {
    let own = arguments.iter().take_while(|word| *word != "--").count();
    let asks = arguments[..own].iter().position(|word| word == "--help");
    let is_help = arguments.get(1).is_some_and(|word| word == "help");
    let name = match (asks, arguments.len()) {
        (None, 3) if is_help => &arguments[2],
        (None, 4) if is_help && arguments[3] == "--all" => &arguments[2],
        (Some(_), _) => &arguments[1],
        _ => return program,
    };
    let found = name.to_str().and_then(|name| program.find_subcommand(name));
    let Some(name) = found.map(|command| command.get_name().to_owned()) else { return program };
    let is_all = is_help && asks.is_none() && arguments.len() == 4;
    let option = if is_all { "--help" } else { "-h" };
    match asks {
        Some(at) => arguments[at] = option.into(),
        None => *arguments = vec![arguments[0].clone(), name.clone().into(), option.into()],
    }
    if is_all {
        return program;
    }
    program.mut_subcommand(&name, with_page)
}

/// Replaces the short help of a command by the help page.
fn with_page(command: clap::Command) -> clap::Command {
    let name = command.get_name().to_owned();
    let about = command.get_long_about().or(command.get_about()).cloned();
    let after = command.get_after_long_help().or(command.get_after_help());
    let after = after.map(ToString::to_string).unwrap_or_default();
    let (command, told) = with_topics(command);
    let heading = match told.is_empty() {
        true => "Other options:",
        false => "More options, described by 'fpstore help TOPIC':",
    };
    let rare = rare_options(&command, if told.is_empty() { "" } else { "(no topic)" });
    let mut more = String::new();
    if !told.is_empty() || !rare.is_empty() {
        more += &format!("{heading}\n{told}{rare}\n");
    }
    if !after.is_empty() {
        more += &format!("{after}\n");
    }
    more += &format!("All options in full: fpstore help {name} --all");
    command.about(about.unwrap_or_default()).after_help(more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_the_version_name_the_format_versions() {
        let (oldest, newest) = fpstore::FORMAT_VERSIONS.into_inner();
        let expected =
            format!("format versions {oldest} to {newest}, writes {oldest} and {newest}");
        assert!(LONG_VERSION.ends_with(&expected), "{LONG_VERSION}");
        assert!(VERSION.ends_with(&format!("(format versions {oldest} to {newest})")), "{VERSION}");
    }
}
