//! Records of a fixed number of bytes.

use super::chunk::Chunk;
use super::{Place, Sink};
use crate::bytes::u64_at;
use crate::fingerprint::Fingerprint;
use crate::id::IdRef;

/// Reads the records of `LEN` bytes in a chunk: a fingerprint, and an id if there is room for one.
/// Says whether to go on.
pub(super) fn parse<const LEN: usize>(chunk: &Chunk, sink: &mut impl Sink) -> bool {
    let (records, rest) = chunk.bytes.as_chunks::<LEN>();
    for (place, record) in (chunk.offset..).step_by(LEN).zip(records) {
        let fingerprint = Fingerprint::new(u64_at(record, 0).unwrap_or_default());
        let id = u64_at(record, 8).map(IdRef::U64);
        if !sink.record(Place::Byte(place), fingerprint, id) {
            return false;
        }
    }
    if rest.is_empty() {
        return true;
    }
    let place = chunk.offset + (chunk.bytes.len() - rest.len()) as u64;
    sink.bad(Place::Byte(place), format!("{} bytes left over, expected {LEN}", rest.len()))
}
