//! The operations of an instruction set that kernels need.

use crate::base::limits::CHUNK_LEN;

/// An instruction set. A value of a type with this trait exists only on a processor with these
/// instructions, so the methods are safe.
///
/// Masks of 64 bits have one bit for each byte of a chunk, the first byte lowest.
pub(crate) trait Vector: Copy {
    /// A chunk: 64 bytes in registers.
    type Bytes: Copy;
    /// A register of sums of 32 bits each.
    type Sums: Copy;
    /// The number of sums in a register.
    const SUMS_LEN: usize;
    /// Whether [`Vector::near_words`] is hardly slower than comparing one word.
    const COMPARES_WORDS: bool = false;

    /// Loads a chunk from memory.
    fn load(self, bytes: &[u8; CHUNK_LEN]) -> Self::Bytes;
    /// A chunk with the same byte 64 times.
    fn splat(self, byte: u8) -> Self::Bytes;
    /// A mask of the bytes with the high bit set.
    fn high_bits(self, bytes: Self::Bytes) -> u64;
    /// A mask of the bytes that are zero.
    fn zero_bytes(self, bytes: Self::Bytes) -> u64;
    /// What each byte adds to the lowest byte of its gap: the first byte of a gap its seven bits,
    /// the second byte its lowest bit as bit 7, other bytes zero. A gap must start at the first
    /// byte of the chunk.
    fn low_parts(self, bytes: Self::Bytes) -> Self::Bytes;
    /// For each byte, the sum of `carry`, this byte and all earlier bytes, modulo 256.
    fn prefix_sums(self, bytes: Self::Bytes, carry: u8) -> Self::Bytes;
    /// A mask of the bytes that differ from those of `wanted` in at most `count` bits under `mask`.
    fn near_bytes(
        self,
        bytes: Self::Bytes,
        wanted: Self::Bytes,
        mask: Self::Bytes,
        count: u32,
    ) -> u64;
    /// The sum of the low seven bits of the bytes in the mask `selected`.
    fn sum_selected(self, bytes: &[u8; CHUNK_LEN], selected: u64) -> u64;

    /// A register in which all sums are zero.
    fn zero_sums(self) -> Self::Sums;
    /// The low seven bits of the bytes from `part * SUMS_LEN` on, each byte in a sum of its own.
    fn widen(self, bytes: &[u8; CHUNK_LEN], part: usize) -> Self::Sums;
    /// Shifts the sums selected by the low bits of `selected` left by seven bits.
    fn shift_selected(self, sums: Self::Sums, selected: u64) -> Self::Sums;
    /// Clears the sums selected by the low bits of `selected`.
    fn clear_selected(self, sums: Self::Sums, selected: u64) -> Self::Sums;
    /// To each sum, adds all earlier sums of the register and `carry`.
    fn prefix_sums_32(self, sums: Self::Sums, carry: Self::Sums) -> Self::Sums;
    /// The last sum of the register, copied to all lanes.
    fn last_sum(self, sums: Self::Sums) -> Self::Sums;
    /// Writes the sums to `out`, from position `part * SUMS_LEN` on.
    fn store(self, sums: Self::Sums, out: &mut [u32; CHUNK_LEN], part: usize);
    /// A mask of the sums that, after adding `before`, differ from `wanted` in at most `count` bits
    /// under `mask`.
    fn near_sums(self, sums: Self::Sums, before: u32, wanted: u32, mask: u32, count: u32) -> u64;

    /// Writes for each byte the sum of `carry` and the low seven bits of all bytes up to it, modulo
    /// 2^16. For each of the two masks that selects it, a byte is multiplied by 2^7.
    #[inline(always)]
    fn sums_16(
        self,
        bytes: &[u8; CHUNK_LEN],
        [second, third]: [u64; 2],
        mut carry: u16,
        out: &mut [u16; CHUNK_LEN],
    ) {
        for (at, (&byte, out)) in bytes.iter().zip(out).enumerate() {
            let later = (second >> at & 1) + (third >> at & 1);
            carry = carry.wrapping_add(u16::from(byte & 0x7f) << (7 * later));
            *out = carry;
        }
    }

    /// A mask of the lanes that differ from `wanted` under `mask` in no bit, or in at most one bit
    /// if `forgives` is set.
    #[inline(always)]
    fn near_lanes(self, lanes: &[u16; CHUNK_LEN], wanted: u16, mask: u16, forgives: bool) -> u64 {
        let mut is_near = [0_u8; CHUNK_LEN];
        for (near, lane) in is_near.iter_mut().zip(lanes) {
            let mut diff = (lane ^ wanted) & mask;
            if forgives {
                diff &= diff.wrapping_sub(1);
            }
            *near = u8::from(diff == 0);
        }
        // The product moves the bits of eight bytes into the highest byte.
        let eights = is_near
            .as_chunks::<8>()
            .0
            .iter()
            .map(|eight| u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56);
        (0..).zip(eights).fold(0, |near, (part, eight)| near | eight << (8 * part))
    }

    /// A mask of the words that differ from `wanted` in at most `count` bits; the bit of the first
    /// word is the lowest.
    #[inline(always)]
    fn near_words(self, words: &[u64; 8], wanted: u64, count: u32) -> u32 {
        let near = words.map(|word| u32::from((word ^ wanted).count_ones() <= count));
        (0..).zip(near).fold(0, |mask, (at, near)| mask | near << at)
    }
}

/// A piece of work that runs on any instruction set. `run`, and all code in it that uses `vector`,
/// must be inlined: only then is it compiled for these instructions. Closures are not inlined, so
/// they must not use `vector`.
pub(crate) trait Task {
    type Output;

    fn run<V: Vector>(self, vector: V) -> Self::Output;
}
