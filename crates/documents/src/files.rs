//! The files of a command: found once, and read as often as needed, as a whole or in part.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::field_guess::{self, FieldGuess};
use super::folders::PassedOver;
use super::formats::DocumentFormat;
use super::inputs::{Input, Inputs, inputs};
use super::options::DocumentOptions;
use crate::error::{Error, Result};
use fpstore_base::InputPlace;

/// Files of documents, in reading order.
///
/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct DocumentFiles {
    pub(super) list: Arc<Vec<Input>>,
    /// The numbers of the files of this part.
    pub(super) range: Range<usize>,
    pub(super) passed_over: PassedOver,
    pub(super) guess: FieldGuess,
}

/// A file of [`DocumentFiles`].
#[derive(Clone, Copy, Debug)]
pub struct DocumentFile<'a> {
    pub(super) input: &'a Input,
    format: DocumentFormat,
    guess: &'a FieldGuess,
}

impl DocumentFiles {
    /// Finds the files in `paths`, which are files and folders; `-` is standard input.
    ///
    /// # Errors
    ///
    /// * [`Error::BadFile`](crate::Error::BadFile) if a folder contains no file to read, or if the
    ///   options name fields and no file has fields.
    /// * [`Error::InvalidInputs`](crate::Error::InvalidInputs) if two files would get the same id,
    ///   or if files of folders are selected and there is no folder.
    /// * [`Error::UnclearFields`](crate::Error::UnclearFields) if the fields of ids and texts are
    ///   not named, and the first file with fields has several candidates or no candidate.
    pub fn find(paths: &[PathBuf], options: &DocumentOptions) -> Result<Self> {
        let inputs = inputs(paths, &options.files)?;
        inputs.check_ids(|input| options.takes_name(input))?;
        inputs.check_fields(options)?;
        let Inputs { list, passed_over } = inputs;
        let guess = field_guess::guess(&list, options)?;
        Ok(DocumentFiles { range: 0..list.len(), list: Arc::new(list), passed_over, guess })
    }

    /// If the names of all paths show that they contain documents: the reason in words. `None` if a
    /// path may contain something else. Folders, JSON Lines, Parquet, web archives and HTML pages
    /// contain documents.
    pub fn look_like(paths: &[&Path]) -> Option<String> {
        let name = |path: &Path| fpstore_base::source::name_of(path);
        let reason = |path: &&Path| {
            if path.is_dir() {
                return Some(format!("{} is a folder", name(path)));
            }
            let format = DocumentFormat::of(path);
            let holds_documents = matches!(
                format,
                DocumentFormat::JsonLines
                    | DocumentFormat::Parquet
                    | DocumentFormat::Warc
                    | DocumentFormat::Html
            );
            let is_sure = holds_documents && *path != Path::new("-") && path.is_file();
            is_sure.then(|| format!("{} is {}", name(path), format.words()))
        };
        let reasons: Option<Vec<String>> = paths.iter().map(reason).collect();
        reasons?.into_iter().next()
    }

    /// The names of the fields of ids and of texts, given or guessed. The id field is `None` if the
    /// line number is the id; both are `None` if no file has fields.
    pub fn field_names(&self, options: &DocumentOptions) -> (Option<String>, Option<String>) {
        if !self.list.iter().any(|input| options.format_of(input, false).has_columns()) {
            return (None, None);
        }
        let options = self.guess.completed(options);
        let names = options.names();
        (names.id.map(Into::into), Some(names.text.into()))
    }

    /// The number of files.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there is no file.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// The file with this number among all files; [`DocumentPlace::file`] is such a number.
    pub fn get<'a>(&'a self, number: usize, options: &DocumentOptions) -> Option<DocumentFile<'a>> {
        let input = self.list.get(number)?;
        Some(DocumentFile { input, format: options.format_of(input, false), guess: &self.guess })
    }

    /// The files with these numbers among all files. Documents keep their ids and places.
    #[must_use]
    pub fn part(&self, numbers: Range<usize>) -> Self {
        let range = numbers.start.min(self.list.len())..numbers.end.min(self.list.len());
        DocumentFiles { range, ..self.clone() }
    }

    /// The total length of the files in bytes, before decompression; `None` if a file is not a
    /// regular file.
    pub fn total_len(&self) -> Option<u64> {
        self.list[self.range.clone()].iter().map(|input| input.len).sum()
    }
}

impl<'a> DocumentFile<'a> {
    /// The options completed with the guessed fields.
    pub(super) fn completed(&self, options: &DocumentOptions) -> DocumentOptions {
        self.guess.completed(options)
    }

    /// The path of the file.
    pub fn path(&self) -> &'a Path {
        &self.input.path
    }

    /// The name in messages: the path below the given folder, else the path.
    pub fn name(&self) -> &'a str {
        &self.input.name
    }

    /// The format of the file.
    pub fn format(&self) -> DocumentFormat {
        self.format
    }

    /// The length of the file in bytes; `None` if it is not a regular file.
    pub fn file_len(&self) -> Option<u64> {
        self.input.len
    }

    /// The time of the file's last change before the file was found, if the system reports it.
    pub fn modified(&self) -> Option<SystemTime> {
        self.input.modified
    }

    /// Whether the length or the time of the last change of the file differs from when it was
    /// found.
    ///
    /// # Errors
    ///
    /// The error of the system if the metadata of the file cannot be read.
    pub fn is_changed(&self) -> std::io::Result<bool> {
        let Some(len) = self.input.len else { return Ok(false) };
        let now = self.input.path.metadata()?;
        Ok(now.len() != len || now.modified().ok() != self.input.modified)
    }

    /// Whether this error counts as one bad record, so that reading continues without the file: bad
    /// records are skipped, the error is a fault of the file, and the file was found in a folder.
    pub fn is_left_out(&self, options: &DocumentOptions, error: &Error) -> bool {
        self.input.is_left_out(options, error)
    }
}

/// The place of a document: its file, and its record in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentPlace {
    /// The number of the file among all files.
    pub file: usize,
    /// The line, row or record where the document starts; `None` if the file is a single document.
    pub at: Option<InputPlace>,
    /// The digest of the record, by which copying recognises it: the digest of the bytes of its
    /// line, of its fields, of its text or id in Parquet, or of its header and block in a web
    /// archive. `None` if the file is a single document, or a Parquet file whose text and id
    /// columns are both in lists.
    pub digest: Option<u64>,
}

impl DocumentPlace {
    /// The number of the line, row or record; 0 if the file is a single document. It is unique in
    /// the file.
    pub fn record(&self) -> u64 {
        match self.at {
            Some(InputPlace::Line(at) | InputPlace::Row(at) | InputPlace::Record(at)) => at,
            _ => 0,
        }
    }
}
