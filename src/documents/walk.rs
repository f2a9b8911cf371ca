//! Files in folders.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A file to read, and what documents in it are called after.
pub(super) struct Input {
    pub(super) path: PathBuf,
    /// The name below the folder that was given, with slashes; the path itself for a file.
    pub(super) name: String,
    /// Its bytes, if it is a file.
    pub(super) len: Option<u64>,
}

impl Input {
    fn new(path: PathBuf, name: String) -> Self {
        let is_file = |path: &PathBuf| path != Path::new("-");
        let metadata =
            Some(&path).filter(|path| is_file(path)).and_then(|path| path.metadata().ok());
        let len = metadata.filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
        Input { path, name, len }
    }
}

/// All files that `paths` name or hold, folders in the order of the names in them. Hidden files and
/// folders, and links to folders, are passed over.
pub(super) fn inputs(paths: &[PathBuf]) -> Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for path in paths {
        if path != Path::new("-") && path.is_dir() {
            walk(path, "", &mut inputs)?;
        } else {
            let name = crate::source::name_of(path);
            inputs.push(Input::new(path.clone(), name));
        }
    }
    Ok(inputs)
}

fn walk(folder: &Path, prefix: &str, inputs: &mut Vec<Input>) -> Result<()> {
    let read = || -> std::io::Result<Vec<(String, PathBuf, bool)>> {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type()?;
            let is_folder = kind.is_dir();
            let linked_folder = kind.is_symlink() && entry.path().is_dir();
            if !name.starts_with('.') && !linked_folder {
                entries.push((name, entry.path(), is_folder));
            }
        }
        entries.sort_unstable();
        Ok(entries)
    };
    for (name, path, is_folder) in read().map_err(Error::io("read", folder))? {
        let name = format!("{prefix}{name}");
        match is_folder {
            true => walk(&path, &format!("{name}/"), inputs)?,
            false => inputs.push(Input::new(path, name)),
        }
    }
    Ok(())
}
