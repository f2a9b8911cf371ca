//! Writing a segment: sorted values in, one file out, front to back within each section.

#![cfg_attr(
    not(test),
    expect(
        clippy::expect_used,
        clippy::indexing_slicing,
        reason = "a writer handles its own values, in range by construction"
    )
)]

use std::io::{self, Seek, SeekFrom, Write};

use crate::bits::packing::{self, Packer};
use crate::bits::permutation::{Permutation, Permuted};
use crate::checksum::{PAGE_LEN, PageIdentity, SetSum};
use crate::format::directory::{SectionPlace, kind_tag, table_tag};
use crate::format::header::{Header, TableDescriptor};
use crate::format::heads;
use crate::format::id_records::{IdLayout, RecordWriter};
use crate::format::prefix_index::{self, LineWriter};
use crate::id::{IdKind, IdRef};
use crate::recipe::Recipe;
use crate::section::{Section, TableIndex};

/// Whole pages are handed to the file once so many bytes wait.
const SPILL_LEN: usize = 1 << 20;

/// What must be known of a segment before its first byte is written.
#[derive(Clone, Debug)]
pub(crate) struct SegmentSpec {
    pub(crate) fingerprint_count: u64,
    pub(crate) table_count: usize,
    pub(crate) tuned_k: u32,
    pub(crate) ids: IdLayout,
    pub(crate) recipe: Recipe,
}

/// A segment being written: tables in their order, then the ids, then `finish`.
pub(crate) struct SegmentWriter<W> {
    out: W,
    spec: SegmentSpec,
    header_len: u64,
    places: Vec<SectionPlace>,
    tables: Vec<TableDescriptor>,
    set_sum: SetSum,
    id_count: u64,
    checksums: Vec<u8>,
}

impl<W: Write + Seek> SegmentWriter<W> {
    pub(crate) fn new(out: W, spec: SegmentSpec) -> io::Result<Self> {
        let header_len = Header::len_for(spec.table_count, spec.ids.kind != IdKind::None);
        let mut writer = SegmentWriter {
            out,
            header_len,
            places: Vec::new(),
            tables: Vec::new(),
            set_sum: SetSum::default(),
            id_count: 0,
            checksums: Vec::new(),
            spec,
        };
        let text = writer.spec.recipe.text().as_bytes().to_vec();
        writer.whole_section(Section::Recipe, text)?;
        Ok(writer)
    }

    /// Writes the next table from its permuted values, distinct and ascending.
    ///
    /// One pass: the lengths of index and tails follow from the counts, so all three sections
    /// are written side by side.
    pub(crate) fn table(
        &mut self,
        descriptor: TableDescriptor,
        values: impl Iterator<Item = Permuted>,
    ) -> io::Result<()> {
        let number = u16::try_from(self.tables.len()).expect("at most 256 tables");
        let table = TableIndex(number);
        let lines_len = prefix_index::section_len(descriptor.block_bits);
        let tails_len = packing::packed_len(self.spec.fingerprint_count, descriptor.tail_bits)
            .expect("at most 2^40 values of 56 bits");
        let lines = SectionWriter::new(Section::PrefixIndex(table), self.next_offset());
        let tails = SectionWriter::new(Section::Tails(table), lines.offset_after(lines_len));
        let heads = SectionWriter::new(Section::Heads(table), tails.offset_after(tails_len));
        let mut encoder = TableEncoder {
            descriptor,
            lines,
            tails,
            heads,
            line_writer: LineWriter::default(),
            packer: Packer::new(descriptor.tail_bits),
            block: 0,
            block_heads: Vec::new(),
            rank_end: 0,
        };
        let permutation = Permutation::new(descriptor.mask);
        for value in values {
            if number == 0 {
                self.set_sum.add(permutation.invert(value));
            }
            encoder.push(value, &mut self.out)?;
        }
        debug_assert_eq!(
            encoder.rank_end + encoder.block_heads.len() as u64,
            self.spec.fingerprint_count
        );
        let (sections, wide) = encoder.finish(&mut self.out)?;
        for section in sections {
            self.close(section)?;
        }
        self.whole_section(Section::WideLines(table), wide)?;
        self.tables.push(descriptor);
        Ok(())
    }

    /// Writes the ids: one list for each fingerprint, in the order of the first table.
    pub(crate) fn ids<'a, I: Iterator<Item = IdRef<'a>>>(
        &mut self,
        lists: impl Iterator<Item = I>,
    ) -> io::Result<()> {
        let mut record_writer = RecordWriter::new(self.spec.ids);
        let mut groups = SectionWriter::new(Section::IdGroups, self.next_offset());
        let groups_len = crate::format::id_records::groups_len(self.spec.fingerprint_count);
        let mut records = SectionWriter::new(Section::IdRecords, groups.offset_after(groups_len));
        for list in lists {
            let counted = list.inspect(|_| self.id_count += 1);
            record_writer.push(counted, &mut groups.pending, &mut records.pending);
            groups.spill(&mut self.out)?;
            records.spill(&mut self.out)?;
        }
        record_writer.finish(&mut groups.pending);
        self.close(groups)?;
        self.close(records)
    }

