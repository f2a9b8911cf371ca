//! Verifying the ids of a segment.

use std::ops::Range;

use crate::base::error::{Error, Fault, Result};
use crate::format::directory::SectionPlace;
use crate::format::id_records::{GROUP_ENTRY_LEN, GROUP_LEN, Record, id_len_for};
use crate::segment::Segment;
use crate::store::verify::pace::Pace;
use fpstore_base::IdRef;

/// The minimum number of groups that one thread verifies.
const GROUPS_MIN: u64 = if cfg!(test) { 2 } else { 1 << 10 };

/// Checks that id groups and records are contiguous, that each id is valid, and that there are as
/// many ids as the header states.
pub(super) fn verify(segment: &Segment, pace: &Pace) -> Result<()> {
    let Some((groups, records)) = segment.id_places() else { return Ok(()) };
    let header = segment.header();
    let group_count = header.fingerprint_count.div_ceil(GROUP_LEN);
    // Groups cannot leave gaps: one entry ends a group and starts the next one.
    let (mut start, mut end) = (0, 0);
    if let Some(last) = group_count.checked_sub(1) {
        (start, _) = segment.group_bounds(groups, 0, records.len)?;
        (_, end) = segment.group_bounds(groups, last * GROUP_ENTRY_LEN, records.len)?;
    }
    if start != 0 {
        return Err(broken(segment, groups, 0, "the first group does not start with the records"));
    }
    let parts = pace.in_parts(group_count, GROUPS_MIN, |part| {
        verify_groups(segment, (groups, records), part.of(0..group_count), pace)
    })?;
    let id_count: u64 = parts.iter().map(|part| part.id_count).sum();
    if end != records.len || id_count != header.id_count {
        let detail = format!(
            "found {id_count} ids in {end} bytes, expected {} ids in {} bytes",
            header.id_count, records.len
        );
        return Err(broken(segment, records, end, &detail));
    }
    let largest = parts.iter().map(|part| part.largest).max().unwrap_or(0);
    if header.id_len > 0 && id_len_for(largest) != header.id_len {
        return Err(broken(segment, records, 0, "ids would fit in fewer bytes"));
    }
    Ok(())
}

fn broken(segment: &Segment, place: &SectionPlace, offset: u64, detail: &str) -> Error {
    segment.corrupt(place, offset, Fault::rule(18, detail))
}

/// The number of ids, and the largest numeric id, of some groups.
#[derive(Default)]
struct Ids {
    id_count: u64,
    /// The largest numeric id.
    largest: u64,
}

fn verify_groups(
    segment: &Segment,
    (groups, records): (&SectionPlace, &SectionPlace),
    numbers: Range<u64>,
    pace: &Pace,
) -> Result<Ids> {
    let mut found = Ids::default();
    for group in numbers {
        let entry = group * GROUP_ENTRY_LEN;
        let (start, end) = segment.group_bounds(groups, entry, records.len)?;
        pace.spend(GROUP_ENTRY_LEN + end - start)?;
        let mut bytes = segment.bytes(records, start, end - start)?;
        let located = |fault| segment.corrupt(records, start, fault);
        let in_group = GROUP_LEN.min(segment.header().fingerprint_count - group * GROUP_LEN);
        for _ in 0..in_group {
            let (mut record, len) = Record::read(bytes, segment.id_layout()).map_err(located)?;
            bytes = bytes.get(len..).unwrap_or_default();
            while let Some(id) = record.next().map_err(located)? {
                found.id_count += 1;
                if let IdRef::U64(number) = id {
                    found.largest = found.largest.max(number);
                }
            }
        }
        if !bytes.is_empty() {
            return Err(broken(segment, records, end, "a group has bytes after its last record"));
        }
    }
    Ok(found)
}
