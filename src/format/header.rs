//! The header of a segment: its counts, its tables, and the positions of its sections.
//!
//! When a segment is opened, its whole header is read and checked; when a segment is written, its
//! header is encoded last, when all lengths are known. Nothing here reads other sections.

use crate::base::error::Fault;
use crate::base::section::Section;
use crate::bytes::checksum::{Digest, PAGE_LEN, crc32};
use crate::bytes::fields::{put_u16, put_u32, put_u64, slice_at, u16_at, u32_at, u64_at};
use crate::bytes::packing;
use crate::bytes::set_sum::SetSum;
use crate::format::codec::HeadCodec;
use crate::format::descriptor::{TableDescriptor, TableMask};
use crate::format::directory::{self, SectionPlace};
use crate::format::fault::FileFault;
use crate::format::prefix_index;
use crate::scheme::{TABLE_COUNT_MAX, fault_of_masks};
use fpstore_base::IdKind;

/// The first eight bytes of a segment. As in PNG, they reveal a transfer that changed line
/// ends or lost the high bit of each byte.
pub(crate) const MAGIC: [u8; 8] = *b"\x89FPS\r\n\x1a\n";
/// The format versions that this release reads. A segment is written in the oldest version
/// that can express it, so that as many older releases as possible can read it.
pub(crate) const VERSION_OLDEST: u16 = 2;
pub(crate) const VERSION: u16 = VERSION_WITH_SYNDROMES;
/// The first version that allows tables with syndromes.
const VERSION_WITH_SYNDROMES: u16 = 3;

const FIXED_LEN: usize = 80;
const TABLE_LEN: usize = 16;
const CRC_LEN: usize = 4;

/// The version in which a segment with these tables is written.
pub(crate) fn version_of(tables: &[TableDescriptor]) -> u16 {
    match tables.iter().all(TableDescriptor::is_whole) {
        true => VERSION_OLDEST,
        false => VERSION_WITH_SYNDROMES,
    }
}

/// The maximum number of distinct fingerprints in a segment.
pub(crate) const FINGERPRINT_COUNT_MAX: u64 = 1 << 40;
/// The maximum number of ids in a segment.
pub(crate) const ID_COUNT_MAX: u64 = 1 << 40;

/// The header of a segment, checked.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    /// The format version of the file.
    pub(crate) version: u16,
    pub(crate) header_len: u64,
    pub(crate) file_len: u64,
    pub(crate) fingerprint_count: u64,
    pub(crate) id_count: u64,
    pub(crate) id_kind: IdKind,
    /// The number of bytes of each id if ids are numbers; otherwise 0.
    pub(crate) id_len: u32,
    /// The number of bytes of the sketch of each id; 0 without sketches.
    pub(crate) sketch_len: u32,
    pub(crate) tuned_k: u32,
    pub(crate) set_sum: SetSum,
    /// The digest of the checksums section, and so of every page of the segment.
    pub(crate) content_digest: Digest,
    pub(crate) tables: Vec<TableDescriptor>,
    pub(crate) places: Vec<SectionPlace>,
    /// The digest of the header area itself. The manifest identifies the segment by it.
    pub(crate) digest: Digest,
}

/// The length of the header area: a multiple of the page length, with room for the CRC.
fn header_len(table_count: usize, section_count: usize) -> usize {
    let used = FIXED_LEN + table_count * TABLE_LEN + section_count * directory::ENTRY_LEN;
    (used + CRC_LEN).next_multiple_of(PAGE_LEN)
}

/// Reads and checks the header of a segment file with these bytes. Checks come in the order of the
/// rules: length, magic, version, checksum, ranges, directory.
pub(crate) fn read(bytes: &[u8]) -> Result<Header, FileFault> {
    let at = FileFault::at;
    let actual_len = bytes.len() as u64;
    let short = || at(0, Fault::Truncated { needed: PAGE_LEN as u64, found: actual_len });
    let magic = slice_at(bytes, 0, 8).ok_or_else(short)?;
    if magic != MAGIC {
        return Err(at(
            0,
            Fault::rule(1, format!("magic bytes are {}, expected those of a segment", hex(magic))),
        ));
    }
    let version = u16_at(bytes, 8).ok_or_else(short)?;
    if !(VERSION_OLDEST..=VERSION).contains(&version) {
        let (oldest, newest) = (VERSION_OLDEST, VERSION);
        return Err(FileFault::Version { found: version, oldest, newest });
    }
    let header_len_found = u32_at(bytes, 12).ok_or_else(short)?;
    let file_len = u64_at(bytes, 16).ok_or_else(short)?;
    if file_len != actual_len {
        let detail = format!("the file has {actual_len} bytes, expected {file_len} by its header");
        return Err(at(16, Fault::rule(3, detail)));
    }
    let area = usize::try_from(header_len_found).ok().and_then(|len| slice_at(bytes, 0, len));
    let parts = area.and_then(|area| Some((area, area.split_last_chunk::<CRC_LEN>()?)));
    let Some((area, (body, stored))) = parts else {
        let detail = format!("header of {header_len_found} bytes, but the file has {actual_len}");
        return Err(at(12, Fault::rule(6, detail)));
    };
    let (found, crc) = (crc32(body), u32::from_le_bytes(*stored));
    if found != crc {
        return Err(at(body.len(), Fault::Checksum { found, expected: crc }));
    }
    read_checked(body, version, header_len_found, file_len, Digest::of(area))
}

