//! The descriptor of a table: how its values are split, and what it stores for each value.

use crate::bytes::mask::low_bits;
use crate::bytes::syndrome::{HASHED_BITS_MAX, SYNDROME_BITS, SyndromeCode};
use crate::format::codec::HeadCodec;

/// The minimum length of a syndrome in bits, unless fewer bits are requested. A shorter syndrome
/// would confuse values near a query with other values, even if many bits outside the mask are
/// known.
const TELLING_BITS: u32 = 11;

/// The mask that selects the leading bits of a table. The type has no `PartialEq`: of two tables
/// with the same mask, one may store whole values and the other only syndromes. Callers that need
/// values compare [`whole_masks`](crate::format::header::Header::whole_masks).
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableMask(pub(crate) u64);

/// How the values of a table are split into heads and tails, and the heads into blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableDescriptor {
    pub(crate) mask: TableMask,
    /// How the heads are encoded.
    pub(crate) codec: HeadCodec,
    /// The number of low bits of each value that form its tail.
    pub(crate) tail_bits: u32,
    /// The number of leading bits that form the block number.
    pub(crate) block_bits: u32,
    /// The number of bits of the syndrome that replaces the low [`hashed_bits`](Self::hashed_bits)
    /// bits of a tail; 0 if whole tails are stored.
    pub(crate) syndrome_bits: u32,
}

impl TableDescriptor {
    /// The number of bits under the mask.
    pub(crate) fn prefix_bits(&self) -> u32 {
        self.mask.0.count_ones()
    }

    /// The number of leading bits of each value, which are stored as gaps.
    pub(crate) fn head_bits(&self) -> u32 {
        64 - self.tail_bits
    }

    /// The number of blocks, empty ones included.
    pub(crate) fn block_count(&self) -> u64 {
        1 << self.block_bits
    }

    /// The number of the block that contains a value.
    #[inline]
    pub(crate) fn block_of(&self, value: u64) -> u64 {
        value.checked_shr(64 - self.block_bits).unwrap_or(0)
    }

    /// The lowest head that a value of the block can have.
    #[inline]
    pub(crate) fn first_head(&self, block: u64) -> u64 {
        block.checked_shl(self.inner_bits()).unwrap_or(0)
    }

    /// The number of bits of a head below the block number.
    pub(crate) fn inner_bits(&self) -> u32 {
        self.head_bits() - self.block_bits
    }

    /// Whether the table stores whole tails, and so whole values.
    #[inline(always)]
    pub(crate) fn is_whole(&self) -> bool {
        self.syndrome_bits == 0
    }

    /// The number of bits of a tail that a syndrome replaces: those outside the mask.
    pub(crate) fn hashed_bits(&self) -> u32 {
        if self.is_whole() { 0 } else { self.tail_bits.min(64 - self.prefix_bits()) }
    }

    /// The number of bits that the tails section stores for each value.
    #[inline(always)]
    pub(crate) fn stored_bits(&self) -> u32 {
        self.tail_bits - self.hashed_bits() + self.syndrome_bits
    }

    /// This table with syndromes, or unchanged if syndromes would save no space. `bits` is
    /// the requested sum of the syndrome bits and the known bits outside the mask, both of which
    /// tell apart errors outside the mask.
    pub(crate) fn with_syndromes(self, bits: u32) -> Self {
        let hashed = TableDescriptor { syndrome_bits: bits, ..self };
        let stored = bits.saturating_sub(hashed.known_bits()).max(bits.min(TELLING_BITS));
        let with = TableDescriptor { syndrome_bits: stored, ..self };
        if with.fault_of_syndromes(1).is_none() { with } else { self }
    }

    /// The number of bits that tell apart errors outside the mask, see [`Self::with_syndromes`]: at
    /// most the maximum length of a syndrome, and 0 in a table of whole values.
    pub(crate) fn telling_bits(&self) -> u32 {
        if self.is_whole() {
            return 0;
        }
        (self.syndrome_bits + self.known_bits()).min(*SYNDROME_BITS.end())
    }

    /// The number of bits outside the mask that are stored, not hashed.
    fn known_bits(&self) -> u32 {
        64 - self.prefix_bits() - self.hashed_bits()
    }

    /// The key of a value: the value with its hashed bits replaced by their syndrome, which is the
    /// head followed by the number stored for the tail.
    #[inline]
    pub(crate) fn key_of(&self, value: u64) -> u64 {
        if self.is_whole() {
            return value;
        }
        let hashed = self.hashed_bits();
        let word = (value & low_bits(hashed)) as u32;
        let syndrome = SyndromeCode::of(self.syndrome_bits).syndrome(word);
        (value >> hashed) << self.syndrome_bits | u64::from(syndrome)
    }

    /// The reason why the syndromes of table `number` are not allowed, or `None`.
    pub(super) fn fault_of_syndromes(&self, number: usize) -> Option<String> {
        let (bits, hashed) = (self.syndrome_bits, self.hashed_bits());
        if self.is_whole() {
            None
        } else if number == 0 {
            Some("the first table has syndromes, expected whole tails".into())
        } else if !SYNDROME_BITS.contains(&bits) || bits >= hashed || hashed > HASHED_BITS_MAX {
            Some(format!(
                "syndromes of {bits} bits for {hashed}, expected 6 to 21 bits, fewer than those \
                 they stand for, which are at most {HASHED_BITS_MAX}"
            ))
        } else {
            None
        }
    }
}
