//! The deletion file of a segment, as named by the manifest.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::base::error::{Error, Fault, IoError, Result};
use crate::base::section::Section;
use crate::bytes::checksum::Digest;
use crate::format::deletions::{self, DeletionFault, Deletions};
use crate::format::header::Header;
use crate::format::manifest::{self, SegmentEntry};
use fpstore_disk::plain_file::{self, Refused};

/// The error for a missing file that the manifest names: the store is corrupt.
pub(super) fn missing(error: Error, path: &Path, file: &Path, rule: u8) -> Error {
    match error {
        Error::Io(IoError { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            let name = file.file_name().unwrap_or_default().display();
            Error::Corrupt {
                path: path.join(manifest::FILE_NAME),
                section: Section::Manifest,
                offset: 0,
                fault: Fault::rule(rule, format!("it names {name}, which is missing")),
            }
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
    let corrupt = |offset: u64, fault: Fault| Error::Corrupt {
        path: file_path.clone(),
        section: Section::Deletions,
        offset,
        fault,
    };
    let file = plain_file::open(&file_path).map_err(|refused| match refused {
        Refused::Kind(kind) => {
            corrupt(0, Fault::rule(25, format!("it is {kind}, not a plain file")))
        }
        Refused::Io(source) => {
            let error = Error::Io(IoError { doing: "open", path: file_path.clone(), source });
            missing(error, path, &file_path, 25)
        }
    })?;
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
    let deletions = read.map_err(|fault| match fault {
        DeletionFault::Fault { offset, fault } => corrupt(offset, fault),
        DeletionFault::Version(found) => Error::UnsupportedVersion {
            path: file_path.clone(),
            found,
            oldest: deletions::VERSION,
            newest: deletions::VERSION,
        },
    })?;
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
