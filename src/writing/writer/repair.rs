//! Repair: a manifest of the sound segments, beside that of a damaged store.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::base::error::{Error, Result};
use crate::base::steps::Counted;
use crate::disk::names_in;
use crate::format::manifest::{SegmentEntry, segment_number};
use crate::search::snapshot::read_manifest_bytes;
use crate::segment::map;
use crate::store::verify::{DamagedSegment, VerifyReport, faults_of};
use crate::writing::directory::{Destination, OpenMode, Patience, Waiting};

/// What [`repair`] could save.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// The manifest that names the sound segments alone. `None` if there is nothing to repair, or
    /// nothing to keep, or if the old manifest is damaged, because then nothing says which
    /// segments are live.
    pub manifest: Option<PathBuf>,
    /// The files of the segments that are kept, oldest first.
    pub kept: Vec<PathBuf>,
    /// Their fingerprints, deleted ones included.
    pub fingerprint_count: u64,
}

/// Writes a manifest that names the sound segments of a damaged store alone, as `MANIFEST.repaired`
/// beside the damaged one. The store itself stays as it is until the file is given the name
/// `MANIFEST`; [`VerifyReport::damaged`] says what is missing from then on. The next change of the
/// store removes a repaired manifest that was not used, because it would undo the change.
///
/// A segment whose deletions alone are damaged is kept without them: its deleted records come back.
/// One that is damaged in tables alone, and has all values in another one, is kept as it is:
/// [`Compaction::Rewrite`](crate::writer::Compaction::Rewrite) then makes it whole.
/// Where the manifest is damaged, nothing is written, and the sound segment files in the directory
/// are returned: [`Writer::import`](crate::Writer::import) takes them into another store.
///
/// Waits at most `wait` for another process that writes to the store.
///
/// # Errors
///
/// * [`Error::Locked`] if another process is writing to the store, [`Error::InvalidOptions`] if the
///   store was changed after it was verified.
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
    let kept: Vec<SegmentEntry> =
        manifest.segments.iter().filter_map(|entry| keep(&damaged, entry)).collect();
    let mut done = Repair {
        manifest: None,
        kept: kept.iter().map(|entry| path.join(entry.file_name())).collect(),
        fingerprint_count: kept.iter().map(|entry| entry.fingerprint_count).sum(),
    };
    if report.damaged.is_empty() || kept.is_empty() {
        return Ok(done);
    }
    let patience = Patience::new(wait.into(), None);
    let directory = Destination::acquire(path.clone(), OpenMode::Change, patience)?.open(None)?;
    let transaction = directory.begin()?;
    if read_manifest_bytes(path)? != report.manifest_bytes {
        let reason = format!("{} was changed after it was verified; verify again", path.display());
        return Err(Error::InvalidOptions { reason });
    }
    done.manifest = Some(transaction.set_aside(kept)?);
    Ok(done)
}

/// The damaged segments by their numbers.
type Damaged<'a> = BTreeMap<Counted<u64>, &'a DamagedSegment>;

/// The entry of a segment that is kept.
fn keep(damaged: &Damaged<'_>, entry: &SegmentEntry) -> Option<SegmentEntry> {
    match damaged.get(&Counted(entry.number)) {
        None => Some(entry.clone()),
        Some(damaged) if damaged.deletions_only.is_some() => {
            Some(SegmentEntry { deletions: None, ..entry.clone() })
        }
        // A table of it has all values.
        Some(damaged) if damaged.is_rebuildable => Some(entry.clone()),
        Some(_) => None,
    }
}

/// The segment files in a directory that have no faults.
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
