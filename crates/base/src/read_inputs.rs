//! Records the inputs of this process and the outputs set by its options, so that no output
//! overwrites an input or another output.
//!
//! A program calls [`remember`] once; before that, and if only the library is used, nothing is
//! recorded. The program records all paths in its options before it opens a file. Code that finds
//! or opens further inputs records these. Code that creates an output calls [`fault_of_output`] at
//! the beginning and again before the output gets its name. Code that chooses the names of its
//! outputs compares them with [`named_outputs`].

use std::collections::{BTreeSet, HashMap};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::lists;

#[derive(Debug, Default)]
struct Inputs {
    /// The input files, each with the option that sets it, if any.
    files: HashMap<Identity, Option<String>>,
    /// The input folders, as canonical paths.
    folders: BTreeSet<PathBuf>,
    outputs: Vec<NamedOutput>,
}

/// Identifies a file independently of its names: the number of its disk, and its number on the
/// disk.
pub type Identity = (u64, u64);

/// An output that an option sets.
#[derive(Clone, Debug)]
pub struct NamedOutput {
    /// The name of the option.
    pub option: String,
    /// The path as given to the option.
    pub path: PathBuf,
    /// The path with all links in its folders resolved; if it is a link itself, also the targets of
    /// the link.
    pub places: Vec<PathBuf>,
    /// The identity of the plain file at this path, if one exists now.
    pub identity: Option<Identity>,
}

/// The maximum number of links that are followed to a file; the limit of Linux is the same.
const LINKS_MAX: usize = 40;

impl NamedOutput {
    fn new(option: &str, path: &Path) -> Self {
        let mut places = Vec::new();
        let mut next = Some(match path.to_str() {
            Some("/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1") => PathBuf::from("-"),
            _ => path.to_path_buf(),
        });
        while let Some(path) = next.filter(|_| places.len() < LINKS_MAX) {
            next = path.read_link().ok().map(|to| path.parent().unwrap_or(&path).join(to));
            places.push(place_of(&path));
        }
        let identity = plain_identity(path);
        NamedOutput { option: option.into(), path: path.into(), places, identity }
    }

    fn is_same(&self, other: &NamedOutput) -> bool {
        self.identity.is_some() && self.identity == other.identity
            || self.places.iter().any(|place| other.places.contains(place))
    }
}

/// The absolute path with links in its existing folders resolved. The file itself may be a link, or
/// may not exist. Paths of the same file, existing or not, give the same result.
pub fn place_of(path: &Path) -> PathBuf {
    if path == Path::new("-") {
        return path.into();
    }
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let mut missing = Vec::new();
    let mut at = whole.as_path();
    while let (Some(parent), Some(name)) = (at.parent(), at.file_name()) {
        missing.push(name);
        if let Ok(parent) = parent.canonicalize() {
            return parent.join(missing.iter().rev().collect::<PathBuf>());
        }
        at = parent;
    }
    whole.canonicalize().unwrap_or(whole)
}

/// The identity of the plain file at `path`, if there is one.
pub fn plain_identity(path: &Path) -> Option<Identity> {
    let found = path.metadata().ok().filter(Metadata::is_file)?;
    identity(path, &found)
}

static INPUTS: Mutex<Option<Inputs>> = Mutex::new(None);

fn inputs() -> MutexGuard<'static, Option<Inputs>> {
    INPUTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts recording the inputs of this process.
pub fn remember() {
    inputs().get_or_insert_default();
}

/// Records that a plain file is an input.
pub fn note_file(path: &Path, metadata: &Metadata) {
    if let (Some(inputs), true) = (inputs().as_mut(), metadata.is_file())
        && let Some(identity) = identity(path, metadata)
    {
        inputs.files.entry(identity).or_default();
    }
}

/// Records that the plain file at `path`, if there is one, is an input set by an option.
pub fn note_input(option: &str, path: &Path) {
    if let (Some(inputs), Some(identity)) = (inputs().as_mut(), plain_identity(path)) {
        inputs.files.entry(identity).or_insert_with(|| Some(option.into()));
    }
}

