//! The deletion file of a segment, as named by the manifest.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::base::error::{Error, Fault, IoError, Result};
use crate::base::section::Section;
use crate::bytes::checksum::Digest;
use crate::format::deletions::{self, Deletions};
use crate::format::header::Header;
use crate::format::manifest::{self, SegmentEntry};
use crate::segment::open_plain_file;

/// The error for a missing file that the manifest names: the store is corrupt.
pub(super) fn missing(error: Error, path: &Path, file: &Path, rule: u8) -> Error {
    match error {
        Error::Io(IoError { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            let name = file.file_name().unwrap_or_default().display();
            let fault = Fault::rule(rule, format!("it names {name}, which is missing"));
            Error::corrupt(path.join(manifest::FILE_NAME), Section::Manifest, 0, fault)
        }
        error => error,
    }
}

/// Reads the deletion file of a segment of the store at `path`.
pub(super) fn read_deletions(
    path: &Path,
    entry: &SegmentEntry,
    header: &Header,
) -> Result<Option<Deletions>> {
    let Some(expected) = entry.deletions else { return Ok(None) };
    let file_path: PathBuf = path.join(deletions::file_name(expected.number));
    let section = Section::Deletions;
    let corrupt = |offset: u64, fault: Fault| Error::corrupt(&file_path, section, offset, fault);
    let file = open_plain_file(&file_path, section, 25)
        .map_err(|error| missing(error, path, &file_path, 25))?;
    // The fingerprints and ids of the segment bound the number of deletions, and so the length of
    // the file. A file with more deletions is rejected before it is read.
    let (fingerprint_count, id_count) = (expected.fingerprint_count, expected.id_count);
    let most = (header.fingerprint_count, header.id_count);
    if fingerprint_count > most.0 || id_count > most.1 {
        let detail = format!(
            "the manifest states {fingerprint_count} deleted fingerprints and {id_count} deleted \
             ids, but the segment has {} and {}",
            most.0, most.1
        );
        return Err(corrupt(0, Fault::rule(25, detail)));
    }
    let len_max = deletions::len_max(fingerprint_count, id_count);
    let len = file.metadata().map_err(Error::io("read", &file_path))?.len();
    if len > len_max {
        let detail = format!(
            "it has {len} bytes, but its counts in the manifest allow at most \
                              {len_max}"
        );
        return Err(corrupt(len_max, Fault::rule(25, detail)));
    }
    let mut bytes = Vec::new();
    file.take(len_max).read_to_end(&mut bytes).map_err(Error::io("read", &file_path))?;
    let read = Deletions::read(&bytes, entry.digest, entry.fingerprint_count);
    let deletions = read.map_err(|fault| fault.into_error(&file_path, section))?;
    let digest = Digest::of(&bytes);
    let found = (digest, deletions.fingerprint_count(), deletions.id_count());
    if found != (expected.digest, expected.fingerprint_count, expected.id_count) {
        let detail = format!(
            "it has digest {digest}, {} fingerprints and {} ids, \
             but the manifest states {}, {} and {}",
            found.1, found.2, expected.digest, expected.fingerprint_count, expected.id_count
        );
        return Err(corrupt(0, Fault::rule(25, detail)));
    }
    Ok(Some(deletions))
}
