//! AVX-512: a chunk is one register of 64 bytes.
//!
//! Measured on a Xeon (Sapphire Rapids), 2026-11-22, `cargo bench --bench query`, 10^6 uniform
//! fingerprints, k = 3, lower quartile, the best of 8 alternating runs: 757 ns with AVX2, 695 ns
//! with AVX-512, 8 % less; with clustered fingerprints 755 and 676 ns. Comparing tails with a
//! gather of eight words saved only 1 % more, so it is not used.

#![expect(unsafe_code, reason = "instructions that not every processor has")]

use std::arch::x86_64::*;

use super::avx2::{self, Avx2};
use super::vector::{Task, Vector};
use crate::base::limits::CHUNK_LEN;

/// A value exists only on a processor with AVX-512 F, BW and VL and with everything that [`Avx2`]
/// needs; with `COUNTS` also with VPOPCNTDQ, which counts the set bits of eight words in one
/// instruction. Not every processor with BW has VPOPCNTDQ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Avx512<const COUNTS: bool>(());

impl<const COUNTS: bool> Avx512<COUNTS> {
    pub(super) fn detect() -> Option<Self> {
        let is_available = Avx2::detect().is_some()
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && (!COUNTS || is_x86_feature_detected!("avx512vpopcntdq"));
        is_available.then_some(Avx512(()))
    }

    /// Runs a task, compiled for these instructions.
    pub(super) fn run<T: Task>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
        fn run<T: Task>(vector: Avx512<false>, task: T) -> T::Output {
            task.run(vector)
        }
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
        #[target_feature(enable = "avx512vpopcntdq")]
        fn run_counting<T: Task>(vector: Avx512<true>, task: T) -> T::Output {
            task.run(vector)
        }
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { if COUNTS { run_counting(Avx512(()), task) } else { run(Avx512(()), task) } }
    }
}

// SAFETY of all blocks below: `self` exists, so the processor has the instructions. Blocks that
// access memory also give the reason why the access is within bounds.
impl<const COUNTS: bool> Vector for Avx512<COUNTS> {
    type Bytes = __m512i;
    type Sums = __m512i;
    const SUMS_LEN: usize = 16;
    const COMPARES_WORDS: bool = true;

