//! How the records of one format lie in bytes, and who takes them.

use super::chunk::Chunk;
use fpstore_base::{Fingerprint, IdRef};

/// How the records of one format lie in bytes.
pub(super) trait Layout {
    /// How many bytes at the start of `bytes` are whole records. No record ends in the first
    /// `searched_len` bytes.
    fn whole_len(&self, bytes: &[u8], searched_len: usize) -> usize;

    /// Gives each record of a chunk to the consumer until it stops. Returns how many lines were
    /// parsed, 0 in a format without lines.
    fn parse(&self, chunk: &Chunk, consumer: &mut impl RecordConsumer) -> u64;
}

/// Takes the records of a chunk. Each method returns whether to go on.
pub(super) trait RecordConsumer {
    fn record(
        &mut self,
        place: ChunkPlace,
        fingerprint: Fingerprint,
        id: Option<IdRef<'_>>,
    ) -> bool;

    fn bad_record(&mut self, place: ChunkPlace, reason: String) -> bool;
}

/// The place of a record, relative to its chunk or absolute.
#[derive(Clone, Copy, Debug)]
pub(super) enum ChunkPlace {
    /// The line in the chunk, counted from 1.
    Line(u64),
    /// The offset in the input.
    Byte(u64),
}
