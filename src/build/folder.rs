//! The directory of a store under the writer lock: files are written, then a manifest names them, then those that it
//! names no longer go.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::build::lock::WriterLock;
use crate::disk::{self, Step};
use crate::error::{Error, Result};
use crate::format::deletions::{self, Deletions};
use crate::format::manifest::{
    self, DeletionEntry, Manifest, NUMBER_MAX, SEGMENT_COUNT_MAX, SegmentEntry, segment_file_name,
    segment_number,
};
use crate::segment::map;
use crate::watch::Throttle;

/// Names of files that a writer has not finished start with this.
pub(super) const TEMPORARY_PREFIX: &str = ".tmp-";

/// The directory of a store that is ours to write to.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// As it is on the disk, except that the next number grows with each file that is begun.
    manifest: Manifest,
    _lock: WriterLock,
}

/// A file under its final name that no manifest names yet. It goes when this does, unless it was published.
#[derive(Debug)]
pub(crate) struct Fresh {
    path: PathBuf,
    published: bool,
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if !self.published {
            // No manifest names it, so it is only in the way; where it cannot go, the next writer takes it away.
            let _ = remove_file(&self.path);
        }
    }
}

impl Folder {
    /// The store at `path`, whose manifest this is. What writers left behind that died goes.
    pub(crate) fn new(path: &Path, manifest: Manifest, lock: WriterLock) -> Result<Self> {
        let mut folder = Folder { path: path.into(), manifest, _lock: lock };
        let names = names_in(path)?;
        // The lock is ours, so whoever began these files is gone.
        for name in names.iter().filter(|name| name.starts_with(TEMPORARY_PREFIX)) {
            let _ = remove_file(&path.join(name));
        }
        let numbers = names.iter().filter_map(|name| number_of(name));
        let after_last = numbers.filter(|&number| number < NUMBER_MAX).max().map_or(1, |n| n + 1);
        folder.manifest.next_number = folder.manifest.next_number.max(after_last);
        Ok(folder)
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn next_number(&mut self) -> Result<u64> {
        let number = self.manifest.next_number;
        if number >= NUMBER_MAX || self.manifest.generation >= NUMBER_MAX {
            let reason = format!("{} has used up its numbers, make a new one", self.path.display());
            return Err(Error::TooLarge { reason });
        }
        self.manifest.next_number += 1;
        Ok(number)
    }

    /// Has `write` write a segment file and gives it its name; also says how the manifest should name it.
    pub(crate) fn new_segment(
        &mut self,
        label: &str,
        write: impl FnOnce(&mut SegmentFile) -> Result<()>,
    ) -> Result<(SegmentEntry, Fresh)> {
        let number = self.next_number()?;
        let path = self.path.join(segment_file_name(number));
        let mut file =
            SegmentFile { file: temporary_in(&self.path)?, path: path.clone(), throttle: None };
        write(&mut file)?;
        persist(file.file, &path)?;
        let fresh = Fresh { path, published: false };
        // What is in the way of a reader had better be found now.
        let entry = map(&fresh.path)?.entry(number, label);
        Ok((entry, fresh))
    }

    /// Writes what is deleted of a segment; also says how the manifest should name it.
    pub(crate) fn new_deletions(
        &mut self,
        of: &SegmentEntry,
        deletions: &Deletions,
    ) -> Result<(DeletionEntry, Fresh)> {
        let number = self.next_number()?;
        let path = self.path.join(deletions::file_name(number));
        let bytes = deletions.encode(of.header_crc);
        let mut file = temporary_in(&self.path)?;
        disk::step(&path, Step::Write)
            .and_then(|()| file.write_all(&bytes).map_err(disk::bare))
            .map_err(Error::io("write", &path))?;
        persist(file, &path)?;
        let fresh = Fresh { path, published: false };
        let entry = DeletionEntry {
            number,
            crc: bytes.last_chunk().map_or(0, |crc| u32::from_le_bytes(*crc)),
            fingerprint_count: deletions.fingerprint_count(),
            id_count: deletions.id_count(),
        };
        Ok((entry, fresh))
    }

    /// Makes these the live segments, in one step; they name the fresh files.
    ///
    /// After an error the store is as it was, or, if only the last sync failed, as it was to become;
    /// [`Folder::manifest`] tells.
    pub(crate) fn publish(&mut self, segments: Vec<SegmentEntry>, fresh: Vec<Fresh>) -> Result<()> {
        if segments.len() > SEGMENT_COUNT_MAX {
            let reason = format!("{} segments, a store has 65 536 at most", segments.len());
            return Err(Error::TooLarge { reason });
        }
        let generation = self.manifest.generation + 1;
        let next_number = self.manifest.next_number;
        let manifest = Manifest { generation, next_number, segments };
        replace_manifest(&self.path, &manifest)?;
        self.manifest = manifest;
        fresh.into_iter().for_each(|mut file| file.published = true);
        sync_directory(&self.path)
    }

    /// Removes files that no manifest names, save those that a reader holds: the next writer takes them away.
    pub(crate) fn tidy(&self) {
        let Ok(names) = names_in(&self.path) else { return };
        let live: Vec<u64> = self
            .manifest
            .segments
            .iter()
            .flat_map(|entry| [Some(entry.number), entry.deletions.map(|of| of.number)])
            .flatten()
            .collect();
        for name in names {
            if number_of(&name).is_some_and(|number| !live.contains(&number)) {
                retire(&self.path.join(name));
            }
        }
    }
}

/// The number in the name of a segment or deletion file.
fn number_of(name: &str) -> Option<u64> {
    segment_number(name).or_else(|| deletions::file_number(name))
}

/// Removes a file unless a reader holds it.
fn retire(path: &Path) {
    // Where there are no locks, files stay as long as they are mapped.
    let held = File::open(path).ok().map(|file| (file.try_lock(), file));
    if !matches!(held, Some((Err(fs::TryLockError::WouldBlock), _))) {
        let _ = remove_file(path);
    }
}

/// A segment file under its temporary name.
#[derive(Debug)]
pub(crate) struct SegmentFile {
    file: NamedTempFile,
    /// The name that it will have.
    path: PathBuf,
    throttle: Option<Throttle>,
}

impl SegmentFile {
    /// The name that the file will have.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The name that it has.
    pub(crate) fn temporary_path(&self) -> &Path {
        self.file.path()
    }

