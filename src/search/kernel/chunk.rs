//! Searches chunks of 64 bytes of gaps for near heads, one chunk after the other.

use super::near::{NearHead, Needle, Progress};
use super::vector::Vector;
use crate::base::limits::{CHUNK_LEN, PARTIAL_SUMS_MAX};
use crate::base::section::{BlockIndex, Rank};

/// A mask of the first `len` bytes of a chunk.
#[inline(always)]
pub(super) fn valid_mask(len: u64) -> u64 {
    if len < CHUNK_LEN as u64 { (1 << len) - 1 } else { u64::MAX }
}

/// A chunk that starts and ends with whole gaps, and the sum and rank before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk<'a, V> {
    pub(super) vector: V,
    pub(super) bytes: &'a [u8; CHUNK_LEN],
    /// Masks of the bytes with the high bit set, and of the last bytes of gaps, inside the block.
    pub(super) continuations: u64,
    pub(super) terminators: u64,
    /// The head before the first gap, without the bits of the block number.
    pub(super) inner: u64,
    /// The rank of the value of the first gap.
    pub(super) rank: u64,
    pub(super) block: BlockIndex,
    /// The number of masked inner bits that may differ: the radius less the flips in the block
    /// number.
    pub(super) remaining: u32,
}

impl<V: Vector> Chunk<'_, V> {
    /// Whether all gaps have at most eight bytes: the sum of 64 longer gaps could exceed 64 bits.
    #[inline(always)]
    pub(super) fn has_short_gaps(&self) -> bool {
        let two = self.continuations & self.continuations >> 1;
        let four = two & two >> 2;
        four & four >> 4 == 0
    }

    /// The sum of the low seven bits of the selected bytes.
    #[inline(always)]
    fn sum_of(&self, selected: u64) -> u64 {
        self.vector.sum_selected(self.bytes, selected)
    }

    /// The sum of the gaps that end at or before the highest byte of `upto`, a mask of all bytes up
    /// to the end of a gap.
    #[inline(always)]
    fn sum_to(&self, upto: u64) -> u64 {
        // Masks of the second and third bytes of gaps. Nearly all bytes are first or second bytes.
        let second = self.continuations << 1;
        let third = second & self.continuations << 2;
        let mut total = self.sum_of(upto & !second) + (self.sum_of(upto & second & !third) << 7);
        let (mut later, mut before) = (third & upto, 2);
        while later != 0 {
            let next = later & self.continuations << (before + 1);
            total += self.sum_of(later & !next) << (7 * before);
            (later, before) = (next, before + 1);
        }
        total
    }

    /// The sum of all gaps in the chunk.
    #[inline(always)]
    fn sum(&self) -> u64 {
        self.sum_to(u64::MAX >> self.terminators.leading_zeros())
    }

    /// The near head of the gap whose last byte is at `bit`; the rank is counted from the first
    /// gap.
    #[inline(always)]
    fn near_head(&self, bit: u64, head: u64) -> NearHead {
        let before = u64::from((self.terminators & (bit - 1)).count_ones());
        NearHead { rank: Rank(self.rank + before), head }
    }

    /// Adds the near heads among those that end at `candidates`; `false` if a gap is too long.
    #[inline(always)]
    pub(super) fn refine(
        &self,
        candidates: u64,
        needle: Needle,
        found: &mut Vec<NearHead>,
    ) -> bool {
        if !self.has_short_gaps() {
            return false;
        }
        // If there are many candidates, the sum of the chunk shows first whether any head can reach
        // the lowest head that may be near.
        if candidates.count_ones() <= PARTIAL_SUMS_MAX
            || self.inner + self.sum() >= needle.range(self.remaining).0
        {
            self.add_near(candidates, needle, found);
        }
        true
    }

    /// Adds the near heads among those that end at `candidates`; all gaps must be short.
    #[inline(always)]
    fn add_near(&self, candidates: u64, needle: Needle, found: &mut Vec<NearHead>) {
        if candidates.count_ones() > PARTIAL_SUMS_MAX {
            self.decode(needle, found);
        } else {
            self.refine_each(candidates, needle, found);
        }
    }

    /// Computes the exact sum at each candidate: cheaper than a full decode for few candidates.
    #[inline(always)]
    fn refine_each(&self, mut candidates: u64, needle: Needle, found: &mut Vec<NearHead>) {
        while candidates != 0 {
            let bit = candidates & candidates.wrapping_neg();
            let inner = self.inner + self.sum_to(bit | (bit - 1));
            let head = needle.head_in(self.block, inner);
            let len = found.len();
            // Pushes each head, then removes it if it is not near: a branch would be unpredictable.
            found.push(self.near_head(bit, head));
            found.truncate(len + usize::from(needle.is_near(inner, head, self.remaining)));
            candidates ^= bit;
        }
    }

    /// Full decode: computes the sums at all bytes, modulo 2^32, and then the exact sums of the
    /// heads that appear near.
    #[inline(always)]
    fn decode(&self, needle: Needle, found: &mut Vec<NearHead>) {
        let (sums, near) = self.all_sums(needle);
        let mut near = near & self.terminators;
        let low_sum =
            |bit: u64| sums.get(bit.trailing_zeros() as usize).copied().unwrap_or_default();
        // 64 gaps of up to three bytes have a sum below 2^32; after a longer gap the exact sum is
        // computed again.
        let continues = |count: u32| self.continuations << count;
        let mut long = self.terminators & continues(1) & continues(2) & continues(3);
        let (mut whole, mut since) = (0, 0);
        // Writes to slots: each push would wait for the length stored by the previous push.
        let (start, mut count) = (found.len(), 0);
        found.resize(start + near.count_ones() as usize, NearHead::default());
        let slots = found.get_mut(start..).unwrap_or_default();
        while near != 0 {
            let bit = near & near.wrapping_neg();
            let longs = long & (bit | (bit - 1));
            if longs != 0 {
                let end = 1 << (63 - longs.leading_zeros());
                (whole, since) = (self.sum_to(end | (end - 1)), low_sum(end));
                long ^= longs;
            }
            let inner = self.inner + whole + u64::from(low_sum(bit).wrapping_sub(since));
            let head = needle.head_in(self.block, inner);
            if let Some(slot) = slots.get_mut(count) {
                *slot = self.near_head(bit, head);
            }
            // Compares the whole head; `all_sums` has compared only its lowest 32 bits.
            count += usize::from(needle.is_near(inner, head, self.remaining));
            near ^= bit;
        }
        found.truncate(start + count);
    }

    /// The sums at all bytes modulo 2^32, and a mask of the bytes whose sum appears near the
    /// needle, both in the inner bits and as a whole head.
    #[inline(always)]
    fn all_sums(&self, needle: Needle) -> ([u32; CHUNK_LEN], u64) {
        let vector = self.vector;
        // Masks of the second bytes of gaps, the third bytes, and so on. From the sixth byte on, a
        // byte only adds to bits above 32.
        let second = self.continuations << 1;
        let third = second & self.continuations << 2;
        let fourth = third & self.continuations << 3;
        let fifth = fourth & self.continuations << 4;
        let sixth = fifth & self.continuations << 5;
        let head_before = needle.head_in(self.block, self.inner) as u32;
        let len = CHUNK_LEN - self.terminators.leading_zeros() as usize;
        let (mut sums, mut near, mut carry) = ([0; CHUNK_LEN], 0, vector.zero_sums());
        for part in 0..len.div_ceil(V::SUMS_LEN) {
            let start = part * V::SUMS_LEN;
            let mut lanes = vector.widen(self.bytes, part);
            // Most chunks contain only gaps of one byte, which need no shift.
            if self.continuations != 0 {
                for later in [second, third, fourth, fifth] {
                    lanes = vector.shift_selected(lanes, later >> start);
                }
                lanes = vector.clear_selected(lanes, sixth >> start);
            }
            lanes = vector.prefix_sums_32(lanes, carry);
            carry = vector.last_sum(lanes);
            vector.store(lanes, &mut sums, part);
            let (inner, mask) = (needle.inner as u32, needle.mask as u32);
            let near_inner =
                vector.near_sums(lanes, self.inner as u32, inner, mask, self.remaining);
            let near_head =
                vector.near_sums(lanes, head_before, needle.head as u32, u32::MAX, needle.k);
            near |= (near_inner & near_head) << start;
        }
        (sums, near)
    }
}

