//! Verifying a store: every rule of the format, every checksum, and sample queries.
//!
//! Called by users and by the program; the writer calls `faults_of` for imported segments and uses
//! the report for repairs. Each module verifies one part: a segment, its prefix indexes, its
//! tables, its ids, its deletions, the answers. Faults are collected in the report, so that one
//! fault does not hide the others. Nothing is written.

mod deletions;
mod ids;
mod index;
mod pace;
mod report;
mod sample;
mod segment;
mod table;
#[cfg(all(test, unix))]
mod tests;

use std::path::Path;

use crate::base::error::{Error, Result};
use crate::format::manifest::SegmentEntry;
use crate::search::snapshot::{OpenSegment, Snapshot, parse_manifest, read_manifest_bytes};
use crate::segment::Segment;
use crate::segment::access::Access;
use crate::store::Store;
use fpstore_disk::plain_file;
use pace::Pace;
pub use pace::VerifyOptions;
use report::is_rebuildable;

pub use report::{DamagedSegment, VerifyReport};

/// The maximum number of attempts if a writer replaces segments during the verification.
const TRIES: u32 = 5;

/// Checks the store in the directory `path` against every rule of format-spec.md: checksums,
/// tables, the equality of the sets in all tables of a segment, ids, padding.
///
/// If there is no fault, it then runs [`VerifyOptions::samples`] queries for the tuned distance and
/// compares the answers with a scan. The queries are stored fingerprints, stored fingerprints with
/// flipped bits, and random ones.
///
/// Each file is first read from front to back, so that an unreadable page is a fault of its
/// segment. One pass over every page and every table follows, and a scan that compares every
/// fingerprint with every sample.
///
/// # Errors
///
/// Everything that prevents verification: [`Error::NoStore`], [`Error::NotAStore`], a manifest of
/// another version ([`Error::UnsupportedVersion`]), [`Error::Io`] if a file cannot be opened,
/// [`Error::Interrupted`] if the observer ends the work. Damage is not an error; it is in the
/// report. A segment of an unknown version is in the report, too, because damage can change the
/// version number.
///
/// # Examples
///
/// ```no_run
/// let report = fpstore::verify("pages.fps", &fpstore::VerifyOptions::default())?;
/// for fault in &report.faults {
///     eprintln!("{fault}");
/// }
/// # Ok::<(), fpstore::Error>(())
/// ```
pub fn verify(path: impl AsRef<Path>, options: &VerifyOptions) -> Result<VerifyReport> {
    let path = path.as_ref();
    for _ in 1..TRIES {
        if let Some(report) = try_verify(path, options)? {
            return Ok(report);
        }
    }
    try_verify(path, options)?.ok_or_else(|| Error::Locked { path: path.into(), process: None })
}

/// All faults of one segment.
pub(crate) fn faults_of(segment: &Segment) -> Vec<Error> {
    let mut report = VerifyReport::default();
    let ended = Pace::new(&VerifyOptions::default(), 0)
        .and_then(|pace| segment::verify(segment, &mut report, &pace));
    report.faults.extend(ended.err());
    report.faults
}

/// Verifies a store once. `None` if a writer replaced segments before they could be opened.
fn try_verify(path: &Path, options: &VerifyOptions) -> Result<Option<VerifyReport>> {
    let mut report = VerifyReport { path: path.into(), ..VerifyReport::default() };
    let parsed = read_manifest_bytes(path).and_then(|bytes| {
        report.manifest_bytes = bytes;
        parse_manifest(path, &report.manifest_bytes)
    });
    let live = match parsed {
        Err(fault @ Error::Corrupt { .. }) => {
            report.faults.push(fault);
            return Ok(Some(report));
        }
        parsed => parsed?,
    };
    let len = live.segments.iter().fold(0, |sum: u64, of| sum.saturating_add(of.file_len));
    let pace = Pace::new(options, len)?;
    // All segments are opened first: an open segment remains readable when a writer removes it.
    let mut opened: Vec<Opened> = Vec::new();
    for entry in &live.segments {
        report.segment_count += 1;
        opened.push(open(path, entry, &mut report, &pace)?);
    }
    if !report.is_sound() && read_manifest_bytes(path).is_ok_and(|now| now != report.manifest_bytes)
    {
        return Ok(None);
    }
    let mut sound: Vec<OpenSegment> = Vec::new();
    for (entry, opened) in live.segments.iter().zip(opened) {
        let Some(open) = opened.segment else {
            report.damaged.push(DamagedSegment::of(path, entry, false));
            continue;
        };
        let before = report.faults.len();
        segment::verify(&open.segment, &mut report, &pace)?;
        if let Some(first) = sound.first() {
            report.faults.extend(open.segment.check_recipe(first.segment.recipe()).err());
        }
        if report.faults.len() > before {
            let is_rebuildable = is_rebuildable(&open.segment, &report.faults[before..])
                && deletions::verify(&open).is_ok();
            let damaged = DamagedSegment::of(path, entry, false);
            report.damaged.push(DamagedSegment { is_rebuildable, ..damaged });
            continue;
        }
        report.faults.extend(deletions::verify(&open).err());
        if opened.lost_deletions || report.faults.len() > before {
            report.damaged.push(DamagedSegment::of(path, entry, true));
        }
        sound.push(open);
    }
    if report.is_sound() && options.samples > 0 {
        let bytes = &report.manifest_bytes;
        let store = Store::of(Snapshot::new(path, Access::Map, live.clone(), bytes, sound));
        match sample::verify(&store, options.samples, &mut report, &pace) {
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            checked => report.faults.extend(checked.err()),
        }
    }
    report.manifest = Some(live);
    Ok(Some(report))
}

/// A segment listed in the manifest.
struct Opened {
    /// `None` if the segment cannot be opened.
    segment: Option<OpenSegment>,
    /// Whether the deletions are unreadable, so that the segment is open without them.
    lost_deletions: bool,
}

/// Opens a segment if it is readable and valid; adds the faults to the report.
fn open(
    path: &Path,
    entry: &SegmentEntry,
    report: &mut VerifyReport,
    pace: &Pace,
) -> Result<Opened> {
    let file_path = path.join(entry.file_name());
    // A file that cannot be opened is reported when the segment is opened.
    if let Ok(file) = plain_file::open(&file_path) {
        match segment::readable(file, &file_path, pace) {
            Ok(()) => {}
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(fault) => {
                report.faults.push(fault);
                return Ok(Opened { segment: None, lost_deletions: false });
            }
        }
    }
    let fault = match OpenSegment::open(path, entry, Access::Map) {
        Ok(open) => return Ok(Opened { segment: Some(open), lost_deletions: false }),
        Err(refused @ Error::Io { .. }) => return Err(refused),
        Err(fault) => fault,
    };
    report.faults.push(fault);
    let bare = SegmentEntry { deletions: None, ..entry.clone() };
    let without = || OpenSegment::open(path, &bare, Access::Map).ok();
    Ok(Opened { segment: entry.deletions.and_then(|_| without()), lost_deletions: true })
}
