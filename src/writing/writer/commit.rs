//! Committing segment files written by tasks: any number of them in one change of a store.
//!
//! First all files are checked: each must match its receipt, and all must have the same recipe and
//! sketch length. Then the files get second names in the store (hard links), and one manifest lists
//! them all. Then the first names are removed, if requested. So a process that dies at any point
//! loses no file, and a repeated commit completes the change or finds it done.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::base::error::{Error, IoError, Result};
use crate::base::steps::Counted;
use crate::format::manifest::{FILE_NAME, SegmentEntry};
use crate::search::snapshot::Snapshot;
use crate::segment::map;
use crate::store::Store;
use crate::writing::builder::SegmentReceipt;
use crate::writing::directory::{
    Destination, OpenMode, Patience, StoreDirectory, UncommittedSegment, Waiting,
};
use crate::writing::labels::{check_label, check_names};
use crate::writing::writer::transfer::copy_verified;
use fpstore_base::watch::Observer;
use fpstore_base::{lists, setters};
use fpstore_disk::{parent_of, remove_file};

/// The options of a commit of segment files.
#[derive(Clone, Debug, Default)]
pub struct CommitOptions {
    label: String,
    run: Option<String>,
    remove: bool,
    wait: Waiting,
    observer: Option<Observer>,
}

impl CommitOptions {
    setters!(label, wait, observer);

    setters! {
        /// Sets a name for the job. If the store has recorded a job with this name
        /// ([`Store::has_run`](crate::Store::has_run)), the commit changes nothing. Without a name,
        /// a repeated commit is recognised by its segments, until a compaction merges them.
        run: impl Into<Option<String>>,
        /// Sets whether the names of the files outside the store are removed after the commit. By
        /// default they are kept; if the files are linked, that takes no space.
        remove: bool,
    }
}

/// The result of [`commit`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SegmentsCommitted {
    /// The generation of the store after the commit.
    pub generation: u64,
    /// The number of added segments.
    pub added: u64,
    /// The number of fingerprints of the added segments.
    pub fingerprints: u64,
    /// The length of the added files in bytes.
    pub file_len: u64,
    /// The number of receipts of segments that the store already had, or that another receipt
    /// describes, too.
    pub repeated: u64,
    /// The number of segments that the store already had with another label or with records deleted
    /// since. They are left unchanged.
    pub differing: u64,
    /// The number of skipped segments without fingerprints.
    pub empty: u64,
    /// The number of added files that were copied, because the system cannot link them into the
    /// store.
    pub copied: u64,
    /// Whether the store had already recorded the run, so that nothing was checked.
    pub known_run: bool,
    /// Whether the tables with whole values have different masks in two segments; then each share
    /// of a join reads the whole store.
    pub tables_differ: bool,
}

/// Adds segment files to the store in the directory `path`, all in one step. Makes the store if it
/// does not exist.
///
/// The segments are added in the order of their paths, whatever the order of the receipts; the ids
/// of a fingerprint have the same order. A segment that the store already has is skipped, even if
/// some of its records were deleted since, or if it has another label: a repeated commit changes
/// nothing and reports that. Files are linked, or copied if the system has no hard links between
/// the two directories; copies are fully verified. Of a linked file only the header is read, which
/// contains a digest of the rest; [`verify`](crate::verify()) reads the whole file.
///
/// # Errors
///
/// * [`Error::InvalidOptions`] if a file does not match its receipt, is in a store, or differs from
///   the others in recipe or sketch length; if there is no receipt; if the label or run is invalid,
///   or the labels of the store are dates of one form and the label is not.
/// * [`Error::Corrupt`], [`Error::UnsupportedVersion`] for a damaged file.
/// * [`Error::Locked`] if another process is writing to the store, or making it.
/// * [`Error::NotAStore`] if `path` is neither missing nor a store.
/// * [`Error::Io`] if a file is missing whose segment the store does not have, or a file operation
///   fails.
///
/// After these errors nothing is changed.
///
/// * [`Error::InEffect`] if a file operation failed after the commit took effect.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// use fpstore::writer::{CommitOptions, commit};
/// use fpstore::{BuildOptions, Builder, Store};
///
/// let mut receipts = Vec::new();
/// for part in 0..4_u64 {
///     // In a task:
///     let path = folder.join(format!("part-{part}.fps"));
///     let mut builder = Builder::segment_file(path, BuildOptions::default())?;
///     builder.push((part << 60).into(), part)?;
///     receipts.push(builder.finish_segment()?);
/// }
/// let path = folder.join("pages.fps");
/// assert_eq!(commit(&path, &receipts, &CommitOptions::default())?.added, 4);
/// assert_eq!(commit(&path, &receipts, &CommitOptions::default())?.repeated, 4);
/// assert_eq!(Store::open(&path)?.info().fingerprint_count(), 4);
/// # Ok(()) }
/// ```
pub fn commit(
    path: impl AsRef<Path>,
    receipts: &[SegmentReceipt],
    options: &CommitOptions,
) -> Result<SegmentsCommitted> {
    check_names(&options.label, options.run.as_deref())?;
    let path = path.as_ref();
    if receipts.is_empty() {
        let reason = format!("there are no segments to commit to {}", path.display());
        return Err(Error::InvalidOptions { reason });
    }
    let mut tries = 0;
    loop {
        tries += 1;
        let mode = match Store::map(path) {
            Ok(_) => OpenMode::Change,
            Err(Error::NoStore { .. } | Error::NotAStore { .. }) => OpenMode::Create,
            Err(error) => return Err(error),
        };
        let patience = Patience::new(options.wait, options.observer.clone());
        match Destination::acquire(path.into(), mode, patience)
            .and_then(|destination| commit_to(destination, receipts, options))
        {
            // Another process made the store meanwhile: try again, as a change of that store.
            Err(Error::StoreExists { .. }) if mode == OpenMode::Create && tries < 3 => {}
            done => return done,
        }
    }
}

