//! Hidden aliases of commands and options, and better suggestions in errors of the command line
//! parser.

use std::ffi::OsString;

use clap::builder::ArgPredicate;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command};

/// Hidden aliases of commands: names that other programs use.
const COMMANDS: [(&str, &[&str]); 6] = [
    ("query", &["search", "find"]),
    ("build", &["create", "init"]),
    ("add", &["insert"]),
    ("delete", &["rm", "remove"]),
    ("compact", &["merge"]),
    ("info", &["ls", "show"]),
];

/// Hidden aliases of options: the id of the option, its long aliases, its short alias.
const OPTIONS: [(&str, &[&str], Option<char>); 5] = [
    ("k", &["max-distance", "radius", "k"], None),
    ("threads", &["jobs"], Some('j')),
    ("limit", &["max-matches"], Some('n')),
    ("format", &["output-format"], None),
    ("store", &["db"], None),
];

/// Formats with a hidden option of their own, such as `--json` for `--format json`.
const FORMATS: [&str; 3] = ["json", "csv", "tsv"];

/// Commands that remove records. They are never suggested for a mistyped command.
const REMOVING: [&str; 5] = ["expire", "delete", "remove", "rm", "compact"];

/// Options that can lose data. They are never suggested for a mistyped option.
const LOSING: [&str; 4] = ["--skip-bad", "--force", "--drop", "--allow-empty"];

/// Adds the aliases to the program.
pub(crate) fn with_aliases(mut program: Command) -> Command {
    for (name, aliases) in COMMANDS {
        program = program.mut_subcommand(name, |command| command.aliases(aliases.iter().copied()));
    }
    program.mut_subcommands(with_other_options)
}

fn with_other_options(command: Command) -> Command {
    let mut formats = Vec::new();
    let command = command.mut_args(|mut arg| {
        let id = arg.get_id().as_str().to_owned();
        for (_, aliases, short) in OPTIONS.iter().filter(|(of, ..)| *of == id) {
            if arg.get_long().is_some() {
                arg = arg.aliases(aliases.iter().copied());
            }
            if let Some(short) = short {
                arg = arg.short_alias(*short);
            }
        }
        if id == "format" {
            let has =
                |name: &str| arg.get_possible_values().iter().any(|it| it.matches(name, true));
            formats = FORMATS.into_iter().filter(|name| has(name)).collect();
            for name in &formats {
                arg = arg.default_value_if(*name, ArgPredicate::IsPresent, *name);
            }
        }
        arg
    });
    let flag = |name: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).hide(true).conflicts_with("format")
    };
    command.args(formats.into_iter().map(flag))
}

/// From an error of the command line parser, removes suggestions that could lose data or do not
/// help; adds the suggestion of [`tip_on_target`].
pub(crate) fn with_good_tips(
    mut error: clap::Error,
    arguments: &[OsString],
    program: &Command,
) -> clap::Error {
    if error.kind() == ErrorKind::UnknownArgument {
        // Removes clap's suggestion to pass the unknown option as a value, after '--'.
        error.remove(ContextKind::Suggested);
        if let Some(tip) = tip_on_target(&error, arguments, program) {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        }
    }
    keep_tips(&mut error, ContextKind::SuggestedArg, &LOSING);
    keep_tips(&mut error, ContextKind::SuggestedSubcommand, &REMOVING);
    error
}

/// The suggestion for two paths after `backup` or `export`: how to name the store and the target.
/// For an option of `clean` given to `dedup`: the command `clean`.
fn tip_on_target(error: &clap::Error, arguments: &[OsString], program: &Command) -> Option<String> {
    let is_place = |word: &str| !word.starts_with('-');
    let Some(ContextValue::String(second)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    if arguments.get(1).is_some_and(|name| name == "dedup") {
        let option = second.split('=').next().unwrap_or_default().trim_start_matches('-');
        let has = program
            .find_subcommand("clean")?
            .get_arguments()
            .any(|arg| arg.get_long() == Some(option));
        return has.then(|| format!("'fpstore clean' cleans documents, and has --{option}"));
    }
    let first = arguments.get(2)?.to_str().filter(|word| is_place(word) && is_place(second))?;
    match arguments[1].to_str()? {
        "backup" => Some(format!(
            "give the store with -s, and the folder of the copy as argument: fpstore backup \
             {second} -s {first}"
        )),
        "export" => Some(format!("give the new store with -o: fpstore export {first} -o {second}")),
        _ => None,
    }
}

/// Removes suggestions whose first word is in `without`.
fn keep_tips(error: &mut clap::Error, kind: ContextKind, without: &[&str]) {
    let is_bad =
        |tip: &String| tip.split_whitespace().next().is_some_and(|it| without.contains(&it));
    match error.remove(kind) {
        Some(ContextValue::Strings(mut tips)) => {
            tips.retain(|tip| !is_bad(tip));
            if !tips.is_empty() {
                error.insert(kind, ContextValue::Strings(tips));
            }
        }
        Some(ContextValue::String(tip)) if is_bad(&tip) => {}
        Some(tip) => {
            error.insert(kind, tip);
        }
        None => {}
    }
}
