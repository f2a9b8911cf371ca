//! Publishing: a store appears under its name whole, or not at all.
//!
//! A new store is made in a directory beside its final place and renamed. A store that is
//! replaced gets a new segment beside the old ones, and a manifest that names only the new
//! one; the rename of the manifest is the instant at which the store changes.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::{NamedTempFile, TempDir};

use crate::error::{Error, Result};
use crate::format::manifest::{self, Manifest, segment_file_name, segment_number};
use crate::segment::map;
use crate::store::{Store, read_manifest};

/// Whoever holds the lock on this file may write to the store.
const LOCK_NAME: &str = "LOCK";
/// Names of files that a writer has not finished start with this.
const TEMPORARY_PREFIX: &str = ".tmp-";
/// A temporary directory without a lock file may just have been made; past this age it is a
/// leftover.
const UNLOCKED_GRACE: Duration = Duration::from_secs(3600);

/// Where a store will be published.
#[derive(Debug)]
pub(super) enum Target {
    /// There is none yet.
    New { path: PathBuf },
    /// There is one, and it is ours to replace while the lock is held.
    Replace { path: PathBuf, _lock: File },
}

impl Target {
    /// Finds out what is at `path` and takes the writer lock if it is a store.
    pub(super) fn claim(path: PathBuf, replace: bool) -> Result<Self> {
        match fs::read_dir(&path) {
            Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(Target::New { path }),
            Err(source) if source.kind() == io::ErrorKind::NotADirectory => {
                Err(Error::NotAStore { path, found: "a file, not a directory" })
            }
            Err(source) => Err(Error::Io { doing: "read directory", path, source }),
            Ok(mut entries) => {
                if entries.next().is_none() {
                    Ok(Target::New { path })
                } else if !path.join(manifest::FILE_NAME).is_file() {
                    Err(Error::NotAStore { path, found: "a directory with other files in it" })
                } else if !replace {
                    Err(Error::StoreExists { path })
                } else {
                    let _lock = lock(&path)?;
                    Ok(Target::Replace { path, _lock })
                }
            }
        }
    }