fn commit_to(
    destination: Destination,
    receipts: &[SegmentReceipt],
    options: &CommitOptions,
) -> Result<SegmentsCommitted> {
    let store = match destination.mode {
        OpenMode::Change => Some(Store::map(&destination.path)?.snapshot()),
        OpenMode::Create | OpenMode::Replace => None,
    };
    let mut done = SegmentsCommitted::default();
    if let Some(store) = &store {
        done.generation = store.generation();
        if options.run.as_ref().is_some_and(|run| store.runs().contains(run)) {
            done.known_run = true;
            return Ok(done);
        }
    }
    let agreed = Agreed::of(store.as_deref(), receipts, &options.label, &mut done)?;
    if !agreed.new.is_empty() {
        store.as_ref().map_or(Ok(()), |store| check_label(&options.label, store))?;
        let directory = destination.open(None)?;
        let mut segments = Vec::new();
        for receipt in &agreed.new {
            let (segment, is_copy) = place(&directory, receipt, &options.label)?;
            done.copied += u64::from(is_copy);
            segments.push(segment);
        }
        let mut transaction = directory.begin()?;
        let mut entries = transaction.segments().to_vec();
        for segment in segments {
            done.added += 1;
            done.fingerprints += segment.entry.fingerprint_count;
            done.file_len += segment.entry.file_len;
            entries.push(transaction.add_segment(segment, None)?);
        }
        if let Some(run) = &options.run {
            transaction.add_run(run);
        }
        done.generation = transaction.commit(entries)?;
        directory.finish(done.generation)?;
    }
    if options.remove {
        agreed.new.iter().chain(&agreed.present).for_each(|receipt| remove_committed(receipt));
    }
    Ok(done)
}

/// Removes the file of a receipt, unless another run of the task has replaced it. Errors are
/// ignored: a remaining file does no harm.
fn remove_committed(receipt: &SegmentReceipt) {
    if SegmentReceipt::of(&receipt.path).is_ok_and(|found| found == *receipt) {
        let _ = remove_file(&receipt.path);
    }
}

/// The receipts after all checks.
#[derive(Default)]
struct Agreed<'a> {
    /// Receipts of segments to add, sorted by path.
    new: Vec<&'a SegmentReceipt>,
    /// Receipts whose files exist, but whose segments are not added: the store already has them,
    /// gets them from another file, or does not need them because they are empty.
    present: Vec<&'a SegmentReceipt>,
}

