//! Copying a whole snapshot of a store into a folder, from any source of its files.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::base::error::{Error, Result};
use crate::bytes::checksum::Digest;
use crate::format::deletions::{self, Deletions};
use crate::format::manifest::{self, Manifest, SegmentEntry};
use crate::search::snapshot::{parse_manifest, read_manifest};
use crate::segment::map;
use crate::store::verify::faults_of;
use crate::writing::directory::{
    Patience, StoreDirectory, Waiting, mark_follower, open_copy, random_store_id, source_of,
    unmark_follower,
};
use crate::writing::writer::transfer::check_copy;
use fpstore_base::setters;
use fpstore_base::watch::{Observer, Phase, Throttle, Watch};
use fpstore_disk::plain_file;

/// The options of a backup.
#[derive(Clone, Debug, Default)]
pub struct BackupOptions {
    pub(super) verify: bool,
    pub(super) max_rate: Option<u64>,
    pub(super) wait: Waiting,
    pub(super) observer: Option<Observer>,
    pub(super) follows: Option<String>,
}

impl BackupOptions {
    setters!(max_rate, wait, observer);

    setters! {
        /// Sets whether segments that are already in the folder are fully read and checked, and
        /// copied again if they are damaged. New copies are always checked.
        verify: bool,
        /// Marks the folder as a follower of this store, given by the address of its server or by
        /// its path: until [`promote`], writers refuse the folder with
        /// [`Error::Follower`](crate::Error::Follower).
        follows: impl Into<Option<String>>,
    }
}

/// The result of [`backup`](super::backup).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackedUp {
    /// The folder of the backup.
    pub path: PathBuf,
    /// The generation of the store in the folder.
    pub generation: u64,
    /// Whether the folder had another generation before, or was empty.
    pub is_new: bool,
    /// The number of copied segments.
    pub copied: u64,
    /// The length of the copied segment files in bytes.
    pub copied_len: u64,
    /// The number of segments that were already in the folder.
    pub kept: u64,
}

/// The number of bytes copied at a time.
const PART_LEN: usize = 1 << 20;

/// A source of the files of the newest snapshot of a store, such as a server. Opens files by name.
pub trait StateSource {
    /// The path or address of a file, for messages.
    fn place(&self, name: &str) -> PathBuf;

    /// The bytes of a file. `len` is their number, or `None` if the caller does not know it.
    ///
    /// # Errors
    ///
    /// An error of the kind `NotFound` if the source has moved to a newer snapshot without this
    /// file.
    fn open(&self, name: &str, len: Option<u64>) -> io::Result<Box<dyn Read + '_>>;
}

/// The number of attempts, each with a newer snapshot, if files of the preceding snapshot are
/// removed.
const STATES: u32 = 10;

/// Updates the folder `to` to the newest snapshot in `source`, like [`backup`](super::backup) for a
/// local store.
///
/// # Errors
///
/// The errors of [`backup`](super::backup); [`Error::Io`] if the source cannot be read.
pub fn backup_from(
    source: &dyn StateSource,
    to: impl AsRef<Path>,
    options: &BackupOptions,
) -> Result<BackedUp> {
    let mut states = 0;
    loop {
        states += 1;
        let place = source.place(manifest::FILE_NAME);
        let mut bytes = Vec::new();
        let read = source
            .open(manifest::FILE_NAME, None)
            .and_then(|mut from| from.read_to_end(&mut bytes).map(drop));
        read.map_err(Error::io("read", &place))?;
        let manifest = parse_manifest(place.parent().unwrap_or(&place), &bytes)?;
        match copy_state(manifest, source, to.as_ref(), options) {
            Err(Error::Io(refused))
                if refused.source.kind() == io::ErrorKind::NotFound && states < STATES => {}
            done => return done,
        }
    }
}

