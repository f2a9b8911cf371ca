//! Files and directories under temporary names, and how they become durable and get final names.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use tempfile::{NamedTempFile, TempDir};

use super::{FailPoint, fail_point};
use crate::error::{Error, Result};

/// The random letters and digits of a temporary name.
const RANDOM_LEN: usize = 6;

/// Creates a file in `directory` under a name that starts with `prefix`. Dropping it removes it.
/// Whoever may read or write the directory may read or write the file.
pub(crate) fn create_temporary(directory: &Path, prefix: &str) -> Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.rand_bytes(RANDOM_LEN);
    let file = fail_point(directory, FailPoint::Create)
        .and_then(|()| with_usual_mode(builder.prefix(prefix), 0o666).tempfile_in(directory))
        .map_err(without_path("create a file in", directory))?;
    share_as(file.as_file(), directory);
    Ok(file)
}

/// Gives a new file the rights of its directory: one writer with a strict file mode mask must not
/// shut readers out of a store that they share.
#[cfg(unix)]
fn share_as(file: &File, directory: &Path) {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let (Ok(own), Ok(of_directory)) = (file.metadata(), fs::metadata(directory)) else { return };
    let rights = of_directory.mode() & 0o666 | 0o600;
    if own.mode() & 0o777 != rights {
        // A system without such rights leaves the file as it is.
        let _ = file.set_permissions(fs::Permissions::from_mode(rights));
    }
}

#[cfg(not(unix))]
fn share_as(_: &File, _: &Path) {}

/// Creates a directory in `parent` under a name that starts with `prefix`. Dropping it removes it.
pub(crate) fn create_temporary_directory(parent: &Path, prefix: &OsStr) -> Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.rand_bytes(RANDOM_LEN);
    fail_point(parent, FailPoint::Create)
        .and_then(|()| with_usual_mode(builder.prefix(prefix), 0o777).tempdir_in(parent))
        .map_err(without_path("create a directory in", parent))
}

/// Writes all of `bytes`; `path` is for fail points.
pub(crate) fn write_all(file: &mut NamedTempFile, bytes: &[u8], path: &Path) -> io::Result<()> {
    fail_point(path, FailPoint::Write)?;
    file.write_all(bytes).map_err(bare)
}

/// Makes a finished file in `directory` read-only and durable.
pub(crate) fn protect_and_sync(file: &File, directory: &Path) -> Result<()> {
    let protect = || {
        fail_point(directory, FailPoint::Protect)?;
        let mut permissions = file.metadata()?.permissions();
        permissions.set_readonly(true);
        file.set_permissions(permissions)
    };
    protect().map_err(Error::io("protect a file in", directory))?;
    sync_file(file, directory)
}

/// Makes the bytes of a file durable; `path` is for messages.
pub(crate) fn sync_file(file: &File, path: &Path) -> Result<()> {
    fail_point(path, FailPoint::Sync)
        .and_then(|()| file.sync_all())
        .map_err(Error::io("sync", path))
}

/// Makes renames in a directory durable.
pub(crate) fn sync_directory(path: &Path) -> Result<()> {
    #[cfg(unix)]
    match File::open(path) {
        // A directory may be writable and not readable; the system syncs it in time.
        Err(refused) if refused.kind() == io::ErrorKind::PermissionDenied => {}
        opened => fail_point(path, FailPoint::SyncDirectory)
            .and_then(|()| opened?.sync_all())
            .map_err(Error::io("sync", path))?,
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Moves a temporary file to `path`, at which nothing may be. After an error it may be there.
pub(crate) fn rename_to_free_name(file: NamedTempFile, path: &Path) -> io::Result<()> {
    renaming(path, || match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(failed) => Err(failed.error),
    })
}

/// Moves a temporary file to `path`, in place of the file that is there, in one step. After an
/// error either of them may be there.
pub(crate) fn rename_over(file: NamedTempFile, path: &Path) -> io::Result<()> {
    renaming(path, || match file.persist(path) {
        Ok(_) => Ok(()),
        Err(failed) => Err(failed.error),
    })
}

/// Moves a directory to `path`. After an error it may be there.
pub(crate) fn rename_directory(from: &Path, path: &Path) -> io::Result<()> {
    renaming(path, || fs::rename(from, path))
}

/// A rename can fail, or take place and have its report lost: by a network, for example.
fn renaming(path: &Path, rename: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    fail_point(path, FailPoint::Rename)?;
    rename()?;
    fail_point(path, FailPoint::RenameReport)
}

pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    fail_point(path, FailPoint::Remove)?;
    fs::remove_file(path)
}

pub(crate) fn remove_empty_directory(path: &Path) -> io::Result<()> {
    fail_point(path, FailPoint::Remove)?;
    fs::remove_dir(path)
}

/// The names of all files in a directory.
pub(crate) fn names_in(path: &Path) -> Result<Vec<String>> {
    let listed: io::Result<Vec<_>> =
        fs::read_dir(path).and_then(|entries| entries.map(|e| Ok(e?.file_name())).collect());
    let names = listed.map_err(Error::io("read directory", path))?;
    Ok(names.iter().map(|name| name.to_string_lossy().into_owned()).collect())
}

/// Whether a name is one of `create_temporary` or `create_temporary_directory` with this prefix.
pub(crate) fn is_temporary_name(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|random| {
        random.len() == RANDOM_LEN && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// An error without the path that the library of temporary files adds to it.
pub(crate) fn bare(failed: io::Error) -> io::Error {
    match failed.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => match failed.get_ref().and_then(|inner| inner.downcast_ref::<io::Error>()) {
            Some(inner) => inner.kind().into(),
            None => failed.kind().into(),
        },
    }
}

/// Names the directory instead of the temporary file, whose name is of no use in a message.
pub(super) fn without_path(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_path_buf();
    move |failed| Error::Io { doing, path, source: bare(failed) }
}

/// Temporary files are private by default. Those that get a final name should be as open as the
/// file mode mask of the user lets new files be, and those in a store as open as the store.
fn with_usual_mode<'a, 'b>(
    builder: &'a mut tempfile::Builder<'b, 'b>,
    mode: u32,
) -> &'a mut tempfile::Builder<'b, 'b> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(mode))
    }
    #[cfg(not(unix))]
    {
        let _ = mode;
        builder
    }
}
