//! Run blocks: up to 512 entries of a sorted run, and their bytes in a temporary file.
//!
//! A block contains its first key, the gaps between keys, the smallest id, and the differences of
//! the ids from it. Gaps and differences are each packed with one bit width. A CRC-32 covers each
//! block and is checked when the block is read back.
//!
//! Example: keys 100, 101, 103 with ids 7, 9, 8 have gaps 0, 1, 2 of 2 bits, and differences 0, 2,
//! 1 of 2 bits from the smallest id 7.

use std::ops::Range;

use crate::bytes::checksum::crc32;
use crate::bytes::fields::{put_u32, put_u64, slice_at, u32_at, u64_at};
use crate::bytes::packing::{self, Packer, WIDTH_MAX};
use fpstore_base::IdRef;

/// The maximum number of entries of a block.
pub(super) const BLOCK_COUNT: usize = 512;
/// A block with this many bytes of text is full.
const TEXT_LEN: usize = 1 << 16;
/// The memory of an entry in bytes, its text not counted.
pub(super) const ENTRY_WEIGHT: u64 = 16;
/// The length of a block header: CRC-32, payload length and entry count (4 bytes each), kind of
/// ids, bit width of the gaps, bit width of the ids, zero (1 byte each).
pub(super) const HEADER_LEN: usize = 16;

/// The decoded entries of one block of a sorted run.
#[derive(Clone, Debug, Default)]
pub(super) struct RunBlock {
    pub(super) keys: Vec<u64>,
    pub(super) ids: BlockIds,
}

/// The ids of a block: no ids, or one for each entry.
#[derive(Clone, Debug, Default)]
pub(super) enum BlockIds {
    #[default]
    None,
    Numbers(Vec<u64>),
    Texts {
        bytes: Vec<u8>,
        ends: Vec<u32>,
    },
}

impl RunBlock {
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        match &mut self.ids {
            BlockIds::None => {}
            BlockIds::Numbers(numbers) => numbers.clear(),
            BlockIds::Texts { bytes, ends } => {
                bytes.clear();
                ends.clear();
            }
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.keys.len() >= BLOCK_COUNT || self.text_len() >= TEXT_LEN
    }

    fn text_len(&self) -> usize {
        match &self.ids {
            BlockIds::Texts { bytes, .. } => bytes.len(),
            _ => 0,
        }
    }

    /// The approximate memory of the entries in bytes.
    pub(super) fn weight(&self) -> u64 {
        ENTRY_WEIGHT * self.keys.len() as u64 + self.text_len() as u64
    }

    /// Keeps only the entries at `places`.
    pub(super) fn keep(&mut self, places: Range<usize>) {
        match &mut self.ids {
            BlockIds::None => {}
            BlockIds::Numbers(numbers) => keep(numbers, &places),
            BlockIds::Texts { bytes, ends } => {
                let end_before = |place: usize| place.checked_sub(1).map_or(0, |at| ends[at]);
                let (start, end) = (end_before(places.start), end_before(places.end));
                keep(bytes, &(start as usize..end as usize));
                keep(ends, &places);
                ends.iter_mut().for_each(|end| *end -= start);
            }
        }
        keep(&mut self.keys, &places);
    }

    pub(super) fn push_text(&mut self, key: u64, text: &[u8]) {
        if !matches!(self.ids, BlockIds::Texts { .. }) {
            self.ids = BlockIds::Texts { bytes: Vec::new(), ends: Vec::new() };
        }
        if let BlockIds::Texts { bytes, ends } = &mut self.ids {
            bytes.extend_from_slice(text);
            ends.push(bytes.len() as u32);
        }
        self.keys.push(key);
    }

    pub(super) fn push_number(&mut self, key: u64, number: u64) {
        if !matches!(self.ids, BlockIds::Numbers(_)) {
            self.ids = BlockIds::Numbers(Vec::new());
        }
        if let BlockIds::Numbers(numbers) = &mut self.ids {
            numbers.push(number);
        }
        self.keys.push(key);
    }

