//! Infers omitted options from the arguments.
//!
//! The arguments are changed before the command parses them, so only options are added that the
//! user could have typed. Each added option is printed on standard error, except the obvious ones:
//! `-s` for a store, and `-` for a pipe.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use clap::error::{Error, ErrorKind};
use clap::parser::ValueSource;
use fpstore::Store;
use fpstore_documents::DocumentFiles;

use crate::output::remedy::{answers_stream, holds_pictures};

const FIELD: &str = "--fingerprint-field";
/// The position in the arguments at which options are added: after the name of the command.
const AT: usize = 2;

/// The commands that read files of fingerprints or documents, each with the ids of the arguments
/// that name these files.
const READERS: [(&str, &[&str]); 7] = [
    ("add", &["files"]),
    ("build", &["files"]),
    ("cluster", &["inputs"]),
    ("dedup", &["files"]),
    ("join", &["asked", "searched"]),
    ("pairs", &["inputs"]),
    ("query", &["from"]),
];

/// Adds `-` to the arguments of `query` if it has no fingerprints and standard input is a pipe.
pub(crate) fn after_error(error: &Error, arguments: &[OsString]) -> Option<Vec<OsString>> {
    let is_query = arguments.get(1).is_some_and(|name| name == "query");
    let is_missing = error.kind() == ErrorKind::MissingRequiredArgument;
    let is_piped = is_query && is_missing && !io::stdin().is_terminal();
    is_piped.then(|| inserted(arguments, &["-".into()]))
}

/// Replaces `dedup --docs` by `clean`, the command for documents. `dedup --docs --add -` is not
/// changed: it answers a stream of documents.
pub(crate) fn renamed(arguments: &[OsString]) -> Option<Vec<OsString>> {
    let (name, rest) = (arguments.get(1)?, arguments.get(AT..)?);
    let field = |(at, word): (usize, &OsString)| match word.to_str()?.strip_prefix(FIELD)? {
        "" => rest.get(at + 1)?.to_str().map(str::to_owned),
        value => value.strip_prefix('=').map(str::to_owned),
    };
    let names_field = || rest.iter().enumerate().find_map(field).is_some_and(|it| !is_number(&it));
    let has_documents = || rest.iter().any(|word| word == "--docs") || names_field();
    if name != "dedup" || answers_stream(rest) || !has_documents() {
        return None;
    }
    message!("files of documents are cleaned by 'fpstore clean'; 'dedup' still works, too");
    Some(as_clean(arguments))
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The same arguments with the command `clean`.
fn as_clean(arguments: &[OsString]) -> Vec<OsString> {
    let mut arguments = arguments.to_vec();
    arguments[1] = "clean".into();
    arguments
}

/// The arguments with added options for stores, documents or pictures among the files; `None` if
/// there is nothing to add.
pub(crate) fn implied(matches: &ArgMatches, arguments: &[OsString]) -> Option<Vec<OsString>> {
    let (name, given) = matches.subcommand()?;
    let (store, with_store) = store(name, given, arguments).unzip();
    let arguments = with_store.as_deref().unwrap_or(arguments);
    documents(name, given, arguments, store.as_deref()).or(with_store)
}

/// If exactly one of the arguments for fingerprints or files is a store, moves it to `-s`. Returns
/// the store and the changed arguments.
fn store(
    name: &str,
    given: &ArgMatches,
    arguments: &[OsString],
) -> Option<(PathBuf, Vec<OsString>)> {
    if is_given(given, "store") || is_given(given, "segment_file") || is_given(given, "server") {
        return None;
    }
    let places: Vec<PathBuf> = match name {
        "query" => match given.get_many::<String>("needles") {
            Some(needles) => {
                needles.filter(|text| text.contains(['.', '/', '\\'])).map(PathBuf::from).collect()
            }
            // `--from` takes all words after it as files, and the store can be one of them.
            None => {
                let from = given.get_many::<PathBuf>("from").filter(|from| from.len() > 1)?;
                from.filter(|path| Store::is_at(path)).cloned().collect()
            }
        },
        "add" | "build" | "clean" | "dedup" => {
            given.get_many::<PathBuf>("files")?.cloned().collect()
        }
        _ => return None,
    };
    // A path that does not exist is taken for a new or misspelt store if it ends with `.fps`.
    let is_new = |path: &&PathBuf| path.extension() == Some(OsStr::new("fps")) && !path.exists();
    let mut stores = places.iter().filter(|path| Store::is_at(path) || is_new(path));
    let (Some(store), None) = (stores.next(), stores.next()) else { return None };
    let at = arguments.iter().rposition(|word| word == store.as_os_str())?;
    let mut rest = arguments.to_vec();
    rest.remove(at);
    let mut more = vec!["-s".into(), store.clone().into()];
    let has_needles = places.len() > 1
        || ["text", "file", "from", "id"].iter().any(|option| is_given(given, option))
        || given.try_get_many::<String>("needles").ok().flatten().is_some_and(|it| it.len() > 1);
    if name == "query" && !has_needles && !io::stdin().is_terminal() {
        more.push("-".into());
    }
    Some((store.clone(), inserted(&rest, &more)))
}

/// Adds `--images` if the input is a single folder of pictures, or `--docs` if the inputs look like
/// documents: by their extensions, or because they are folders.
fn documents(
    name: &str,
    given: &ArgMatches,
    arguments: &[OsString],
    store: Option<&Path>,
) -> Option<Vec<OsString>> {
    let says_otherwise = ["docs", "fingerprint_field", "images", "input_format", "radix"]
        .iter()
        .any(|id| is_given(given, id));
    let (_, names) = READERS.iter().find(|(reader, _)| *reader == name)?;
    if says_otherwise {
        return None;
    }
    let all = names.iter().filter_map(|name| given.get_many::<PathBuf>(name)).flatten();
    let is_input = |path: &&Path| !Store::is_at(path) && Some(*path) != store;
    let files: Vec<&Path> = all.map(PathBuf::as_path).filter(is_input).collect();
    // No `--docs` if one list of a join is a store: it would be read as a folder of documents.
    if name == "join" && files.len() < names.len() {
        return None;
    }
    if let [folder] = files[..]
        && folder.is_dir()
        && holds_pictures(folder)
    {
        // The command has no `--images`; its error prints how to make a store of the pictures.
        if !given.ids().any(|id| id == "ignore_exif") {
            return None;
        }
        let at = arguments.iter().rposition(|word| word == folder.as_os_str())?;
        let mut rest = arguments.to_vec();
        rest.remove(at);
        message!("{} holds pictures, so --images is assumed", folder.display());
        return Some(inserted(&rest, &["--images".into(), folder.into()]));
    }
    let reason = DocumentFiles::look_like(&files)?;
    if name == "dedup" {
        message!("{reason}, so 'fpstore clean' is assumed");
        return Some(as_clean(arguments));
    }
    message!("{reason}, so --docs is assumed");
    Some(inserted(arguments, &["--docs".into()]))
}

/// Whether the command has this option and the user gave it.
fn is_given(given: &ArgMatches, option: &str) -> bool {
    let known = given.ids().any(|id| id == option);
    known && given.value_source(option) == Some(ValueSource::CommandLine)
}

fn inserted(arguments: &[OsString], more: &[OsString]) -> Vec<OsString> {
    let (head, rest) = arguments.split_at(AT.min(arguments.len()));
    [head, more, rest].concat()
}
