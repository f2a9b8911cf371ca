//! Plain integer instructions, for every processor: a chunk is eight words of eight bytes.

use super::vector::Vector;
use crate::base::limits::CHUNK_LEN;

/// Masks of a word: the high bit of each byte, the low bit, and all bits but the high bit.
const HIGH: u64 = 0x8080_8080_8080_8080;
const LOW: u64 = 0x0101_0101_0101_0101;
const SEVEN: u64 = !HIGH;

/// Can be made on any processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Portable;

impl Vector for Portable {
    type Bytes = [u64; 8];
    type Sums = [u32; 8];
    const SUMS_LEN: usize = 8;

    #[inline(always)]
    fn load(self, bytes: &[u8; CHUNK_LEN]) -> Self::Bytes {
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        words
    }

    #[inline(always)]
    fn splat(self, byte: u8) -> Self::Bytes {
        [LOW * u64::from(byte); 8]
    }

    #[inline(always)]
    fn high_bits(self, bytes: Self::Bytes) -> u64 {
        let mut bits = 0;
        for (part, word) in (0..).zip(bytes) {
            // The product moves the high bits of all bytes into the highest byte.
            bits |= ((word & HIGH) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56 << (8 * part);
        }
        bits
    }

    #[inline(always)]
    fn zero_bytes(self, bytes: Self::Bytes) -> u64 {
        self.high_bits(bytes.map(|word| !(((word & SEVEN) + SEVEN) | word)))
    }

    #[inline(always)]
    fn low_parts(self, bytes: Self::Bytes) -> Self::Bytes {
        let mut before = 0;
        bytes.map(|word| {
            // All ones in the bytes that follow one byte, or two bytes, with the high bit set.
            let one_before = ((word << 8 | before >> 56) & HIGH) >> 7;
            let two_before = one_before & ((word << 16 | before >> 48) & HIGH) >> 7;
            before = word;
            let second = (word & LOW) << 7 & !(two_before * 0xff);
            (word & SEVEN & !(one_before * 0xff)) | (second & (one_before * 0xff))
        })
    }

    #[inline(always)]
    fn prefix_sums(self, bytes: Self::Bytes, carry: u8) -> Self::Bytes {
        let mut carry = u64::from(carry);
        bytes.map(|mut word| {
            for shift in [8, 16, 32] {
                word = add_bytes(word, word << shift);
            }
            word = add_bytes(word, LOW * carry);
            carry = word >> 56;
            word
        })
    }

    #[inline(always)]
    fn near_bytes(
        self,
        mut bytes: Self::Bytes,
        wanted: Self::Bytes,
        mask: Self::Bytes,
        count: u32,
    ) -> u64 {
        for ((word, wanted), mask) in bytes.iter_mut().zip(wanted).zip(mask) {
            *word = (*word ^ wanted) & mask;
            for _ in 0..count {
                // Clears the lowest set bit of each byte.
                *word &= add_bytes(*word, u64::MAX);
            }
        }
        self.zero_bytes(bytes)
    }

    #[inline(always)]
    fn sum_selected(self, bytes: &[u8; CHUNK_LEN], selected: u64) -> u64 {
        let mut sum = 0;
        for (part, word) in (0..).zip(self.load(bytes)) {
            // Copies the eight mask bits to every byte; each byte then keeps only its own bit.
            let own = (LOW * (selected >> (8 * part) & 0xff)) & 0x8040_2010_0804_0201;
            let is_selected = ((((own & SEVEN) + SEVEN) | own) & HIGH) >> 7;
            let values = word & SEVEN & (is_selected * 0xff);
            let pairs = (values & 0x00ff_00ff_00ff_00ff) + (values >> 8 & 0x00ff_00ff_00ff_00ff);
            sum += pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48;
        }
        sum
    }

    #[inline(always)]
    fn zero_sums(self) -> Self::Sums {
        [0; 8]
    }

    #[inline(always)]
    fn widen(self, bytes: &[u8; CHUNK_LEN], part: usize) -> Self::Sums {
        let eight = bytes.as_chunks::<8>().0.get(part).unwrap_or(&[0; 8]);
        eight.map(|byte| u32::from(byte & 0x7f))
    }

    #[inline(always)]
    fn shift_selected(self, mut sums: Self::Sums, selected: u64) -> Self::Sums {
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum <<= 7 * (selected >> lane & 1);
        }
        sums
    }

    #[inline(always)]
    fn clear_selected(self, mut sums: Self::Sums, selected: u64) -> Self::Sums {
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum *= !(selected >> lane) as u32 & 1;
        }
        sums
    }

    #[inline(always)]
    fn prefix_sums_32(self, mut sums: Self::Sums, carry: Self::Sums) -> Self::Sums {
        let [mut before, ..] = carry;
        for sum in &mut sums {
            before = before.wrapping_add(*sum);
            *sum = before;
        }
        sums
    }

    #[inline(always)]
    fn last_sum(self, sums: Self::Sums) -> Self::Sums {
        let [.., last] = sums;
        [last; 8]
    }

    #[inline(always)]
    fn store(self, sums: Self::Sums, out: &mut [u32; CHUNK_LEN], part: usize) {
        if let Some(eight) = out.as_chunks_mut::<8>().0.get_mut(part) {
            *eight = sums;
        }
    }

    #[inline(always)]
    fn near_sums(self, sums: Self::Sums, before: u32, wanted: u32, mask: u32, count: u32) -> u64 {
        let mut near = 0;
        for (lane, sum) in sums.into_iter().enumerate() {
            let differences = (sum.wrapping_add(before) ^ wanted) & mask;
            near |= u64::from(differences.count_ones() <= count) << lane;
        }
        near
    }
}

/// Adds two words byte by byte, each byte modulo 256.
#[inline(always)]
fn add_bytes(a: u64, b: u64) -> u64 {
    ((a & SEVEN) + (b & SEVEN)) ^ ((a ^ b) & HIGH)
}
