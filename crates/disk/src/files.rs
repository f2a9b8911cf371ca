//! Operations on files and directories that have their final names, and syncs.

use std::fs::{self, File};
use std::io;
use std::io::Write;
use std::path::Path;

use super::change::{Change, note};
use super::digest::Digest;
use super::digested::DigestWriter;
use super::fail_point::{FailPoint, fail_point};
use super::plain_file::Result;
use super::{plain_file, system};
use fpstore_base::{IoError, innermost};

/// The number of bytes read by [`digest_of`] between two calls of `look`.
const DIGESTED_LEN: u64 = 1 << 24;

/// The number of random letters and digits in a temporary name.
pub(super) const RANDOM_LEN: usize = 6;

/// Makes the bytes of an open file durable; `shown` is its path in messages.
pub(super) fn sync(file: &File, shown: &Path, change: impl FnOnce() -> Change) -> Result<()> {
    fail_point(shown, FailPoint::Sync)
        .and_then(|()| file.sync_all())
        .map_err(IoError::of("sync", shown))?;
    note(shown, change);
    Ok(())
}

/// Makes the bytes of a plain file durable. Does nothing on systems that can sync only a file
/// opened for writing.
pub fn sync_file(path: &Path) -> Result<()> {
    if !system::SYNCS_WHAT_IT_READS {
        return Ok(());
    }
    let opened = plain_file::open(path).map_err(io::Error::from);
    let file = opened.map_err(IoError::of("sync", path))?;
    sync(&file, path, || Change::Sync(path.into()))
}

/// Makes the names in a directory durable, including renames.
pub fn sync_directory(path: &Path) -> Result<()> {
    let Some(directory) = system::directory_to_sync(path).map_err(IoError::of("sync", path))?
    else {
        return Ok(());
    };
    fail_point(path, FailPoint::SyncDirectory)
        .and_then(|()| system::sync_directory(&directory))
        .map_err(IoError::of("sync", path))?;
    note(path, || Change::SyncDirectory(path.into()));
    Ok(())
}

/// Like [`sync_directory`], but returns the system's error.
pub(super) fn sync_names(path: &Path) -> io::Result<()> {
    sync_directory(path).map_err(|error| error.source)
}

/// Calls `rename` between two fail points, where tests make it fail before the rename, or report an
/// error after a successful rename, as a network can.
pub(super) fn renaming(
    from: &Path,
    to: &Path,
    rename: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    fail_point(to, FailPoint::Rename)?;
    rename()?;
    note(to, || Change::Rename { from: from.into(), to: to.into() });
    fail_point(to, FailPoint::RenameReport)
}

pub fn remove_file(path: &Path) -> io::Result<()> {
    fail_point(path, FailPoint::Remove)?;
    system::remove_file(path)?;
    note(path, || Change::Remove(path.into()));
    Ok(())
}

pub fn remove_empty_directory(path: &Path) -> io::Result<()> {
    fail_point(path, FailPoint::Remove)?;
    fs::remove_dir(path)?;
    note(path, || Change::Remove(path.into()));
    Ok(())
}

pub(crate) fn remove_directory_tree(path: &Path) -> io::Result<()> {
    fail_point(path, FailPoint::Remove)?;
    system::remove_tree(path)?;
    note(path, || Change::Remove(path.into()));
    Ok(())
}

pub fn create_directory(path: &Path) -> io::Result<()> {
    fail_point(path, FailPoint::Create)?;
    fs::create_dir(path)?;
    note(path, || Change::CreateDirectory(path.into()));
    Ok(())
}

/// Creates a directory and its missing parents, and makes their names durable.
pub(crate) fn create_directories(path: &Path) -> io::Result<()> {
    let above = path.ancestors().filter(|folder| !folder.as_os_str().is_empty());
    let missing: Vec<&Path> = above.take_while(|folder| !folder.is_dir()).collect();
    for folder in missing.into_iter().rev() {
        match create_directory(folder) {
            // Another process is creating the same directories.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
            made => made?,
        }
        sync_names(parent_of(folder))?;
    }
    Ok(())
}

pub fn append(mut file: &File, path: &Path, bytes: &[u8]) -> io::Result<()> {
    fail_point(path, FailPoint::Write)?;
    file.write_all(bytes)?;
    note(path, || Change::Write {
        path: path.into(),
        end: file.metadata().map_or(0, |of| of.len()),
        bytes: bytes.into(),
    });
    Ok(())
}