    /// Writes no faster than this allows from now on.
    pub(crate) fn throttle(&mut self, throttle: Option<Throttle>) {
        self.throttle = throttle;
    }
}

impl Write for SegmentFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        disk::step(&self.path, Step::Write)?;
        let written = self.file.write(bytes).map_err(disk::bare)?;
        if let Some(throttle) = &self.throttle {
            throttle.spend(written as u64);
        }
        Ok(written)
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

/// Gives a written file its name, once its bytes are on the disk, and makes it read-only.
fn persist(file: NamedTempFile, path: &Path) -> Result<()> {
    let protect = || {
        disk::step(path, Step::Protect)?;
        let mut permissions = file.as_file().metadata()?.permissions();
        permissions.set_readonly(true);
        file.as_file().set_permissions(permissions)
    };
    protect().map_err(Error::io("protect", path))?;
    sync_file(file.as_file(), path)?;
    disk::step(path, Step::Rename)
        .and_then(|()| file.persist_noclobber(path).map_err(|failed| failed.error))
        .map_err(Error::io("move the new file to", path))?;
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
    // The names of new files must be on the disk before a manifest that uses them.
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
pub(super) fn sync_directory(path: &Path) -> Result<()> {
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

pub(super) fn names_in(path: &Path) -> Result<Vec<String>> {
    let listed: io::Result<Vec<_>> =
        fs::read_dir(path).and_then(|entries| entries.map(|e| Ok(e?.file_name())).collect());
    let names = listed.map_err(Error::io("read directory", path))?;
    Ok(names.iter().map(|name| name.to_string_lossy().into_owned()).collect())
}
