//! Writes a segment file from sorted values; each section is written from front to back.
//!
//! The segment build of `builder` calls [`SegmentWriter`] for each table and for the ids. Blocks,
//! id records and index entries are encoded here. Nothing here reads a segment.

#![cfg_attr(
    not(test),
    expect(
        clippy::expect_used,
        clippy::indexing_slicing,
        reason = "a writer handles its own values, in range by construction"
    )
)]

mod blocks;
mod id_lists;
mod keys;
mod parts;
mod records;
mod section;
mod table;

use std::io::{self, Seek, Write};
use std::path::Path;

use crate::base::error::{Error, Result};
use crate::base::section::{Section, TableIndex};
use crate::bytes::checksum::Digest;
use crate::bytes::packing;
use crate::bytes::set_sum::SetSum;
use crate::format::descriptor::TableDescriptor;
use crate::format::directory::SectionPlace;
use crate::format::header::{Header, version_of};
use crate::format::id_records::{IdLayout, groups_len};
use crate::format::prefix_index;
use fpstore_base::{IdKind, Recipe};
use fpstore_disk::ScratchFolder;
use section::{Output, SectionWriter};
use table::{EncodedTable, TableEncoder};

pub(crate) use id_lists::{IdLists, IdSections, ListSink};

/// The properties of a segment that must be known before its first byte is written.
#[derive(Clone, Debug)]
pub(crate) struct SegmentSpec {
    pub(crate) fingerprint_count: u64,
    pub(crate) table_count: usize,
    pub(crate) tuned_k: u32,
    pub(crate) ids: IdLayout,
    pub(crate) recipe: Recipe,
    /// The directory for temporary files with bytes that cannot be written to the segment yet.
    pub(crate) scratch: ScratchFolder,
    /// The number of threads that encode.
    pub(crate) threads: usize,
}

/// A segment being written: call `table` for each table in order, then `ids`, then `finish`.
pub(crate) struct SegmentWriter<W> {
    out: Output<W>,
    spec: SegmentSpec,
    header_len: u64,
    places: Vec<SectionPlace>,
    tables: Vec<TableDescriptor>,
    set_sum: SetSum,
    id_count: u64,
    checksums: Vec<u8>,
}

impl<W: Write + Seek> SegmentWriter<W> {
    /// Begins a segment in `file`; `path` is for messages.
    pub(crate) fn new(file: W, path: &Path, spec: SegmentSpec) -> Result<Self> {
        let header_len = Header::len_for(spec.table_count, spec.ids.kind != IdKind::None);
        let mut writer = SegmentWriter {
            out: Output { file, path: path.into() },
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

    /// Writes the next table. `values` must pass all permuted values, distinct and ascending, in
    /// runs to its argument. In a table with syndromes, keys are computed from the values.
    ///
    /// Takes one pass: the lengths of the index and the tails follow from the number of values, so
    /// all three sections are written at the same time.
    pub(crate) fn table(
        &mut self,
        descriptor: TableDescriptor,
        values: impl FnOnce(&mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let number = u16::try_from(self.tables.len()).expect("at most 256 tables");
        let table = TableIndex(number);
        let entries_len = prefix_index::section_len(descriptor.block_bits);
        let tails_len = packing::packed_len(self.spec.fingerprint_count, descriptor.stored_bits())
            .expect("at most 2^40 values of 56 bits");
        let entries = SectionWriter::new(Section::PrefixIndex(table), self.next_offset());
        let tails = SectionWriter::new(Section::Tails(table), entries.offset_after(entries_len));
        let heads = SectionWriter::new(Section::Heads(table), tails.offset_after(tails_len));
        let SegmentSpec { scratch, fingerprint_count, threads, .. } = &self.spec;
        let sections = [entries, tails, heads];
        let encoder = TableEncoder::new(descriptor, sections, number == 0, &mut self.out, scratch);
        let encoded = encoder.encode(*fingerprint_count, *threads, values)?;
        let EncodedTable { sections, overflow, set_sum } = encoded;
        self.set_sum.join(set_sum);
        for section in sections {
            self.close(section)?;
        }
        self.whole_section(Section::OverflowEntries(table), overflow)?;
        self.tables.push(descriptor);
        Ok(())
    }

    /// Writes the ids. `lists` must add one list for each fingerprint, in the order of the first
    /// table.
    pub(crate) fn ids(
        &mut self,
        lists: impl FnOnce(&mut IdSections<'_, W>) -> Result<()>,
    ) -> Result<()> {
        let groups = SectionWriter::new(Section::IdGroups, self.next_offset());
        let groups_len = groups_len(self.spec.fingerprint_count);
        let records = SectionWriter::new(Section::IdRecords, groups.offset_after(groups_len));
        let of_ids = (self.spec.ids, &self.spec.scratch);
        let mut sections = IdSections::new([groups, records], of_ids, &mut self.out);
        lists(&mut sections)?;
        let ([groups, records], id_count) = sections.finish();
        self.id_count = id_count;
        self.close(groups)?;
        self.close(records)
    }

    /// Writes the checksums and the header. Then the segment is complete, but not synced to the
    /// disk.
    pub(crate) fn finish(mut self) -> Result<()> {
        let checksums = std::mem::take(&mut self.checksums);
        let content_digest = Digest::of(&checksums);
        self.whole_section(Section::Checksums, checksums)?;
        let header = Header {
            version: version_of(&self.tables),
            header_len: self.header_len,
            file_len: self.next_offset(),
            fingerprint_count: self.spec.fingerprint_count,
            id_count: self.id_count,
            id_kind: self.spec.ids.kind,
            id_len: self.spec.ids.id_len,
            sketch_len: self.spec.ids.sketch_len,
            tuned_k: self.spec.tuned_k,
            set_sum: self.set_sum,
            content_digest,
            tables: self.tables,
            places: self.places,
            digest: Digest::NONE,
        };
        self.out.write_at(0, &header.encode())?;
        let flushed: io::Result<()> = self.out.file.flush();
        flushed.map_err(Error::io("write", &self.out.path))
    }

    fn next_offset(&self) -> u64 {
        let end = self.places.last().map(|place| place.end().expect("a file fits 64 bits"));
        end.unwrap_or(self.header_len)
    }

    fn whole_section(&mut self, section: Section, bytes: Vec<u8>) -> Result<()> {
        let mut writer = SectionWriter::new(section, self.next_offset());
        writer.pending = bytes;
        self.close(writer)
    }

    fn close(&mut self, section: SectionWriter) -> Result<()> {
        debug_assert_eq!(section.offset, self.next_offset());
        let (place, checksums) = section.finish(&mut self.out)?;
        self.places.push(place);
        self.checksums.extend(checksums);
        Ok(())
    }
}
