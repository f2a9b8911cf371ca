//! Finds the files in a folder, and selects the files to read.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::error::{Error, Result};

/// The selection of the files of a folder.
///
/// By default all files except hidden ones, whose names start with a dot.
#[derive(Clone, Debug, Default)]
pub struct FileChoice {
    include: Option<Globs>,
    exclude: Option<Globs>,
    hidden: bool,
}

impl FileChoice {
    /// Reads only files that match one of these patterns.
    ///
    /// A pattern without a slash, such as `*.html`, is compared with the name of a file; a pattern
    /// with a slash, such as `news/**/*.html`, with its path below the folder.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidGlob`] if a pattern is invalid.
    pub fn include<S: AsRef<str>>(mut self, globs: &[S]) -> Result<Self> {
        self.include = Globs::new(globs)?;
        Ok(self)
    }

    /// Skips files and folders that match one of these patterns, which have the form of
    /// [`FileChoice::include`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidGlob`] if a pattern is invalid.
    pub fn exclude<S: AsRef<str>>(mut self, globs: &[S]) -> Result<Self> {
        self.exclude = Globs::new(globs)?;
        Ok(self)
    }

    /// Sets whether hidden files, and files in hidden folders, are read.
    #[must_use]
    pub fn hidden(mut self, hidden: bool) -> Self {
        self.hidden = hidden;
        self
    }

    /// Whether the selection differs from the default.
    pub(super) fn is_default(&self) -> bool {
        self.include.is_none() && self.exclude.is_none() && !self.hidden
    }
}

/// Patterns of names and of paths.
#[derive(Clone, Debug)]
struct Globs {
    names: GlobSet,
    paths: GlobSet,
}

impl Globs {
    fn new<S: AsRef<str>>(globs: &[S]) -> Result<Option<Self>> {
        if globs.is_empty() {
            return Ok(None);
        }
        let invalid = |fault: globset::Error| Error::InvalidGlob {
            glob: fault.glob().unwrap_or_default().into(),
            reason: fault.kind().to_string(),
        };
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for glob in globs {
            let glob = glob.as_ref();
            let parsed = GlobBuilder::new(glob).literal_separator(true).build().map_err(invalid)?;
            if glob.contains('/') {
                paths.add(parsed)
            } else {
                names.add(parsed)
            };
        }
        let (names, paths) = (names.build().map_err(invalid)?, paths.build().map_err(invalid)?);
        Ok(Some(Globs { names, paths }))
    }

    fn match_path(&self, below: &Path) -> bool {
        let name = below.file_name().map(Path::new);
        name.is_some_and(|name| self.names.is_match(name)) || self.paths.is_match(below)
    }
}

/// Counts of files in folders that were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PassedOver {
    /// Hidden files, and files in hidden folders.
    pub hidden: u64,
    /// Files excluded by the patterns.
    pub unwanted: u64,
    /// Links to folders, pipes, sockets and devices.
    pub special: u64,
}

impl PassedOver {
    pub(super) fn count(&self) -> u64 {
        self.hidden + self.unwanted + self.special
    }
}

/// The contents of a folder.
#[derive(Default)]
pub(super) struct Contents {
    /// The files to read, with their paths below the folder, in the order of their names.
    pub(super) files: Vec<(PathBuf, PathBuf)>,
    pub(super) passed_over: PassedOver,
    /// Unreadable folders: the folder itself, or folders below it.
    pub(super) unreadable: Vec<(PathBuf, std::io::Error)>,
}

/// Searches a folder and the folders in it.
pub(super) fn search(folder: &Path, choice: &FileChoice) -> Contents {
    let mut contents = Contents::default();
    let state = State { is_hidden: false, is_unwanted: false };
    walk(folder, Path::new(""), choice, state, &mut contents);
    contents
}

/// The reasons why the files in a folder are skipped.
#[derive(Clone, Copy)]
struct State {
    is_hidden: bool,
    is_unwanted: bool,
}

fn walk(folder: &Path, below: &Path, choice: &FileChoice, state: State, contents: &mut Contents) {
    let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let mut entries = match entries {
        Ok(entries) => entries,
        // Skipped folders need not be readable.
        Err(_) if state.is_hidden || state.is_unwanted => return,
        Err(fault) => return contents.unreadable.push((folder.into(), fault)),
    };
    entries.sort_unstable_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, below) = (entry.path(), below.join(entry.file_name()));
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let excluded = choice.exclude.as_ref().is_some_and(|globs| globs.match_path(&below));
        let state = State {
            is_hidden: state.is_hidden || is_hidden && !choice.hidden,
            is_unwanted: state.is_unwanted || excluded,
        };
        // A link to a folder is not entered: it may lead back to one of its parents.
        let kind = entry.file_type();
        if kind.as_ref().is_ok_and(std::fs::FileType::is_dir) {
            walk(&path, &below, choice, state, contents);
            continue;
        }
        let is_link = kind.is_ok_and(|kind| kind.is_symlink());
        // A dangling link counts as a file that cannot be opened.
        let is_file = path.metadata().map_or(is_link, |metadata| metadata.is_file());
        let included = choice.include.as_ref().is_none_or(|globs| globs.match_path(&below));
        let passed_over = &mut contents.passed_over;
        match () {
            () if !is_file => passed_over.special += 1,
            () if state.is_unwanted || !included => passed_over.unwanted += 1,
            () if state.is_hidden => passed_over.hidden += 1,
            () => contents.files.push((path, below)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path, choice: &FileChoice) -> (Vec<String>, PassedOver) {
        let contents = search(folder, choice);
        let names = contents.files.iter().map(|(_, below)| below.to_str().unwrap().into());
        (names.collect(), contents.passed_over)
    }

    #[test]
    fn every_file_is_read_or_counted() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["a.html", "b/c.html", "b/c.txt", ".x", ".well-known/y/z.txt", "old/a.html"] {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), name).unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.path(), at("loop")).unwrap();
        let special = u64::from(cfg!(unix));
        let (found, passed_over) = names(folder.path(), &FileChoice::default());
        assert_eq!(found, ["a.html", "b/c.html", "b/c.txt", "old/a.html"]);
        assert_eq!(passed_over, PassedOver { hidden: 2, unwanted: 0, special });
        let choice = FileChoice::default().hidden(true).include(&["*.html", ".*/**"]).unwrap();
        let (found, passed_over) =
            names(folder.path(), &choice.exclude(&["old", "b/c.*"]).unwrap());
        assert_eq!(found, [".well-known/y/z.txt", "a.html"]);
        assert_eq!(passed_over, PassedOver { hidden: 0, unwanted: 4, special });
        assert!(FileChoice::default().include(&["a{"]).is_err());
    }
}