/// The lowest byte of the needle and the lowest byte of its mask, copied to all bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct LowNeedle<V: Vector> {
    inner: V::Bytes,
    mask: V::Bytes,
}

impl<V: Vector> LowNeedle<V> {
    #[inline(always)]
    pub(super) fn new(vector: V, needle: Needle) -> Self {
        LowNeedle { inner: vector.splat(needle.inner as u8), mask: vector.splat(needle.mask as u8) }
    }

    /// A mask of the bytes at which the lowest byte of the sum of gaps is near the needle's.
    #[inline(always)]
    pub(super) fn candidates(self, vector: V, bytes: V::Bytes, carry: u8, remaining: u32) -> u64 {
        let sums = vector.prefix_sums(vector.low_parts(bytes), carry);
        vector.near_bytes(sums, self.inner, self.mask, remaining)
    }
}

/// The remaining gaps of a block, and the sum and rank before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) block: BlockIndex,
    /// The position of the remaining gaps in the heads section. Their bytes must be verified.
    pub(super) start: u64,
    pub(super) end: u64,
    /// The head before the remaining gaps, without the bits of the block number.
    pub(super) inner: u64,
    /// The rank of the first remaining value, and the rank after the last value.
    pub(super) rank: u64,
    pub(super) rank_end: u64,
    /// The number of masked inner bits that may differ: the radius less the flips in the block
    /// number.
    pub(super) remaining: u32,
}

