//! Which files and folders this process reads as inputs, so that no output takes the place of one.
//!
//! A program calls [`remember`] once; before, and in a program that only uses the library, nothing is
//! noted. Whoever finds or opens an input notes it, whichever option named it; whoever gives an output
//! its name asks [`fault_of_output`], once at the beginning, and again before the output appears.

use std::collections::{BTreeSet, HashSet};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
struct Inputs {
    files: HashSet<Identity>,
    /// Without links.
    folders: BTreeSet<PathBuf>,
}

/// What tells files apart, whatever their names: the number of the disk, and that of the file on it.
type Identity = (u64, u64);

static INPUTS: Mutex<Option<Inputs>> = Mutex::new(None);

fn inputs() -> MutexGuard<'static, Option<Inputs>> {
    INPUTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes the inputs of this process from now on.
pub fn remember() {
    inputs().get_or_insert_default();
}

/// Notes that a plain file is an input.
pub fn note_file(path: &Path, metadata: &Metadata) {
    if let (Some(inputs), true) = (inputs().as_mut(), metadata.is_file()) {
        inputs.files.extend(identity(path, metadata));
    }
}

/// Notes that standard input is read, which may be a plain file.
pub fn note_stdin() {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        let copy = io::stdin().as_fd().try_clone_to_owned().map(File::from);
        if let Ok(metadata) = copy.and_then(|file| file.metadata()) {
            note_file(Path::new("-"), &metadata);
        }
    }
    #[cfg(not(unix))]
    {
        use winapi_util::{HandleRef, file};
        let is_file = file::typ(HandleRef::stdin()).is_ok_and(|of| of.is_disk());
        if let (Some(inputs), true) = (inputs().as_mut(), is_file) {
            inputs.files.extend(file::information(HandleRef::stdin()).ok().map(numbers));
        }
    }
}

/// Notes that the files in a folder, and in the folders below it, are inputs.
pub fn note_folder(path: &Path) {
    if let Some(inputs) = inputs().as_mut() {
        inputs.folders.extend(path.canonicalize());
    }
}

/// Opens an input of one piece, such as a list of words, and notes it.
///
/// # Errors
///
/// Those of [`File::open`].
pub fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    note_file(path, &file.metadata()?);
    Ok(file)
}

/// The bytes of an input of one piece, which is noted.
///
/// # Errors
///
/// Those of [`std::fs::read`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// As [`read`], for text.
///
/// # Errors
///
/// Those of [`std::fs::read_to_string`].
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Why there should be no output at `path`: completes a sentence that begins with its name.
pub fn fault_of_output(path: &Path) -> Option<String> {
    let inputs = inputs();
    let inputs = inputs.as_ref()?;
    let found = path.metadata().ok();
    if found.and_then(|found| identity(path, &found)).is_some_and(|of| inputs.files.contains(&of)) {
        return Some("is an input, which would be lost; name another output".into());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let place = parent.unwrap_or(Path::new(".")).canonicalize().ok()?;
    let folder = place.ancestors().find(|folder| inputs.folders.contains(*folder))?;
    let folder = folder.display();
    Some(format!("lies in {folder}, whose files are read; name an output outside of it"))
}

#[cfg(unix)]
fn identity(_: &Path, metadata: &Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path, _: &Metadata) -> Option<Identity> {
    let file = winapi_util::Handle::from_path_any(path).ok()?;
    winapi_util::file::information(file).ok().map(numbers)
}

#[cfg(not(unix))]
fn numbers(of: winapi_util::file::Information) -> Identity {
    (of.volume_serial_number(), of.file_index())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn no_output_takes_the_place_of_an_input() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("read/below")).unwrap();
        fs::write(at("in.txt"), "1").unwrap();
        fs::hard_link(at("in.txt"), at("same.txt")).unwrap();
        fs::write(at("other.txt"), "1").unwrap();
        let note = || {
            note_file(&at("in.txt"), &at("in.txt").metadata().unwrap());
            note_folder(&at("read"));
        };
        note();
        assert_eq!(fault_of_output(&at("in.txt")), None, "nothing is remembered yet");
        remember();
        note();
        for name in ["in.txt", "same.txt", "read/../in.txt", "read/new", "read/below/new"] {
            assert!(fault_of_output(&at(name)).is_some(), "{name}");
        }
        for name in ["other.txt", "new", "readable", "missing/new"] {
            assert_eq!(fault_of_output(&at(name)), None, "{name}");
        }
    }
}
