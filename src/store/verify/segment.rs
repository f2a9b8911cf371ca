//! Verifying one segment: readability of its bytes, pages, padding; then its tables and ids.

use std::io::{self, Read};
use std::path::Path;

use crate::base::error::{Error, Fault, IoError, Result};
use crate::base::section::Section;
use crate::bytes::checksum::{Digest, PAGE_LEN};
use crate::format::directory::{SectionPlace, page_parts};
use crate::segment::{Segment, TableReader};
use crate::store::verify::pace::Pace;
use crate::store::verify::report::VerifyReport;
use crate::store::verify::{ids, index, table};

/// The number of bytes of a file read in one step.
const CHUNK_LEN: usize = 1 << 16;

/// Checks that all bytes of a file are readable. The first access to an unreadable page of a memory
/// map would end the process with SIGBUS; here it is an error.
pub(super) fn readable(mut file: impl Read, path: &Path, pace: &Pace) -> Result<()> {
    let mut chunk = vec![0; CHUNK_LEN];
    let mut offset = 0_u64;
    loop {
        match file.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(len) => {
                offset += len as u64;
                pace.spend(len as u64)?;
            }
            Err(failed) if failed.kind() == io::ErrorKind::Interrupted => {}
            Err(failed) => {
                let source = io::Error::new(failed.kind(), format!("at byte {offset}: {failed}"));
                return Err(Error::Io(IoError { doing: "read", path: path.into(), source }));
            }
        }
    }
}

/// Adds all faults of a segment to the report.
///
/// # Errors
///
/// Only [`Error::Interrupted`].
pub(super) fn verify(segment: &Segment, report: &mut VerifyReport, pace: &Pace) -> Result<()> {
    segment.tables().for_each(TableReader::advise_sequential);
    let verified = verify_sections(segment, report, pace);
    segment.tables().for_each(TableReader::advise_random);
    verified
}

fn verify_sections(segment: &Segment, report: &mut VerifyReport, pace: &Pace) -> Result<()> {
    let before = report.faults.len();
    for place in &segment.header().places {
        pages(segment, place, report, pace)?;
        report.faults.extend(padding(segment, place).err());
    }
    if report.faults.len() > before {
        // Stop here: further checks would only report consequences of the damaged pages.
        return Ok(());
    }
    if let Err(fault) = contents(segment) {
        report.faults.push(fault);
        return Ok(());
    }
    let mut note = |checked: Result<()>| match checked {
        Err(Error::Interrupted) => Err(Error::Interrupted),
        checked => {
            report.faults.extend(checked.err());
            Ok(())
        }
    };
    for table in segment.tables() {
        note(index::verify(segment, table, pace))?;
        note(table::verify_padding(segment, table))?;
        note(table::verify_set(segment, table, pace))?;
    }
    note(ids::verify(segment, pace))?;
    report.value_count += segment.header().fingerprint_count * segment.tables().len() as u64;
    Ok(())
}

/// Compares all pages of a section with their checksums.
fn pages(
    segment: &Segment,
    place: &SectionPlace,
    report: &mut VerifyReport,
    pace: &Pace,
) -> Result<()> {
    // Checksums have no checksums: a wrong one is reported as a fault of the page it belongs to.
    if place.section == Section::Checksums {
        return Ok(());
    }
    let found = pace.on_threads(&page_parts(place.pages(), pace.threads()), |pages| {
        let mut faults = Vec::new();
        for page in pages.clone() {
            faults.extend(segment.check_page(place, page).err());
            pace.spend(PAGE_LEN as u64)?;
        }
        Ok(faults)
    })?;
    report.page_count += place.pages().len() as u64;
    report.faults.extend(found.into_iter().flatten());
    Ok(())
}

/// Checks that the page checksums match their digest in the header.
fn contents(segment: &Segment) -> Result<()> {
    let found = Digest::of(segment.page_checksums());
    let expected = segment.header().content_digest;
    if found == expected {
        return Ok(());
    }
    let detail = format!("the checksums have digest {found}, expected {expected} as in the header");
    match segment.header().place(Section::Checksums) {
        Some(place) => Err(segment.corrupt(place, 0, Fault::rule(27, detail))),
        None => Ok(()),
    }
}

/// Checks that the bytes after a section, up to the end of its last page, are zero.
fn padding(segment: &Segment, place: &SectionPlace) -> Result<()> {
    let start = place.offset + place.len;
    let end = place.end().unwrap_or(start);
    let padding = segment.file().get(start as usize..end as usize).unwrap_or_default();
    match padding.iter().position(|&byte| byte != 0) {
        None => Ok(()),
        Some(at) => {
            let fault = Fault::rule(10, "padding after the section is not zero");
            Err(segment.corrupt(place, place.len + at as u64, fault))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VerifyOptions;

    /// A disk with an unreadable second chunk.
    struct BadSector(usize);

    impl Read for BadSector {
        fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            match self.0 {
                1 => Ok(chunk.len()),
                2 => Err(io::ErrorKind::Interrupted.into()),
                _ => Err(io::Error::other("Input/output error")),
            }
        }
    }

    #[test]
    fn a_page_that_the_disk_does_not_give_is_an_error_with_its_place() {
        let pace = Pace::new(&VerifyOptions::default(), 0).unwrap();
        let refused = readable(BadSector(0), Path::new("segment-1.fps"), &pace).unwrap_err();
        let source = std::error::Error::source(&refused).unwrap().to_string();
        assert_eq!(refused.to_string(), "cannot read segment-1.fps");
        assert_eq!(source, "at byte 65536: Input/output error");
        readable(&[7; 1000][..], Path::new("segment-1.fps"), &pace).unwrap();
    }
}