/// Reads the fields of a header whose checksum is valid.
fn read_checked(
    body: &[u8],
    version: u16,
    header_len_found: u32,
    file_len: u64,
    digest: Digest,
) -> Result<Header, FileFault> {
    let at = FileFault::at;
    let short = || at(0, Fault::Truncated { needed: FIXED_LEN as u64, found: body.len() as u64 });
    let fingerprint_count = u64_at(body, 24).ok_or_else(short)?;
    let id_count = u64_at(body, 32).ok_or_else(short)?;
    let [kind, id_len, tuned_k, sketch_len] =
        *body.get(40..).and_then(|rest| rest.first_chunk()).ok_or_else(short)?;
    let table_count = u16_at(body, 44).ok_or_else(short)?;
    let section_count = u16_at(body, 46).ok_or_else(short)?;
    let set_sum = SetSum::read(body, 48).ok_or_else(short)?;
    let content_digest = Digest::read(body, 64).ok_or_else(short)?;
    if u16_at(body, 10) != Some(0) {
        return Err(at(10, Fault::rule(5, "reserved bytes are not zero")));
    }
    if fingerprint_count > FINGERPRINT_COUNT_MAX || id_count > ID_COUNT_MAX {
        let detail = format!("{fingerprint_count} fingerprints, {id_count} ids, at most 2^40 each");
        return Err(at(24, Fault::rule(6, detail)));
    }
    let id_kind = match (kind, id_len, id_count) {
        (0, 0, 0) => IdKind::None,
        (1, 1..=8, _) => IdKind::U64,
        (2, 0, _) => IdKind::Text,
        _ => {
            return Err(at(40, Fault::rule(6, format!("invalid id kind {kind}, length {id_len}"))));
        }
    };
    if tuned_k > 64 {
        return Err(at(42, Fault::rule(6, format!("tuned k is {tuned_k}, expected at most 64"))));
    }
    if table_count == 0 || usize::from(table_count) > TABLE_COUNT_MAX {
        return Err(at(44, Fault::rule(6, format!("{table_count} tables, expected 1 to 256"))));
    }
    let expected = directory::expected_sections(table_count, id_kind != IdKind::None);
    if usize::from(section_count) != expected.len() {
        let detail = format!("{section_count} sections, expected {}", expected.len());
        return Err(at(46, Fault::rule(9, detail)));
    }
    let expected_len = header_len(table_count.into(), expected.len());
    if header_len_found as usize != expected_len {
        let detail = format!("header of {header_len_found} bytes, expected {expected_len}");
        return Err(at(12, Fault::rule(6, detail)));
    }
    let tables = read_tables(body, version, table_count)?;
    let start = FIXED_LEN + tables.len() * TABLE_LEN;
    let places = directory::read(body, start, &expected, header_len_found.into(), file_len)
        .map_err(|(offset, fault)| at(offset, fault))?;
    let used = start + expected.len() * directory::ENTRY_LEN;
    if body.iter().skip(used).any(|&byte| byte != 0) {
        return Err(at(used, Fault::rule(5, "padding of the header is not zero")));
    }
    let header = Header {
        version,
        header_len: header_len_found.into(),
        file_len,
        fingerprint_count,
        id_count,
        id_kind,
        id_len: id_len.into(),
        sketch_len: sketch_len.into(),
        tuned_k: tuned_k.into(),
        set_sum,
        content_digest,
        tables,
        places,
        digest,
    };
    match header.fault_of_lengths() {
        Some(fault) => Err(at(start, fault)),
        None => Ok(header),
    }
}

fn read_tables(
    body: &[u8],
    version: u16,
    table_count: u16,
) -> Result<Vec<TableDescriptor>, FileFault> {
    let mut tables = Vec::with_capacity(table_count.into());
    for number in 0..usize::from(table_count) {
        let start = FIXED_LEN + number * TABLE_LEN;
        let at = |offset: usize, fault: Fault| FileFault::at(start + offset, fault);
        let short = || at(0, Fault::Truncated { needed: TABLE_LEN as u64, found: 0 });
        let mask = u64_at(body, start).ok_or_else(short)?;
        let [codec, tail_bits, block_bits, syndrome_bits, reserved @ ..] =
            *slice_at(body, start + 8, 8)
                .and_then(|rest| rest.first_chunk::<8>())
                .ok_or_else(short)?;
        let Some(codec) = HeadCodec::from_tag(codec) else {
            return Err(at(
                8,
                Fault::rule(8, format!("head codec is {codec}, expected {}", HeadCodec::TAGS)),
            ));
        };
        let (tail_bits, block_bits) = (u32::from(tail_bits), u32::from(block_bits));
        if tail_bits > packing::WIDTH_MAX
            || block_bits > prefix_index::BLOCK_BITS_MAX
            || block_bits + tail_bits > 64
        {
            let detail = format!("{tail_bits} tail bits and {block_bits} block bits are too many");
            return Err(at(9, Fault::rule(8, detail)));
        }
        if reserved != [0; 4] || (version < VERSION_WITH_SYNDROMES && syndrome_bits != 0) {
            return Err(at(11, Fault::rule(5, "reserved bytes are not zero")));
        }
        let syndrome_bits = u32::from(syndrome_bits);
        let mask = TableMask(mask);
        let table = TableDescriptor { mask, codec, tail_bits, block_bits, syndrome_bits };
        if let Some(detail) = table.fault_of_syndromes(number) {
            return Err(at(11, Fault::rule(30, detail)));
        }
        tables.push(table);
    }
    let masks: Vec<u64> = tables.iter().map(|table| table.mask.0).collect();
    match fault_of_masks(&masks) {
        Some(detail) => Err(FileFault::at(FIXED_LEN, Fault::rule(7, detail))),
        None => Ok(tables),
    }
}

