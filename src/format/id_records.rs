//! Id records: the ids of each fingerprint, in the order of the first table. This module decodes
//! them; `segment::write` encodes them.

use crate::base::error::Fault;
use crate::base::section::Rank;
use crate::bytes::varint;
use fpstore_base::{IdKind, IdRef};

/// The number of fingerprints whose records share one entry of the id groups section.
pub(crate) const GROUP_LEN: u64 = 32;
/// The length of an entry of the id groups section: the offset of the first record of a group.
pub(crate) const GROUP_ENTRY_LEN: u64 = 8;

/// The maximum number of bytes of the two varints that determine the length of a record.
pub(crate) const PREFIX_LEN_MAX: u64 = 2 * varint::LEN_MAX as u64;

/// The length of the id groups section in bytes: an entry for each group, and one for the end.
pub(crate) fn groups_len(fingerprint_count: u64) -> u64 {
    (fingerprint_count.div_ceil(GROUP_LEN) + 1) * GROUP_ENTRY_LEN
}

/// The offset of the group entry for a fingerprint, and the number of records before its record in
/// the group.
pub(crate) fn group_of(rank: Rank) -> (u64, u64) {
    (rank.0 / GROUP_LEN * GROUP_ENTRY_LEN, rank.0 % GROUP_LEN)
}

/// How the ids of a segment are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdLayout {
    pub(crate) kind: IdKind,
    /// The number of bytes of each id if ids are numbers.
    pub(crate) id_len: u32,
    /// The number of bytes of the sketch after each id.
    pub(crate) sketch_len: u32,
}

impl IdLayout {
    /// The layout of a segment without ids.
    pub(crate) const NONE: IdLayout = IdLayout { kind: IdKind::None, id_len: 0, sketch_len: 0 };
}

/// The first fields of a record, which determine its length.
struct Parts {
    id_count: u64,
    /// The number of bytes before the ids.
    prefix_len: usize,
    /// The number of bytes of the ids and sketches.
    payload_len: u64,
}

impl Parts {
    fn read(bytes: &[u8], layout: IdLayout) -> Result<Self, Fault> {
        let (id_count, count_len) = varint::read(bytes)?;
        let rest = bytes.get(count_len..).unwrap_or_default();
        let (payload_len, len_len) = match (layout.kind, id_count) {
            (_, 0) | (IdKind::None, _) => (0, 0),
            (IdKind::U64, _) => {
                let len = id_count.checked_mul((layout.id_len + layout.sketch_len).into());
                (len.ok_or_else(|| too_long(rest))?, 0)
            }
            // A single text id starts with its own length.
            (IdKind::Text, 1) => {
                let (len, len_len) = varint::read(rest)?;
                let after = len_len as u64 + u64::from(layout.sketch_len);
                (len.checked_add(after).ok_or_else(|| too_long(rest))?, 0)
            }
            (IdKind::Text, _) => varint::read(rest)?,
        };
        Ok(Parts { id_count, prefix_len: count_len + len_len, payload_len })
    }
}

/// The length of the first `count` records in `bytes`; `None` if bytes are missing or unreadable.
pub(crate) fn len_of(bytes: &[u8], count: u64, layout: IdLayout) -> Option<usize> {
    // The fast path: most fingerprints have one id, and a single number always takes the same
    // length.
    let of_single = (layout.kind == IdKind::U64).then(|| 1 + layout.id_len + layout.sketch_len);
    let mut passed = 0_usize;
    for _ in 0..count {
        let rest = bytes.get(passed..)?;
        let len = match (of_single, rest.first()) {
            (Some(len), Some(1)) => len as usize,
            _ => usize::try_from(Record::len(rest, layout).ok()?).ok()?,
        };
        passed = passed.checked_add(len)?;
    }
    (passed <= bytes.len()).then_some(passed)
}

/// The ids of one fingerprint, still encoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    layout: IdLayout,
    left: u64,
    payload: &'a [u8],
    /// The sketch of the id that was read last.
    sketch: &'a [u8],
}

impl<'a> Record<'a> {
    /// The length of the record that starts with `prefix`; [`PREFIX_LEN_MAX`] bytes of it always
    /// suffice.
    pub(crate) fn len(prefix: &[u8], layout: IdLayout) -> Result<u64, Fault> {
        let parts = Parts::read(prefix, layout)?;
        (parts.prefix_len as u64).checked_add(parts.payload_len).ok_or_else(|| too_long(prefix))
    }

    /// Reads the record at the start of `bytes`; returns the record and its length.
    pub(crate) fn read(bytes: &'a [u8], layout: IdLayout) -> Result<(Self, usize), Fault> {
        let parts = Parts::read(bytes, layout)?;
        let payload = usize::try_from(parts.payload_len)
            .ok()
            .and_then(|len| bytes.get(parts.prefix_len..)?.get(..len))
            .ok_or_else(|| too_long(bytes))?;
        let len = parts.prefix_len + payload.len();
        Ok((Record { layout, left: parts.id_count, payload, sketch: &[] }, len))
    }

