//! Checks that the name of an output fits its contents.
//!
//! The extension of a single output file selects its compression, whatever the compression of the
//! input. The format is the format of the input, so the extension of another format is refused.

use std::path::{Path, PathBuf};

use fpstore_base::source::Compression;
use fpstore_documents::{DocumentFile, DocumentFormat};

use super::error::{Error, Result};

/// Refuses standard output, special files such as pipes, and links to open files, such as
/// `/dev/stdout`: these look like ordinary files, and a copy would replace them.
pub(super) fn check_is_file(output: &Path) -> Result<()> {
    let is_open_file = ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"]
        .iter()
        .any(|name| output.starts_with(name));
    let is_special = output.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
    if output != Path::new("-") && !is_open_file && !is_special {
        return Ok(());
    }
    let name = match output == Path::new("-") {
        true => "- is standard output".into(),
        false => format!("{} is neither a file nor a folder", output.display()),
    };
    Err(Error::refused(format!(
        "{name}, expected a file or a folder for the kept documents, which appears when it is \
         complete; name a file for one file of documents, or a folder"
    )))
}

/// Refuses an output folder with the extension of a file.
pub(super) fn check_folder_name(output: &Path) -> Result<()> {
    let is_of_file = DocumentFormat::of_name(output).is_some() || Compression::of(output).is_some();
    if !is_of_file {
        return Ok(());
    }
    let name = output.display();
    Err(Error::refused(format!(
        "{name} is the name of a file, expected a folder for the copies of a folder or of several \
         files; name a folder, such as {}/, or {name}/ to use this name for a folder",
        stem_of(output).display()
    )))
}

/// Refuses an output file with the extension of another format than the format of the copy: the
/// format of `file`, or with `annotates` JSON Lines, which contain the attributes.
pub(super) fn check_file_name(
    output: &Path,
    file: &DocumentFile<'_>,
    annotates: bool,
) -> Result<()> {
    let format = if annotates { DocumentFormat::JsonLines } else { named(file.format()) };
    let named_format = DocumentFormat::of_name(output);
    // If `file` is read as another format than its extension, the copy may have that extension,
    // too.
    let is_of_file = !annotates && ends_of(output) == ends_of(file.path());
    let format_fits = named_format.is_none_or(|it| it == format) || is_of_file;
    let compression = Compression::of(output);
    let compression_fits = compression.is_none() || !format.is_compressed_inside();
    if format_fits && compression_fits {
        return Ok(());
    }
    let mut remedy = stem_of(output).into_os_string();
    remedy.push(".");
    remedy.push(match DocumentFormat::of_name(file.path()) == Some(format) {
        true => format_end(file.path()),
        false => end_of(format).into(),
    });
    remedy.push(match compression.filter(|_| !format.is_compressed_inside()) {
        None => "",
        Some(Compression::Gzip) => ".gz",
        Some(Compression::Zstandard) => ".zst",
    });
    let what = match (annotates, format_fits) {
        (true, _) => format!("the attributes of {} are written in the format", file.name()),
        (false, true) => {
            format!("{} is compressed inside, and its copy keeps the format", file.name())
        }
        (false, false) => format!("the copy of {} keeps the format", file.name()),
    };
    Err(Error::refused(format!(
        "{} has the extension of another format: {what} {}; name the output {}",
        output.display(),
        format.words(),
        Path::new(&remedy).display()
    )))
}

/// Refuses a list of files with the extension of a document format or of a compression.
pub(super) fn check_list_name(output: &Path) -> Result<()> {
    if DocumentFormat::of_name(output).is_none() && Compression::of(output).is_none() {
        return Ok(());
    }
    Err(Error::refused(format!(
        "each of the files is one document, so the output is a list of the kept files in plain \
         text, but {} has the extension of another format; name the list {}.txt",
        output.display(),
        stem_of(output).display()
    )))
}

/// The format of the file extension: files of features are JSON Lines, files of lines are text.
fn named(format: DocumentFormat) -> DocumentFormat {
    match format {
        DocumentFormat::Features => DocumentFormat::JsonLines,
        DocumentFormat::Lines => DocumentFormat::Plain,
        format => format,
    }
}

/// The usual extension of files of a format.
fn end_of(format: DocumentFormat) -> &'static str {
    match named(format) {
        DocumentFormat::JsonLines => "jsonl",
        DocumentFormat::Csv => "csv",
        DocumentFormat::Tsv => "tsv",
        DocumentFormat::Parquet => "parquet",
        DocumentFormat::Warc => "warc",
        DocumentFormat::Html => "html",
        _ => "txt",
    }
}

/// The path without the extension of the compression.
fn uncompressed(path: &Path) -> PathBuf {
    match Compression::of(path) {
        Some(_) => path.with_extension(""),
        None => path.to_path_buf(),
    }
}

/// The path without the extensions of format and compression.
fn stem_of(path: &Path) -> PathBuf {
    let path = uncompressed(path);
    match DocumentFormat::of_name(&path) {
        Some(_) => path.with_extension(""),
        None => path,
    }
}

/// The last extension of a path, the extension of a compression not counted.
fn format_end(path: &Path) -> std::ffi::OsString {
    uncompressed(path).extension().unwrap_or_default().to_owned()
}

/// Like [`format_end`], but in lower case.
fn ends_of(path: &Path) -> std::ffi::OsString {
    format_end(path).to_ascii_lowercase()
}