/// Records that an option sets an output.
///
/// # Errors
///
/// The reason why the path must not be an output: another option sets it, or it is an input.
pub fn note_output(option: &str, path: &Path) -> Result<(), String> {
    let output = NamedOutput::new(option, path);
    let shown = path.display();
    let mut inputs = inputs();
    let Some(inputs) = inputs.as_mut() else { return Ok(()) };
    if let Some(other) = inputs.outputs.iter().find(|other| other.is_same(&output)) {
        return Err(match other.path == path {
            true => {
                format!("{} and {option} both name {shown}; give each its own file", other.option)
            }
            false => format!(
                "{} and {option} both name {shown} ({} is the same file); give each its own file",
                other.option,
                other.path.display()
            ),
        });
    }
    let input = output.identity.and_then(|identity| inputs.files.get(&identity));
    if let Some(Some(input)) = input {
        return Err(format!(
            "{shown} is an input, which would be overwritten: {input} and {option} both name it; name another \
             output"
        ));
    }
    inputs.outputs.push(output);
    Ok(())
}

/// The outputs set by options.
pub fn named_outputs() -> Vec<NamedOutput> {
    inputs().as_ref().map(|inputs| inputs.outputs.clone()).unwrap_or_default()
}

/// Records that standard input, which may be a plain file, is an input.
#[cfg(feature = "work")]
pub(crate) fn note_stdin() {
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
            let found = file::information(HandleRef::stdin()).ok().map(numbers);
            inputs.files.extend(found.map(|identity| (identity, None)));
        }
    }
}

/// Records that all files in a folder and its subfolders are inputs.
pub fn note_folder(path: &Path) {
    if let Some(inputs) = inputs().as_mut() {
        inputs.folders.extend(path.canonicalize());
    }
}

/// Opens an input that is read as a whole, such as a list of words, and records it.
///
/// # Errors
///
/// The same as of [`File::open`].
pub fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    note_file(path, &file.metadata()?);
    Ok(file)
}

/// Reads all bytes of an input, and records it.
///
/// # Errors
///
/// The same as of [`std::fs::read`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the text of a list, and records it as an input.
///
/// # Errors
///
/// The same as of [`File::open`] and [`lists::text_of`].
pub fn read_list(path: &Path) -> io::Result<String> {
    lists::text_of(open(path)?)
}

/// The reason why `path` must not be an output, to follow the path in a message; `None` if it may
/// be.
pub fn fault_of_output(path: &Path) -> Option<String> {
    let inputs = inputs();
    let inputs = inputs.as_ref()?;
    let found = path.metadata().ok();
    if found
        .and_then(|found| identity(path, &found))
        .is_some_and(|of| inputs.files.contains_key(&of))
    {
        return Some("is an input, which would be lost; name another output".into());
    }
    let place = place_of(path);
    let folder = place.ancestors().skip(1).find(|folder| inputs.folders.contains(*folder))?;
    let folder = folder.display();
    Some(format!("lies in {folder}, whose files are read; name an output outside of it"))
}

/// A text that changes when a file is replaced or changed, even if its name, length and
/// modification time are the same: the number of the file, and the time of the last change of its
/// inode, which programs cannot set. On systems other than Unix it is the creation time. The disk
/// number is not part of it, because it may change when the machine restarts.
pub fn stamp_of(path: &Path) -> Option<String> {
    let found = path.metadata().ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some(format!("{} {}.{:09}", found.ino(), found.ctime(), found.ctime_nsec()))
    }
    #[cfg(not(unix))]
    {
        let made = found.created().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(format!("{} {}", identity(path, &found)?.1, made.as_nanos()))
    }
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
        assert!(fault_of_output(&at("read/missing/new")).is_some());
        // A file of one option is refused as the output of another, under any of its names.
        note_input("--pairs", &at("other.txt"));
        fs::write(at("old.tsv"), "").unwrap();
        fs::hard_link(at("old.tsv"), at("linked.tsv")).unwrap();
        note_output("--removed", &at("missing/new")).unwrap();
        note_output("--losses", &at("old.tsv")).unwrap();
        for (name, other) in [
            ("missing/new", "--removed"),
            ("read/../missing/new", "--removed"),
            ("old.tsv", "--losses"),
            ("linked.tsv", "--losses"),
            ("other.txt", "--pairs"),
        ] {
            let refused = note_output("--html", &at(name)).unwrap_err();
            assert!(refused.contains(&format!("{other} and --html both name")), "{refused}");
        }
        note_output("--html", &at("missing/other")).unwrap();
        assert_eq!(named_outputs().len(), 3);
        #[cfg(unix)]
        {
            let link = at("link.tsv");
            std::os::unix::fs::symlink("missing/new", &link).unwrap();
            assert!(note_output("--manifest", &link).is_err());
        }
    }
}
