//! The section directory: the positions of the sections of a segment.

use std::ops::Range;

use crate::base::error::Fault;
use crate::base::section::{Section, TableIndex};
use crate::base::side_by_side::Part;
use crate::bytes::checksum::{PAGE_LEN, PageIdentity};
use crate::bytes::fields::{put_u16, put_u32, put_u64, u16_at, u32_at, u64_at};

/// Minimum number of pages for each thread, 1 MiB: for fewer pages, starting a thread costs more
/// time than it saves.
const PAGES_PER_THREAD: usize = 1 << 8;

/// The length of one directory entry in bytes.
pub(crate) const ENTRY_LEN: usize = 24;

/// The position of a section in its file. After `len` bytes its last page is padded with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SectionPlace {
    pub(crate) section: Section,
    /// The offset from the start of the file, a multiple of the page length.
    pub(crate) offset: u64,
    /// The number of bytes in use.
    pub(crate) len: u64,
}

impl SectionPlace {
    /// The offset of the first byte after the pages of the section.
    pub(crate) fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.len.checked_next_multiple_of(PAGE_LEN as u64)?)
    }

    /// The pages of the section, counted from the start of the file.
    pub(crate) fn pages(&self) -> Range<usize> {
        let first = self.offset as usize / PAGE_LEN;
        first..first + (self.len as usize).div_ceil(PAGE_LEN)
    }
}

/// Splits a range of pages into at most `threads` parts; into fewer if a part would be too small.
pub(crate) fn page_parts(pages: Range<usize>, threads: usize) -> Vec<Range<usize>> {
    let parts = Part::all(threads.min(pages.len() / PAGES_PER_THREAD)).into_iter();
    let within = parts.map(|part| part.of_len(pages.len()));
    within.map(|part| pages.start + part.start..pages.start + part.end).collect()
}

/// The sections of a segment in their only valid order.
pub(crate) fn expected_sections(table_count: u16, has_ids: bool) -> Vec<Section> {
    let mut sections = vec![Section::Recipe];
    for table in (0..table_count).map(TableIndex) {
        sections.extend([
            Section::PrefixIndex(table),
            Section::Tails(table),
            Section::Heads(table),
            Section::OverflowEntries(table),
        ]);
    }
    if has_ids {
        sections.extend([Section::IdGroups, Section::IdRecords]);
    }
    sections.push(Section::Checksums);
    sections
}

/// The number of a kind of section in directory entries and page checksums.
fn kind_tag(section: Section) -> u16 {
    match section {
        Section::Manifest | Section::Deletions | Section::Header => 0,
        Section::Recipe => 1,
        Section::PrefixIndex(_) => 2,
        Section::Tails(_) => 3,
        Section::Heads(_) => 4,
        Section::OverflowEntries(_) => 5,
        Section::IdGroups => 6,
        Section::IdRecords => 7,
        Section::Checksums => 8,
    }
}

/// The number of a section's table in directory entries and page checksums; 0 if it has no table.
fn table_tag(section: Section) -> u16 {
    section.table().map_or(0, |TableIndex(table)| table)
}

/// The checksum of a page of a section. `number` is the position of the page in the section.
pub(crate) fn page_checksum(section: Section, number: u64, page: &[u8]) -> u32 {
    let (kind, table) = (kind_tag(section), table_tag(section));
    PageIdentity { kind, table, page_in_section: number }.checksum(page)
}

/// Reads the directory at `start`: it must list the expected sections, without gaps, from
/// `header_len` to `file_len`. A fault is returned with the offset of its entry.
pub(crate) fn read(
    header: &[u8],
    start: usize,
    expected: &[Section],
    header_len: u64,
    file_len: u64,
) -> Result<Vec<SectionPlace>, (usize, Fault)> {
    let mut places = Vec::with_capacity(expected.len());
    let mut next = header_len;
    for (number, &section) in expected.iter().enumerate() {
        let at = start + number * ENTRY_LEN;
        let place = read_entry(header, at, section, next).map_err(|fault| (at, fault))?;
        next = match place.end() {
            Some(end) if end <= file_len => end,
            _ => return Err((at, Fault::rule(9, format!("{section} reaches beyond the file")))),
        };
        places.push(place);
    }
    if next != file_len {
        let detail = format!("sections end at {next:#x}, but the file ends at {file_len:#x}");
        return Err((start, Fault::rule(9, detail)));
    }
    Ok(places)
}

fn read_entry(
    header: &[u8],
    at: usize,
    section: Section,
    offset: u64,
) -> Result<SectionPlace, Fault> {
    let short = || Fault::Truncated { needed: (at + ENTRY_LEN) as u64, found: header.len() as u64 };
    let kind = u16_at(header, at).ok_or_else(short)?;
    let table = u16_at(header, at + 2).ok_or_else(short)?;
    let reserved = u32_at(header, at + 4).ok_or_else(short)?;
    let found = u64_at(header, at + 8).ok_or_else(short)?;
    let len = u64_at(header, at + 16).ok_or_else(short)?;
    if (kind, table) != (kind_tag(section), table_tag(section)) {
        let detail = format!("found section kind {kind} of table {table}, expected {section}");
        return Err(Fault::rule(9, detail));
    }
    if reserved != 0 {
        return Err(Fault::rule(5, format!("nonzero reserved bytes in the entry of {section}")));
    }
    if found != offset {
        let detail = format!("{section} starts at {found:#x}, expected {offset:#x}");
        return Err(Fault::rule(9, detail));
    }
    Ok(SectionPlace { section, offset, len })
}

/// Appends the encoded directory to `out`.
pub(crate) fn write(places: &[SectionPlace], out: &mut Vec<u8>) {
    for place in places {
        put_u16(out, kind_tag(place.section));
        put_u16(out, table_tag(place.section));
        put_u32(out, 0);
        put_u64(out, place.offset);
        put_u64(out, place.len);
    }
}
