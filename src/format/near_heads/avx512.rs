//! With AVX-512: the first look, at 64 bytes in one register. The second is that of AVX2.

use std::arch::x86_64::*;

use super::{Glance, Job, Needle, WINDOW_LEN, glance_with};

pub(super) fn is_available() -> bool {
    super::avx2::is_available()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
}

/// Lists the jobs that deserve a second look.
///
/// # Safety
///
/// The processor must have what [`is_available`] asks for.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,popcnt")]
#[expect(unsafe_code, reason = "instructions that not every processor has")]
pub(super) unsafe fn glance(
    heads: &[u8],
    jobs: &[Job],
    needle: Needle,
    again: &mut [usize],
) -> usize {
    let inner = _mm512_set1_epi8(needle.inner as i8);
    let mask = _mm512_set1_epi8(needle.mask as i8);
    glance_with(heads, jobs, again, |window| {
        let bytes = load(window.bytes);
        let open = _mm512_movepi8_mask(bytes);
        let sums = byte_sums(bytes, open << 1 | window.open_before);
        let mut diff = _mm512_and_si512(_mm512_xor_si512(sums, inner), mask);
        for _ in 0..window.spare {
            // Clears the lowest bit that is set.
            let less_one = _mm512_add_epi8(diff, _mm512_set1_epi8(-1));
            diff = _mm512_and_si512(diff, less_one);
        }
        Glance {
            open,
            zero: _mm512_testn_epi8_mask(bytes, bytes),
            perhaps: _mm512_testn_epi8_mask(diff, diff),
        }
    })
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[expect(unsafe_code, reason = "loads take pointers")]
fn load(bytes: &[u8; WINDOW_LEN]) -> __m512i {
    // SAFETY: the array has the 64 bytes that are read.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// The lowest bytes of the sums at each byte.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn byte_sums(bytes: __m512i, follows: u64) -> __m512i {
    let values = _mm512_and_si512(bytes, _mm512_set1_epi8(0x7f));
    // Of the upper part of a gap, one bit comes down so far.
    let upper = _mm512_and_si512(_mm512_slli_epi16::<7>(bytes), _mm512_set1_epi8(i8::MIN));
    let mut sums = _mm512_mask_mov_epi8(values, follows, upper);
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
