//! AVX2: a chunk is two registers of 32 bytes.

#![expect(unsafe_code, reason = "instructions that not every processor has")]

use std::arch::x86_64::*;

use super::vector::{Task, Vector};
use crate::base::limits::CHUNK_LEN;

/// A value exists only on a processor with AVX2, BMI1, BMI2, LZCNT and POPCNT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Avx2(());

impl Avx2 {
    pub(super) fn detect() -> Option<Self> {
        let is_available = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        is_available.then_some(Avx2(()))
    }

    /// Runs a task, compiled for these instructions.
    pub(super) fn run<T: Task>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn run<T: Task>(vector: Avx2, task: T) -> T::Output {
            task.run(vector)
        }
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { run(self, task) }
    }
}

// SAFETY of all blocks below: `self` exists, so the processor has the instructions. Blocks that
// access memory also give the reason why the access is within bounds.
impl Vector for Avx2 {
    type Bytes = [__m256i; 2];
    type Sums = __m256i;
    const SUMS_LEN: usize = 8;
    const COMPARES_WORDS: bool = true;

    #[inline(always)]
    fn load(self, bytes: &[u8; CHUNK_LEN]) -> Self::Bytes {
        let first = bytes.as_ptr().cast::<__m256i>();
        // SAFETY: the two loads of 32 bytes read the 64 bytes of the array.
        unsafe { [_mm256_loadu_si256(first), _mm256_loadu_si256(first.add(1))] }
    }

    #[inline(always)]
    fn splat(self, byte: u8) -> Self::Bytes {
        // SAFETY: `self` exists, so the processor has the instructions.
        [unsafe { _mm256_set1_epi8(byte.cast_signed()) }; 2]
    }

    #[inline(always)]
    fn high_bits(self, [low, high]: Self::Bytes) -> u64 {
        // SAFETY: `self` exists, so the processor has the instructions.
        let (low, high) = unsafe { (_mm256_movemask_epi8(low), _mm256_movemask_epi8(high)) };
        u64::from(low.cast_unsigned()) | u64::from(high.cast_unsigned()) << 32
    }

    #[inline(always)]
    fn zero_bytes(self, [low, high]: Self::Bytes) -> u64 {
        // SAFETY: `self` exists, so the processor has the instructions.
        let zeros = unsafe {
            let zero = _mm256_setzero_si256();
            [_mm256_cmpeq_epi8(low, zero), _mm256_cmpeq_epi8(high, zero)]
        };
        self.high_bits(zeros)
    }

    #[inline(always)]
    fn low_parts(self, [low, high]: Self::Bytes) -> Self::Bytes {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe {
            let before_low = _mm256_permute2x128_si256::<0x08>(low, low);
            let before_high = _mm256_permute2x128_si256::<0x21>(low, high);
            [low_parts_of_half(low, before_low), low_parts_of_half(high, before_high)]
        }
    }

    #[inline(always)]
    fn prefix_sums(self, [low, high]: Self::Bytes, carry: u8) -> Self::Bytes {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe {
            let low = prefix_sums_of_half(low, _mm256_set1_epi8(carry.cast_signed()));
            let end = _mm256_permute4x64_epi64::<0xff>(low);
            let carry = _mm256_shuffle_epi8(end, _mm256_set1_epi8(15));
            [low, prefix_sums_of_half(high, carry)]
        }
    }

    #[inline(always)]
    fn near_bytes(
        self,
        [low, high]: Self::Bytes,
        [wanted, _]: Self::Bytes,
        [mask, _]: Self::Bytes,
        count: u32,
    ) -> u64 {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe {
            let mut low = _mm256_and_si256(_mm256_xor_si256(low, wanted), mask);
            let mut high = _mm256_and_si256(_mm256_xor_si256(high, wanted), mask);
            for _ in 0..count {
                // Clears the lowest set bit of each byte.
                low = _mm256_and_si256(low, _mm256_add_epi8(low, _mm256_set1_epi8(-1)));
                high = _mm256_and_si256(high, _mm256_add_epi8(high, _mm256_set1_epi8(-1)));
            }
            self.zero_bytes([low, high])
        }
    }

    #[inline(always)]
    fn sum_selected(self, bytes: &[u8; CHUNK_LEN], selected: u64) -> u64 {
        let [low, high] = self.load(bytes);
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe {
            let fours = _mm256_add_epi64(
                sums_of_eights(low, selected as i32),
                sums_of_eights(high, (selected >> 32) as i32),
            );
            let upper = _mm256_extracti128_si256::<1>(fours);
            let twos = _mm_add_epi64(_mm256_castsi256_si128(fours), upper);
            let one = _mm_add_epi64(twos, _mm_unpackhi_epi64(twos, twos));
            _mm_cvtsi128_si64(one).cast_unsigned()
        }
    }

