//! Backup: a folder that holds one state of a store, and takes only the files that it lacks.
//!
//! Files of a store never change and their names are never used again, so a file that is there with
//! the right digest is the right one. The manifest is written last, in one step: at any time the
//! folder is the store as it was at some generation, or no store yet. The program calls it; it never
//! changes the store that it copies.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use crate::base::error::{Error, Result};
use crate::bytes::checksum::Digest;
use crate::disk::plain_file;
use crate::format::deletions;
use crate::format::manifest::{Manifest, SegmentEntry};
use crate::search::snapshot::{OpenSegment, Snapshot};
use crate::segment::{map, open_file};
use crate::store::Store;
use crate::store::verify::faults_of;
use crate::writing::directory::{Patience, StoreDirectory, Waiting, open_copy};
use crate::writing::writer::transfer::check_copy;
use fpstore_base::watch::{Observer, Phase, Throttle, Watch};

/// Bytes that are copied at a time.
const PART_LEN: usize = 1 << 20;

/// How a backup is made.
#[derive(Clone, Debug, Default)]
pub struct BackupOptions {
    verify: bool,
    max_rate: Option<u64>,
    wait: Waiting,
    observer: Option<Observer>,
}

impl BackupOptions {
    /// Sets whether segments that are in the folder already are read and checked as a whole, and
    /// copied again if they are damaged. Copies are always checked when they are made.
    #[must_use]
    pub fn verify(self, verify: bool) -> Self {
        BackupOptions { verify, ..self }
    }

    /// Sets the most bytes a second that are copied.
    #[must_use]
    pub fn max_rate(self, bytes: impl Into<Option<u64>>) -> Self {
        BackupOptions { max_rate: bytes.into(), ..self }
    }

    /// Sets how long to wait for another process that writes to the folder.
    #[must_use]
    pub fn wait(self, most: impl Into<Waiting>) -> Self {
        BackupOptions { wait: most.into(), ..self }
    }

    /// Sets who is told of the progress, and may end the work.
    #[must_use]
    pub fn observer(self, observer: impl Into<Option<Observer>>) -> Self {
        BackupOptions { observer: observer.into(), ..self }
    }
}

/// What [`backup`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackedUp {
    /// The folder.
    pub path: PathBuf,
    /// The generation that it holds now.
    pub generation: u64,
    /// Whether it held another one before, or none.
    pub is_new: bool,
    /// Segments that were copied.
    pub copied: u64,
    /// Bytes of their files.
    pub copied_len: u64,
    /// Segments that were there already.
    pub kept: u64,
}

/// Makes the folder `to` hold the state of `store`: its segments, deletions, labels and runs, its id and
/// its generation. `to` is then a store like any other; it may be read at any time, also while the
/// next backup is made into it.
///
/// A file that is in the folder already is not copied again. Each copied segment is checked
/// completely, and durable before the manifest that names it. Files that the new manifest does not
/// name are removed, except those that a reader holds, so that the folder holds one state. What was
/// copied before an error stays, and the next call goes on.
///
/// `store` is one state, so others may add, delete and merge meanwhile. To restore a store, copy the
/// folder while no backup is made into it.
///
/// # Errors
///
/// * [`Error::NotAStore`] if there is something else at `to`.
/// * [`Error::InvalidOptions`] if `to` holds another store, a later state of this one, or a state that
///   is not of its history, as after both were written to; if `to` is the store itself, or `store` a
///   part of one.
/// * [`Error::Locked`] if another process writes to `to`.
/// * [`Error::Corrupt`] if a segment of the store is damaged. `to` is then as before.
/// * [`Error::Io`] if the system refuses, [`Error::Interrupted`] if the observer ends the work: `to` is
///   as before; [`Error::InEffect`] and [`Error::InDoubt`] as for every change of a store.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("pages.fps");
/// # let mut builder = fpstore::Builder::new(&path)?;
/// # builder.push(7.into(), "a.html")?;
/// # builder.finish()?;
/// # let to = folder.path().join("backup.fps");
/// use fpstore::Store;
/// use fpstore::writer::{BackupOptions, backup};
///
/// let done = backup(&Store::open(&path)?, &to, &BackupOptions::default())?;
/// assert_eq!((done.is_new, done.copied), (true, 1));
/// let again = backup(&Store::open(&path)?, &to, &BackupOptions::default())?;
/// assert_eq!((again.is_new, again.copied, again.kept), (false, 0, 1));
/// assert_eq!(Store::open(&to)?.query(7.into(), 0)?.len(), 1);
/// # Ok(()) }
/// ```
pub fn backup(store: &Store, to: impl AsRef<Path>, options: &BackupOptions) -> Result<BackedUp> {
    let to = to.as_ref();
    let snapshot = store.snapshot();
    let manifest = snapshot.manifest()?;
    check_source(&snapshot, &manifest, to)?;
    let patience = Patience::new(options.wait, options.observer.clone());
    let (directory, before) = open_copy(to, manifest.store_id, patience)?;
    if let Some(before) = &before {
        check_history(to, before, &manifest)?;
    }
    let generation = manifest.generation;
    let is_new = before.as_ref() != Some(&manifest);
    let mut done = BackedUp { path: to.into(), generation, is_new, ..BackedUp::default() };
    let known = |entry: &SegmentEntry| {
        let mut entries = before.iter().flat_map(|before| &before.segments);
        entries.any(|of| of.number == entry.number)
    };
    let segments = snapshot.segments();
    let is_here = |open: &&OpenSegment| {
        // What was copied before a failure is not trusted without a look.
        let verify = options.verify || !known(&open.entry);
        is_whole(&to.join(open.entry.file_name()), &open.entry, verify)
    };
    let (kept, lacking): (Vec<&OpenSegment>, Vec<&OpenSegment>) =
        segments.iter().partition(is_here);
    done.kept = kept.len() as u64;
    let total = lacking.iter().map(|open| open.entry.file_len).sum();
    let (throttle, observer) = Throttle::at_most(options.max_rate, options.observer.clone());
    let watch = Watch::new(observer, Phase::Copy, Some(total));
    for open in lacking {
        copy_segment(open, &directory, throttle.clone(), &watch)?;
        done.copied += 1;
        done.copied_len += open.entry.file_len;
    }
    for open in segments {
        copy_deletions(open, &directory)?;
    }
    if is_new {
        directory.begin()?.commit_copy(manifest)?;
    }
    directory.collect_garbage();
    Ok(done)
}