    /// Appends the entry at position `at` of another block. The bytes of its id stay unchanged.
    pub(super) fn push_entry(&mut self, other: &RunBlock, at: usize) {
        let key = other.keys[at];
        match &other.ids {
            BlockIds::None => self.keys.push(key),
            BlockIds::Numbers(numbers) => self.push_number(key, numbers[at]),
            BlockIds::Texts { .. } => self.push_text(key, other.text(at).unwrap_or_default()),
        }
    }

    /// Replaces all entries by pairs of a key and a number as id.
    pub(super) fn set_numbers(&mut self, entries: &[(u64, u64)]) {
        let mut numbers = self.take_numbers();
        numbers.clear();
        numbers.extend(entries.iter().map(|entry| entry.1));
        self.ids = BlockIds::Numbers(numbers);
        self.keys.clear();
        self.keys.extend(entries.iter().map(|entry| entry.0));
    }

    /// Removes the ids. Returns their vector for reuse if they are numbers, else a new one.
    fn take_numbers(&mut self) -> Vec<u64> {
        match std::mem::take(&mut self.ids) {
            BlockIds::Numbers(numbers) => numbers,
            _ => Vec::new(),
        }
    }

    /// The id of the entry at `at`.
    pub(super) fn id(&self, at: usize) -> Option<IdRef<'_>> {
        match &self.ids {
            BlockIds::None => None,
            BlockIds::Numbers(numbers) => Some(IdRef::U64(numbers[at])),
            BlockIds::Texts { .. } => {
                let text = str::from_utf8(self.text(at)?);
                Some(IdRef::Text(text.expect("only whole texts are pushed")))
            }
        }
    }

    /// The bytes of the text of the entry at `at`.
    pub(super) fn text(&self, at: usize) -> Option<&[u8]> {
        let BlockIds::Texts { bytes, ends } = &self.ids else { return None };
        let start = at.checked_sub(1).map_or(0, |before| ends[before] as usize);
        Some(&bytes[start..ends[at] as usize])
    }

    /// Appends the encoded block to `out`. The keys of the block must ascend.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + HEADER_LEN, 0);
        let first = self.keys.first().copied().unwrap_or(0);
        put_u64(out, first);
        let gaps = self.keys.iter().scan(first, |before, &key| {
            let gap = key - *before;
            *before = key;
            Some(gap)
        });
        let gap_width = put_column(gaps, out);
        let (kind, id_width) = match &self.ids {
            BlockIds::None => (0, 0),
            BlockIds::Numbers(numbers) => {
                let least = numbers.iter().copied().min().unwrap_or(0);
                put_u64(out, least);
                (1, put_column(numbers.iter().map(|number| number - least), out))
            }
            BlockIds::Texts { bytes, ends } => {
                let mut before = 0;
                for &end in ends {
                    put_u32(out, end - before);
                    before = end;
                }
                out.extend_from_slice(bytes);
                (2, 0)
            }
        };
        let mut header = Vec::with_capacity(HEADER_LEN);
        put_u32(&mut header, (out.len() - start - HEADER_LEN) as u32);
        put_u32(&mut header, self.keys.len() as u32);
        header.extend([kind, gap_width as u8, id_width as u8, 0]);
        out[start + 4..start + HEADER_LEN].copy_from_slice(&header);
        let crc = crc32(&out[start + 4..]);
        out[start..start + 4].copy_from_slice(&crc.to_le_bytes());
    }

    /// The length of a block in bytes, header included, read from its header.
    pub(super) fn encoded_len(header: &[u8]) -> Option<usize> {
        HEADER_LEN.checked_add(u32_at(header, 4)? as usize)
    }

    /// Replaces all entries by the entries of an encoded block; `None` if its bytes are damaged.
    pub(super) fn decode(&mut self, bytes: &[u8]) -> Option<()> {
        if u32_at(bytes, 0)? != crc32(bytes.get(4..)?) {
            return None;
        }
        let count = u32_at(bytes, 8)? as usize;
        let [kind, gap_width, id_width, _] = *bytes.get(12..16)?.as_array()?;
        let mut key = u64_at(bytes, HEADER_LEN)?;
        let mut at = HEADER_LEN + 8;
        at += take_column(bytes.get(at..)?, gap_width.into(), count, &mut self.keys)?;
        for slot in &mut self.keys {
            key = key.wrapping_add(*slot);
            *slot = key;
        }
        match kind {
            0 => self.ids = BlockIds::None,
            1 => {
                let least = u64_at(bytes, at)?;
                let mut numbers = self.take_numbers();
                take_column(bytes.get(at + 8..)?, id_width.into(), count, &mut numbers)?;
                numbers.iter_mut().for_each(|number| *number = number.wrapping_add(least));
                self.ids = BlockIds::Numbers(numbers);
            }
            _ => {
                let mut end = 0;
                let mut ends = Vec::with_capacity(count);
                for entry in 0..count {
                    end = u32_at(bytes, at + 4 * entry)?.checked_add(end)?;
                    ends.push(end);
                }
                let texts = slice_at(bytes, at + 4 * count, end as usize)?;
                self.ids = BlockIds::Texts { bytes: texts.to_vec(), ends };
            }
        }
        Some(())
    }
}

