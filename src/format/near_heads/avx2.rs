//! With AVX2: 64 bytes in two registers.

use std::arch::x86_64::*;

use super::looks::{AllFn, BitsFn, Glance, GlanceFn, Lanes, NearSums, SumFn};
use super::{Needle, WINDOW_LEN};

/// Sums of 32 bits that fill a register.
const PART_LEN: usize = 8;

pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

super::acts!("avx2,bmi1,bmi2,lzcnt,popcnt");

/// What both acts are made of.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
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
    inner: __m256i,
    mask: __m256i,
}

impl LowNeedle {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(needle: Needle) -> Self {
        let inner = _mm256_set1_epi8(needle.inner as i8);
        LowNeedle { inner, mask: _mm256_set1_epi8(needle.mask as i8) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn glance(self, bytes: &[u8; WINDOW_LEN], carry: u8, spare: u32) -> Glance {
        let [low, high] = load(bytes);
        let before_low = _mm256_permute2x128_si256::<0x08>(low, low);
        let before_high = _mm256_permute2x128_si256::<0x21>(low, high);
        let sums_low = byte_sums(parts_of_gaps(low, before_low), _mm256_set1_epi8(carry as i8));
        let end = _mm256_permute4x64_epi64::<0xff>(sums_low);
        let carry = _mm256_shuffle_epi8(end, _mm256_set1_epi8(15));
        let sums_high = byte_sums(parts_of_gaps(high, before_high), carry);
        let diff = |sums| _mm256_and_si256(_mm256_xor_si256(sums, self.inner), self.mask);
        let (mut diff_low, mut diff_high) = (diff(sums_low), diff(sums_high));
        for _ in 0..spare {
            // Clears the lowest bit that is set.
            let less_one = |diff| _mm256_add_epi8(diff, _mm256_set1_epi8(-1));
            diff_low = _mm256_and_si256(diff_low, less_one(diff_low));
            diff_high = _mm256_and_si256(diff_high, less_one(diff_high));
        }
        Glance {
            open: bits(low) | bits(high) << 32,
            perhaps: zeros(diff_low) | zeros(diff_high) << 32,
        }
    }
}

/// What each byte adds to the lowest byte of its gap; `before` holds the 16 bytes before each half.
#[inline]
#[target_feature(enable = "avx2")]
fn parts_of_gaps(bytes: __m256i, before: __m256i) -> __m256i {
    // Where the byte before has the high bit, this one is a later part of its gap: of the second
    // part one bit comes down so far, of the third none.
    let one_before = _mm256_alignr_epi8::<15>(bytes, before);
    let two_before = _mm256_alignr_epi8::<14>(bytes, before);
    let values = _mm256_and_si256(bytes, _mm256_set1_epi8(0x7f));
    let high_bits = _mm256_set1_epi8(i8::MIN);
    let second = _mm256_andnot_si256(two_before, _mm256_slli_epi16::<7>(bytes));
    _mm256_blendv_epi8(values, _mm256_and_si256(second, high_bits), one_before)
}

/// The sum of each byte and those before it, `carry` included.
#[inline]
#[target_feature(enable = "avx2")]
fn byte_sums(mut sums: __m256i, carry: __m256i) -> __m256i {
    sums = _mm256_add_epi8(sums, _mm256_bslli_epi128::<1>(sums));
    sums = _mm256_add_epi8(sums, _mm256_bslli_epi128::<2>(sums));
    sums = _mm256_add_epi8(sums, _mm256_bslli_epi128::<4>(sums));
    sums = _mm256_add_epi8(sums, _mm256_bslli_epi128::<8>(sums));
    // The upper sixteen lack the end of the lower.
    let lower = _mm256_permute2x128_si256::<0x08>(sums, sums);
    let before = _mm256_shuffle_epi8(lower, _mm256_set1_epi8(15));
    _mm256_add_epi8(_mm256_add_epi8(sums, before), carry)
}

/// Bytes with the high bit set.
#[inline]
#[target_feature(enable = "avx2")]
fn open(bytes: &[u8; WINDOW_LEN]) -> u64 {
    let [low, high] = load(bytes);
    bits(low) | bits(high) << 32
}

/// Bytes that are zero.
#[inline]
#[target_feature(enable = "avx2")]
fn zero(bytes: &[u8; WINDOW_LEN]) -> u64 {
    let [low, high] = load(bytes);
    zeros(low) | zeros(high) << 32
}

/// The sum of the lower seven bits of the bytes that `mask` names.
#[inline]
#[target_feature(enable = "avx2")]
fn sum(bytes: &[u8; WINDOW_LEN], mask: u64) -> u64 {
    let [low, high] = load(bytes);
    let eights = |half: __m256i, mask: u64| {
        // Each byte gets the eight bits of the mask among which its own is.
        let lanes = _mm256_setr_epi64x(
            0,
            0x0101_0101_0101_0101,
            0x0202_0202_0202_0202,
            0x0303_0303_0303_0303,
        );
        let spread = _mm256_shuffle_epi8(_mm256_set1_epi32(mask as i32), lanes);
        let own = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
        let named = _mm256_cmpeq_epi8(_mm256_and_si256(spread, own), own);
        let values = _mm256_and_si256(half, _mm256_set1_epi8(0x7f));
        _mm256_sad_epu8(_mm256_and_si256(values, named), _mm256_setzero_si256())
    };
    let fours = _mm256_add_epi64(eights(low, mask), eights(high, mask >> 32));
    let twos = _mm_add_epi64(_mm256_castsi256_si128(fours), _mm256_extracti128_si256::<1>(fours));
    let one = _mm_add_epi64(twos, _mm_unpackhi_epi64(twos, twos));
    _mm_cvtsi128_si64(one).cast_unsigned()
}

/// The sums at all bytes in lanes of 32 bits, and which are near.
#[inline]
#[target_feature(enable = "avx2")]
#[expect(unsafe_code, reason = "loads and stores take pointers")]
fn all_sums(bytes: &[u8; WINDOW_LEN], open: u64, near: NearSums) -> ([u32; WINDOW_LEN], u64) {
    let second = open << 1;
    let third = second & open << 2;
    let fourth = third & open << 3;
    let fifth = fourth & open << 4;
    // What comes after lies above 32 bits.
    let sixth = fifth & open << 5;
    let [inner, mask, head] =
        [near.inner, near.mask, near.head].map(|word| _mm256_set1_epi32(word.cast_signed()));
    let before = _mm256_set1_epi32(near.before.cast_signed());
    let head_before = _mm256_set1_epi32(near.head_before.cast_signed());
    let at_most = |mut diff: __m256i, count: u32| {
        for _ in 0..count.min(32) {
            diff = _mm256_and_si256(diff, _mm256_add_epi32(diff, _mm256_set1_epi32(-1)));
        }
        _mm256_cmpeq_epi32(diff, _mm256_setzero_si256())
    };
    let (mut sums, mut found, mut carry) = ([0; WINDOW_LEN], 0, _mm256_setzero_si256());
    let parts = bytes.as_chunks::<PART_LEN>().0.iter();
    let places = sums.as_chunks_mut::<PART_LEN>().0.iter_mut();
    for ((number, part), place) in (0..).zip(parts).zip(places).take(near.len.div_ceil(PART_LEN)) {
        // SAFETY: the part has the eight bytes that are read.
        let loaded = unsafe { _mm_loadl_epi64(part.as_ptr().cast()) };
        let mut lanes = _mm256_cvtepu8_epi32(_mm_and_si128(loaded, _mm_set1_epi8(0x7f)));
        let named = |bits: u64| {
            let own = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
            let here = _mm256_set1_epi32((bits >> (number * PART_LEN as u64)) as i32);
            _mm256_cmpeq_epi32(_mm256_and_si256(here, own), own)
        };
        // Most windows have no gaps of several bytes.
        let laters = if open == 0 { &[][..] } else { &[second, third, fourth, fifth] };
        for &later in laters {
            lanes = _mm256_blendv_epi8(lanes, _mm256_slli_epi32::<7>(lanes), named(later));
        }
        lanes = _mm256_andnot_si256(named(sixth), lanes);
        lanes = _mm256_add_epi32(lanes, _mm256_bslli_epi128::<4>(lanes));
        lanes = _mm256_add_epi32(lanes, _mm256_bslli_epi128::<8>(lanes));
        let lower = _mm256_permute2x128_si256::<0x08>(lanes, lanes);
        lanes = _mm256_add_epi32(lanes, _mm256_shuffle_epi32::<0xff>(lower));
        lanes = _mm256_add_epi32(lanes, carry);
        carry = _mm256_permutevar8x32_epi32(lanes, _mm256_set1_epi32(7));
        // SAFETY: the place has room for the eight lanes of a register.
        unsafe { _mm256_storeu_si256(place.as_mut_ptr().cast(), lanes) };
        let diff = _mm256_xor_si256(_mm256_add_epi32(lanes, before), inner);
        let head_diff = _mm256_xor_si256(_mm256_add_epi32(lanes, head_before), head);
        let both = _mm256_and_si256(
            at_most(_mm256_and_si256(diff, mask), near.spare),
            at_most(head_diff, near.k),
        );
        let named = _mm256_movemask_ps(_mm256_castsi256_ps(both)).cast_unsigned();
        found |= u64::from(named) << (number * PART_LEN as u64);
    }
    (sums, found)
}

#[inline]
#[target_feature(enable = "avx2")]
fn bits(bytes: __m256i) -> u64 {
    u64::from(_mm256_movemask_epi8(bytes).cast_unsigned())
}

/// A bit for each byte that is zero.
#[inline]
#[target_feature(enable = "avx2")]
fn zeros(bytes: __m256i) -> u64 {
    bits(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256()))
}

#[inline]
#[target_feature(enable = "avx2")]
#[expect(unsafe_code, reason = "loads take pointers")]
fn load(bytes: &[u8; WINDOW_LEN]) -> [__m256i; 2] {
    let first = bytes.as_ptr().cast::<__m256i>();
    // SAFETY: two registers of 32 bytes are the 64 bytes of the array.
    unsafe { [_mm256_loadu_si256(first), _mm256_loadu_si256(first.add(1))] }
}
