//! With AVX-512: 64 bytes in one register.

use std::arch::x86_64::*;

use super::looks::{AllFn, BitsFn, Glance, GlanceFn, Lanes, NearSums, SumFn};
use super::{Needle, WINDOW_LEN};

/// Sums of 32 bits that fill a register.
const PART_LEN: usize = 16;

pub(super) fn is_available() -> bool {
    super::avx2::is_available()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
}

super::acts!("avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt,popcnt");

/// What both acts are made of.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
fn lanes(needle: Needle) -> Lanes<impl BitsFn, impl BitsFn, impl GlanceFn, impl SumFn, impl AllFn> {
    let low = LowNeedle::new(needle);
    Lanes {
        open: |bytes: &_| open(bytes),
        zero: |bytes: &_| zero(bytes),
        glance: move |bytes: &_, carry, spare| low.glance(bytes, carry, spare),
        sum: |bytes: &_, mask| sum(bytes, mask),
        all: |bytes: &_, open, near| all_sums(bytes, open, near),
    }
}

/// The lowest byte of the needle and of its mask, in each lane.
#[derive(Clone, Copy)]
struct LowNeedle {
    inner: __m512i,
    mask: __m512i,
}

impl LowNeedle {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    fn new(needle: Needle) -> Self {
        let inner = _mm512_set1_epi8(needle.inner as i8);
        LowNeedle { inner, mask: _mm512_set1_epi8(needle.mask as i8) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    fn glance(self, bytes: &[u8; WINDOW_LEN], carry: u8, spare: u32) -> Glance {
        let bytes = load(bytes);
        let open = _mm512_movepi8_mask(bytes);
        let sums = byte_sums(parts_of_gaps(bytes, open));
        let sums = _mm512_add_epi8(sums, _mm512_set1_epi8(carry as i8));
        let mut diff = _mm512_and_si512(_mm512_xor_si512(sums, self.inner), self.mask);
        for _ in 0..spare {
            // Clears the lowest bit that is set.
            let less_one = _mm512_add_epi8(diff, _mm512_set1_epi8(-1));
            diff = _mm512_and_si512(diff, less_one);
        }
        Glance { open, perhaps: _mm512_testn_epi8_mask(diff, diff) }
    }
}

/// What each byte adds to the lowest byte of its gap.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn parts_of_gaps(bytes: __m512i, open: u64) -> __m512i {
    // Of the second part of a gap one bit comes down so far, of the third none.
    let second = open << 1;
    let third = second & open << 2;
    let values = _mm512_and_si512(bytes, _mm512_set1_epi8(0x7f));
    let upper = _mm512_and_si512(_mm512_slli_epi16::<7>(bytes), _mm512_set1_epi8(i8::MIN));
    let upper = _mm512_maskz_mov_epi8(!third, upper);
    _mm512_mask_mov_epi8(values, second, upper)
}

/// The sum of each byte and those before it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn byte_sums(mut sums: __m512i) -> __m512i {
    sums = _mm512_add_epi8(sums, _mm512_bslli_epi128::<1>(sums));
    sums = _mm512_add_epi8(sums, _mm512_bslli_epi128::<2>(sums));
    sums = _mm512_add_epi8(sums, _mm512_bslli_epi128::<4>(sums));
    sums = _mm512_add_epi8(sums, _mm512_bslli_epi128::<8>(sums));
    // Sixteen bytes each are summed; each sixteen lacks the ends of those before it.
    let ends = _mm512_shuffle_epi8(sums, _mm512_set1_epi8(15));
    let one = _mm512_maskz_shuffle_i64x2::<0b10_01_00_00>(0b1111_1100, ends, ends);
    let two = _mm512_maskz_shuffle_i64x2::<0b01_00_00_00>(0b1111_0000, ends, ends);
    let three = _mm512_maskz_shuffle_i64x2::<0>(0b1100_0000, ends, ends);
    let before = _mm512_add_epi8(_mm512_add_epi8(one, two), three);
    _mm512_add_epi8(sums, before)
}

/// Bytes with the high bit set.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn open(bytes: &[u8; WINDOW_LEN]) -> u64 {
    _mm512_movepi8_mask(load(bytes))
}

/// Bytes that are zero.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn zero(bytes: &[u8; WINDOW_LEN]) -> u64 {
    let bytes = load(bytes);
    _mm512_testn_epi8_mask(bytes, bytes)
}

