//! Verifying one segment: whether the disk gives its bytes, pages, padding, tables, ids.

use std::cell::Cell;
use std::io::{self, Read};
use std::path::Path;

use crate::base::error::{Error, Fault, IoError, Result};
use crate::base::section::Section;
use crate::bytes::checksum::{Digest, PAGE_LEN, SetSum};
use crate::bytes::permutation::Permuted;
use crate::format::directory::SectionPlace;
use crate::format::id_records::{GROUP_ENTRY_LEN, GROUP_LEN, Record, id_len_for};
use crate::segment::{Segment, TableKind, TableReader, Values};
use crate::store::verify::index;
use crate::store::verify::pace::Pace;
use crate::store::verify::report::VerifyReport;
use fpstore_base::{Fingerprint, IdRef, thread_count};

/// The tables of a shorter file are verified by one thread: others would hardly have started.
const SMALL_LEN: u64 = 1 << 18;
/// Bytes of a file that are read in one step.
const CHUNK_LEN: usize = 1 << 16;

/// Whether the disk gives all bytes of a file. A page that it does not give would end the process
/// with SIGBUS when it is first used in a memory map; here it is an error.
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
/// [`Error::Interrupted`] alone.
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
        // Damaged pages would only cause more faults of other kinds.
        return Ok(());
    }
    if let Err(fault) = contents(segment) {
        report.faults.push(fault);
        return Ok(());
    }
    // Each table and the ids.
    let items: Vec<Option<usize>> = (0..segment.tables().len()).map(Some).chain([None]).collect();
    let verify = |table: &Option<usize>| {
        let mut faults = Vec::new();
        let mut note = |checked: Result<()>| match checked {
            Err(Error::Interrupted) => Err(Error::Interrupted),
            checked => {
                faults.extend(checked.err());
                Ok(())
            }
        };
        match table.and_then(|table| segment.table(table)) {
            Some(table) => {
                note(index::verify(table, segment.header().fingerprint_count, pace))?;
                note(tail_padding(segment, table))?;
                note(same_set(segment, table, pace))?;
            }
            None => note(ids(segment, pace))?,
        }
        Ok(faults)
    };
    let found: Vec<Vec<Error>> = match segment.header().file_len < SMALL_LEN {
        true => items.iter().map(verify).collect::<Result<_>>()?,
        false => pace.side_by_side(&items, verify)?,
    };
    report.faults.extend(found.into_iter().flatten());
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
    // Checksums are not covered by checksums: a wrong one makes its page fail.
    if place.section == Section::Checksums {
        return Ok(());
    }
    let found = pace.side_by_side(&place.page_parts(thread_count(0)), |pages| {
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

/// The checksums of the pages are those that the header names by their digest.
fn contents(segment: &Segment) -> Result<()> {
    let found = Digest::of(segment.page_checksums());
    let expected = segment.header().content_digest;
    if found == expected {
        return Ok(());
    }
    let detail = format!("the checksums have digest {found}, the header says {expected}");
    match segment.header().place(Section::Checksums) {
        Some(place) => Err(segment.corrupt(place, 0, Fault::rule(27, detail))),
        None => Ok(()),
    }
}

/// The bytes between the end of a section and the end of its last page are zero.
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

/// All bits after the last tail are zero.
fn tail_padding(segment: &Segment, table: TableReader<'_>) -> Result<()> {
    let used_bits = segment.header().fingerprint_count * u64::from(table.stored_bits);
    let (place, offset) = (&table.tails, used_bits / 8);
    if place.len == 0 {
        return Ok(());
    }
    let rest = segment.bytes(place, offset, place.len - offset)?;
    let used_in_first = used_bits % 8;
    let clear = (0..).zip(rest).all(|(at, byte)| match at {
        0 => byte >> used_in_first == 0,
        _ => *byte == 0,
    });
    let fault = || Fault::rule(17, "bits after the last tail are not zero");
    if clear { Ok(()) } else { Err(segment.corrupt(place, offset, fault())) }
}

/// The values ascend strictly, fit the width of the recipe, and are the same set in every
/// table. A table with
/// syndromes has the keys of the values of the first one.
fn same_set(segment: &Segment, table: TableReader<'_>, pace: &Pace) -> Result<()> {
    let mut pass = pace.values(segment, table);
    let mut sum_of = |values: Values<'_>, to: &dyn Fn(Permuted) -> Fingerprint| {
        let mut sum = SetSum::default();
        for step in values {
            sum.add(to(step?.1));
            pass.step()?;
        }
        Ok::<_, Error>(sum)
    };
    let (found, expected) = match (table.kind(), segment.first_table()) {
        (TableKind::Whole(table), _) => {
            let largest = Cell::new(Fingerprint::default());
            let natural = |value| {
                let fingerprint = table.permutation.invert(value);
                largest.set(largest.get().max(fingerprint));
                fingerprint
            };
            let found = sum_of(table.values(), &natural)?;
            let (largest, width) = (largest.get(), segment.recipe().width());
            if !width.fits(largest) {
                let detail = format!("{largest} has more than {width} bits, those of the recipe");
                return Err(segment.corrupt(&table.heads, 0, Fault::rule(31, detail)));
            }
            (found, segment.header().set_sum)
        }
        (TableKind::Syndromes(table), Some(first)) => {
            let key = |value| {
                let own = table.permutation.apply(first.permutation.invert(value));
                Fingerprint::new(table.descriptor.key_of(own.0))
            };
            let found = sum_of(table.keys(), &|key| Fingerprint::new(key.0))?;
            (found, sum_of(first.values(), &key)?)
        }
        (TableKind::Syndromes(_), None) => return Ok(()),
    };
    if found == expected {
        return Ok(());
    }
    let fault = Fault::rule(20, "the table holds another set than the header says");
    Err(segment.corrupt(&table.heads, 0, fault))
}

/// Id groups and records follow each other without gaps, and they hold the number of ids that the
/// header gives, each in its valid form.
fn ids(segment: &Segment, pace: &Pace) -> Result<()> {
    let Some((groups, records)) = segment.id_places() else { return Ok(()) };
    let header = segment.header();
    let broken = |place: &SectionPlace, offset: u64, detail: &str| -> Error {
        segment.corrupt(place, offset, Fault::rule(18, detail))
    };
    let (mut id_count, mut largest, mut expected_start) = (0, 0, 0);
    for group in 0..header.fingerprint_count.div_ceil(GROUP_LEN) {
        let entry = group * GROUP_ENTRY_LEN;
        let (start, end) = segment.group_bounds(groups, entry, records.len)?;
        if start != expected_start {
            return Err(broken(groups, entry, "group does not start where the last one ends"));
        }
        expected_start = end;
        pace.spend(GROUP_ENTRY_LEN + end - start)?;
        let mut bytes = segment.bytes(records, start, end - start)?;
        let located = |fault| segment.corrupt(records, start, fault);
        let in_group = GROUP_LEN.min(header.fingerprint_count - group * GROUP_LEN);
        for _ in 0..in_group {
            let (mut record, len) = Record::read(bytes, segment.id_layout()).map_err(located)?;
            bytes = bytes.get(len..).unwrap_or_default();
            while let Some(id) = record.next().map_err(located)? {
                id_count += 1;
                if let IdRef::U64(number) = id {
                    largest = largest.max(number);
                }
            }
        }
        if !bytes.is_empty() {
            return Err(broken(records, end, "bytes left over in a group"));
        }
    }
    if expected_start != records.len || id_count != header.id_count {
        let detail = format!("{id_count} ids in {expected_start} bytes");
        return Err(broken(records, expected_start, &detail));
    }
    if header.id_len > 0 && id_len_for(largest) != header.id_len {
        return Err(broken(records, 0, "ids would fit in fewer bytes"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VerifyOptions;

    /// A disk whose second chunk cannot be read.
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
