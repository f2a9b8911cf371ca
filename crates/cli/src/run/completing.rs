//! Shell completion for values of options: names, files, folders, and labels of the store.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::{Command, ValueHint};
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use fpstore::Store;
use fpstore::plan::FAMILIES;
use fpstore_corpus::KeepRule;
use fpstore_text::TextRecipe;

use crate::session::stores::default_store;

/// The environment variable by which a shell requests completions.
pub(crate) const VARIABLE: &str = "FPSTORE_COMPLETE";

/// Adds completions of values to the program.
pub(crate) fn with_values(program: Command) -> Command {
    program.mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        command.mut_args(|arg| {
            let id = arg.get_id().as_str();
            let names = arg.get_value_names().and_then(|names| names.first());
            let hint = match names.map(|name| name.as_str()) {
                Some("FILE" | "FILES" | "LABELS" | "STORE|FILE" | "NEW" | "CORPUS" | "A" | "B") => {
                    ValueHint::AnyPath
                }
                Some("DIR" | "STORE") => ValueHint::DirPath,
                _ if id == "files" => ValueHint::AnyPath,
                _ => ValueHint::Unknown,
            };
            match (id, name.as_str()) {
                ("recipe", _) => arg.add(ArgValueCompleter::new(recipes)),
                ("scheme", _) => arg.add(ArgValueCompleter::new(schemes)),
                ("keep", "clean") => arg.add(ArgValueCompleter::new(rules)),
                ("label", "query") | ("before", _) => arg.add(ArgValueCompleter::new(labels)),
                _ if hint == ValueHint::Unknown || !arg.get_action().takes_values() => arg,
                _ => arg.value_hint(hint),
            }
        })
    })
}

/// The names that begin with `typed`, and files.
fn named_or_file<'a>(
    typed: &OsStr,
    names: impl IntoIterator<Item = &'a str>,
) -> Vec<CompletionCandidate> {
    let mut found = named(typed, names);
    found.extend(PathCompleter::any().complete(typed));
    found
}

fn named<'a>(typed: &OsStr, names: impl IntoIterator<Item = &'a str>) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let names = names.into_iter().filter(|name| name.starts_with(&*typed));
    names.map(CompletionCandidate::new).collect()
}

fn recipes(typed: &OsStr) -> Vec<CompletionCandidate> {
    named_or_file(typed, TextRecipe::NAMES.iter().copied())
}

fn schemes(typed: &OsStr) -> Vec<CompletionCandidate> {
    let names = FAMILIES.iter().flat_map(|family| [Some(family.name), family.alias]).flatten();
    // A capital letter stands for a number that the user chooses, so it is not completed.
    let begin = |name: &'static str| name.split(|c: char| c.is_ascii_uppercase()).next();
    let names = names.filter_map(begin);
    named_or_file(typed, std::iter::once("auto").chain(names))
}

fn rules(typed: &OsStr) -> Vec<CompletionCandidate> {
    let begin = |(name, _): &(&'static str, _)| name.split_inclusive(':').next().unwrap_or(name);
    named(typed, KeepRule::NAMES.iter().map(begin))
}

/// The labels that begin with `typed`, of the store given on the command line.
fn labels(typed: &OsStr) -> Vec<CompletionCandidate> {
    let words: Vec<_> = std::env::args_os().collect();
    let named_store = words.windows(2).rev().find(|pair| pair[0] == "-s" || pair[0] == "--store");
    let path = named_store.map_or_else(default_store, |pair| PathBuf::from(&pair[1]));
    let Ok(store) = Store::open(path) else { return Vec::new() };
    let info = store.info();
    let mut labels: Vec<&str> = info.segments.iter().map(|it| it.label.as_str()).collect();
    labels.sort_unstable();
    labels.dedup();
    labels.retain(|label| !label.is_empty());
    named(typed, labels)
}
