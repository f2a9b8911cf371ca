//! With AVX2: 64 bytes in four registers of 16 lanes.

use std::arch::x86_64::*;

use super::{Glance, Job, NearHeads, Needle, Sums, WINDOW_LEN, Window, glance_with, look_with};

/// Bytes whose sums fill a register.
const PART_LEN: usize = 16;
const PARTS: usize = WINDOW_LEN / PART_LEN;

pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
}

/// Lists the jobs that deserve a second look.
///
/// # Safety
///
/// The processor must have what [`is_available`] asks for.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
#[expect(unsafe_code, reason = "instructions that not every processor has")]
pub(super) unsafe fn glance(
    heads: &[u8],
    jobs: &[Job],
    needle: Needle,
    again: &mut [usize],
) -> usize {
    let near = LowNeedle::new(needle);
    glance_with(heads, jobs, again, |window| near.glance(window))
}

/// Adds the near heads of the jobs that were listed.
///
/// # Safety
///
/// As of [`glance`].
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
#[expect(unsafe_code, reason = "instructions that not every processor has")]
pub(super) unsafe fn look(
    heads: &[u8],
    jobs: &[Job],
    needle: Needle,
    again: &[usize],
    out: &mut NearHeads,
) {
    let near = LowNeedle::new(needle);
    let glance = |window: &Window<'_>| near.glance(window);
    look_with(heads, jobs, again, out, glance, |window| sum(window, needle));
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
    fn glance(self, window: &Window<'_>) -> Glance {
        let [low, high] = load(window.bytes);
        let before_low = _mm256_permute2x128_si256::<0x08>(low, low);
        let mut follows_low = _mm256_alignr_epi8::<15>(low, before_low);
        // The byte before the window: open, or as good as none.
        let open_before = _mm_cvtsi32_si128((window.open_before << 7) as i32);
        follows_low = _mm256_or_si256(follows_low, _mm256_zextsi128_si256(open_before));
        let before_high = _mm256_permute2x128_si256::<0x21>(low, high);
        let follows_high = _mm256_alignr_epi8::<15>(high, before_high);
        let carry = _mm256_set1_epi8(window.carry as i8);
        let sums_low = byte_sums(low, follows_low, carry);
        let end = _mm256_permute4x64_epi64::<0xff>(sums_low);
        let carry = _mm256_shuffle_epi8(end, _mm256_set1_epi8(15));
        let sums_high = byte_sums(high, follows_high, carry);
        let diff = |sums| _mm256_and_si256(_mm256_xor_si256(sums, self.inner), self.mask);
        let (mut diff_low, mut diff_high) = (diff(sums_low), diff(sums_high));
        for _ in 0..window.spare {
            // Clears the lowest bit that is set.
            let less_one = |diff| _mm256_add_epi8(diff, _mm256_set1_epi8(-1));
            diff_low = _mm256_and_si256(diff_low, less_one(diff_low));
            diff_high = _mm256_and_si256(diff_high, less_one(diff_high));
        }
        Glance {
            open: bits(low) | bits(high) << 32,
            zero: zeros(low) | zeros(high) << 32,
            perhaps: zeros(diff_low) | zeros(diff_high) << 32,
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
#[expect(unsafe_code, reason = "stores take pointers")]
fn sum(window: &Window<'_>, needle: Needle) -> Sums {
    let inner = _mm256_set1_epi16(needle.inner.cast_signed());
    let mask = _mm256_set1_epi16(needle.mask.cast_signed());
    let all = sums(window);
    let near = |sums: __m256i| {
        let mut diff = _mm256_and_si256(_mm256_xor_si256(sums, inner), mask);
        for _ in 0..window.spare {
            let less_one = _mm256_add_epi16(diff, _mm256_set1_epi16(-1));
            diff = _mm256_and_si256(diff, less_one);
        }
        _mm256_cmpeq_epi16(diff, _mm256_setzero_si256())
    };
    // Packing takes eights from each in turn: the middle ones change places.
    let pack = |a: __m256i, b: __m256i| {
        let packed = _mm256_packs_epi16(near(a), near(b));
        bits(_mm256_permute4x64_epi64::<0b11_01_10_00>(packed))
    };
    let near = pack(all[0], all[1]) | pack(all[2], all[3]) << 32;
    let mut sums = [0; WINDOW_LEN];
    for (part, all) in sums.as_chunks_mut::<PART_LEN>().0.iter_mut().zip(all) {
        // SAFETY: the part has room for the 16 lanes of a register.
        unsafe { _mm256_storeu_si256(part.as_mut_ptr().cast(), all) };
    }
    Sums { near, sums }
}

/// The lowest bytes of the sums at each byte, `carry` included. Where `follows` has the high bit,
/// a byte is the upper part of its gap.
#[inline]
#[target_feature(enable = "avx2")]
fn byte_sums(bytes: __m256i, follows: __m256i, carry: __m256i) -> __m256i {
    let values = _mm256_and_si256(bytes, _mm256_set1_epi8(0x7f));
    // Of the upper part of a gap, one bit comes down so far.
    let upper = _mm256_and_si256(_mm256_slli_epi16::<7>(bytes), _mm256_set1_epi8(i8::MIN));
    let mut sums = _mm256_blendv_epi8(values, upper, follows);
    sums = _mm256_add_epi8(sums, _mm256_bslli_epi128::<1>(sums));
    sums = _mm256_add_epi8(sums, _mm256_bslli_epi128::<2>(sums));
    sums = _mm256_add_epi8(sums, _mm256_bslli_epi128::<4>(sums));
    sums = _mm256_add_epi8(sums, _mm256_bslli_epi128::<8>(sums));
    // The upper sixteen lack the end of the lower.
    let lower = _mm256_permute2x128_si256::<0x08>(sums, sums);
    let before = _mm256_shuffle_epi8(lower, _mm256_set1_epi8(15));
    _mm256_add_epi8(_mm256_add_epi8(sums, before), carry)
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

/// The sums at each byte, the carry included.
#[inline]
#[target_feature(enable = "avx2")]
#[expect(unsafe_code, reason = "loads take pointers")]
fn sums(window: &Window<'_>) -> [__m256i; PARTS] {
    let open_before = (window.open_before << 7) as i32;
    let mut before = _mm_insert_epi8::<15>(_mm_setzero_si128(), open_before);
    let mut carry = _mm256_set1_epi16(window.carry.cast_signed());
    let mut out = [_mm256_setzero_si256(); PARTS];
    for (part, out) in window.bytes.as_chunks::<PART_LEN>().0.iter().zip(&mut out) {
        // SAFETY: the part has the 16 bytes that are read.
        let loaded = unsafe { _mm_loadu_si128(part.as_ptr().cast()) };
        let values = _mm256_cvtepu8_epi16(_mm_and_si128(loaded, _mm_set1_epi8(0x7f)));
        // The byte before each, widened with its sign: all ones where that is open.
        let follows = _mm256_cvtepi8_epi16(_mm_alignr_epi8::<15>(loaded, before));
        let values = _mm256_blendv_epi8(
            values,
            _mm256_slli_epi16::<7>(values),
            _mm256_srai_epi16::<15>(follows),
        );
        let sums = _mm256_adds_epu16(prefix_sums(values), carry);
        carry =
            _mm256_shuffle_epi8(_mm256_permute4x64_epi64::<0xff>(sums), _mm256_set1_epi16(0x0f0e));
        before = loaded;
        *out = sums;
    }
    out
}

/// The sum of each lane and those before it; one too large for a lane stays at the highest value.
#[inline]
#[target_feature(enable = "avx2")]
fn prefix_sums(mut lanes: __m256i) -> __m256i {
    lanes = _mm256_adds_epu16(lanes, _mm256_bslli_epi128::<2>(lanes));
    lanes = _mm256_adds_epu16(lanes, _mm256_bslli_epi128::<4>(lanes));
    lanes = _mm256_adds_epu16(lanes, _mm256_bslli_epi128::<8>(lanes));
    // The upper eight lack the sum of the lower.
    let lower = _mm256_permute2x128_si256::<0x08>(lanes, lanes);
    _mm256_adds_epu16(lanes, _mm256_shuffle_epi8(lower, _mm256_set1_epi16(0x0f0e)))
}