    /// Writes checksums and header: the segment is whole, though not yet synced.
    pub(crate) fn finish(mut self) -> io::Result<Header> {
        let checksums = std::mem::take(&mut self.checksums);
        self.whole_section(Section::Checksums, checksums)?;
        let header = Header {
            header_len: self.header_len,
            file_len: self.next_offset(),
            fingerprint_count: self.spec.fingerprint_count,
            id_count: self.id_count,
            id_kind: self.spec.ids.kind,
            id_len: self.spec.ids.id_len,
            tuned_k: self.spec.tuned_k,
            set_sum: self.set_sum,
            tables: self.tables,
            places: self.places,
            crc: 0,
        };
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&header.encode())?;
        self.out.flush()?;
        Ok(header)
    }

    fn next_offset(&self) -> u64 {
        let end = self.places.last().map(|place| place.end().expect("a file fits 64 bits"));
        end.unwrap_or(self.header_len)
    }

    fn whole_section(&mut self, section: Section, bytes: Vec<u8>) -> io::Result<()> {
        let mut writer = SectionWriter::new(section, self.next_offset());
        writer.pending = bytes;
        self.close(writer)
    }

    fn close(&mut self, section: SectionWriter) -> io::Result<()> {
        debug_assert_eq!(section.offset, self.next_offset());
        let (place, checksums) = section.finish(&mut self.out)?;
        self.places.push(place);
        self.checksums.extend(checksums);
        Ok(())
    }
}

/// One section on its way to the file, with the checksums of its pages.
struct SectionWriter {
    section: Section,
    offset: u64,
    written_len: u64,
    /// Bytes that wait for their page to fill.
    pending: Vec<u8>,
    checksums: Vec<u8>,
}

impl SectionWriter {
    fn new(section: Section, offset: u64) -> Self {
        SectionWriter {
            section,
            offset,
            written_len: 0,
            pending: Vec::new(),
            checksums: Vec::new(),
        }
    }

    /// Where the section after this one starts, if this one has `len` bytes.
    fn offset_after(&self, len: u64) -> u64 {
        self.offset + len.next_multiple_of(PAGE_LEN as u64)
    }

    /// Hands whole pages to the file if many wait.
    fn spill(&mut self, out: &mut (impl Write + Seek)) -> io::Result<()> {
        if self.pending.len() >= SPILL_LEN {
            let whole = self.pending.len() / PAGE_LEN * PAGE_LEN;
            self.write_pages(whole, out)?;
        }
        Ok(())
    }

    fn write_pages(&mut self, len: usize, out: &mut (impl Write + Seek)) -> io::Result<()> {
        let (pages, _) = self.pending[..len].as_chunks::<PAGE_LEN>();
        for (number, page) in (self.written_len / PAGE_LEN as u64..).zip(pages) {
            let identity = PageIdentity {
                kind: kind_tag(self.section),
                table: table_tag(self.section),
                page_in_section: number,
            };
            self.checksums.extend(identity.checksum(page).to_le_bytes());
        }
        out.seek(SeekFrom::Start(self.offset + self.written_len))?;
        out.write_all(&self.pending[..len])?;
        self.pending.drain(..len);
        self.written_len += len as u64;
        Ok(())
    }

    /// Writes the rest, filled up with zeros. The checksums section has none of its own.
    fn finish(mut self, out: &mut (impl Write + Seek)) -> io::Result<(SectionPlace, Vec<u8>)> {
        let len = self.written_len + self.pending.len() as u64;
        self.pending.resize(self.pending.len().next_multiple_of(PAGE_LEN), 0);
        self.write_pages(self.pending.len(), out)?;
        let place = SectionPlace { section: self.section, offset: self.offset, len };
        let own = if self.section == Section::Checksums { Vec::new() } else { self.checksums };
        Ok((place, own))
    }
}

/// Cuts values into heads and tails and heads into blocks.
struct TableEncoder {
    descriptor: TableDescriptor,
    lines: SectionWriter,
    tails: SectionWriter,
    heads: SectionWriter,
    line_writer: LineWriter,
    packer: Packer,
    /// The block being filled.
    block: u64,
    block_heads: Vec<u64>,
    /// The rank after the last value of the blocks that are closed.
    rank_end: u64,
}

impl TableEncoder {
    fn push(&mut self, value: Permuted, out: &mut (impl Write + Seek)) -> io::Result<()> {
        let block = value.0.checked_shr(64 - self.descriptor.block_bits).unwrap_or(0);
        while self.block < block {
            self.close_block();
            self.lines.spill(out)?;
            self.heads.spill(out)?;
        }
        self.block_heads.push(value.0 >> self.descriptor.tail_bits);
        self.packer.push(value.0, &mut self.tails.pending);
        self.tails.spill(out)
    }

    fn close_block(&mut self) {
        let first_head = self.block.checked_shl(self.descriptor.inner_bits()).unwrap_or(0);
        heads::write_block(&self.block_heads, first_head, &mut self.heads.pending);
        self.rank_end += self.block_heads.len() as u64;
        self.block_heads.clear();
        let heads_end = self.heads.written_len + self.heads.pending.len() as u64;
        self.line_writer.push(heads_end, self.rank_end, &mut self.lines.pending);
        self.block += 1;
    }

    /// Closes all blocks left: the sections in file order, and the wide lines.
    fn finish(
        mut self,
        out: &mut (impl Write + Seek),
    ) -> io::Result<([SectionWriter; 3], Vec<u8>)> {
        while self.block < self.descriptor.block_count() {
            self.close_block();
            self.lines.spill(out)?;
            self.heads.spill(out)?;
        }
        self.packer.finish(&mut self.tails.pending);
        let wide = self.line_writer.finish(&mut self.lines.pending);
        Ok(([self.lines, self.tails, self.heads], wide))
    }
}
