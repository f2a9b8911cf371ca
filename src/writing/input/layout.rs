//! How the records of one format lie in bytes, and who takes them.

use std::sync::Arc;

use super::guess::LineForm;
use fpstore_base::{Fingerprint, IdRef, Radix, Width};

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

/// The longest line that can be a record. A longer one is a sign of another kind of file and must
/// not fill the memory.
pub(super) const LINE_LEN_MAX: usize = 1 << 20;

/// Whole records of an input.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    /// Where the chunk starts: bytes of the decompressed input.
    pub(super) offset: u64,
    /// Where it ends.
    pub(super) end: u64,
    /// Whether the chunk stands for a line that was too long to keep. It then has no bytes.
    pub(super) is_long_line: bool,
    /// How lines are read; the same for all chunks of an input.
    pub(super) form: Arc<LineForm>,
}

/// Passes records of a width on, and makes bad records of those that do not fit.
pub(super) struct Narrow<'a, C> {
    pub(super) consumer: &'a mut C,
    pub(super) width: Width,
    /// The spelling of the values.
    pub(super) radix: Radix,
}

impl<C: RecordConsumer> RecordConsumer for Narrow<'_, C> {
    fn record(
        &mut self,
        place: ChunkPlace,
        fingerprint: Fingerprint,
        id: Option<IdRef<'_>>,
    ) -> bool {
        match self.width.narrowed(fingerprint, self.radix) {
            Some(fingerprint) => self.consumer.record(place, fingerprint, id),
            None => {
                let (value, width) = (fingerprint.value(), self.width);
                let reason = match self.radix {
                    Radix::SignedDecimal => {
                        format!("{} is not a signed number of {width} bits", value.cast_signed())
                    }
                    _ => format!("'{value:x}' has more than {width} bits"),
                };
                self.consumer.bad_record(place, reason)
            }
        }
    }

    fn bad_record(&mut self, place: ChunkPlace, reason: String) -> bool {
        self.consumer.bad_record(place, reason)
    }
}