impl Cursor {
    /// Adds the near heads of the remaining gaps to `found`, until `found` has `enough` heads.
    #[inline(always)]
    pub(super) fn search<V: Vector>(
        &mut self,
        vector: V,
        heads: &[u8],
        needle: Needle,
        found: &mut Vec<NearHead>,
        enough: usize,
    ) -> Progress {
        // If the sum before a chunk is below this, no sum inside the chunk overflows 64 bits.
        const INNER_MAX: u64 = 1 << 62;
        let low_needle = LowNeedle::new(vector, needle);
        let (lowest, highest) = needle.range(self.remaining);
        while self.start < self.end {
            let rest = heads.get(self.start as usize..).and_then(|rest| rest.first_chunk());
            let (Some(bytes), true) = (rest, self.inner < INNER_MAX) else {
                return Progress::Unsupported;
            };
            let left = self.end - self.start;
            let loaded = vector.load(bytes);
            let high_bits = vector.high_bits(loaded);
            let terminators = valid_mask(left) & !high_bits;
            // A gap that continues after the chunk is left for the next chunk.
            let taken = u64::from(64 - terminators.leading_zeros());
            let value_count = u64::from(terminators.count_ones());
            // Damaged, with more gaps than values: the fallback reports the first surplus gap.
            let too_many = self.rank_end.saturating_sub(self.rank) < value_count;
            if terminators == 0 || (left <= CHUNK_LEN as u64 && taken != left) || too_many {
                return Progress::Unsupported;
            }
            let Cursor { inner, rank, block, remaining, .. } = *self;
            let continuations = high_bits & (u64::MAX >> (64 - taken));
            let chunk =
                Chunk { vector, bytes, continuations, terminators, inner, rank, block, remaining };
            if !chunk.has_short_gaps() {
                return Progress::Unsupported;
            }
            let after = inner + chunk.sum();
            if after >= lowest {
                let candidates = low_needle.candidates(vector, loaded, inner as u8, remaining);
                let overlong = continuations << 1 & vector.zero_bytes(loaded) & terminators;
                if overlong != 0 {
                    return Progress::Unsupported;
                }
                chunk.add_near(candidates & terminators, needle, found);
            }
            self.start += taken;
            self.rank += value_count;
            if self.start < self.end {
                self.inner = after;
                if after > highest {
                    return Progress::Done;
                }
                if found.len() >= enough {
                    return Progress::More;
                }
            }
        }
        if self.rank == self.rank_end { Progress::Done } else { Progress::Unsupported }
    }
}