    #[inline(always)]
    fn load(self, bytes: &[u8; CHUNK_LEN]) -> Self::Bytes {
        // SAFETY: the array has the 64 bytes that are read.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }

    #[inline(always)]
    fn splat(self, byte: u8) -> Self::Bytes {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { _mm512_set1_epi8(byte.cast_signed()) }
    }

    #[inline(always)]
    fn high_bits(self, bytes: Self::Bytes) -> u64 {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { _mm512_movepi8_mask(bytes) }
    }

    #[inline(always)]
    fn zero_bytes(self, bytes: Self::Bytes) -> u64 {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { _mm512_testn_epi8_mask(bytes, bytes) }
    }

    #[inline(always)]
    fn low_parts(self, bytes: Self::Bytes) -> Self::Bytes {
        let continuations = self.high_bits(bytes);
        let second = continuations << 1;
        let third = second & continuations << 2;
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe {
            let values = _mm512_and_si512(bytes, _mm512_set1_epi8(0x7f));
            let upper = _mm512_and_si512(_mm512_slli_epi16::<7>(bytes), _mm512_set1_epi8(i8::MIN));
            _mm512_mask_mov_epi8(values, second, _mm512_maskz_mov_epi8(!third, upper))
        }
    }

    #[inline(always)]
    fn prefix_sums(self, mut sums: Self::Bytes, carry: u8) -> Self::Bytes {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe {
            sums = _mm512_add_epi8(sums, _mm512_bslli_epi128::<1>(sums));
            sums = _mm512_add_epi8(sums, _mm512_bslli_epi128::<2>(sums));
            sums = _mm512_add_epi8(sums, _mm512_bslli_epi128::<4>(sums));
            sums = _mm512_add_epi8(sums, _mm512_bslli_epi128::<8>(sums));
            // Each group of sixteen bytes still lacks the sums of all earlier groups.
            let [one, two, three] = before(_mm512_shuffle_epi8(sums, _mm512_set1_epi8(15)));
            let before = _mm512_add_epi8(_mm512_add_epi8(one, two), three);
            _mm512_add_epi8(_mm512_add_epi8(sums, before), self.splat(carry))
        }
    }

    #[inline(always)]
    fn near_bytes(
        self,
        bytes: Self::Bytes,
        wanted: Self::Bytes,
        mask: Self::Bytes,
        count: u32,
    ) -> u64 {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe {
            let mut diff = _mm512_and_si512(_mm512_xor_si512(bytes, wanted), mask);
            for _ in 0..count {
                // Clears the lowest set bit of each byte.
                diff = _mm512_and_si512(diff, _mm512_add_epi8(diff, _mm512_set1_epi8(-1)));
            }
            self.zero_bytes(diff)
        }
    }

    #[inline(always)]
    fn sum_selected(self, bytes: &[u8; CHUNK_LEN], selected: u64) -> u64 {
        let bytes = self.load(bytes);
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe {
            let values = _mm512_and_si512(bytes, _mm512_set1_epi8(0x7f));
            let values = _mm512_maskz_mov_epi8(selected, values);
            let eights = _mm512_sad_epu8(values, _mm512_setzero_si512());
            _mm512_reduce_add_epi64(eights).cast_unsigned()
        }
    }

    #[inline(always)]
    fn zero_sums(self) -> Self::Sums {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { _mm512_setzero_si512() }
    }

    #[inline(always)]
    fn widen(self, bytes: &[u8; CHUNK_LEN], part: usize) -> Self::Sums {
        let sixteen = bytes.as_chunks::<16>().0.get(part).unwrap_or(&[0; 16]);
        // SAFETY: the load reads the sixteen bytes of `sixteen`.
        unsafe {
            let loaded = _mm_loadu_si128(sixteen.as_ptr().cast());
            _mm512_cvtepu8_epi32(_mm_and_si128(loaded, _mm_set1_epi8(0x7f)))
        }
    }

    #[inline(always)]
    fn shift_selected(self, sums: Self::Sums, selected: u64) -> Self::Sums {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { _mm512_mask_slli_epi32::<7>(sums, selected as u16, sums) }
    }

    #[inline(always)]
    fn clear_selected(self, sums: Self::Sums, selected: u64) -> Self::Sums {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { _mm512_maskz_mov_epi32(!selected as u16, sums) }
    }

    #[inline(always)]
    fn prefix_sums_32(self, mut sums: Self::Sums, carry: Self::Sums) -> Self::Sums {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe {
            sums = _mm512_add_epi32(sums, _mm512_bslli_epi128::<4>(sums));
            sums = _mm512_add_epi32(sums, _mm512_bslli_epi128::<8>(sums));
            let [one, two, three] = before(_mm512_shuffle_epi32::<0xff>(sums));
            let before = _mm512_add_epi32(_mm512_add_epi32(one, two), three);
            _mm512_add_epi32(_mm512_add_epi32(sums, before), carry)
        }
    }

    #[inline(always)]
    fn last_sum(self, sums: Self::Sums) -> Self::Sums {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { _mm512_permutexvar_epi32(_mm512_set1_epi32(15), sums) }
    }

    #[inline(always)]
    fn store(self, sums: Self::Sums, out: &mut [u32; CHUNK_LEN], part: usize) {
        if let Some(sixteen) = out.as_chunks_mut::<16>().0.get_mut(part) {
            // SAFETY: the store writes the sixteen sums of 32 bits of `sixteen`.
            unsafe { _mm512_storeu_si512(sixteen.as_mut_ptr().cast(), sums) };
        }
    }

    #[inline(always)]
    fn near_sums(self, sums: Self::Sums, before: u32, wanted: u32, mask: u32, count: u32) -> u64 {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe {
            let sums = _mm512_add_epi32(sums, _mm512_set1_epi32(before.cast_signed()));
            let differs = _mm512_xor_si512(sums, _mm512_set1_epi32(wanted.cast_signed()));
            let mut diff = _mm512_and_si512(differs, _mm512_set1_epi32(mask.cast_signed()));
            for _ in 0..count.min(32) {
                // Clears the lowest set bit of each sum.
                diff = _mm512_and_si512(diff, _mm512_add_epi32(diff, _mm512_set1_epi32(-1)));
            }
            u64::from(_mm512_testn_epi32_mask(diff, diff))
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
        avx2::sums_16(bytes, later, carry, out);
    }

    #[inline(always)]
    fn near_lanes(self, lanes: &[u16; CHUNK_LEN], wanted: u16, mask: u16, forgives: bool) -> u64 {
        // Uses AVX2: registers of 32 lanes would take the same time as its 16 lanes.
        avx2::near_lanes(lanes, wanted, mask, forgives)
    }

    #[inline(always)]
    fn near_words(self, words: &[u64; 8], wanted: u64, count: u32) -> u32 {
        // SAFETY: the array has the 64 bytes that are read.
        unsafe {
            let words = _mm512_loadu_si512(words.as_ptr().cast());
            let diff = _mm512_xor_si512(words, _mm512_set1_epi64(wanted.cast_signed()));
            let most = _mm512_set1_epi64(i64::from(count));
            if COUNTS {
                return u32::from(_mm512_cmple_epu64_mask(_mm512_popcnt_epi64(diff), most));
            }
            // Counts the set bits of each nibble, then of each byte, then of each word.
            let ones = _mm512_broadcast_i32x4(_mm_setr_epi8(
                0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
            ));
            let nibble = _mm512_set1_epi8(15);
            let low = _mm512_shuffle_epi8(ones, _mm512_and_si512(diff, nibble));
            let high = _mm512_and_si512(_mm512_srli_epi16::<4>(diff), nibble);
            let bytes = _mm512_add_epi8(low, _mm512_shuffle_epi8(ones, high));
            let differing = _mm512_sad_epu8(bytes, _mm512_setzero_si512());
            u32::from(_mm512_cmple_epu64_mask(differing, most))
        }
    }
}

/// `ends`, moved up by one, two and three groups of sixteen bytes; the free groups are zero.
#[inline(always)]
fn before(ends: __m512i) -> [__m512i; 3] {
    // SAFETY: reached only through methods of `Avx512`, so the processor has the instructions.
    unsafe {
        [
            _mm512_maskz_shuffle_i64x2::<0b10_01_00_00>(0b1111_1100, ends, ends),
            _mm512_maskz_shuffle_i64x2::<0b01_00_00_00>(0b1111_0000, ends, ends),
            _mm512_maskz_shuffle_i64x2::<0>(0b1100_0000, ends, ends),
        ]
    }
}