/// Opens a plain file for reading.
pub fn open(path: &Path) -> io::Result<File> {
    Ok(plain_file::open(path)?)
}

/// The length and the digest of a plain file; `None` if there is no file of this name. `look` is
/// called now and then and can end the reading with an error.
pub fn digest_of(
    path: &Path,
    mut look: impl FnMut() -> io::Result<()>,
) -> io::Result<Option<(u64, Digest)>> {
    let mut file = match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut digested = DigestWriter::new(io::sink());
    while io::copy(&mut io::Read::take(&mut file, DIGESTED_LEN), &mut digested)? > 0 {
        look()?;
    }
    Ok(Some(digested.written()))
}

/// The number of free bytes on the disk that contains `path`.
pub fn free_space(path: &Path) -> io::Result<u64> {
    #[cfg(any(test, feature = "faults"))]
    if let Some(free) = super::fail_point::fail_points::free_space(path) {
        return Ok(free);
    }
    fs4::available_space(path)
}

pub fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// The names of all entries of a directory.
pub fn names_in(path: &Path) -> Result<Vec<String>> {
    let listed: io::Result<Vec<_>> =
        fs::read_dir(path).and_then(|entries| entries.map(|e| Ok(e?.file_name())).collect());
    let names = listed.map_err(IoError::of("read directory", path))?;
    Ok(names.iter().map(|name| name.to_string_lossy().into_owned()).collect())
}

/// Whether a name has the form of temporary names of files and directories with this prefix.
pub fn is_temporary_name(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|random| {
        random.len() == RANDOM_LEN && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Returns an error of the `tempfile` library without the path that the library adds to it.
pub fn bare(failed: io::Error) -> io::Error {
    let inner = innermost(&failed);
    match inner.raw_os_error().or_else(|| code_in_words(&failed)) {
        Some(code) => io::Error::from_raw_os_error(code),
        None => inner.kind().into(),
    }
}

/// The system's error code, parsed from the message. The `tempfile` library gives no access to the
/// error that it wraps, but its message contains the message of that error.
fn code_in_words(failed: &io::Error) -> Option<i32> {
    let words = failed.to_string();
    let (_, rest) = words.split_once("(os error ")?;
    rest.split_once(')')?.0.parse().ok()
}

/// Makes an error with the directory of a temporary file; its random name would not help users.
pub(super) fn without_path(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> IoError {
    let path = path.to_path_buf();
    move |failed| IoError { doing, path, source: bare(failed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn an_error_of_a_temporary_file_keeps_the_code_of_the_system() {
        let missing = tempfile::tempdir().unwrap().path().join("missing");
        let failed = tempfile::NamedTempFile::new_in(&missing).unwrap_err();
        assert_eq!(failed.raw_os_error(), None, "it is a wrapper");
        let bare = bare(failed);
        assert_eq!(bare.raw_os_error(), Some(rustix::io::Errno::NOENT.raw_os_error()));
        assert!(!bare.to_string().contains("missing"), "{bare}");
        let other = io::Error::new(io::ErrorKind::StorageFull, "no code");
        assert_eq!(super::bare(other).kind(), io::ErrorKind::StorageFull);
    }

    #[cfg(unix)]
    #[test]
    fn a_missing_directory_is_not_synced() {
        let folder = tempfile::tempdir().unwrap();
        assert!(sync_directory(folder.path()).is_ok());
        assert!(sync_directory(&folder.path().join("missing")).is_err());
    }

    /// The test protects its files because segments are write-protected, too.
    #[test]
    fn what_is_write_protected_is_removed_also_while_it_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let make = |path: &Path| {
            fs::write(path, "a segment").unwrap();
            let mut permissions = fs::metadata(path).unwrap().permissions();
            permissions.set_readonly(true);
            fs::set_permissions(path, permissions).unwrap();
        };
        let (alone, tree) = (folder.path().join("alone"), folder.path().join("tree"));
        make(&alone);
        let open = File::open(&alone).unwrap();
        remove_file(&alone).unwrap();
        drop(open);
        assert!(!alone.exists());
        fs::create_dir_all(tree.join("below")).unwrap();
        make(&tree.join("below/segment"));
        remove_directory_tree(&tree).unwrap();
        assert!(!tree.exists());
    }
}