/// Keeps only the items at `places`.
fn keep<T>(items: &mut Vec<T>, places: &Range<usize>) {
    items.truncate(places.end);
    items.drain(..places.start);
}

/// Appends numbers, packed to the bit width of the largest one. Returns this width, or 64 if the
/// numbers are too wide to pack and were appended unpacked.
fn put_column(numbers: impl Iterator<Item = u64> + Clone, out: &mut Vec<u8>) -> u32 {
    let width = 64 - numbers.clone().fold(0, |all, number| all | number).leading_zeros();
    if width > WIDTH_MAX {
        numbers.for_each(|number| put_u64(out, number));
        return 64;
    }
    let mut packer = Packer::new(width);
    numbers.for_each(|number| packer.push(number, out));
    packer.finish(out);
    width
}

/// Decodes a column of `count` numbers into `out`. Returns the length of the column in bytes.
fn take_column(bytes: &[u8], width: u32, count: usize, out: &mut Vec<u64>) -> Option<usize> {
    out.clear();
    match width {
        0 => out.resize(count, 0),
        1..=WIDTH_MAX => {
            let len = usize::try_from(packing::packed_len(count as u64, width)?).ok()?;
            let packed = bytes.get(..len)?;
            for position in 0..count as u64 {
                let at = packing::load_offset(position, width) as usize;
                out.push(packing::unpack(packed.get(at..)?, position, width)?);
            }
            return Some(len);
        }
        _ => {
            let raw = bytes.get(..count.checked_mul(8)?)?;
            out.extend(raw.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)));
            return Some(raw.len());
        }
    }
    Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(block: &RunBlock) {
        let mut bytes = vec![7; 3];
        block.encode(&mut bytes);
        let bytes = &bytes[3..];
        assert_eq!(RunBlock::encoded_len(bytes), Some(bytes.len()));
        let mut decoded = RunBlock::default();
        decoded.push_number(9, 9);
        decoded.decode(bytes).unwrap();
        assert_eq!(decoded.keys, block.keys);
        for at in 0..block.keys.len() {
            assert_eq!(decoded.id(at), block.id(at));
        }
        for (start, end) in [(0, block.keys.len()), (block.keys.len() / 3, block.keys.len() / 2)] {
            let mut kept = block.clone();
            kept.keep(start..end);
            assert_eq!(kept.keys, block.keys[start..end]);
            assert!((start..end).all(|at| kept.id(at - start) == block.id(at)));
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 1;
            assert!(RunBlock::default().decode(&damaged).is_none() || damaged.len() != bytes.len());
            assert!(RunBlock::default().decode(&bytes[..at]).is_none());
        }
    }

    proptest! {
        #[test]
        fn blocks_come_back(mut entries: Vec<(u64, u64)>, shift in 0..64_u32, texts: bool) {
            entries.iter_mut().for_each(|entry| *entry = (entry.0 >> shift, entry.1 >> shift));
            entries.sort();
            let mut bare = RunBlock::default();
            let mut with_ids = RunBlock::default();
            for &(key, id) in &entries {
                bare.keys.push(key);
                if texts {
                    with_ids.push_text(key, "x".repeat(id as usize % 90).as_bytes());
                } else {
                    with_ids.push_number(key, id);
                }
            }
            check(&bare);
            check(&with_ids);
        }
    }
}
