//! Verifying a store: every rule of the format, every checksum, and samples of queries.

mod deletions;
mod index;
mod sample;
mod segment;

use std::path::Path;

use crate::error::{Error, Result};
#[cfg(feature = "build")]
use crate::segment::Mapped;
use crate::store::{OpenSegment, Snapshot, Store, parse_manifest, read_manifest_bytes};

/// How often to begin anew when a writer replaces segments under way.
const TRIES: u32 = 5;

/// What [`verify`] found.
#[derive(Debug, Default)]
#[non_exhaustive]
#[must_use = "damage is reported here, not as an error"]
pub struct VerifyReport {
    /// Segments looked at.
    pub segment_count: u64,
    /// Pages whose checksum was compared.
    pub page_count: u64,
    /// Values decoded, over all tables.
    pub value_count: u64,
    /// Sample queries that were compared with a scan.
    pub sample_count: u64,
    /// What is wrong, in the order in which it was found. Empty for a sound store.
    pub faults: Vec<Error>,
}

impl VerifyReport {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Checks the store in the directory `path` against every rule of format-spec.md: all
/// checksums, all tables, that all tables of a segment hold the same set, ids, padding.
///
/// Then asks `sample_count` queries for the tuned distance, stored fingerprints, stored ones
/// with flipped bits, and others, and compares the answers with a scan; only if the store was
/// found sound so far.
///
/// Takes a pass over every table, and a scan that compares every fingerprint with every sample.
///
/// # Errors
///
/// What keeps it from looking at all: [`Error::NoStore`], [`Error::NotAStore`], a manifest of
/// another version ([`Error::UnsupportedVersion`]), [`Error::Io`]. Damage is not an error but in
/// the report; so is a segment of a version that is not known, since a damaged one looks so.
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

/// Every fault of one segment.
#[cfg(feature = "build")]
pub(crate) fn faults_of(segment: &Mapped) -> Vec<Error> {
    let mut report = VerifyReport::default();
    segment::verify(segment, &mut report);
    report.faults
}

/// `None` if a writer replaced the segments that were about to be looked at.
fn try_verify(path: &Path, sample_count: u64) -> Result<Option<VerifyReport>> {
    let mut report = VerifyReport::default();
    let bytes = read_manifest_bytes(path)?;
    let live = match parse_manifest(path, &bytes) {
        Err(fault @ Error::Corrupt { .. }) => {
            report.faults.push(fault);
            return Ok(Some(report));
        }
        read => read?,
    };
    // All are opened before any is looked at: what is open stays, whatever a writer removes.
    let mut opened: Vec<OpenSegment> = Vec::new();
    for entry in &live.segments {
        report.segment_count += 1;
        match OpenSegment::open(path, entry) {
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
        let store = Store::of(Snapshot::new(path, &live, &bytes, opened));
        if let Err(fault) = sample::verify(&store, sample_count, &mut report) {
            report.faults.push(fault);
        }
    }
    Ok(Some(report))
}
