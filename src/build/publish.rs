//! Publishing: a store appears under its name whole, or not at all.
//!
//! A new store is made in a directory beside its final place and renamed. A store that is there
//! gets a new segment beside the old ones, and a manifest that names it after them, or alone
//! where they are replaced; the rename of the manifest is the instant at which the store changes.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempDir};

use crate::build::lock::{LOCK_NAME, WriterLock, lock, locked_folder, remove_leftovers};
use crate::disk::{self, Step};
use crate::error::{Error, Result};
use crate::format::manifest::{self, Manifest, NUMBER_MAX, segment_file_name, segment_number};
use crate::segment::map;
use crate::store::{Store, read_manifest};

/// Names of files that a writer has not finished start with this.
const TEMPORARY_PREFIX: &str = ".tmp-";

/// What becomes of a store that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// There must be none.
    Create,
    /// It stays as it is until it is replaced.
    Replace,
    /// There must be one, and it gets one more segment.
    Append,
}

/// Where a store will be published.
#[derive(Debug)]
pub(super) enum Target {
    /// Nothing is there yet.
    New { path: PathBuf, purpose: Purpose },
    /// A directory is there, empty or with a store, and it is ours while the lock is held.
    Present { path: PathBuf, purpose: Purpose, _lock: WriterLock },
}

impl Target {
    /// Finds out what is at `path` and takes the writer lock if it is a directory to write to.
    pub(super) fn claim(path: PathBuf, purpose: Purpose) -> Result<Self> {
        let names = match names_in(&path) {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                if path.is_symlink() {
                    return Err(Error::NotAStore { path, found: "a symbolic link to nothing" });
                }
                return match purpose {
                    Purpose::Append => Err(Error::NoStore { path }),
                    _ => Ok(Target::New { path, purpose }),
                };
            }
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotADirectory => {
                return Err(Error::NotAStore { path, found: "a file, not a directory" });
            }
            names => names?,
        };
        let is_ours = |name: &String| name == LOCK_NAME || name.starts_with(TEMPORARY_PREFIX);
        if path.join(manifest::FILE_NAME).is_file() {
            if purpose == Purpose::Create {
                return Err(Error::StoreExists { path });
            }
        } else if purpose == Purpose::Append {
            return Err(Error::NotAStore { path, found: "a directory without a manifest" });
        } else if !names.iter().all(is_ours) {
            return Err(Error::NotAStore { path, found: "a directory with other files in it" });
        }
        let _lock = lock(&path)?;
        Ok(Target::Present { path, purpose, _lock })
    }

    /// A directory on the disk that will hold the store, in which one may make files.
    pub(super) fn temporary_folder(&self) -> &Path {
        match self {
            Target::New { path, .. } => parent_of(path),
            Target::Present { path, .. } => path,
        }
    }

    /// Has `write` write a segment file, publishes it under `label`, and opens the store.
    pub(super) fn publish(
        self,
        label: &str,
        mut write: impl FnMut(&mut SegmentFile) -> Result<()>,
    ) -> Result<Store> {
        let mut new = NewSegment { label, write: &mut write };
        match self {
            Target::Present { path, purpose, _lock } => publish_into(&path, purpose, &mut new),
            Target::New { path, purpose } => match publish_new(&path, &mut new) {
                // Someone else was faster, and what they made may be replaced.
                Err(Error::StoreExists { path }) if purpose == Purpose::Replace => {
                    Target::claim(path, purpose)?.publish(label, write)
                }
                published => published,
            },
        }
    }
}

/// A segment to be published.
struct NewSegment<'a> {
    label: &'a str,
    write: &'a mut dyn FnMut(&mut SegmentFile) -> Result<()>,
}

/// A segment file under its temporary name.
#[derive(Debug)]
pub(super) struct SegmentFile {
    file: NamedTempFile,
    /// The name that it will have.
    path: PathBuf,
}

