//! Publishing: a store appears under its name whole, or not at all.
//!
//! A new store is made in a directory beside its final place and renamed. A store that is there
//! gets a new segment beside the old ones, and a manifest that names it after them, or alone
//! where they are replaced; the rename of the manifest is the instant at which the store changes.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::build::folder::{Folder, Role, SegmentFile, TEMPORARY_PREFIX, names_in, sync_directory};
use crate::build::lock::{
    COMPACT_NAME, LOCK_NAME, PUBLISH_NAME, StoreLock, lock, locked_folder, remove_leftovers,
};
use crate::disk::{self, Step};
use crate::error::{Error, Result};
use crate::format::manifest::{self, Manifest, NUMBER_MAX, segment_number};
use crate::store::{Store, read_manifest};

/// What becomes of a store that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// There must be none.
    Create,
    /// It stays as it is until it is replaced.
    Replace,
    /// There must be one, and it stays.
    Change,
}

/// Where a store will be published.
#[derive(Debug)]
pub(crate) enum Target {
    /// Nothing is there yet.
    New { path: PathBuf, purpose: Purpose },
    /// A directory is there, empty or with a store, and it is ours while the lock is held.
    Present { path: PathBuf, purpose: Purpose, lock: StoreLock },
}

impl Target {
    /// Finds out what is at `path` and takes the writer lock if it is a directory to write to.
    pub(crate) fn claim(path: PathBuf, purpose: Purpose) -> Result<Self> {
        let names = match names_in(&path) {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                if path.is_symlink() {
                    return Err(Error::NotAStore { path, found: "a symbolic link to nothing" });
                }
                return match purpose {
                    Purpose::Change => Err(Error::NoStore { path }),
                    _ => Ok(Target::New { path, purpose }),
                };
            }
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotADirectory => {
                return Err(Error::NotAStore { path, found: "a file, not a directory" });
            }
            names => names?,
        };
        let is_ours = |name: &String| {
            [LOCK_NAME, COMPACT_NAME, PUBLISH_NAME].contains(&name.as_str())
                || name.starts_with(TEMPORARY_PREFIX)
        };
        if path.join(manifest::FILE_NAME).is_file() {
            if purpose == Purpose::Create {
                return Err(Error::StoreExists { path });
            }
        } else if purpose == Purpose::Change {
            return Err(Error::NotAStore { path, found: "a directory without a manifest" });
        } else if !names.iter().all(is_ours) {
            return Err(Error::NotAStore { path, found: "a directory with other files in it" });
        }
        let lock = lock(&path)?;
        Ok(Target::Present { path, purpose, lock })
    }

    /// A directory on the disk that will hold the store, in which one may make files.
    pub(crate) fn temporary_folder(&self) -> &Path {
        match self {
            Target::New { path, .. } => parent_of(path),
            Target::Present { path, .. } => path,
        }
    }

    /// Has `write` write a segment file, publishes it under `label`, and opens the store.
    pub(crate) fn publish(
        self,
        label: &str,
        mut write: impl FnMut(&mut SegmentFile) -> Result<()>,
    ) -> Result<Store> {
        match self {
            Target::Present { path, purpose, lock } => {
                publish_into(&path, purpose, lock, |folder| {
                    add_segment(folder, purpose, label, &mut write)
                })
            }
            Target::New { path, purpose } => {
                let made =
                    publish_new(&path, |folder| add_segment(folder, purpose, label, &mut write));
                match made {
                    // Someone else was faster, and what they made may be replaced.
                    Err(Error::StoreExists { path }) if purpose == Purpose::Replace => {
                        Target::claim(path, purpose)?.publish(label, write)
                    }
                    published => published,
                }
            }
        }
    }
}

/// Makes a store in a directory beside `path`, has `fill` publish in it, and moves it there.
pub(crate) fn publish_new(path: &Path, fill: impl FnOnce(&Folder) -> Result<()>) -> Result<Store> {
    let parent = parent_of(path);
    let mut prefix = OsString::from(".");
    prefix.push(path.file_name().unwrap_or_default());
    prefix.push(TEMPORARY_PREFIX);
    remove_leftovers(parent, &prefix);
    let (folder, lock) = locked_folder(parent, &prefix)?;
    let manifest = Manifest { generation: 0, next_number: 1, segments: Vec::new() };
    // Its lock stays until the directory has its name.
    let inside = Folder::unshared(folder.path(), manifest, lock);
    fill(&inside)?;
    let renamed = disk::step(path, Step::Rename).and_then(|()| fs::rename(folder.path(), path));
    renamed.map_err(|source| match source.kind() {
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => {
            Error::StoreExists { path: path.into() }
        }
        _ => Error::Io { doing: "move the new store to", path: path.into(), source },
    })?;
    forget(folder);
    sync_directory(parent)?;
    Store::open(path)
}

/// Has `change` publish in a directory whose lock is held: an empty one, or one with a store.
fn publish_into(
    path: &Path,
    purpose: Purpose,
    lock: StoreLock,
    change: impl FnOnce(&Folder) -> Result<()>,
) -> Result<Store> {
    let folder = open_folder(path, purpose, lock)?;
    change(&folder)?;
    let store = Store::open(path)?;
    folder.tidy();
    Ok(store)
}

/// The directory at `path` whose lock is held.
pub(crate) fn open_folder(path: &Path, purpose: Purpose, lock: StoreLock) -> Result<Folder> {
    let base = match read_manifest(path) {
        Err(fault) if purpose == Purpose::Change => return Err(fault),
        Ok(_) => None,
        // A manifest that cannot be read is what one may well want to replace.
        Err(_) => {
            let numbers = names_in(path)?;
            let numbers = numbers.iter().filter_map(|name| segment_number(name));
            let generation = numbers.filter(|&number| number < NUMBER_MAX).max().unwrap_or(0);
            Some(Manifest { generation, next_number: 1, segments: Vec::new() })
        }
    };
    Folder::new(path, Role::Writer, base, lock)
}

/// Writes a segment and publishes it after those that are there, or alone where they are replaced.
fn add_segment(
    folder: &Folder,
    purpose: Purpose,
    label: &str,
    write: &mut dyn FnMut(&mut SegmentFile) -> Result<()>,
) -> Result<()> {
    let fresh = folder.write_segment(label, |file| write(file))?;
    let mut publishing = folder.publish(|| Ok(()))?;
    let mut segments = match purpose {
        Purpose::Change => publishing.segments().to_vec(),
        Purpose::Create | Purpose::Replace => Vec::new(),
    };
    segments.push(publishing.name_segment(fresh)?);
    publishing.commit(segments).map(drop)
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