    /// The record of any fingerprint in a segment without ids.
    pub(crate) fn empty() -> Self {
        Record { layout: IdLayout::NONE, left: 0, payload: &[], sketch: &[] }
    }

    /// Whether at most one unread id remains.
    pub(crate) fn is_single(&self) -> bool {
        self.left <= 1
    }

    /// The number of unread ids; rejects a number that is too large for the remaining bytes.
    pub(crate) fn id_count(&self) -> Result<u64, Fault> {
        if self.left > self.payload.len() as u64 {
            let (count, len) = (self.left, self.payload.len());
            return Err(Fault::rule(18, format!("{count} ids do not fit into {len} bytes")));
        }
        Ok(self.left)
    }

    /// Reads the next id; `None` after the last id.
    pub(crate) fn next(&mut self) -> Result<Option<IdRef<'a>>, Fault> {
        let Some(left) = self.left.checked_sub(1) else {
            if self.payload.is_empty() {
                return Ok(None);
            }
            return Err(Fault::rule(18, "there are bytes after the last id of a record"));
        };
        let id = match self.layout.kind {
            IdKind::None => return Err(Fault::rule(18, "an id in a segment without ids")),
            IdKind::U64 => self.next_number()?,
            IdKind::Text => self.next_text()?,
        };
        self.left = left;
        let sketch = self.payload.split_at_checked(self.layout.sketch_len as usize);
        (self.sketch, self.payload) = sketch.ok_or_else(|| too_long(self.payload))?;
        Ok(Some(id))
    }

    /// The sketch of the id that was read last; empty in a segment without sketches.
    pub(crate) fn sketch(&self) -> &'a [u8] {
        self.sketch
    }

    fn next_number(&mut self) -> Result<IdRef<'a>, Fault> {
        let len = self.layout.id_len as usize;
        let (bytes, rest) =
            self.payload.split_at_checked(len).ok_or_else(|| too_long(self.payload))?;
        self.payload = rest;
        Ok(IdRef::U64(bytes.iter().rev().fold(0, |id, &byte| id << 8 | u64::from(byte))))
    }

    fn next_text(&mut self) -> Result<IdRef<'a>, Fault> {
        let (len, len_len) = varint::read(self.payload)?;
        let (bytes, rest) = usize::try_from(len)
            .ok()
            .and_then(|len| self.payload.get(len_len..)?.split_at_checked(len))
            .ok_or_else(|| too_long(self.payload))?;
        self.payload = rest;
        let text = str::from_utf8(bytes).map_err(|_| Fault::rule(19, "text id is not UTF-8"))?;
        match IdRef::fault_of_text(text) {
            Some(fault) => Err(Fault::rule(19, format!("bad text id: {fault}"))),
            None => Ok(IdRef::Text(text)),
        }
    }
}

fn too_long(rest: &[u8]) -> Fault {
    Fault::rule(18, format!("an id record is longer than the {} bytes left", rest.len()))
}

/// The number of bytes in which each number id is stored if `largest` is the largest id.
pub(crate) fn id_len_for(largest: u64) -> u32 {
    (64 - largest.leading_zeros()).div_ceil(8).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_as_a_record_give_ids_or_a_fault(
            bytes: Vec<u8>,
            text: bool,
            id_len in 1..=8_u32,
            sketch_len in 0..9_u32,
        ) {
            let kind = if text { IdKind::Text } else { IdKind::U64 };
            if let Ok((mut record, len)) = Record::read(&bytes, IdLayout { kind, id_len, sketch_len }) {
                prop_assert!(len <= bytes.len());
                prop_assert!(record.id_count().is_ok_and(|count| count <= len as u64) || text);
                while let Ok(Some(_)) = record.next() {}
            }
        }
    }

    proptest! {
        #[test]
        fn records_are_passed_together_as_one_by_one(
            records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..4), 0..9),
            cut in 0..3_usize,
            id_len in 1..=2_u32,
            more in 0..2_u64,
        ) {
            let layout = IdLayout { kind: IdKind::U64, id_len, sketch_len: 0 };
            let mut bytes = Vec::new();
            for ids in &records {
                bytes.push(ids.len() as u8);
                ids.iter().for_each(|&id| bytes.extend(&[id, 0][..id_len as usize]));
            }
            let whole = bytes.len();
            bytes.truncate(whole.saturating_sub(cut));
            let count = records.len() as u64 + more;
            let is_whole = bytes.len() == whole && more == 0;
            prop_assert_eq!(len_of(&bytes, count, layout), is_whole.then_some(whole));
        }
    }

    #[test]
    fn numbers_take_as_few_bytes_as_the_largest() {
        assert_eq!([0, 255, 256, u64::MAX].map(id_len_for), [1, 1, 2, 8]);
    }
}
