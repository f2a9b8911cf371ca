//! The byte layouts of records, chunks of whole records, and the interface of their consumers.

use std::sync::Arc;

use crate::bytes::fields::{u32_at, u64_at};
use fpstore_base::lines::LineForm;
use fpstore_base::{Fingerprint, IdRef, Radix, Width};

/// Consumes the records of a chunk. Each method returns whether to continue.
pub(super) trait RecordConsumer {
    fn record(
        &mut self,
        place: ChunkPlace,
        fingerprint: Fingerprint,
        id: Option<IdRef<'_>>,
    ) -> bool;

    fn bad_record(&mut self, place: ChunkPlace, reason: String) -> bool;
}

/// The position of a record, in its chunk or in the input.
#[derive(Clone, Copy, Debug)]
pub(super) enum ChunkPlace {
    /// The line number within the chunk, counted from 1.
    Line(u64),
    /// The byte offset within the input.
    Byte(u64),
}

/// The maximum length of a line with a record. A longer line indicates another kind of file, and is
/// not read into memory.
pub(super) const LINE_LEN_MAX: usize = 1 << 20;

/// Whole records of an input, which can be parsed independently of other chunks.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    /// The offset of the chunk in the decompressed input.
    pub(super) offset: u64,
    /// The offset of the end of the chunk in the decompressed input.
    pub(super) end: u64,
    /// Whether the chunk represents a line that was too long to read into memory. It then has no
    /// bytes.
    pub(super) is_long_line: bool,
    /// The form of the lines, such as their columns; the same for all chunks of an input.
    pub(super) form: Arc<LineForm>,
}

/// Passes records with fingerprints of at most `width` bits to another consumer, and turns all
/// others into bad records. Used only for widths below 64 bits, so layouts need no width and inputs
/// of 64 bits no additional check.
pub(super) struct Narrow<'a, C> {
    pub(super) consumer: &'a mut C,
    pub(super) width: Width,
    /// The radix in which the input contains the fingerprints.
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

/// Passes the records of a chunk to the consumer until it stops. Records have `LEN` bytes: a
/// fingerprint of `OWN_LEN` bytes (4 or 8), then an id of 8 bytes if `LEN` is greater than
/// `OWN_LEN`. Returns the number of parsed lines, 0.
pub(super) fn parse_fixed<const LEN: usize, const OWN_LEN: usize>(
    chunk: &Chunk,
    consumer: &mut impl RecordConsumer,
) -> u64 {
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
        let reason = format!("the last record has {} bytes, expected {LEN}", rest.len());
        consumer.bad_record(ChunkPlace::Byte(offset), reason);
    }
    0
}
