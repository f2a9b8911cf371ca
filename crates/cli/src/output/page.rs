//! The file of a page for a browser: `--html`.

use std::path::{Path, PathBuf};

use anyhow::bail;

use super::sink::Sink;

/// The name of a page. A part of a page, as in `--html-part main`, is none.
pub(crate) fn page_path(text: &str) -> Result<PathBuf, String> {
    match text {
        "" => Err("a file has a name".into()),
        "auto" | "main" | "full" => Err(format!(
            "--html names the page to write; for the part of pages in HTML that is read, \
             say --html-part {text}; for a file of this name, ./{text}"
        )),
        _ => Ok(text.into()),
    }
}

/// Opens a page before any work is done.
pub(crate) fn open(path: &Path, force: bool, other: &str) -> anyhow::Result<Sink> {
    if path == Path::new("-") {
        bail!("the page goes to a file, and {other} to standard output: give --html a name");
    }
    Sink::open(path, force)
}
