//! The layout of records of a fixed number of bytes.

use super::chunk::Chunk;
use super::layout::{ChunkPlace, Layout, RecordConsumer};
use crate::bytes::fields::u64_at;
use fpstore_base::{Fingerprint, IdRef};

/// Records of `LEN` bytes: a fingerprint, then an id if `LEN` is 16.
pub(super) struct FixedRecords<const LEN: usize>;

impl<const LEN: usize> Layout for FixedRecords<LEN> {
    fn whole_len(&self, bytes: &[u8], _: usize) -> usize {
        bytes.len() / LEN * LEN
    }

    fn parse(&self, chunk: &Chunk, consumer: &mut impl RecordConsumer) -> u64 {
        let (records, rest) = chunk.bytes.as_chunks::<LEN>();
        for (offset, record) in (chunk.offset..).step_by(LEN).zip(records) {
            let fingerprint = Fingerprint::new(u64_at(record, 0).unwrap_or_default());
            let id = u64_at(record, 8).map(IdRef::U64);
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
