//! Gives the fuzz targets in tools/fuzz access to private code. Only built with `--cfg fuzzing`.
#![allow(missing_docs, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use crate::bytes::checksum::Digest;
use crate::format::deletions::{self, Deletions};
use crate::format::manifest::Manifest;

/// Checks that the search kernels of this processor find the same heads as a loop over single gaps.
pub fn kernels(bytes: &[u8]) {
    crate::search::check_kernels(bytes);
}

/// Parses a manifest, and checks that encoding it yields the same bytes. Returns whether it is
/// valid.
pub fn manifest(bytes: &[u8]) -> bool {
    let read = Manifest::read(bytes);
    if let Ok(manifest) = &read {
        assert_eq!(manifest.encode(), bytes);
    }
    read.is_ok()
}

/// Parses a deletion file for the first segment with deletions in a manifest, and checks that
/// encoding it yields the same bytes. Returns a manifest with the file, and the file name.
pub fn deletions(bytes: &[u8], manifest: &[u8]) -> Option<(Vec<u8>, String)> {
    let mut manifest = Manifest::read(manifest).unwrap();
    let entry = manifest.segments.iter_mut().find(|entry| entry.deletions.is_some())?;
    let read = Deletions::read(bytes, entry.digest, entry.fingerprint_count).ok()?;
    assert_eq!(read.encode(entry.digest), bytes);
    let of = entry.deletions.as_mut()?;
    of.digest = Digest::of(bytes);
    of.fingerprint_count = read.fingerprint_count();
    of.id_count = read.id_count();
    let name = deletions::file_name(of.number);
    Some((manifest.encode(), name))
}