impl<'a> Agreed<'a> {
    /// Checks the receipts, and counts in `done` those that are not committed.
    fn of(
        store: Option<&Snapshot>,
        receipts: &'a [SegmentReceipt],
        label: &str,
        done: &mut SegmentsCommitted,
    ) -> Result<Self> {
        let segments = store.map_or([].as_slice(), Snapshot::segments);
        let live: BTreeMap<Counted<[u8; 16]>, &SegmentEntry> =
            segments.iter().map(|open| (Counted(open.entry.digest.bytes()), &open.entry)).collect();
        let mut agreed = Agreed::default();
        let mut sorted: Vec<&SegmentReceipt> = receipts.iter().collect();
        sorted.sort_by(|one, other| one.path.cmp(&other.path));
        let in_store = segments
            .first()
            .map(|open| SegmentReceipt::for_segment(open.segment.path(), &open.segment));
        let mut first = in_store.as_ref();
        let mut seen: BTreeSet<Counted<[u8; 16]>> = BTreeSet::new();
        let mut masks: Option<Vec<u64>> = None;
        for receipt in sorted {
            let known = live.get(&Counted(receipt.digest));
            let is_live = known.is_some();
            done.differing += u64::from(
                known.is_some_and(|known| known.label != label || known.deletions.is_some()),
            );
            let whole_masks = match check_file(receipt) {
                // An earlier commit added the segment and removed the file.
                Err(Error::Io(IoError { source, .. }))
                    if is_live && source.kind() == std::io::ErrorKind::NotFound =>
                {
                    done.repeated += 1;
                    continue;
                }
                checked => checked?,
            };
            check_agreement(first.get_or_insert(receipt), receipt)?;
            if is_live || !seen.insert(Counted(receipt.digest)) {
                done.repeated += 1;
                agreed.present.push(receipt);
                continue;
            }
            if receipt.fingerprint_count == 0 {
                done.empty += 1;
                agreed.present.push(receipt);
                continue;
            }
            done.tables_differ |= *masks.get_or_insert_with(|| whole_masks.clone()) != whole_masks;
            agreed.new.push(receipt);
        }
        // If all segments are empty, a new store gets one of them, because it contains the recipe.
        if segments.is_empty() && agreed.new.is_empty() {
            agreed.new.push(agreed.present.remove(0));
            done.empty -= 1;
        }
        let stored = segments.iter().filter(|open| !open.is_empty());
        for open in stored {
            let of_store = open.segment.header().whole_masks();
            done.tables_differ |=
                masks.as_ref().is_some_and(|masks| !of_store.eq(masks.iter().copied()));
        }
        Ok(agreed)
    }
}

/// Checks that the file of a receipt exists, is in no store, and matches the receipt. Returns the
/// masks of the tables that hold whole values.
fn check_file(receipt: &SegmentReceipt) -> Result<Vec<u64>> {
    let path = &receipt.path;
    let segment = map(path)?;
    let found = SegmentReceipt::for_segment(path, &segment);
    let refuse = |reason: String| Err(Error::InvalidOptions { reason });
    if parent_of(path).join(FILE_NAME).exists() {
        return refuse(format!(
            "{} is part of a store: 'import' takes segments of other stores",
            path.display()
        ));
    }
    if found != *receipt {
        return refuse(format!(
            "{} is not the file of its receipt: it has {} bytes, {} fingerprints and digest \
             {:032x}, the receipt names {}, {} and {:032x}; another run of the task may have \
             replaced it",
            path.display(),
            found.file_len,
            found.fingerprint_count,
            u128::from_be_bytes(found.digest),
            receipt.file_len,
            receipt.fingerprint_count,
            u128::from_be_bytes(receipt.digest),
        ));
    }
    Ok(segment.header().whole_masks().collect())
}

/// Checks that two segments can be in one store.
fn check_agreement(first: &SegmentReceipt, other: &SegmentReceipt) -> Result<()> {
    let refuse = |reason: String| Err(Error::InvalidOptions { reason });
    let [one, path] = [first, other].map(|it| it.path.display().to_string());
    if first.recipe != other.recipe {
        let difference = first.recipe.difference_of(&other.recipe, [&one, &path]);
        return refuse(format!("recipes differ: {difference}; nothing was committed"));
    }
    if first.sketch_len != other.sketch_len {
        return refuse(format!(
            "{path} has sketches of {} bytes and {one} has {} (0: no sketches); nothing was \
             committed",
            other.sketch_len, first.sketch_len
        ));
    }
    Ok(())
}

