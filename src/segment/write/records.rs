//! Encodes id records, which can have any length.

use crate::base::error::Result;
use crate::bytes::fields::put_u64;
use crate::bytes::varint;
use crate::format::id_records::{GROUP_LEN, IdLayout};
use fpstore_base::{IdKind, IdRef};
use fpstore_disk::{ScratchFolder, Spool};

/// Encodes id records, one fingerprint after the other.
#[derive(Debug)]
pub(super) struct RecordEncoder {
    layout: IdLayout,
    /// The encoded ids of the current record.
    payload: Spool,
    count: u64,
    /// The bytes of the record before the ids, in a buffer reused for each record.
    prefix: Vec<u8>,
}

impl RecordEncoder {
    pub(super) fn new(layout: IdLayout, folder: &ScratchFolder) -> Self {
        RecordEncoder { layout, payload: Spool::new(folder), count: 0, prefix: Vec::new() }
    }

    /// Adds an id and its sketch to the current record. In a segment with text ids, a number is
    /// stored as decimal text.
    pub(super) fn push(&mut self, id: IdRef<'_>, sketch: &[u8]) -> Result<()> {
        debug_assert_eq!(sketch.len(), self.layout.sketch_len as usize);
        self.count += 1;
        match (self.layout.kind, id) {
            (IdKind::U64, IdRef::U64(number)) => {
                let len = self.layout.id_len as usize;
                self.payload.tail().extend_from_slice(&number.to_le_bytes()[..len]);
            }
            (_, IdRef::U64(number)) => put_text(&number.to_string(), self.payload.tail()),
            (_, IdRef::Text(text)) => put_text(text, self.payload.tail()),
        }
        if !sketch.is_empty() {
            self.payload.tail().extend_from_slice(sketch);
        }
        Ok(self.payload.spill_if_full()?)
    }

    /// Ends the current record: passes its bytes to `records`, and returns its length.
    pub(super) fn close(&mut self, mut records: impl FnMut(&[u8]) -> Result<()>) -> Result<u64> {
        self.prefix.clear();
        varint::write(self.count, &mut self.prefix);
        if self.layout.kind == IdKind::Text && self.count > 1 {
            varint::write(self.payload.len(), &mut self.prefix);
        }
        let len = self.prefix.len() as u64 + self.payload.len();
        self.count = 0;
        records(&self.prefix)?;
        self.payload.drain(records)?;
        Ok(len)
    }
}

/// Writes the start of each group of records.
#[derive(Debug, Default)]
pub(super) struct GroupWriter {
    fingerprints: u64,
    records_len: u64,
}

impl GroupWriter {
    /// Takes the length of the next record. If this record begins a group, appends an entry to
    /// `groups`.
    pub(super) fn push(&mut self, len: u64, groups: &mut Vec<u8>) {
        if self.fingerprints.is_multiple_of(GROUP_LEN) {
            put_u64(groups, self.records_len);
        }
        self.fingerprints += 1;
        self.records_len += len;
    }

    /// Appends the last entry, the end of all records, to `groups`.
    pub(super) fn finish(self, groups: &mut Vec<u8>) {
        put_u64(groups, self.records_len);
    }
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    varint::write(text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::section::Rank;
    use crate::format::id_records::{Record, group_of, groups_len};
    use fpstore_base::Id;
    use proptest::prelude::*;

    fn ids(kind: IdKind) -> BoxedStrategy<Vec<Id>> {
        let id = match kind {
            IdKind::U64 => (0..1_u64 << 24).prop_map(Id::U64).boxed(),
            _ => "[^\0\r\n]{1,9}".prop_map(|text| Id::Text(text.into())).boxed(),
        };
        prop::collection::vec(id, 0..4).boxed()
    }

    fn records() -> impl Strategy<Value = (IdKind, Vec<Vec<Id>>, u32)> {
        prop_oneof![Just(IdKind::U64), Just(IdKind::Text)]
            .prop_flat_map(|kind| (Just(kind), prop::collection::vec(ids(kind), 0..100), 0..3_u32))
    }

    proptest! {
        #[test]
        fn records_come_back_in_order((kind, records, sketch_len) in records()) {
            let id_len = if kind == IdKind::U64 { 3 } else { 0 };
            let layout = IdLayout { kind, id_len, sketch_len };
            let sketch_of = |id: &Id| [id.to_string().as_bytes()[0], 7][..sketch_len as usize].to_vec();
            let (mut groups, mut bytes) = (Vec::new(), Vec::new());
            let mut encoder = RecordEncoder::new(layout, &ScratchFolder::new("".into()));
            let mut writer = GroupWriter::default();
            for ids in &records {
                for id in ids {
                    encoder.push(id.as_ref(), &sketch_of(id)).unwrap();
                }
                let len = encoder.close(|part| {
                    bytes.extend_from_slice(part);
                    Ok(())
                });
                writer.push(len.unwrap(), &mut groups);
            }
            writer.finish(&mut groups);
            prop_assert_eq!(groups.len() as u64, groups_len(records.len() as u64));
            let mut at = 0;
            for (rank, ids) in (0..).zip(&records) {
                let (entry, before) = group_of(Rank(rank));
                if before == 0 {
                    prop_assert_eq!(crate::bytes::fields::u64_at(&groups, entry as usize), Some(at as u64));
                }
                let (mut record, len) = Record::read(&bytes[at..], layout).unwrap();
                at += len;
                for id in ids {
                    prop_assert_eq!(record.next().unwrap(), Some(id.as_ref()));
                    prop_assert_eq!(record.sketch(), sketch_of(id));
                }
                prop_assert_eq!(record.next().unwrap(), None);
            }
            prop_assert_eq!(at, bytes.len());
        }
    }
}
