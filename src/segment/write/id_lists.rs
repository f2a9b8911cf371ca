//! Writes the id lists of a segment, one after the other, or from parts that were encoded
//! separately.

use std::io::{Seek, Write};

use super::records::{GroupWriter, RecordEncoder};
use super::section::{Output, SectionWriter};
use crate::base::error::Result;
use crate::format::id_records::IdLayout;
use fpstore_base::IdRef;
use fpstore_disk::ScratchFolder;

/// Receives the id list of one fingerprint after the other.
pub(crate) trait ListSink {
    /// Adds an id and its sketch to the current list.
    fn push(&mut self, id: IdRef<'_>, sketch: &[u8]) -> Result<()>;

    /// Ends the id list of the current fingerprint.
    fn close(&mut self) -> Result<()>;
}

/// The two sections with ids, while they are written.
pub(crate) struct IdSections<'a, W> {
    groups: SectionWriter,
    records: SectionWriter,
    encoder: RecordEncoder,
    group_writer: GroupWriter,
    out: &'a mut Output<W>,
    id_count: u64,
}

impl<'a, W: Write + Seek> IdSections<'a, W> {
    pub(super) fn new(
        [groups, records]: [SectionWriter; 2],
        (layout, scratch): (IdLayout, &ScratchFolder),
        out: &'a mut Output<W>,
    ) -> Self {
        let encoder = RecordEncoder::new(layout, scratch);
        let group_writer = GroupWriter::default();
        IdSections { groups, records, encoder, group_writer, out, id_count: 0 }
    }

    /// Appends id lists that were encoded separately.
    pub(crate) fn append(&mut self, lists: &IdLists) -> Result<()> {
        self.id_count += lists.id_count;
        for &len in &lists.lens {
            self.group_writer.push(len, &mut self.groups.pending);
        }
        self.records.pending.extend_from_slice(&lists.records);
        self.records.spill(self.out)?;
        self.groups.spill(self.out)
    }

    /// The finished sections, and the number of ids in them.
    pub(super) fn finish(mut self) -> ([SectionWriter; 2], u64) {
        self.group_writer.finish(&mut self.groups.pending);
        ([self.groups, self.records], self.id_count)
    }
}

impl<W: Write + Seek> ListSink for IdSections<'_, W> {
    fn push(&mut self, id: IdRef<'_>, sketch: &[u8]) -> Result<()> {
        self.id_count += 1;
        self.encoder.push(id, sketch)
    }

    fn close(&mut self) -> Result<()> {
        let (records, out) = (&mut self.records, &mut *self.out);
        let len = self.encoder.close(|bytes| {
            records.pending.extend_from_slice(bytes);
            records.spill(out)
        })?;
        self.group_writer.push(len, &mut self.groups.pending);
        self.groups.spill(self.out)
    }
}

/// Id lists encoded in memory, for any position in the section.
pub(crate) struct IdLists {
    encoder: RecordEncoder,
    records: Vec<u8>,
    /// The number of bytes of each list.
    lens: Vec<u64>,
    id_count: u64,
}

impl IdLists {
    /// An empty value. Encoded ids that do not fit in memory are kept in `scratch`.
    pub(crate) fn new(layout: IdLayout, scratch: &ScratchFolder) -> Self {
        let encoder = RecordEncoder::new(layout, scratch);
        IdLists { encoder, records: Vec::new(), lens: Vec::new(), id_count: 0 }
    }
}

impl ListSink for IdLists {
    fn push(&mut self, id: IdRef<'_>, sketch: &[u8]) -> Result<()> {
        self.id_count += 1;
        self.encoder.push(id, sketch)
    }

    fn close(&mut self) -> Result<()> {
        let records = &mut self.records;
        let len = self.encoder.close(|bytes| {
            records.extend_from_slice(bytes);
            Ok(())
        })?;
        self.lens.push(len);
        Ok(())
    }
}
