//! Verifying a store: every rule of the format, every checksum, and sample queries.
//!
//! Called by users and by the program; the writer calls `faults_of` for imported segments. Each
//! file verifies one part: a segment, its prefix indexes, its deletions, its answers. Faults are
//! collected in the report, so that one fault does not hide the others. Nothing is repaired.

mod deletions;
mod index;
mod sample;
mod segment;

use std::path::Path;

use crate::access::Access;
use crate::error::{Error, Result};
use crate::segment::Segment;
use crate::snapshot::{OpenSegment, Snapshot, parse_manifest, read_manifest_bytes};
use crate::store::Store;

/// The number of attempts to verify while a writer replaces segments.
const TRIES: u32 = 5;

/// The result of [`verify`].
#[derive(Debug, Default)]
#[non_exhaustive]
#[must_use = "damage is reported here, not as an error"]
pub struct VerifyReport {
    /// Segments verified.
    pub segment_count: u64,
    /// Pages whose checksums were compared.
    pub page_count: u64,
    /// Values decoded, in all tables.
    pub value_count: u64,
    /// Sample queries whose answers were compared with a scan.
    pub sample_count: u64,
    /// All faults, in the order in which they were found. Empty for a sound store.
    pub faults: Vec<Error>,
}

impl VerifyReport {
    /// Whether no fault was found.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Checks the store in the directory `path` against every rule of format-spec.md: checksums,
/// tables, that all tables of a segment hold the same set, ids, padding.
///
/// If there is no fault, it then runs `sample_count` queries for the tuned distance and compares
/// the answers with a scan. The queries are stored fingerprints, stored ones with flipped bits,
/// and random ones.
///
/// Takes one pass over every table, and a scan that compares every fingerprint with every sample.
///
/// # Errors
///
/// Everything that prevents verification: [`Error::NoStore`], [`Error::NotAStore`], a manifest of
/// another version ([`Error::UnsupportedVersion`]), [`Error::Io`]. Damage is not an error; it is in
/// the report. So is a segment of an unknown version, because a damaged segment looks like that.
///
/// # Examples
///
/// ```no_run
/// let report = fpstore::verify("pages.fps", 100)?;
/// for fault in &report.faults {
///     eprintln!("{fault}");
/// }
/// # Ok::<(), fpstore::Error>(())
/// ```
pub fn verify(path: impl AsRef<Path>, sample_count: u64) -> Result<VerifyReport> {
    let path = path.as_ref();
    for _ in 1..TRIES {
        if let Some(report) = try_verify(path, sample_count)? {
            return Ok(report);
        }
    }
    try_verify(path, sample_count)?
        .ok_or_else(|| Error::Locked { path: path.into(), process: None })
}

/// All faults of one segment.
pub(crate) fn faults_of(segment: &Segment) -> Vec<Error> {
    let mut report = VerifyReport::default();
    segment::verify(segment, &mut report);
    report.faults
}

/// The report; `None` if a writer replaced segments before they could be opened.
fn try_verify(path: &Path, sample_count: u64) -> Result<Option<VerifyReport>> {
    let mut report = VerifyReport::default();
    let bytes = match read_manifest_bytes(path) {
        Err(fault @ Error::Corrupt { .. }) => {
            report.faults.push(fault);
            return Ok(Some(report));
        }
        read => read?,
    };
    let live = match parse_manifest(path, &bytes) {
        Err(fault @ Error::Corrupt { .. }) => {
            report.faults.push(fault);
            return Ok(Some(report));
        }
        read => read?,
    };
    // All segments are opened first: an open segment stays readable when a writer removes it.
    let mut opened: Vec<OpenSegment> = Vec::new();
    for entry in &live.segments {
        report.segment_count += 1;
        match OpenSegment::open(path, entry, Access::Map) {
            Ok(open) => opened.push(open),
            Err(refused @ Error::Io { .. }) => return Err(refused),
            Err(fault) => report.faults.push(fault),
        }
    }
    if !report.is_sound() && read_manifest_bytes(path).is_ok_and(|now| now != bytes) {
        return Ok(None);
    }
    for open in &opened {
        let before = report.faults.len();
        segment::verify(&open.segment, &mut report);
        if report.faults.len() == before {
            report.faults.extend(deletions::verify(open).err());
        }
    }
    for pair in opened.windows(2) {
        if let [one, next] = pair {
            report.faults.extend(next.segment.check_recipe(one.segment.recipe()).err());
        }
    }
    if report.is_sound() && sample_count > 0 {
        let store = Store::of(Snapshot::new(path, Access::Map, &live, &bytes, opened));
        if let Err(fault) = sample::verify(&store, sample_count, &mut report) {
            report.faults.push(fault);
        }
    }
    Ok(Some(report))
}