impl Header {
    /// The fault, if the length of a section is not the length that follows from the counts.
    fn fault_of_lengths(&self) -> Option<Fault> {
        let n = self.fingerprint_count;
        self.places.iter().find_map(|place| {
            let table = place.section.table().map(|t| self.tables.get(usize::from(t.0)));
            let expected = match (place.section, table) {
                (Section::PrefixIndex(_), Some(Some(table))) => {
                    Some(prefix_index::section_len(table.block_bits))
                }
                (Section::Tails(_), Some(Some(table))) => {
                    Some(packing::packed_len(n, table.stored_bits())?)
                }
                (Section::IdGroups, _) => Some(super::id_records::groups_len(n)),
                (Section::Checksums, _) => {
                    Some((place.offset - self.header_len) / PAGE_LEN as u64 * 4)
                }
                (Section::OverflowEntries(_), _) => {
                    Some(place.len.next_multiple_of(prefix_index::OVERFLOW_ENTRY_LEN))
                }
                (Section::Recipe, _) => {
                    Some(place.len.clamp(1, fpstore_base::Recipe::TEXT_LEN_MAX))
                }
                _ => None,
            }?;
            let detail =
                || format!("{} has {} bytes, expected {expected}", place.section, place.len);
            (place.len != expected).then(|| Fault::rule(10, detail()))
        })
    }

    /// The masks of the tables that store whole values.
    pub(crate) fn whole_masks(&self) -> impl Iterator<Item = u64> {
        self.tables.iter().filter(|table| table.is_whole()).map(|table| table.mask.0)
    }

    /// The position of a section, or `None` if the segment does not have that section.
    pub(crate) fn place(&self, section: Section) -> Option<&SectionPlace> {
        self.places.iter().find(|place| place.section == section)
    }

    /// The length of the header area of a segment with `table_count` tables.
    #[expect(clippy::expect_used, reason = "a writer's own values, in range by construction")]
    pub(crate) fn len_for(table_count: usize, has_ids: bool) -> u64 {
        let table_count_u16 = u16::try_from(table_count).expect("at most 256 tables");
        let sections = directory::expected_sections(table_count_u16, has_ids);
        header_len(table_count, sections.len()) as u64
    }

    /// Encodes the header area, including its CRC.
    #[expect(clippy::expect_used, reason = "a writer's own values, in range by construction")]
    pub(crate) fn encode(&self) -> Vec<u8> {
        let small = |count: usize| u16::try_from(count).expect("tables and sections are few");
        let mut out = MAGIC.to_vec();
        put_u16(&mut out, self.version);
        put_u16(&mut out, 0);
        put_u32(&mut out, u32::try_from(self.header_len).expect("a header has few pages"));
        put_u64(&mut out, self.file_len);
        put_u64(&mut out, self.fingerprint_count);
        put_u64(&mut out, self.id_count);
        let kind = match self.id_kind {
            IdKind::None => 0,
            IdKind::U64 => 1,
            IdKind::Text => 2,
        };
        let byte = |value: u32| u8::try_from(value).expect("bit counts, lengths and k are small");
        out.extend([kind, byte(self.id_len), byte(self.tuned_k), byte(self.sketch_len)]);
        put_u16(&mut out, small(self.tables.len()));
        put_u16(&mut out, small(self.places.len()));
        self.set_sum.put(&mut out);
        self.content_digest.put(&mut out);
        for table in &self.tables {
            put_u64(&mut out, table.mask.0);
            out.extend([table.codec.tag(), byte(table.tail_bits), byte(table.block_bits)]);
            out.extend([byte(table.syndrome_bits), 0, 0, 0, 0]);
        }
        directory::write(&self.places, &mut out);
        let body_len = usize::try_from(self.header_len).expect("a header has few pages") - CRC_LEN;
        out.resize(body_len, 0);
        let crc = crc32(&out);
        put_u32(&mut out, crc);
        out
    }
}

/// Formats bytes as hexadecimal numbers, for a message.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