    /// Has `write` write a segment file, publishes it as the only one, and opens the store.
    pub(super) fn publish(self, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<Store> {
        match self {
            Target::New { path } => publish_new(&path, write),
            Target::Replace { path, _lock } => publish_over(&path, write),
        }
    }
}

/// Takes the writer lock of the store at `path`; the system lets go of it when the process
/// ends, however it ends.
fn lock(path: &Path) -> Result<File> {
    let lock_path = path.join(LOCK_NAME);
    let file = File::create(&lock_path).map_err(Error::io("create", &lock_path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Locked { path: path.into() }),
        Err(TryLockError::Error(source)) => {
            Err(Error::Io { doing: "lock", path: lock_path, source })
        }
    }
}

fn publish_new(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<Store> {
    let parent = parent_of(path);
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let prefix = format!(".{name}.tmp-");
    remove_leftovers(parent, &prefix);
    let folder = with_usual_mode(tempfile::Builder::new().prefix(&prefix), 0o777)
        .tempdir_in(parent)
        .map_err(Error::io("create a directory in", parent))?;
    let _lock = lock(folder.path())?;
    let manifest = Manifest { generation: 0, next_segment: 1, segments: Vec::new() };
    add_segment(folder.path(), manifest, write)?;
    fs::rename(folder.path(), path).map_err(|source| match source.kind() {
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => {
            Error::StoreExists { path: path.into() }
        }
        _ => Error::Io { doing: "move the new store to", path: path.into(), source },
    })?;
    forget(folder);
    sync_directory(parent)?;
    Store::open(path)
}

fn publish_over(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<Store> {
    let names = names_in(path)?;
    // The lock is ours, so whoever began these files is gone.
    for name in names.iter().filter(|name| name.starts_with(TEMPORARY_PREFIX)) {
        let _ = fs::remove_file(path.join(name));
    }
    let after_last =
        names.iter().filter_map(|name| segment_number(name)).max().map_or(1, |n| n + 1);
    // A manifest that cannot be read is what one may well want to replace.
    let (generation, next) =
        read_manifest(path).map_or((after_last, 1), |old| (old.generation, old.next_segment));
    let manifest =
        Manifest { generation, next_segment: next.max(after_last), segments: Vec::new() };
    let number = manifest.next_segment;
    add_segment(path, manifest, write)?;
    // Readers that opened them before keep them until they close.
    for name in names.iter().filter(|name| segment_number(name).is_some_and(|n| n < number)) {
        let _ = fs::remove_file(path.join(name));
    }
    Store::open(path)
}

/// Writes a segment under the next number and then the manifest that names it after those in
/// `manifest`; each is on the disk before its name is.
fn add_segment(
    path: &Path,
    mut manifest: Manifest,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<()> {
    let number = manifest.next_segment;
    let segment_path = path.join(segment_file_name(number));
    let mut temporary = temporary_in(path)?;
    write(temporary.as_file_mut()).map_err(Error::io("write", &segment_path))?;
    let mut permissions =
        temporary.as_file().metadata().map_err(Error::io("inspect", &segment_path))?.permissions();
    permissions.set_readonly(true);
    temporary
        .as_file()
        .set_permissions(permissions)
        .map_err(Error::io("protect", &segment_path))?;
    temporary.as_file().sync_all().map_err(Error::io("sync", &segment_path))?;
    temporary.persist_noclobber(&segment_path).map_err(|failed| Error::Io {
        doing: "move the new segment to",
        path: segment_path.clone(),
        source: failed.error,
    })?;
    manifest.segments.push(map(&segment_path)?.entry(number));
    manifest.next_segment += 1;
    manifest.generation += 1;
    write_manifest(path, &manifest)
}

fn write_manifest(path: &Path, manifest: &Manifest) -> Result<()> {
    let manifest_path = path.join(manifest::FILE_NAME);
    let mut temporary = temporary_in(path)?;
    temporary.write_all(&manifest.encode()).map_err(Error::io("write", &manifest_path))?;
    temporary.as_file().sync_all().map_err(Error::io("sync", &manifest_path))?;
    // The segment's own name must be on the disk before a manifest that uses it.
    sync_directory(path)?;
    temporary.persist(&manifest_path).map_err(|failed| Error::Io {
        doing: "replace",
        path: manifest_path.clone(),
        source: failed.error,
    })?;
    sync_directory(path)
}

fn temporary_in(path: &Path) -> Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    with_usual_mode(builder.prefix(TEMPORARY_PREFIX), 0o666)
        .tempfile_in(path)
        .map_err(Error::io("create a file in", path))
}

/// Temporary names are for their owner alone unless told otherwise; what is renamed to its
/// final name should be as open as the user's file mode mask lets new files be.
fn with_usual_mode<'a, 'b>(
    builder: &'a mut tempfile::Builder<'b, 'b>,
    mode: u32,
) -> &'a mut tempfile::Builder<'b, 'b> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(mode))
    }
    #[cfg(not(unix))]
    {
        let _ = mode;
        builder
    }
}

/// Makes renames in a directory durable.
fn sync_directory(path: &Path) -> Result<()> {
    #[cfg(unix)]
    File::open(path).and_then(|dir| dir.sync_all()).map_err(Error::io("sync", path))?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

fn names_in(path: &Path) -> Result<Vec<String>> {
    let listed: io::Result<Vec<_>> =
        fs::read_dir(path).and_then(|entries| entries.map(|e| Ok(e?.file_name())).collect());
    let names = listed.map_err(Error::io("read directory", path))?;
    Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// The directory was renamed: there is nothing left to remove.
fn forget(folder: TempDir) {
    let _ = folder.keep();
}

/// Removes what builders of the same store left behind when they died, and nothing that a
/// living one still holds.
fn remove_leftovers(parent: &Path, prefix: &str) {
    let Ok(names) = names_in(parent) else { return };
    for name in names.iter().filter(|name| name.starts_with(prefix)) {
        let folder = parent.join(name);
        if is_abandoned(&folder) {
            // Failing to tidy up must not stop a build.
            let _ = fs::remove_dir_all(&folder);
        }
    }
}

fn is_abandoned(folder: &Path) -> bool {
    match File::open(folder.join(LOCK_NAME)) {
        Ok(file) => file.try_lock().is_ok(),
        Err(_) => {
            let modified = fs::metadata(folder).and_then(|metadata| metadata.modified()).ok();
            let age = modified.and_then(|at| at.elapsed().ok());
            age.is_some_and(|age| age > UNLOCKED_GRACE)
        }
    }
}
