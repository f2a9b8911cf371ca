//! With AVX-512: eight values at a time.

use std::arch::x86_64::*;

use super::{AT_ONCE, Packed, find_from};
use crate::bits::packing::GUARD_LEN;
use crate::bits::permutation::Permuted;
use crate::format::near_heads::NearHead;

/// As many values are compared one by one in the time that it takes to begin with more.
pub(super) const FEW: usize = 8;

/// Values in a register.
const LANES: usize = 8;

/// See [`Kernel::find_values`](crate::format::near_heads::Kernel::find_values).
///
/// # Safety
///
/// The processor must have what [`Kernel::Avx512`](crate::format::near_heads::Kernel::Avx512) stands for.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
#[expect(unsafe_code, reason = "instructions that not every processor has")]
pub(super) unsafe fn find(
    tails: Packed<'_>,
    values: &[NearHead],
    needle: Permuted,
    k: u32,
    found: &mut [u8; AT_ONCE],
) -> usize {
    let values = values.get(..AT_ONCE).unwrap_or(values);
    let (eights, _) = values.as_chunks::<LANES>();
    let width = u64::from(tails.width);
    let base = values.iter().map(|near| near.rank.0).min().unwrap_or(0);
    // Bits are counted from the byte in which the first one of the least rank lies, so that they fit 64.
    let first_bit = base.wrapping_mul(width);
    let first_byte = (first_bit / 8) as usize;
    let Some(bytes) = tails.bytes.get(first_byte..) else { return 0 };
    let highest = bytes.len().checked_sub(GUARD_LEN as usize);
    let (Some(highest), true) = (highest, k <= 8) else {
        return find_from(0, 0, tails, values, needle, k, found);
    };
    let set = |word: u64| _mm512_set1_epi64(word.cast_signed());
    let tail_mask = set((1_u64 << width) - 1);
    let shift = _mm_cvtsi64_si128(width.cast_signed());
    let (mut count, mut done) = (0, 0);
    for eight in eights {
        let [low, high] = load(eight);
        let ranks =
            _mm512_permutex2var_epi64(low, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), high);
        let heads =
            _mm512_permutex2var_epi64(low, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), high);
        let beyond = _mm512_sub_epi64(ranks, set(base));
        let bits = _mm512_add_epi64(_mm512_mul_epu32(beyond, set(width)), set(first_bit % 8));
        let offsets = _mm512_srli_epi64::<3>(bits);
        let within = _mm512_cmple_epu64_mask(offsets, set(highest as u64))
            & _mm512_cmple_epu64_mask(beyond, set(u64::from(u32::MAX)));
        if within != u8::MAX {
            break;
        }
        // SAFETY: each offset leaves room for eight bytes before the end.
        let words = unsafe { _mm512_i64gather_epi64::<1>(offsets, bytes.as_ptr().cast()) };
        let words = _mm512_srlv_epi64(words, _mm512_and_si512(bits, set(7)));
        let tails = _mm512_and_si512(words, tail_mask);
        let joined = _mm512_or_si512(_mm512_sll_epi64(heads, shift), tails);
        let mut diff = _mm512_xor_si512(joined, set(needle.0));
        for _ in 0..k {
            // Clears the lowest bit that is set.
            diff = _mm512_and_si512(diff, _mm512_add_epi64(diff, set(u64::MAX)));
        }
        let mut near = _mm512_testn_epi64_mask(diff, diff);
        while near != 0 {
            if let Some(slot) = found.get_mut(count) {
                *slot = done as u8 + near.trailing_zeros() as u8;
            }
            count += 1;
            near &= near - 1;
        }
        done += LANES;
    }
    find_from(done, count, tails, values, needle, k, found)
}

#[inline]
#[target_feature(enable = "avx512f")]
#[expect(unsafe_code, reason = "loads take pointers")]
fn load(eight: &[NearHead; LANES]) -> [__m512i; 2] {
    let first = eight.as_ptr().cast::<__m512i>();
    // SAFETY: eight pairs of numbers of 64 bits, in this order by their representation, are two registers.
    unsafe { [_mm512_loadu_si512(first), _mm512_loadu_si512(first.add(1))] }
}