/// Makes a follower an independent store, which accepts changes, and returns its generation.
///
/// The store gets a new id, because its history differs from now on: followers of the original
/// reject its snapshots, and it rejects snapshots of the original, so that changes of both are
/// never mixed.
///
/// # Errors
///
/// * [`Error::InvalidOptions`] if the store at `path` is not a follower.
/// * [`Error::Locked`] if a process is copying a snapshot to it.
/// * The errors of every change of a store. Then the store is still a follower.
pub fn promote(path: impl AsRef<Path>) -> Result<u64> {
    let path = path.as_ref();
    let before = read_manifest(path)?;
    let (directory, _) = open_copy(path, before.store_id, Patience::default())?;
    if source_of(path)?.is_none() {
        let reason = format!("{} follows no other store, and accepts changes", path.display());
        return Err(Error::InvalidOptions { reason });
    }
    let manifest = Manifest { store_id: random_store_id()?, ..read_manifest(path)? };
    let manifest = Manifest { generation: manifest.generation + 1, ..manifest };
    let generation = directory.begin()?.commit_copy(manifest)?;
    unmark_follower(path).map_err(Error::in_effect(generation))?;
    Ok(generation)
}

/// Updates the folder `to` to the snapshot of `manifest`. See [`backup`](super::backup).
pub(super) fn copy_state(
    manifest: Manifest,
    files: &dyn StateSource,
    to: &Path,
    options: &BackupOptions,
) -> Result<BackedUp> {
    let patience = Patience::new(options.wait, options.observer.clone());
    let (directory, before) = open_copy(to, manifest.store_id, patience)?;
    if let Some(before) = &before {
        check_history(to, before, &manifest)?;
    }
    let generation = manifest.generation;
    let is_new = before.as_ref() != Some(&manifest);
    let mut done = BackedUp { path: to.into(), generation, is_new, ..BackedUp::default() };
    let earlier: BTreeMap<u64, &SegmentEntry> =
        before.iter().flat_map(|before| &before.segments).map(|it| (it.number, it)).collect();
    let is_here = |entry: &&SegmentEntry| {
        // Verify segments that the manifest of the folder does not list: they were copied before a
        // failure.
        let verify = options.verify || !earlier.contains_key(&entry.number);
        is_whole(&to.join(entry.file_name()), entry, verify)
    };
    let (kept, lacking): (Vec<&SegmentEntry>, Vec<&SegmentEntry>) =
        manifest.segments.iter().partition(is_here);
    done.kept = kept.len() as u64;
    let total = lacking.iter().map(|entry| entry.file_len).sum();
    let (throttle, observer) = Throttle::at_most(options.max_rate, options.observer.clone());
    let watch = Watch::new(observer, Phase::Copy, Some(total));
    for entry in lacking {
        copy_segment(entry, files, &directory, throttle.clone(), &watch)?;
        done.copied += 1;
        done.copied_len += entry.file_len;
    }
    for entry in &manifest.segments {
        copy_deletions(entry, earlier.get(&entry.number).copied(), files, &directory)?;
    }
    if let Some(followed) = &options.follows {
        mark_follower(to, followed)?;
    }
    if is_new {
        directory.begin()?.commit_copy(manifest)?;
    }
    directory.collect_garbage();
    Ok(done)
}

/// Rejects a folder unless its manifest `before` is `manifest` or an earlier manifest of the store.
fn check_history(to: &Path, before: &Manifest, manifest: &Manifest) -> Result<()> {
    let refused = |reason| Err(Error::InvalidOptions { reason });
    if before.store_id != manifest.store_id {
        return refused(format!("{} holds another store, name another folder", to.display()));
    }
    let (old, new) = (before.generation, manifest.generation);
    if old > new {
        return refused(format!(
            "{} holds generation {old} and the store has {new}: the store was reset to an earlier \
             state, or the folder was written to; name another folder",
            to.display()
        ));
    }
    // Numbers are never reused, so within one history files with the same number are equal.
    let digests: BTreeMap<u64, Digest> = before.segments.iter().flat_map(files_of).collect();
    let mut files = manifest.segments.iter().flat_map(files_of);
    let is_other = |(number, digest)| digests.get(&number).is_some_and(|before| *before != digest);
    match old == new && before != manifest || files.any(is_other) {
        true => Err(other_history(to)),
        false => Ok(()),
    }
}

