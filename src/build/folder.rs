//! The directory of a store for who may change it: files are written, then a manifest names them, then those that it
//! names no longer go.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::build::lock::{StoreLock, lock_compaction, lock_publication, try_lock_publication};
use crate::build::publishing::Publishing;
use crate::disk::{self, Step};
use crate::error::{Error, Result};
use crate::format::deletions::{self, Deletions};
use crate::format::manifest::{DeletionEntry, Manifest, SegmentEntry, segment_number};
use crate::segment::map;
use crate::store::read_manifest;
use crate::watch::Throttle;

/// Names of files that are not finished start with this.
pub(super) const TEMPORARY_PREFIX: &str = ".tmp-";

/// How long a writer waits for a compactor to publish, which takes an instant unless that one was stopped in it.
const PUBLISH_PATIENCE: Duration = Duration::from_secs(60);

/// Who works in a directory: the writer, who holds its lock, or the compactor beside it, who holds another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Writer,
    Compactor,
}

impl Role {
    /// What the names of its unfinished files start with; the lock of its role tells whether it lives.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Role::Writer => TEMPORARY_PREFIX,
            Role::Compactor => ".tmp-compact-",
        }
    }
}

/// The directory of a store that is ours to write to.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    role: Role,
    /// What to begin with where there is no manifest, or none that can be read; without it, that is an error.
    base: Option<Manifest>,
    /// Whether others may publish in it.
    shared: bool,
    _lock: StoreLock,
}

/// A segment file without a name, whole and on the disk. It goes with this unless it is named.
#[derive(Debug)]
pub(crate) struct FreshSegment {
    pub(super) file: NamedTempFile,
    /// As the manifest will name it, but for the number.
    pub(crate) entry: SegmentEntry,
}

impl FreshSegment {
    /// Where it is for now.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }
}

/// A deletion file without a name, whole and on the disk.
#[derive(Debug)]
pub(crate) struct FreshDeletions {
    pub(super) file: NamedTempFile,
    pub(super) entry: DeletionEntry,
}

impl Folder {
    /// The store at `path`. What others of the role left behind that died goes.
    pub(crate) fn new(
        path: &Path,
        role: Role,
        base: Option<Manifest>,
        lock: StoreLock,
    ) -> Result<Self> {
        let folder = Folder { path: path.into(), role, base, shared: true, _lock: lock };
        let names = names_in(path)?;
        let is_compactors = |name: &String| name.starts_with(Role::Compactor.prefix());
        // Who sees a lock free, or has it, knows that whoever held it is gone.
        let compactor = match role {
            Role::Writer if names.iter().any(is_compactors) => lock_compaction(path).ok(),
            _ => None,
        };
        let is_left = |name: &&String| match is_compactors(name) {
            true => role == Role::Compactor || compactor.is_some(),
            false => role == Role::Writer && name.starts_with(TEMPORARY_PREFIX),
        };
        for name in names.iter().filter(is_left) {
            let _ = remove_file(&path.join(name));
        }
        Ok(folder)
    }

    /// A directory of which no one else knows, to make a store in.
    pub(crate) fn unshared(path: &Path, base: Manifest, lock: StoreLock) -> Self {
        let (role, base) = (Role::Writer, Some(base));
        Folder { path: path.into(), role, base, shared: false, _lock: lock }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Begins to publish: no one else does until that ends. Where someone else does already, waits for as long as
    /// `wait_on` allows.
    pub(crate) fn publish(&self, mut wait_on: impl FnMut() -> Result<()>) -> Result<Publishing> {
        let lock = match self.shared {
            true => Some(lock_publication(&self.path, |waited, process| match self.role {
                // A deletion may take a pass over the store, and what was merged is worth the wait.
                Role::Compactor => wait_on(),
                Role::Writer if waited < PUBLISH_PATIENCE => wait_on(),
                Role::Writer => Err(Error::Compacting { path: self.path.clone(), process }),
            })?),
            false => None,
        };
        let manifest = match (read_manifest(&self.path), &self.base) {
            (Err(_), Some(base)) => base.clone(),
            (read, _) => read?,
        };
        Publishing::new(&self.path, self.role, manifest, lock)
    }

    /// Has `write` write a segment file; also says how the manifest should name it.
    pub(crate) fn write_segment(
        &self,
        label: &str,
        write: impl FnOnce(&mut SegmentFile) -> Result<()>,
    ) -> Result<FreshSegment> {
        let file = temporary_in(&self.path, self.role)?;
        let mut file = SegmentFile { file, path: self.path.clone(), throttle: None };
        write(&mut file)?;
        let file = file.file;
        finish(&file, &self.path)?;
        // What is in the way of a reader had better be found now.
        let entry = map(file.path())?.entry(0, label);
        Ok(FreshSegment { file, entry })
    }

    /// Writes what is deleted of a segment.
    pub(crate) fn write_deletions(
        &self,
        of: &SegmentEntry,
        deletions: &Deletions,
    ) -> Result<FreshDeletions> {
        let bytes = deletions.encode(of.header_crc);
        let mut file = temporary_in(&self.path, self.role)?;
        disk::step(&self.path, Step::Write)
            .and_then(|()| file.write_all(&bytes).map_err(disk::bare))
            .map_err(Error::io("write a file in", &self.path))?;
        finish(&file, &self.path)?;
        let entry = DeletionEntry {
            number: 0,
            crc: bytes.last_chunk().map_or(0, |crc| u32::from_le_bytes(*crc)),
            fingerprint_count: deletions.fingerprint_count(),
            id_count: deletions.id_count(),
        };
        Ok(FreshDeletions { file, entry })
    }

    /// Removes files that no manifest names, save those that a reader holds: the next writer takes them away, as it
    /// does where someone is just publishing.
    pub(crate) fn tidy(&self) {
        // Between its name and the manifest, a file is not left over.
        let lock = self.shared.then(|| try_lock_publication(&self.path));
        if matches!(lock, Some(None)) {
            return;
        }
        let (Ok(manifest), Ok(names)) = (read_manifest(&self.path), names_in(&self.path)) else {
            return;
        };
        let live: Vec<u64> = manifest
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
pub(super) fn number_of(name: &str) -> Option<u64> {
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
    /// The directory that it is in, for messages.
    path: PathBuf,
    throttle: Option<Throttle>,
}

impl SegmentFile {
    /// What messages call it.
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

/// Makes a written file read-only, and sees to it that its bytes are on the disk.
fn finish(file: &NamedTempFile, path: &Path) -> Result<()> {
    let protect = || {
        disk::step(path, Step::Protect)?;
        let mut permissions = file.as_file().metadata()?.permissions();
        permissions.set_readonly(true);
        file.as_file().set_permissions(permissions)
    };
    protect().map_err(Error::io("protect a file in", path))?;
    sync_file(file.as_file(), path)
}

pub(super) fn sync_file(file: &File, path: &Path) -> Result<()> {
    disk::step(path, Step::Sync).and_then(|()| file.sync_all()).map_err(Error::io("sync", path))
}

pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    disk::step(path, Step::Remove)?;
    fs::remove_file(path)
}

pub(super) fn temporary_in(path: &Path, role: Role) -> Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    disk::step(path, Step::Create)
        .and_then(|()| {
            disk::with_usual_mode(builder.prefix(role.prefix()), 0o666).tempfile_in(path)
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
