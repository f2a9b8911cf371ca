//! Verifying a store: every rule of the format, every checksum, and samples of queries.

mod index;
mod sample;
mod segment;

use std::path::{Path, PathBuf};

use crate::error::{Error, Fault, Result};
use crate::format::manifest::{self, SegmentEntry};
use crate::section::Section;
use crate::segment::{Mapped, map};
use crate::store::{Store, read_manifest};

/// What [`verify`] found.
#[derive(Debug, Default)]
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
/// What keeps it from looking at all: [`Error::NoStore`], [`Error::NotAStore`],
/// [`Error::UnsupportedVersion`], [`Error::Io`]. Damage is not an error but in the report.
pub fn verify(path: impl AsRef<Path>, sample_count: u64) -> Result<VerifyReport> {
    let path = path.as_ref();
    let mut report = VerifyReport::default();
    let live = match read_manifest(path) {
        Err(fault @ Error::Corrupt { .. }) => {
            report.faults.push(fault);
            return Ok(report);
        }
        read => read?,
    };
    let mut first: Option<Mapped> = None;
    for entry in &live.segments {
        report.segment_count += 1;
        match open_segment(path, entry) {
            Err(fault @ (Error::Corrupt { .. } | Error::RecipeMismatch { .. })) => {
                report.faults.push(fault);
            }
            opened => {
                let opened = opened?;
                segment::verify(&opened, &mut report);
                match &first {
                    Some(first) if first.recipe() != opened.recipe() => {
                        let (store, given) = (first.recipe().clone(), opened.recipe().clone());
                        report.faults.push(Error::RecipeMismatch { store, given });
                    }
                    Some(_) => {}
                    None => first = Some(opened),
                }
            }
        }
    }
    if report.is_sound() && sample_count > 0 {
        sample::verify(&Store::open(path)?, sample_count, &mut report)?;
    }
    Ok(report)
}

/// Opens a segment; one that is missing is damage to the store.
fn open_segment(path: &Path, entry: &SegmentEntry) -> Result<Mapped> {
    let file: PathBuf = path.join(entry.file_name());
    if !file.exists() {
        let fault = Fault::rule(23, format!("it names {}, which is missing", entry.file_name()));
        let (path, section) = (path.join(manifest::FILE_NAME), Section::Manifest);
        return Err(Error::Corrupt { path, section, offset: 0, fault });
    }
    let segment = map(&file)?;
    segment.check_entry(entry)?;
    Ok(segment)
}