    #[inline(always)]
    fn zero_sums(self) -> Self::Sums {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { _mm256_setzero_si256() }
    }

    #[inline(always)]
    fn widen(self, bytes: &[u8; CHUNK_LEN], part: usize) -> Self::Sums {
        let eight = bytes.as_chunks::<8>().0.get(part).unwrap_or(&[0; 8]);
        // SAFETY: the load reads the eight bytes of `eight`.
        unsafe {
            let loaded = _mm_loadl_epi64(eight.as_ptr().cast());
            _mm256_cvtepu8_epi32(_mm_and_si128(loaded, _mm_set1_epi8(0x7f)))
        }
    }

    #[inline(always)]
    fn shift_selected(self, sums: Self::Sums, selected: u64) -> Self::Sums {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { _mm256_blendv_epi8(sums, _mm256_slli_epi32::<7>(sums), lanes(selected)) }
    }

    #[inline(always)]
    fn clear_selected(self, sums: Self::Sums, selected: u64) -> Self::Sums {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { _mm256_andnot_si256(lanes(selected), sums) }
    }

    #[inline(always)]
    fn prefix_sums_32(self, mut sums: Self::Sums, carry: Self::Sums) -> Self::Sums {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe {
            sums = _mm256_add_epi32(sums, _mm256_bslli_epi128::<4>(sums));
            sums = _mm256_add_epi32(sums, _mm256_bslli_epi128::<8>(sums));
            let lower = _mm256_permute2x128_si256::<0x08>(sums, sums);
            sums = _mm256_add_epi32(sums, _mm256_shuffle_epi32::<0xff>(lower));
            _mm256_add_epi32(sums, carry)
        }
    }

    #[inline(always)]
    fn last_sum(self, sums: Self::Sums) -> Self::Sums {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { _mm256_permutevar8x32_epi32(sums, _mm256_set1_epi32(7)) }
    }

    #[inline(always)]
    fn store(self, sums: Self::Sums, out: &mut [u32; CHUNK_LEN], part: usize) {
        if let Some(eight) = out.as_chunks_mut::<8>().0.get_mut(part) {
            // SAFETY: the store writes the eight sums of 32 bits of `eight`.
            unsafe { _mm256_storeu_si256(eight.as_mut_ptr().cast(), sums) };
        }
    }

    #[inline(always)]
    fn near_sums(self, sums: Self::Sums, before: u32, wanted: u32, mask: u32, count: u32) -> u64 {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe {
            let sums = _mm256_add_epi32(sums, _mm256_set1_epi32(before.cast_signed()));
            let differs = _mm256_xor_si256(sums, _mm256_set1_epi32(wanted.cast_signed()));
            let mut diff = _mm256_and_si256(differs, _mm256_set1_epi32(mask.cast_signed()));
            for _ in 0..count.min(32) {
                // Clears the lowest set bit of each sum.
                diff = _mm256_and_si256(diff, _mm256_add_epi32(diff, _mm256_set1_epi32(-1)));
            }
            let near = _mm256_cmpeq_epi32(diff, _mm256_setzero_si256());
            u64::from(_mm256_movemask_ps(_mm256_castsi256_ps(near)).cast_unsigned())
        }
    }

    #[inline(always)]
    fn sums_16(
        self,
        bytes: &[u8; CHUNK_LEN],
        later: [u64; 2],
        carry: u16,
        out: &mut [u16; CHUNK_LEN],
    ) {
        sums_16(bytes, later, carry, out);
    }

    #[inline(always)]
    fn near_lanes(self, lanes: &[u16; CHUNK_LEN], wanted: u16, mask: u16, forgives: bool) -> u64 {
        near_lanes(lanes, wanted, mask, forgives)
    }

    #[inline(always)]
    fn near_words(self, words: &[u64; 8], wanted: u64, count: u32) -> u32 {
        let first = words.as_ptr().cast::<__m256i>();
        // SAFETY: the two loads of 32 bytes read the 64 bytes of the array.
        unsafe {
            let wanted = _mm256_set1_epi64x(wanted.cast_signed());
            let most = _mm256_set1_epi64x(i64::from(count));
            let low = far_words(_mm256_loadu_si256(first), wanted, most);
            let high = far_words(_mm256_loadu_si256(first.add(1)), wanted, most);
            !(low | high << 4) & 0xff
        }
    }
}

