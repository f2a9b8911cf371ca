//! Writes index entries and overflow entries.

use crate::bytes::fields::{put_u24, put_u64};

/// The number of blocks of an index entry.
pub(crate) const BLOCKS_PER_ENTRY: u64 = 16;

/// The length of an index entry in bytes.
pub(crate) const ENTRY_LEN: u64 = 64;

/// The length of an overflow entry in bytes: 16 pairs of u64.
pub(crate) const OVERFLOW_ENTRY_LEN: u64 = 256;

/// A flag in the first word of an index entry: its ends are in an overflow entry.
pub(super) const OVERFLOW: u64 = 1 << 63;

/// The number of bits of each difference in an index entry.
pub(super) const DIFFERENCE_BITS: u32 = 12;

/// The largest difference that fits in an index entry.
pub(crate) const DIFFERENCE_MAX: u64 = (1 << DIFFERENCE_BITS) - 1;

/// The end of a block relative to the bases of its index entry.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct End {
    pub(super) ranks: u64,
    pub(super) bytes: u64,
}

impl End {
    /// The end in the low 24 bits of a word.
    #[inline(always)]
    pub(super) fn unpack(packed: u64) -> Self {
        End { ranks: packed & DIFFERENCE_MAX, bytes: packed >> DIFFERENCE_BITS & DIFFERENCE_MAX }
    }
}

/// Encodes the ends of blocks, given in order, as index entries and overflow entries.
#[derive(Debug, Default)]
pub(crate) struct IndexWriter {
    heads_base: u64,
    rank_base: u64,
    /// The ends of the blocks of the current index entry.
    ends: Vec<End>,
    overflow: Vec<u8>,
}

impl IndexWriter {
    /// Takes the end of the next block. Appends the current index entry to `entries` when it is
    /// full.
    pub(crate) fn push(&mut self, heads_end: u64, rank_end: u64, entries: &mut Vec<u8>) {
        let (ranks, bytes) = (rank_end - self.rank_base, heads_end - self.heads_base);
        self.ends.push(End { ranks, bytes });
        if self.ends.len() as u64 == BLOCKS_PER_ENTRY {
            self.flush(entries);
            self.heads_base = heads_end;
            self.rank_base = rank_end;
        }
    }

    /// Appends the last index entry, filled up with empty blocks, and returns all overflow entries.
    pub(crate) fn finish(mut self, entries: &mut Vec<u8>) -> Vec<u8> {
        if let Some(&last) = self.ends.last() {
            self.ends.resize(BLOCKS_PER_ENTRY as usize, last);
            self.flush(entries);
        }
        self.overflow
    }

    #[expect(clippy::expect_used, reason = "a writer's own values, in range by construction")]
    fn flush(&mut self, entries: &mut Vec<u8>) {
        // Ends ascend, so only the last end must be checked.
        if self.ends.last().is_some_and(|last| last.ranks.max(last.bytes) <= DIFFERENCE_MAX) {
            put_u64(entries, self.heads_base);
            put_u64(entries, self.rank_base);
            for end in &self.ends {
                let packed = end.ranks | end.bytes << DIFFERENCE_BITS;
                put_u24(entries, u32::try_from(packed).expect("two numbers of 12 bits"));
            }
        } else {
            let number = self.overflow.len() as u64 / OVERFLOW_ENTRY_LEN;
            put_u64(entries, OVERFLOW | number);
            put_u64(entries, self.rank_base);
            put_u64(entries, self.heads_base);
            entries.resize(entries.len() + ENTRY_LEN as usize - 24, 0);
            for end in &self.ends {
                put_u64(&mut self.overflow, end.ranks);
                put_u64(&mut self.overflow, end.bytes);
            }
        }
        self.ends.clear();
    }
}