/// Places the file of a receipt in the directory of the store; returns whether it had to be copied.
fn place(
    directory: &StoreDirectory,
    receipt: &SegmentReceipt,
    label: &str,
) -> Result<(UncommittedSegment, bool)> {
    // The error of a failed link differs between systems; a copy fails with the real cause.
    let (segment, is_copy) = match directory.link_segment(&receipt.path, label) {
        Ok(segment) => (segment, false),
        Err(_) => {
            let mut file = directory.new_segment()?;
            copy_verified(&receipt.path, &mut file)?;
            (file.finish(label)?, true)
        }
    };
    // Another task may have replaced the file after it was checked.
    let found = SegmentReceipt::for_segment(&receipt.path, &map(segment.path())?);
    if found == *receipt {
        return Ok((segment, is_copy));
    }
    let reason = format!("{} was replaced while it was committed", receipt.path.display());
    Err(Error::InvalidOptions { reason })
}

/// The start of a line with a receipt.
const LINE_START: &str = "segment ";
/// The length of a byte order mark and of [`LINE_START`].
const HEAD_LEN: u64 = 3 + LINE_START.len() as u64;

/// Reads the receipts in a file with one receipt per line, or makes the receipt of a segment file.
///
/// # Errors
///
/// * [`Error::Io`] if the file cannot be read.
/// * [`Error::InvalidOptions`] with the number of the line for an invalid receipt, and for an empty
///   file.
/// * The errors of [`SegmentReceipt::of`].
pub fn read_receipts(path: impl AsRef<Path>) -> Result<Vec<SegmentReceipt>> {
    let path = path.as_ref();
    let no_segment = match SegmentReceipt::of(path) {
        Ok(receipt) => return Ok(vec![receipt]),
        Err(error @ Error::Io { .. }) => return Err(error),
        Err(error) => error,
    };
    let mut file = File::open(path).map_err(Error::io("open", path))?;
    let mut head = Vec::new();
    let failed = |fault| Error::io("read", path)(fault);
    file.by_ref().take(HEAD_LEN).read_to_end(&mut head).map_err(failed)?;
    // Only a file that starts like a list is read as a whole: any other file may be large.
    let text = match lists::text_of(&*head) {
        Ok(text) if text.is_empty() || text.starts_with('#') || text.starts_with(LINE_START) => {
            lists::text_of(head.chain(file)).map_err(failed)?
        }
        _ => return Err(no_segment),
    };
    let receipt = |(line, text): (u64, &str)| {
        text.parse::<SegmentReceipt>().map_err(|error| Error::InvalidOptions {
            reason: format!("{}: line {line}: {error}", path.display()),
        })
    };
    let receipts: Vec<SegmentReceipt> = lists::rows(&text).map(receipt).collect::<Result<_>>()?;
    if receipts.is_empty() {
        // A killed task leaves an empty file. Without an error its part would be missing silently.
        let reason = format!("{} holds no receipt: its task failed", path.display());
        return Err(Error::InvalidOptions { reason });
    }
    Ok(receipts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BuildOptions, Builder};
    use fpstore_base::Fingerprint;

    fn part(path: &Path, value: u64) -> SegmentReceipt {
        let options = BuildOptions::default().replace(true).threads(1);
        let mut builder = Builder::segment_file(path, options).unwrap();
        builder.push(Fingerprint::new(value), value).unwrap();
        builder.finish_segment().unwrap()
    }

    /// A repeated task replaces its file between the check and the link.
    #[test]
    fn a_file_that_is_replaced_after_its_check_is_not_committed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, store) = (folder.path().join("part.fps"), folder.path().join("store.fps"));
        drop(Builder::new(&store).unwrap().finish().unwrap());
        let receipt = part(&path, 1);
        check_file(&receipt).unwrap();
        let patience = Patience::default();
        let destination = Destination::acquire(store, OpenMode::Change, patience).unwrap();
        let directory = destination.open(None).unwrap();
        assert!(place(&directory, &receipt, "").is_ok());
        let other = part(&path, 2);
        let refused = place(&directory, &receipt, "").unwrap_err().to_string();
        assert!(refused.ends_with("part.fps was replaced while it was committed"), "{refused}");
        assert!(place(&directory, &other, "").is_ok());
    }

    /// A repeated task replaces its file between the commit and the removal.
    #[test]
    fn a_file_that_is_replaced_after_its_commit_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, store) = (folder.path().join("part.fps"), folder.path().join("store.fps"));
        let receipt = part(&path, 1);
        commit(&store, std::slice::from_ref(&receipt), &CommitOptions::default()).unwrap();
        let other = part(&path, 2);
        remove_committed(&receipt);
        assert_eq!(SegmentReceipt::of(&path).unwrap(), other);
        remove_committed(&other);
        assert!(!path.exists());
        remove_committed(&other);
    }
}