/// Refuses a part of a store, and a copy of a store to itself.
fn check_source(snapshot: &Snapshot, manifest: &Manifest, to: &Path) -> Result<()> {
    let is_part = snapshot.segments().len() != manifest.segments.len();
    let is_same = || {
        let canonical = |path: &Path| path.canonicalize().ok();
        canonical(to).is_some_and(|to| canonical(snapshot.path()) == Some(to))
    };
    let reason = match (is_part, is_part || is_same()) {
        (true, _) => "a part of a store cannot be backed up, export it".into(),
        (_, true) => format!("{} is the store itself, name another folder", to.display()),
        (false, false) => return Ok(()),
    };
    Err(Error::InvalidOptions { reason })
}

/// Refuses a folder that holds anything but an earlier state of the store, or this one.
fn check_history(to: &Path, before: &Manifest, manifest: &Manifest) -> Result<()> {
    let to = to.display();
    let refused = |reason| Err(Error::InvalidOptions { reason });
    if before.store_id != manifest.store_id {
        return refused(format!("{to} holds another store, name another folder"));
    }
    let (old, new) = (before.generation, manifest.generation);
    if old > new {
        return refused(format!(
            "{to} holds generation {old} and the store has {new}: it was set back, or the folder was \
             written to; name another folder"
        ));
    }
    // Numbers are never used again, so a file of one number is the same in one history.
    let is_other = |one: &SegmentEntry, other: &SegmentEntry| {
        one.number == other.number && one.digest != other.digest
    };
    let mut pairs = before
        .segments
        .iter()
        .flat_map(|one| manifest.segments.iter().map(move |other| (one, other)));
    if old == new && before != manifest || pairs.any(|(one, other)| is_other(one, other)) {
        return refused(format!(
            "{to} holds a state that is not of the history of the store: one of them was written to \
             by itself; name another folder"
        ));
    }
    Ok(())
}

/// Whether the file at `path` is the segment of `entry`.
fn is_whole(path: &Path, entry: &SegmentEntry, verify: bool) -> bool {
    map(path).is_ok_and(|segment| {
        segment.check_entry(entry).is_ok() && (!verify || faults_of(&segment).is_empty())
    })
}

fn copy_segment(
    open: &OpenSegment,
    directory: &StoreDirectory,
    throttle: Option<Throttle>,
    watch: &Watch,
) -> Result<()> {
    let from = open.segment.path();
    let mut source = open_file(from)?;
    let mut file = directory.new_segment()?;
    file.throttle(throttle);
    let mut part = vec![0; PART_LEN];
    loop {
        let count = source.read(&mut part).map_err(Error::io("read", from))?;
        let Some(read @ [_, ..]) = part.get(..count) else { break };
        file.write_all(read).map_err(Error::io("write a copy of", from))?;
        watch.tick(count as u64)?;
    }
    file.flush().map_err(Error::io("write a copy of", from))?;
    check_copy(from, &file)?;
    let copy = file.finish(&open.entry.label)?;
    if copy.entry.digest != open.entry.digest {
        let reason = format!("{} was replaced while it was copied", from.display());
        return Err(Error::InvalidOptions { reason });
    }
    copy.name(&directory.path().join(open.entry.file_name()), true)
}

/// Writes the deletion file of a segment, if it has one that is not there.
fn copy_deletions(open: &OpenSegment, directory: &StoreDirectory) -> Result<()> {
    let (Some(entry), Some(deleted)) = (open.entry.deletions, &open.deleted) else {
        return Ok(());
    };
    let path = directory.path().join(deletions::file_name(entry.number));
    let mut found = Vec::new();
    let read =
        plain_file::open(&path).ok().map(|file: File| file.take(u64::MAX).read_to_end(&mut found));
    if matches!(read, Some(Ok(_))) && Digest::of(&found) == entry.digest {
        return Ok(());
    }
    directory.write_deletions(&path, &deleted.encode(open.entry.digest))
}
