//! The layout of records with a fixed number of bytes.

use super::layout::{Chunk, ChunkPlace, Layout, RecordConsumer};
use crate::bytes::fields::{u32_at, u64_at};
use fpstore_base::{Fingerprint, IdRef};

/// Records of `LEN` bytes: a fingerprint of `OWN_LEN` bytes, 4 or 8, then an id of 8 bytes if there
/// are more bytes.
pub(super) struct FixedRecords<const LEN: usize, const OWN_LEN: usize>;

impl<const LEN: usize, const OWN_LEN: usize> Layout for FixedRecords<LEN, OWN_LEN> {
    fn whole_len(&self, bytes: &[u8], _: usize) -> usize {
        bytes.len() / LEN * LEN
    }

    fn parse(&self, chunk: &Chunk, consumer: &mut impl RecordConsumer) -> u64 {
        let (records, rest) = chunk.bytes.as_chunks::<LEN>();
        for (offset, record) in (chunk.offset..).step_by(LEN).zip(records) {
            let value = match OWN_LEN {
                4 => u32_at(record, 0).map(u64::from),
                _ => u64_at(record, 0),
            };
            let fingerprint = Fingerprint::new(value.unwrap_or_default());
            let id = u64_at(record, OWN_LEN).map(IdRef::U64);
            if !consumer.record(ChunkPlace::Byte(offset), fingerprint, id) {
                return 0;
            }
        }
        if !rest.is_empty() {
            let offset = chunk.offset + (chunk.bytes.len() - rest.len()) as u64;
            let reason = format!("{} bytes after the last record, expected {LEN}", rest.len());
            consumer.bad_record(ChunkPlace::Byte(offset), reason);
        }
        0
    }
}