impl SegmentFile {
    /// The name that the file will have.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Write for SegmentFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        disk::step(&self.path, Step::Write)?;
        self.file.write(bytes).map_err(disk::bare)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for SegmentFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

fn publish_new(path: &Path, new: &mut NewSegment<'_>) -> Result<Store> {
    let parent = parent_of(path);
    let mut prefix = OsString::from(".");
    prefix.push(path.file_name().unwrap_or_default());
    prefix.push(TEMPORARY_PREFIX);
    remove_leftovers(parent, &prefix);
    let (folder, _lock) = locked_folder(parent, &prefix)?;
    let manifest = Manifest { generation: 0, next_segment: 1, segments: Vec::new() };
    add_segment(folder.path(), manifest, new)?;
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

/// Publishes in a directory whose lock is held: an empty one, or one with a store.
fn publish_into(path: &Path, purpose: Purpose, new: &mut NewSegment<'_>) -> Result<Store> {
    let names = names_in(path)?;
    // The lock is ours, so whoever began these files is gone.
    for name in names.iter().filter(|name| name.starts_with(TEMPORARY_PREFIX)) {
        let _ = remove_file(&path.join(name));
    }
    let numbers = names.iter().filter_map(|name| segment_number(name));
    let after_last = numbers.filter(|&n| n < NUMBER_MAX).max().map_or(1, |n| n + 1);
    let mut manifest = match read_manifest(path) {
        Ok(manifest) => manifest,
        Err(fault) if purpose == Purpose::Append => return Err(fault),
        // A manifest that cannot be read is what one may well want to replace.
        Err(_) => Manifest { generation: after_last - 1, next_segment: 1, segments: Vec::new() },
    };
    manifest.next_segment = manifest.next_segment.max(after_last);
    if purpose != Purpose::Append {
        manifest.segments.clear();
    }
    let manifest = add_segment(path, manifest, new)?;
    let store = Store::open(path)?;
    // Readers that opened them before keep them until they close.
    let is_live = |number: u64| manifest.segments.iter().any(|entry| entry.number == number);
    for name in &names {
        if segment_number(name).is_some_and(|number| !is_live(number)) {
            let _ = remove_file(&path.join(name));
        }
    }
    Ok(store)
}

/// Writes a segment under the next number and then the manifest that names it after those in
/// `manifest`; each is on the disk before its name is. Says what the manifest became.
fn add_segment(path: &Path, mut manifest: Manifest, new: &mut NewSegment<'_>) -> Result<Manifest> {
    let number = manifest.next_segment;
    if number >= NUMBER_MAX || manifest.generation >= NUMBER_MAX {
        let reason = format!("{} has used up its numbers, make a new one", path.display());
        return Err(Error::TooLarge { reason });
    }
    manifest.next_segment += 1;
    manifest.generation += 1;
    let segment_path = path.join(segment_file_name(number));
    let mut segment = SegmentFile { file: temporary_in(path)?, path: segment_path.clone() };
    (new.write)(&mut segment)?;
    persist_segment(segment)?;
    let named = map(&segment_path).and_then(|segment| {
        manifest.segments.push(segment.entry(number, new.label));
        replace_manifest(path, &manifest)
    });
    if named.is_err() {
        // No manifest names it, so it is only in the way.
        let _ = remove_file(&segment_path);
    }
    named?;
    sync_directory(path)?;
    Ok(manifest)
}

/// Gives a written segment its name, once its bytes are on the disk.
fn persist_segment(segment: SegmentFile) -> Result<()> {
    let SegmentFile { file, path } = segment;
    let protect = || {
        disk::step(&path, Step::Protect)?;
        let mut permissions = file.as_file().metadata()?.permissions();
        permissions.set_readonly(true);
        file.as_file().set_permissions(permissions)
    };
    protect().map_err(Error::io("protect", &path))?;
    sync_file(file.as_file(), &path)?;
    disk::step(&path, Step::Rename)
        .and_then(|()| file.persist_noclobber(&path).map_err(|failed| failed.error))
        .map_err(Error::io("move the new segment to", &path))?;
    Ok(())
}

fn sync_file(file: &File, path: &Path) -> Result<()> {
    disk::step(path, Step::Sync).and_then(|()| file.sync_all()).map_err(Error::io("sync", path))
}

fn remove_file(path: &Path) -> io::Result<()> {
    disk::step(path, Step::Remove)?;
    fs::remove_file(path)
}

/// Puts a manifest in the place of the one before, if there is one, in one step.
fn replace_manifest(path: &Path, manifest: &Manifest) -> Result<()> {
    let manifest_path = path.join(manifest::FILE_NAME);
    let mut temporary = temporary_in(path)?;
    disk::step(&manifest_path, Step::Write)
        .and_then(|()| temporary.write_all(&manifest.encode()))
        .map_err(Error::io("write", &manifest_path))?;
    sync_file(temporary.as_file(), &manifest_path)?;
    // The segment's own name must be on the disk before a manifest that uses it.
    sync_directory(path)?;
    disk::step(&manifest_path, Step::Rename)
        .and_then(|()| temporary.persist(&manifest_path).map_err(|failed| failed.error))
        .map_err(Error::io("replace", &manifest_path))?;
    Ok(())
}

fn temporary_in(path: &Path) -> Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    disk::step(path, Step::Create)
        .and_then(|()| {
            disk::with_usual_mode(builder.prefix(TEMPORARY_PREFIX), 0o666).tempfile_in(path)
        })
        .map_err(disk::without_path("create a file in", path))
}

/// Makes renames in a directory durable.
fn sync_directory(path: &Path) -> Result<()> {
    #[cfg(unix)]
    match File::open(path) {
        // One may write to a directory that one may not read; the system syncs it in time.
        Err(refused) if refused.kind() == io::ErrorKind::PermissionDenied => {}
        opened => disk::step(path, Step::SyncDirectory)
            .and_then(|()| opened?.sync_all())
            .map_err(Error::io("sync", path))?,
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

fn names_in(path: &Path) -> Result<Vec<String>> {
    let listed: io::Result<Vec<_>> =
        fs::read_dir(path).and_then(|entries| entries.map(|e| Ok(e?.file_name())).collect());
    let names = listed.map_err(Error::io("read directory", path))?;
    Ok(names.iter().map(|name| name.to_string_lossy().into_owned()).collect())
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
