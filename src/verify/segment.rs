//! Verifying one segment, front to back.

use crate::checksum::{PAGE_LEN, SetSum};
use crate::error::{Error, Fault, Result};
use crate::format::directory::SectionPlace;
use crate::format::id_records::{GROUP_ENTRY_LEN, GROUP_LEN, Record, id_len_for};
use crate::id::IdRef;
use crate::section::Section;
use crate::segment::{Mapped, Table};
use crate::verify::{VerifyReport, index};

/// Adds every fault of a segment to the report.
pub(super) fn verify(segment: &Mapped, report: &mut VerifyReport) {
    segment.tables().iter().for_each(|table| segment.expect_pass(table));
    look_at_all(segment, report);
    segment.tables().iter().for_each(|table| segment.expect_probes(table));
}

fn look_at_all(segment: &Mapped, report: &mut VerifyReport) {
    let before = report.faults.len();
    for place in &segment.header().places {
        pages(segment, place, report);
        report.faults.extend(padding(segment, place).err());
    }
    if report.faults.len() > before {
        // What stands in damaged pages would only be reported again in other words.
        return;
    }
    let mut note = |checked: Result<()>| report.faults.extend(checked.err());
    for table in segment.tables() {
        note(index::verify(segment, table));
        note(tail_padding(segment, table));
        note(same_set(segment, table));
    }
    note(ids(segment));
    report.value_count += segment.header().fingerprint_count * segment.tables().len() as u64;
}

/// Compares all pages of a section with their checksums.
fn pages(segment: &Mapped, place: &SectionPlace, report: &mut VerifyReport) {
    // The checksums themselves have none: a wrong one makes its page fail.
    if place.section == Section::Checksums {
        return;
    }
    let start = place.offset as usize / PAGE_LEN;
    for page in start..start + (place.len as usize).div_ceil(PAGE_LEN) {
        report.page_count += 1;
        report.faults.extend(segment.check_page(place, page).err());
    }
}

/// After its bytes a section has zeros up to the end of its last page.
fn padding(segment: &Mapped, place: &SectionPlace) -> Result<()> {
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

/// After the last tail there are only zero bits.
fn tail_padding(segment: &Mapped, table: &Table) -> Result<()> {
    let used_bits = segment.header().fingerprint_count * u64::from(table.descriptor.tail_bits);
    let (place, offset) = (&table.tails, used_bits / 8);
    if place.len == 0 {
        return Ok(());
    }
    let rest = segment.bytes(place, offset, place.len - offset, &mut 0)?;
    let used_in_first = used_bits % 8;
    let clear = (0..).zip(rest).all(|(at, byte)| match at {
        0 => byte >> used_in_first == 0,
        _ => *byte == 0,
    });
    let fault = || Fault::rule(17, "bits after the last tail are not zero");
    if clear { Ok(()) } else { Err(segment.corrupt(place, offset, fault())) }
}

/// The values ascend strictly, and are the same set in every table.
fn same_set(segment: &Mapped, table: &Table) -> Result<()> {
    let mut sum = SetSum::default();
    for step in segment.values(table) {
        let (_, value) = step?;
        sum.add(table.permutation.invert(value));
    }
    if sum == segment.header().set_sum {
        return Ok(());
    }
    let fault = Fault::rule(20, "the table holds another set than the header says");
    Err(segment.corrupt(&table.heads, 0, fault))
}

/// Id groups and records follow each other without gaps and hold as many ids as the header
/// says, each of them sound.
fn ids(segment: &Mapped) -> Result<()> {
    let Some((groups, records)) = segment.id_places() else { return Ok(()) };
    let header = segment.header();
    let broken = |place: &SectionPlace, offset: u64, detail: &str| -> Error {
        segment.corrupt(place, offset, Fault::rule(18, detail))
    };
    let (mut id_count, mut largest, mut expected_start) = (0, 0, 0);
    for group in 0..header.fingerprint_count.div_ceil(GROUP_LEN) {
        let entry = group * GROUP_ENTRY_LEN;
        let (start, end) = segment.group_bounds(groups, entry, records.len, &mut 0)?;
        if start != expected_start {
            return Err(broken(groups, entry, "group does not start where the last one ends"));
        }
        expected_start = end;
        let mut bytes = segment.bytes(records, start, end - start, &mut 0)?;
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
