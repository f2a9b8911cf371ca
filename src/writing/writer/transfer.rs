//! Export: copying segments to a new store. Also verified copies, used by import and commit.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::lasting_state::with_lasting_state;
use crate::base::error::{Error, Result};
use crate::format::manifest;
use crate::search::snapshot::{OpenSegment, Snapshot};
use crate::segment::{map, open_file};
use crate::store::Store;
use crate::store::verify::faults_of;
use crate::writing::directory::{
    Patience, SegmentFile, StoreDirectory, check_output, random_store_id, reserve,
};

/// The result of [`export`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exported {
    /// The directory of the new store.
    pub path: PathBuf,
    /// The segment files of the new store, oldest first.
    pub files: Vec<PathBuf>,
    /// The length of these files in bytes.
    pub file_len: u64,
    /// The number of segments with a deletion file.
    pub with_deletions: u64,
}

fn copy(from: &Path, to: &mut SegmentFile) -> Result<()> {
    let mut file = open_file(from)?;
    io::copy(&mut file, to).and_then(|_| to.flush()).map_err(Error::io("copy", from))
}

/// Copies a segment and fully verifies the copy.
pub(super) fn copy_verified(from: &Path, to: &mut SegmentFile) -> Result<()> {
    copy(from, to)?;
    check_copy(from, to)
}

/// Fully verifies a copy of the segment at `from`.
pub(super) fn check_copy(from: &Path, to: &SegmentFile) -> Result<()> {
    let faults = faults_of(&map(to.temporary_path())?);
    match faults.into_iter().next() {
        // The copy will be removed, so the error names the original.
        Some(Error::Corrupt { section, offset, fault, .. }) => {
            Err(Error::Corrupt { path: from.into(), section, offset, fault })
        }
        Some(fault) => Err(fault),
        None => Ok(()),
    }
}

/// Copies segments of a store, with labels and deletions, to a new store in the directory `to`,
/// which must be missing or empty. The new store can be imported as a whole. Its segment files can
/// also be imported one by one, without their deletions. `segment` selects one segment by number;
/// without it, all segments are copied. If a writer removes segments meanwhile, a later snapshot
/// than the one in `store` is copied.
///
/// # Errors
///
/// * [`Error::StoreExists`] if `to` is neither missing nor an empty directory.
/// * [`Error::InvalidOptions`] if there is no such segment.
/// * [`Error::Io`] if a file operation fails. Then no new store is made.
/// * [`Error::InEffect`] if a file operation failed after the export took effect.
///
/// # Examples
///
/// ```no_run
/// let store = fpstore::Store::open("pages.fps")?;
/// fpstore::writer::export(&store, "shipped.fps", None)?;
/// # Ok::<(), fpstore::Error>(())
/// ```
pub fn export(store: &Store, to: impl AsRef<Path>, segment: Option<u64>) -> Result<Exported> {
    with_lasting_state(store, |snapshot| export_state(snapshot, to.as_ref(), segment, false))
}

/// Like [`export`], but with hard links instead of copies: the new store takes no space and is made
/// in milliseconds, for long work that needs an unchanged snapshot while the store changes.
///
/// The two stores share the bytes of their segments, which no writer ever changes. A segment takes
/// space until it is removed from both stores.
///
/// # Errors
///
/// The errors of [`export`], and [`Error::Io`] if the system cannot link files between the two
/// directories, for example on two file systems.
pub fn export_linked(
    store: &Store,
    to: impl AsRef<Path>,
    segment: Option<u64>,
) -> Result<Exported> {
    with_lasting_state(store, |snapshot| export_state(snapshot, to.as_ref(), segment, true))
}

fn export_state(
    snapshot: &Snapshot,
    to: &Path,
    segment: Option<u64>,
    link: bool,
) -> Result<Exported> {
    let wanted = |open: &&OpenSegment| segment.is_none_or(|number| open.entry.number == number);
    let chosen: Vec<&OpenSegment> = snapshot.segments().iter().filter(wanted).collect();
    if let (Some(number), []) = (segment, chosen.as_slice()) {
        let numbers = snapshot.segments().iter().map(|open| open.entry.number.to_string());
        let numbers: Vec<String> = numbers.collect();
        let known = numbers.join(", ");
        let reason = format!("there is no segment {number}; existing segments: {known}");
        return Err(Error::InvalidOptions { reason });
    }
    check_output(to)?;
    let is_empty = std::fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_none());
    if to.join(manifest::FILE_NAME).exists() || (to.exists() && !is_empty) {
        return Err(Error::StoreExists { path: to.into() });
    }
    let mut done = Exported { path: to.into(), ..Exported::default() };
    let reservation = reserve(to, &Patience::default())?;
    let directory = StoreDirectory::stage(to, random_store_id()?, reservation)?;
    let mut transaction = directory.begin()?;
    let mut segments = Vec::new();
    for open in &chosen {
        let (from, label) = (open.segment.path(), &open.entry.label);
        let copied = if link {
            directory.link_segment(from, label)?
        } else {
            let mut file = directory.new_segment()?;
            copy(from, &mut file)?;
            file.finish(label)?
        };
        let entry = transaction.add_segment(copied, open.deleted.as_deref())?;
        done.files.push(to.join(entry.file_name()));
        done.file_len += entry.file_len;
        done.with_deletions += u64::from(entry.deletions.is_some());
        segments.push(entry);
    }
    let generation = transaction.commit(segments)?;
    directory.finish(generation)?;
    Ok(done)
}