/// See [`Vector::near_lanes`].
#[inline(always)]
pub(super) fn near_lanes(lanes: &[u16; CHUNK_LEN], wanted: u16, mask: u16, forgives: bool) -> u64 {
    let first = lanes.as_ptr().cast::<__m256i>();
    // SAFETY: reached only through methods of `Avx2` and `Avx512`, so AVX2 is available; the four
    // loads of 16 lanes read the 64 lanes of the array.
    unsafe {
        let wanted = _mm256_set1_epi16(wanted.cast_signed());
        let mask = _mm256_set1_epi16(mask.cast_signed());
        let a = near_16(_mm256_loadu_si256(first), wanted, mask, forgives);
        let b = near_16(_mm256_loadu_si256(first.add(1)), wanted, mask, forgives);
        let c = near_16(_mm256_loadu_si256(first.add(2)), wanted, mask, forgives);
        let d = near_16(_mm256_loadu_si256(first.add(3)), wanted, mask, forgives);
        u64::from(near_32(a, b)) | u64::from(near_32(c, d)) << 32
    }
}

/// See [`Vector::sums_16`].
#[inline(always)]
pub(super) fn sums_16(
    bytes: &[u8; CHUNK_LEN],
    [second, third]: [u64; 2],
    carry: u16,
    out: &mut [u16; CHUNK_LEN],
) {
    let parts = bytes.as_chunks::<16>().0.iter().zip(out.as_chunks_mut::<16>().0);
    // SAFETY: see `near_lanes`; each load reads 16 bytes of a part, each store writes its 16 lanes.
    unsafe {
        let mut carry = _mm256_set1_epi16(carry.cast_signed());
        let last_word = _mm256_set1_epi16(0x0f0e);
        for (part, (bytes, out)) in (0..).zip(parts) {
            let seven = _mm_and_si128(_mm_loadu_si128(bytes.as_ptr().cast()), _mm_set1_epi8(0x7f));
            let mut sums = _mm256_cvtepu8_epi16(seven);
            // Most parts of 16 bytes contain no second byte of a gap, so nothing is shifted.
            if second >> (16 * part) & 0xffff != 0 {
                for later in [second, third] {
                    let later = lanes_16((later >> (16 * part)) as i16);
                    sums = _mm256_blendv_epi8(sums, _mm256_slli_epi16::<7>(sums), later);
                }
            }
            sums = _mm256_add_epi16(sums, _mm256_bslli_epi128::<2>(sums));
            sums = _mm256_add_epi16(sums, _mm256_bslli_epi128::<4>(sums));
            sums = _mm256_add_epi16(sums, _mm256_bslli_epi128::<8>(sums));
            // The upper eight lanes still lack the sum of the lower eight lanes.
            let lower = _mm256_permute2x128_si256::<0x08>(sums, sums);
            sums = _mm256_add_epi16(sums, _mm256_shuffle_epi8(lower, last_word));
            sums = _mm256_add_epi16(sums, carry);
            carry = _mm256_shuffle_epi8(_mm256_permute4x64_epi64::<0xff>(sums), last_word);
            _mm256_storeu_si256(out.as_mut_ptr().cast(), sums);
        }
    }
}

// The helpers below are functions, not closures: closures may not be inlined, and then are not
// compiled for AVX2.

/// A mask of the words that differ from `wanted` in more than `most` bits.
#[inline(always)]
fn far_words(words: __m256i, wanted: __m256i, most: __m256i) -> u32 {
    // SAFETY: reached only through methods of `Avx2`, so the processor has the instructions.
    unsafe {
        let diff = _mm256_xor_si256(words, wanted);
        // Counts the set bits of each nibble, then of each byte, then of each word.
        let ones = _mm256_broadcastsi128_si256(_mm_setr_epi8(
            0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
        ));
        let nibble = _mm256_set1_epi8(15);
        let low = _mm256_shuffle_epi8(ones, _mm256_and_si256(diff, nibble));
        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(diff), nibble);
        let bytes = _mm256_add_epi8(low, _mm256_shuffle_epi8(ones, high));
        let differing = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
        let far = _mm256_cmpgt_epi64(differing, most);
        _mm256_movemask_pd(_mm256_castsi256_pd(far)).cast_unsigned()
    }
}

/// See [`Vector::low_parts`]; `before` contains the 16 bytes before each half of `bytes`.
#[inline(always)]
fn low_parts_of_half(bytes: __m256i, before: __m256i) -> __m256i {
    // SAFETY: reached only through methods of `Avx2`, so the processor has the instructions.
    unsafe {
        // A byte is not the first of its gap if the byte before it has the high bit set.
        let one_before = _mm256_alignr_epi8::<15>(bytes, before);
        let two_before = _mm256_alignr_epi8::<14>(bytes, before);
        let values = _mm256_and_si256(bytes, _mm256_set1_epi8(0x7f));
        let second = _mm256_andnot_si256(two_before, _mm256_slli_epi16::<7>(bytes));
        let second = _mm256_and_si256(second, _mm256_set1_epi8(i8::MIN));
        _mm256_blendv_epi8(values, second, one_before)
    }
}