/// The sum of the lower seven bits of the bytes that `mask` names.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn sum(bytes: &[u8; WINDOW_LEN], mask: u64) -> u64 {
    let values = _mm512_and_si512(load(bytes), _mm512_set1_epi8(0x7f));
    let eights = _mm512_sad_epu8(_mm512_maskz_mov_epi8(mask, values), _mm512_setzero_si512());
    _mm512_reduce_add_epi64(eights).cast_unsigned()
}

/// The sums at all bytes in lanes of 32 bits, and which are near.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[expect(unsafe_code, reason = "stores take pointers")]
fn all_sums(bytes: &[u8; WINDOW_LEN], open: u64, near: NearSums) -> ([u32; WINDOW_LEN], u64) {
    let values = _mm512_and_si512(load(bytes), _mm512_set1_epi8(0x7f));
    let parts = [
        _mm512_extracti32x4_epi32::<0>(values),
        _mm512_extracti32x4_epi32::<1>(values),
        _mm512_extracti32x4_epi32::<2>(values),
        _mm512_extracti32x4_epi32::<3>(values),
    ];
    let second = open << 1;
    let third = second & open << 2;
    let fourth = third & open << 3;
    let fifth = fourth & open << 4;
    // What comes after lies above 32 bits.
    let sixth = fifth & open << 5;
    let [inner, mask, head] =
        [near.inner, near.mask, near.head].map(|word| _mm512_set1_epi32(word.cast_signed()));
    let before = _mm512_set1_epi32(near.before.cast_signed());
    let head_before = _mm512_set1_epi32(near.head_before.cast_signed());
    let at_most = |mut diff: __m512i, count: u32| {
        for _ in 0..count.min(32) {
            diff = _mm512_and_si512(diff, _mm512_add_epi32(diff, _mm512_set1_epi32(-1)));
        }
        _mm512_testn_epi32_mask(diff, diff)
    };
    let (mut sums, mut found, mut carry) = ([0; WINDOW_LEN], 0, _mm512_setzero_si512());
    let places = sums.as_chunks_mut::<PART_LEN>().0.iter_mut();
    for ((number, part), place) in (0..).zip(parts).zip(places).take(near.len.div_ceil(PART_LEN)) {
        let here = |bits: u64| (bits >> (number * PART_LEN as u64)) as u16;
        let mut lanes = _mm512_cvtepu8_epi32(part);
        for later in [second, third, fourth, fifth] {
            lanes = _mm512_mask_slli_epi32::<7>(lanes, here(later), lanes);
        }
        lanes = _mm512_maskz_mov_epi32(!here(sixth), lanes);
        lanes = _mm512_add_epi32(lanes, _mm512_bslli_epi128::<4>(lanes));
        lanes = _mm512_add_epi32(lanes, _mm512_bslli_epi128::<8>(lanes));
        lanes = _mm512_add_epi32(lanes, before_each_four(_mm512_shuffle_epi32::<0xff>(lanes)));
        lanes = _mm512_add_epi32(lanes, carry);
        carry = _mm512_permutexvar_epi32(_mm512_set1_epi32(15), lanes);
        // SAFETY: the place has room for the 16 lanes of a register.
        unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), lanes) };
        let diff = _mm512_xor_si512(_mm512_add_epi32(lanes, before), inner);
        let head_diff = _mm512_xor_si512(_mm512_add_epi32(lanes, head_before), head);
        let both = at_most(_mm512_and_si512(diff, mask), near.spare) & at_most(head_diff, near.k);
        found |= u64::from(both) << (number * PART_LEN as u64);
    }
    (sums, found)
}

/// The sum of the 16-byte parts before each of the four, each of which has its end in all places.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn before_each_four(ends: __m512i) -> __m512i {
    let one = _mm512_maskz_shuffle_i64x2::<0b10_01_00_00>(0b1111_1100, ends, ends);
    let two = _mm512_maskz_shuffle_i64x2::<0b01_00_00_00>(0b1111_0000, ends, ends);
    let three = _mm512_maskz_shuffle_i64x2::<0>(0b1100_0000, ends, ends);
    _mm512_add_epi32(_mm512_add_epi32(one, two), three)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[expect(unsafe_code, reason = "loads take pointers")]
fn load(bytes: &[u8; WINDOW_LEN]) -> __m512i {
    // SAFETY: the array has the 64 bytes that are read.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}
