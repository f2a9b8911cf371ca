//! Repair: writes a manifest of the sound segments next to the manifest of the damaged store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::base::error::{Error, Result};
use crate::base::id_policy::IdPolicy;
use crate::base::steps::Counted;
use crate::format::manifest::{SegmentEntry, segment_number};
use crate::search::snapshot::{OpenSegment, read_manifest_bytes};
use crate::segment::access::Access;
use crate::segment::map;
use crate::store::verify::{DamagedSegment, VerifyReport, faults_of};
use crate::writing::builder::RecordBuffer;
use crate::writing::directory::{
    Destination, OpenMode, Patience, StoreDirectory, UncommittedSegment, Waiting,
};
use crate::writing::sort::SortResources;
use crate::writing::writer::salvage::{Salvaged, push_readable};
use crate::writing::writer::scheme::scheme_of;
use fpstore_base::Resources;
use fpstore_disk::names_in;

/// The result of [`repair`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// The manifest that lists only the sound segments. `None` if there is nothing to repair or
    /// nothing to keep, or if the old manifest is damaged, because then the live segments are
    /// unknown.
    pub manifest: Option<PathBuf>,
    /// The files of the kept segments, oldest first.
    pub kept: Vec<PathBuf>,
    /// The number of fingerprints of the kept segments, deleted ones included.
    pub fingerprint_count: u64,
    /// The damaged segments that can be opened: a new segment with the readable records replaces
    /// each. Other damaged segments are dropped entirely.
    pub salvaged: Vec<Salvaged>,
}

/// Writes a manifest of the sound parts of a damaged store, as `MANIFEST.repaired` next to the
/// damaged one. The store itself is unchanged until the file is renamed to `MANIFEST`;
/// [`VerifyReport::damaged`] lists the parts that are missing from then on. The next change of the
/// store removes an unused repaired manifest, because it would undo the change.
///
/// A segment that is damaged outside its header area is replaced by a new one with every record on
/// a sound page: values from any table that contains them, and readable ids. [`Repair::salvaged`]
/// counts the losses. If only the deletions of a segment are damaged, it is kept without them, and
/// its deleted records reappear. Needs 16 bytes of memory for each fingerprint of a segment without
/// an intact table of whole values. If the manifest is damaged, nothing is written, and the sound
/// segment files in the directory are returned: [`Writer::import`](crate::Writer::import) can
/// import them into another store.
///
/// Waits at most `wait` for another process that writes to the store.
///
/// # Errors
///
/// * [`Error::Locked`] if another process is writing to the store, [`Error::InvalidOptions`] if the
///   store changed after it was verified.
/// * [`Error::Io`] if the file cannot be written.
///
/// # Examples
///
/// ```no_run
/// use std::time::Duration;
///
/// let report = fpstore::verify("pages.fps", &fpstore::VerifyOptions::default())?;
/// if !report.is_sound() {
///     let repair = fpstore::writer::repair(&report, Duration::ZERO)?;
///     println!("{} segments can be kept", repair.kept.len());
/// }
/// # Ok::<(), fpstore::Error>(())
/// ```
pub fn repair(report: &VerifyReport, wait: impl Into<Waiting>) -> Result<Repair> {
    let Some(manifest) = &report.manifest else { return sound_files(report) };
    let path = &report.path;
    let damaged: Damaged<'_> = report.damaged.iter().map(|of| (Counted(of.number), of)).collect();
    let mut done = Repair::default();
    let mut kept: Vec<SegmentEntry> = Vec::new();
    if report.damaged.is_empty() {
        kept.extend(manifest.segments.iter().cloned());
        note_kept(&mut done, path, &kept);
        return Ok(done);
    }
    let patience = Patience::new(wait.into(), None);
    let directory = Destination::acquire(path.clone(), OpenMode::Change, patience)?.open(None)?;
    let mut transaction = directory.begin()?;
    if read_manifest_bytes(path)? != report.manifest_bytes {
        let reason = format!("{} was changed after it was verified; verify again", path.display());
        return Err(Error::InvalidOptions { reason });
    }
    for entry in &manifest.segments {
        match damaged.get(&Counted(entry.number)) {
            None => kept.push(entry.clone()),
            Some(damaged) if damaged.deletions_only.is_some() => {
                kept.push(SegmentEntry { deletions: None, ..entry.clone() });
            }
            Some(_) => {
                let Some((segment, salvaged)) = salvage(path, entry, &directory)? else { continue };
                done.salvaged.push(salvaged);
                kept.extend(segment.map(|it| transaction.add_segment(it, None)).transpose()?);
            }
        }
    }
    note_kept(&mut done, path, &kept);
    if !kept.is_empty() {
        done.manifest = Some(transaction.set_aside(kept)?);
    }
    Ok(done)
}

fn note_kept(done: &mut Repair, path: &Path, kept: &[SegmentEntry]) {
    done.kept = kept.iter().map(|entry| path.join(entry.file_name())).collect();
    done.fingerprint_count = kept.iter().map(|entry| entry.fingerprint_count).sum();
}

/// Writes the readable records of a damaged segment as a new segment, if there are any. `None` if
/// the segment cannot be opened.
fn salvage(
    path: &Path,
    entry: &SegmentEntry,
    directory: &StoreDirectory,
) -> Result<Option<(Option<UncommittedSegment>, Salvaged)>> {
    let bare = || SegmentEntry { deletions: None, ..entry.clone() };
    let opened = OpenSegment::open(path, entry, Access::Map);
    // Damaged deletions are lost: the deleted records reappear.
    let Ok(open) = opened.or_else(|_| OpenSegment::open(path, &bare(), Access::Map)) else {
        return Ok(None);
    };
    let header = open.segment.header();
    let resources = SortResources::of(&Resources::default(), || path.to_path_buf())?;
    let mut records = RecordBuffer::new(IdPolicy::Auto, header.sketch_len, &resources, None);
    let salvaged = push_readable(&open, &mut records, &resources)?;
    if salvaged.kept == 0 {
        return Ok(Some((None, salvaged)));
    }
    let scheme = scheme_of(header)?;
    let mut build = records.sort(|_| Ok(scheme.clone()))?;
    let segment = build.write(directory.new_segment()?, open.segment.recipe(), &entry.label)?;
    Ok(Some((Some(segment), salvaged)))
}

/// The damaged segments, by their numbers.
type Damaged<'a> = BTreeMap<Counted<u64>, &'a DamagedSegment>;

/// The segment files without faults in the directory of a store.
fn sound_files(report: &VerifyReport) -> Result<Repair> {
    let mut done = Repair::default();
    let mut names = names_in(&report.path)?;
    names.sort_unstable();
    for name in names.iter().filter(|name| segment_number(name).is_some()) {
        let path = report.path.join(name);
        if let Ok(segment) = map(&path)
            && faults_of(&segment).is_empty()
        {
            done.fingerprint_count += segment.header().fingerprint_count;
            done.kept.push(path);
        }
    }
    Ok(done)
}