/// The error for a folder whose snapshot is not in the history of the copied snapshot.
fn other_history(folder: &Path) -> Error {
    let reason = format!(
        "{} holds a state outside the history of the store: one of them was written to separately; \
         name another folder",
        folder.display()
    );
    Error::InvalidOptions { reason }
}

/// The number and digest of a segment file and of its deletion file. Both use the same numbers.
fn files_of(entry: &SegmentEntry) -> impl Iterator<Item = (u64, Digest)> {
    let deletions = entry.deletions.map(|of| (of.number, of.digest));
    [(entry.number, entry.digest)].into_iter().chain(deletions)
}

/// Whether the file at `path` is the segment of `entry`. With `verify`, reads and checks all of it.
fn is_whole(path: &Path, entry: &SegmentEntry, verify: bool) -> bool {
    map(path).is_ok_and(|segment| {
        segment.check_entry(entry).is_ok() && (!verify || faults_of(&segment).is_empty())
    })
}

fn copy_segment(
    entry: &SegmentEntry,
    files: &dyn StateSource,
    directory: &StoreDirectory,
    throttle: Option<Throttle>,
    watch: &Watch,
) -> Result<()> {
    let name = entry.file_name();
    let from = files.place(&name);
    let opened = files.open(&name, Some(entry.file_len));
    let mut source = opened.map_err(Error::io("read", &from))?;
    let mut file = directory.new_segment()?;
    file.throttle(throttle);
    let mut part = vec![0; PART_LEN];
    loop {
        let count = source.read(&mut part).map_err(Error::io("read", &from))?;
        let Some(read @ [_, ..]) = part.get(..count) else { break };
        file.write_all(read).map_err(Error::io("write a copy of", &from))?;
        watch.tick(count as u64)?;
    }
    file.flush().map_err(Error::io("write a copy of", &from))?;
    check_copy(&from, &file)?;
    let copy = file.finish(&entry.label)?;
    if copy.entry.digest != entry.digest {
        return Err(replaced(&from));
    }
    copy.name(&directory.path().join(entry.file_name()), true)
}

/// Copies the deletion file of a segment, if it has one and the folder does not contain it.
/// `before` is the previous entry of the segment in the folder; its deletions must be among the new
/// deletions.
fn copy_deletions(
    entry: &SegmentEntry,
    before: Option<&SegmentEntry>,
    files: &dyn StateSource,
    directory: &StoreDirectory,
) -> Result<()> {
    let before = before.and_then(|before| before.deletions);
    let Some(deleted) = entry.deletions else {
        return match before {
            Some(_) => Err(other_history(directory.path())),
            None => Ok(()),
        };
    };
    let path_of = |number| directory.path().join(deletions::file_name(number));
    let held = |number, digest| {
        let mut found = Vec::new();
        let mut file = plain_file::open(&path_of(number)).ok()?;
        file.read_to_end(&mut found).ok()?;
        (Digest::of(&found) == digest).then_some(found)
    };
    if held(deleted.number, deleted.digest).is_some() {
        return Ok(());
    }
    let name = deletions::file_name(deleted.number);
    let mut bytes = Vec::new();
    let read = files.open(&name, None).and_then(|mut from| from.read_to_end(&mut bytes));
    read.map_err(Error::io("read", files.place(&name)))?;
    if Digest::of(&bytes) != deleted.digest {
        return Err(replaced(&files.place(&name)));
    }
    let earlier = before.and_then(|before| held(before.number, before.digest));
    let read = |bytes: &[u8]| Deletions::read(bytes, entry.digest, entry.fingerprint_count).ok();
    if let (Some(earlier), Some(new)) = (earlier.and_then(|bytes| read(&bytes)), read(&bytes))
        && !new.has_all_of(&earlier)
    {
        return Err(other_history(directory.path()));
    }
    directory.write_deletions(&path_of(deleted.number), &bytes)
}

/// The error for a file that differs from its manifest entry.
fn replaced(from: &Path) -> Error {
    let reason = format!("{} is not the file named in the manifest", from.display());
    Error::InvalidOptions { reason }
}
