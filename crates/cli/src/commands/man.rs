//! `fpstore man`: writes manual pages, generated from the help texts.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use fpstore_corpus::NewFile;

use crate::args::resources::QuietArgs;
use crate::output::sink::Sink;
use crate::output::text::counted;
use crate::run::overview::{GROUPS, commands};
use crate::run::topics::{TOPICS, Topic, with_topics};
use crate::session::command::ExitStatus;

const AFTER_HELP: &str = "\
Examples:
  fpstore man ~/.local/share/man/man1
  fpstore man pages && man -l pages/fpstore-cluster.1

Exit status: 0 done; 2 error.";

/// Write manual pages: one for the program, each command and each topic
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ManArgs {
    /// Folder for the pages; created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Replace existing pages
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    quiet: QuietArgs,
}

/// Writes the pages of `program`, the complete program with all its commands.
pub(crate) fn run(args: &ManArgs, mut program: Command) -> anyhow::Result<ExitStatus> {
    let folder = &args.folder;
    NewFile::make_folder(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    program.build();
    let pages = pages(&program)?;
    // All files are opened before any gets its name, so that an error leaves no pages behind.
    let open = |(name, page)| Ok((Sink::open(&folder.join(name), args.force)?, page));
    let open: Vec<(Sink, Vec<u8>)> = pages.into_iter().map(open).collect::<anyhow::Result<_>>()?;
    let count = open.len() as u64;
    for (mut out, page) in open {
        out.write_all(&page)?;
        out.finish()?;
    }
    if !args.quiet.is_on() {
        message!("wrote {} to {}", counted(count, "page", "pages"), folder.display());
    }
    Ok(ExitStatus::Done)
}

/// The file names and the contents of all pages.
fn pages(program: &Command) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let mut pages = vec![("fpstore.1".to_string(), page(program, None)?)];
    for command in program.get_subcommands().filter(|command| command.get_name() != "help") {
        let name = format!("fpstore-{}.1", command.get_name());
        pages.push((name, page(command, Some(program))?));
    }
    for topic in &TOPICS {
        pages.push((format!("fpstore-help-{}.1", topic.name), topic_page(topic)?));
    }
    Ok(pages)
}

/// The manual page of `command`. `program` is `None` if `command` is the program itself.
fn page(command: &Command, program: Option<&Command>) -> anyhow::Result<Vec<u8>> {
    // Unhides all options, because the generator omits options that are hidden in the short help.
    let whole = command.clone().mut_args(|arg| arg.hide_short_help(false));
    let (mut named, shared) = with_topics(whole);
    if let Some(program) = program {
        let name = format!("{}-{}", program.get_name(), command.get_name());
        named = named.display_name(name);
    }
    let usage = named.render_usage().to_string();
    let help = named.get_after_long_help().or(named.get_after_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let (man, mut out) = begun(named)?;
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]);
    roff.text([bold(usage.trim_start_matches("Usage: "))]);
    roff.to_writer(&mut out)?;
    man.render_description_section(&mut out)?;
    if program.is_none() {
        list_of_commands(command).to_writer(&mut out)?;
    }
    man.render_options_section(&mut out)?;
    if !shared.is_empty() {
        list_of_shared(&shared).to_writer(&mut out)?;
    }
    after_options(&help, program).to_writer(&mut out)?;
    Ok(out)
}

/// Starts a page with its title and its NAME section.
fn begun(command: Command) -> std::io::Result<(Man, Vec<u8>)> {
    // No date, so that repeated builds of a release generate the same pages.
    let man = Man::new(command)
        .date(" ")
        .source(concat!("fpstore ", env!("CARGO_PKG_VERSION")))
        .manual("fpstore manual");
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    Ok((man, out))
}

/// The manual page of a help topic: its text and its options.
fn topic_page(topic: &Topic) -> anyhow::Result<Vec<u8>> {
    let command = topic.command().display_name(format!("fpstore-help-{}", topic.name));
    let has_options = command.get_arguments().next().is_some();
    let (man, mut out) = begun(command)?;
    let mut roff = Roff::new();
    roff.control("SH", ["DESCRIPTION"]);
    for part in topic.text().split("\n\n") {
        roff.control("PP", []);
        let is_list = part.lines().any(|line| line.starts_with("  "));
        if is_list {
            roff.control("nf", []);
        }
        for line in part.lines() {
            roff.text([roman(line)]);
        }
        if is_list {
            roff.control("fi", []);
        }
    }
    roff.to_writer(&mut out)?;
    if has_options {
        man.render_options_section(&mut out)?;
    }
    see_also().to_writer(&mut out)?;
    Ok(out)
}

/// A list of the options that topics describe, with references to the pages of the topics. `shared`
/// is this list as the help prints it.
fn list_of_shared(shared: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["MORE OPTIONS"]);
    for line in shared.lines() {
        let (topic, options) = line.split_at(line.len().min(13));
        if let Some(topic) = Some(topic.trim()).filter(|topic| !topic.is_empty()) {
            roff.control("TP", []);
            roff.text([bold(format!("fpstore-help-{topic}(1)"))]);
        }
        roff.text([roman(options)]);
    }
    roff
}

fn see_also() -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["SEE ALSO"]);
    roff.text([bold("fpstore"), roman("(1)")]);
    roff
}

/// The list of all commands, in groups.
fn list_of_commands(program: &Command) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["COMMANDS"]);
    for (group, names) in GROUPS {
        roff.control("SS", [group]);
        for command in commands(program, names) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            roff.control("TP", []);
            roff.text([bold(format!("fpstore-{}(1)", command.get_name()))]);
            roff.text([roman(about)]);
        }
    }
    roff.control("SS", ["Topics"]);
    for topic in &TOPICS {
        roff.control("TP", []);
        roff.text([bold(format!("fpstore-help-{}(1)", topic.name))]);
        roff.text([roman(topic.about)]);
    }
    roff
}

/// The sections after the options: examples and exit status, taken from `help`, and references to
/// other pages.
fn after_options(help: &str, program: Option<&Command>) -> Roff {
    let mut roff = Roff::new();
    let (examples, status) = help.split_once("\n\nExit status: ").unwrap_or((help, ""));
    let examples = examples.split_once("Examples:").map_or(examples, |(_, examples)| examples);
    roff.control("SH", ["EXAMPLES"]);
    roff.control("nf", []);
    for line in examples.lines().skip(1) {
        roff.text([roman(line.trim_start())]);
    }
    roff.control("fi", []);
    roff.control("SH", ["EXIT STATUS"]);
    let status = status.replace('\n', " ");
    for part in status.trim_end_matches('.').split("; ") {
        roff.control("PP", []);
        roff.text([roman(part)]);
    }
    if !status.contains("130 ") {
        roff.control("PP", []);
        roff.text([roman("130 ended by a signal: an interrupt, SIGTERM or SIGHUP")]);
    }
    if program.is_some() {
        roff.extend([see_also()]);
    }
    roff
}