/// See [`Vector::prefix_sums`].
#[inline(always)]
fn prefix_sums_of_half(mut sums: __m256i, carry: __m256i) -> __m256i {
    // SAFETY: reached only through methods of `Avx2`, so the processor has the instructions.
    unsafe {
        sums = _mm256_add_epi8(sums, _mm256_bslli_epi128::<1>(sums));
        sums = _mm256_add_epi8(sums, _mm256_bslli_epi128::<2>(sums));
        sums = _mm256_add_epi8(sums, _mm256_bslli_epi128::<4>(sums));
        sums = _mm256_add_epi8(sums, _mm256_bslli_epi128::<8>(sums));
        // The upper sixteen bytes still lack the sum of the lower sixteen bytes.
        let lower = _mm256_permute2x128_si256::<0x08>(sums, sums);
        let before = _mm256_shuffle_epi8(lower, _mm256_set1_epi8(15));
        _mm256_add_epi8(_mm256_add_epi8(sums, before), carry)
    }
}

/// For each group of eight bytes, the sum of the low seven bits of the bytes selected by
/// `selected`.
#[inline(always)]
fn sums_of_eights(bytes: __m256i, selected: i32) -> __m256i {
    // SAFETY: reached only through methods of `Avx2`, so the processor has the instructions.
    unsafe {
        // Copies to each byte the eight bits of `selected` that include the bit of this byte.
        let eighths = _mm256_setr_epi64x(
            0,
            0x0101_0101_0101_0101,
            0x0202_0202_0202_0202,
            0x0303_0303_0303_0303,
        );
        let spread = _mm256_shuffle_epi8(_mm256_set1_epi32(selected), eighths);
        let own = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
        let is_selected = _mm256_cmpeq_epi8(_mm256_and_si256(spread, own), own);
        let values = _mm256_and_si256(bytes, _mm256_set1_epi8(0x7f));
        _mm256_sad_epu8(_mm256_and_si256(values, is_selected), _mm256_setzero_si256())
    }
}

/// A lane of 16 bits becomes all ones if it differs from `wanted` under the mask in no bit, or, if
/// `forgives` is set, in at most one bit.
#[inline(always)]
fn near_16(lanes: __m256i, wanted: __m256i, mask: __m256i, forgives: bool) -> __m256i {
    // SAFETY: reached only through methods of `Avx2` and `Avx512`, so AVX2 is available.
    unsafe {
        let mut far = _mm256_and_si256(_mm256_xor_si256(lanes, wanted), mask);
        if forgives {
            // Clears the lowest set bit of each lane.
            far = _mm256_and_si256(far, _mm256_add_epi16(far, _mm256_set1_epi16(-1)));
        }
        _mm256_cmpeq_epi16(far, _mm256_setzero_si256())
    }
}

/// A mask with one bit for each of 32 lanes of 16 bits, each of them all ones or all zeros.
#[inline(always)]
fn near_32(low: __m256i, high: __m256i) -> u32 {
    // SAFETY: reached only through methods of `Avx2` and `Avx512`, so AVX2 is available.
    unsafe {
        let packed = _mm256_permute4x64_epi64::<0xd8>(_mm256_packs_epi16(low, high));
        _mm256_movemask_epi8(packed).cast_unsigned()
    }
}

/// Sets the 16-bit lanes selected by `selected` to all ones.
#[inline(always)]
fn lanes_16(selected: i16) -> __m256i {
    // SAFETY: reached only through methods of `Avx2` and `Avx512`, so AVX2 is available.
    unsafe {
        let own = _mm256_setr_epi16(
            1,
            2,
            4,
            8,
            16,
            32,
            64,
            128,
            256,
            512,
            1024,
            2048,
            4096,
            8192,
            16384,
            i16::MIN,
        );
        let here = _mm256_set1_epi16(selected);
        _mm256_cmpeq_epi16(_mm256_and_si256(here, own), own)
    }
}

/// Sets the 32-bit lanes selected by the low eight bits of `selected` to all ones.
#[inline(always)]
fn lanes(selected: u64) -> __m256i {
    // SAFETY: reached only through methods of `Avx2`, so the processor has the instructions.
    unsafe {
        let own = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        let here = _mm256_set1_epi32(selected as i32);
        _mm256_cmpeq_epi32(_mm256_and_si256(here, own), own)
    }
}
