//! The inputs of a command: their files, the names of their documents, and their formats.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use super::folders::{self, FileChoice, PassedOver};
use super::formats::DocumentFormat;
use super::options::DocumentOptions;
use crate::error::{Error, Result};
use fpstore_base::{read_inputs, source};

/// A file to read, or standard input.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) path: PathBuf,
    /// The name in messages: the id if the file was found in a folder, else the path.
    pub(super) name: String,
    /// The base of the ids of documents without an id: the path below the given folder, with
    /// slashes; for a file named by the user, its path. `None` if it is not UTF-8, because two
    /// names could then have the same id.
    pub(super) id: Option<String>,
    /// The length in bytes, if it is a regular file.
    pub(super) len: Option<u64>,
    /// The time of the file's last change, if the system reports it.
    pub(super) modified: Option<SystemTime>,
    /// Whether the file was found in a folder, and not named by the user.
    pub(super) is_found: bool,
    /// The reason why the file cannot be read, if known.
    pub(super) fault: Option<std::io::Error>,
}

impl Input {
    /// Whether the file is skipped as one bad record because of this error: bad records are
    /// skipped, and the file was found in a folder.
    pub(super) fn is_left_out(&self, options: &DocumentOptions, error: &Error) -> bool {
        options.skip_bad && self.is_found && error.is_of_file()
    }

    /// A file named by the user.
    pub(super) fn named(path: PathBuf) -> Self {
        let (name, id) = (source::name_of(&path), path.to_str().map(str::to_string));
        Input { name, id, is_found: false, ..Input::at(path) }
    }

    fn at(path: PathBuf) -> Self {
        let metadata = if path == Path::new("-") { None } else { path.metadata().ok() };
        let metadata = metadata.filter(std::fs::Metadata::is_file);
        if let Some(metadata) = &metadata {
            read_inputs::note_file(&path, metadata);
        }
        let len = metadata.as_ref().map(std::fs::Metadata::len);
        let modified = metadata.and_then(|metadata| metadata.modified().ok());
        Input { path, name: String::new(), id: None, len, modified, is_found: true, fault: None }
    }
}

/// The inputs of a command, and the files skipped while finding them.
pub(super) struct Inputs {
    pub(super) list: Vec<Input>,
    pub(super) passed_over: PassedOver,
}

/// All files in `paths`, the files of a folder in the order of their names.
///
/// The ids of files in a single folder are their paths below it. With several folders, each path is
/// prefixed with its folder.
pub(super) fn inputs(paths: &[PathBuf], choice: &FileChoice) -> Result<Inputs> {
    let is_folder = |path: &Path| path != Path::new("-") && path.is_dir();
    let folder_count = paths.iter().filter(|path| is_folder(path)).count();
    if folder_count == 0 && !choice.is_default() {
        let reason =
            "the options that choose files apply to folders, and no folder is given".to_string();
        return Err(Error::InvalidInputs { reason });
    }
    let mut inputs = Inputs { list: Vec::new(), passed_over: PassedOver::default() };
    for path in paths {
        if is_folder(path) {
            let prefix = if folder_count > 1 { path.as_path() } else { Path::new("") };
            inputs.add_folder(path, prefix, choice)?;
        } else {
            inputs.list.push(Input::named(path.clone()));
        }
    }
    Ok(inputs)
}

impl Inputs {
    fn add_folder(&mut self, folder: &Path, prefix: &Path, choice: &FileChoice) -> Result<()> {
        read_inputs::note_folder(folder);
        let found = folders::search(folder, choice);
        let passed_over = found.passed_over;
        if found.files.is_empty() && found.unreadable.is_empty() {
            let PassedOver { hidden, unwanted, special } = passed_over;
            let name = source::name_of(folder);
            let reason = match passed_over.count() {
                0 => "no file to read: the folder is empty".into(),
                _ => format!(
                    "no file to read: {hidden} hidden, {unwanted} excluded by patterns, {special} \
                     neither file nor folder"
                ),
            };
            return Err(Error::BadFile { name, reason });
        }
        self.passed_over.hidden += passed_over.hidden;
        self.passed_over.unwanted += passed_over.unwanted;
        self.passed_over.special += passed_over.special;
        for (path, fault) in found.unreadable {
            let name = source::name_of(&path);
            self.list.push(Input { name, fault: Some(fault), ..Input::at(path) });
        }
        for (path, below) in found.files {
            let parts = prefix.components().chain(below.components());
            let whole: PathBuf = parts.filter(|part| *part != Component::CurDir).collect();
            let separator = std::path::MAIN_SEPARATOR_STR;
            let id = whole.to_str().map(|whole| whole.replace(separator, "/"));
            let name = id.clone().unwrap_or_else(|| path.display().to_string());
            self.list.push(Input { name, id, ..Input::at(path) });
        }
        Ok(())
    }

    /// Refuses field names if no file has fields, because they would have no effect.
    pub(super) fn check_fields(&self, options: &DocumentOptions) -> Result<()> {
        let format = |input: &Input| options.format_of(input, false);
        let has_texts = |input: &Input| format(input).has_columns();
        let has_ids = |input: &Input| has_texts(input) || format(input) == DocumentFormat::Features;
        let Some(first) = self.list.first() else { return Ok(()) };
        let unused = match (&options.text_field, &options.id_field) {
            (Some(field), _) if !self.list.iter().any(has_texts) => field,
            (_, Some(field)) if !self.list.iter().any(has_ids) => field,
            _ => return Ok(()),
        };
        let (name, words) = (first.name.clone(), format(first).words());
        let reason = match format(first) {
            DocumentFormat::Warc => format!(
                "no field '{unused}': {words} has no fields of texts or ids: its texts are the \
                 blocks of its records, its ids their URIs"
            ),
            _ => format!(
                "no field '{unused}': a file of this format ({words}) has no fields; if it is \
                 jsonl, csv, tsv or parquet, give --docs-format"
            ),
        };
        Err(Error::BadFile { name, reason })
    }

    /// Refuses two inputs whose documents would have the same ids.
    pub(super) fn check_ids(&self, takes_id: impl Fn(&Input) -> bool) -> Result<()> {
        let mut seen = HashSet::new();
        let mut with_ids = self.list.iter().filter(|input| takes_id(input));
        match with_ids.find(|input| input.id.as_ref().is_some_and(|id| !seen.insert(id))) {
            None => Ok(()),
            Some(input) => Err(Error::InvalidInputs {
                reason: format!(
                    "two files would get the id '{}'; give each file once, and folders with \
                     different names",
                    input.name
                ),
            }),
        }
    }
}

impl DocumentOptions {
    pub(super) fn format_of(&self, input: &Input, takes_features: bool) -> DocumentFormat {
        self.format.unwrap_or_else(|| match DocumentFormat::of(&input.path) {
            DocumentFormat::JsonLines if takes_features => DocumentFormat::Features,
            format => format,
        })
    }

    /// Whether the name of a file is the id of its document, or a part of the ids.
    pub(super) fn takes_name(&self, input: &Input) -> bool {
        let format = self.format_of(input, false);
        self.line_ids || format.is_one_document() || format == DocumentFormat::Lines
    }
}
