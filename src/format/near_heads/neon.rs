//! With NEON, which nearly every arm64 processor has: 64 bytes in four registers.
//!
//! A glance has every fourth byte in one register. Dealt out so, three additions sum each four bytes in all
//! 16 lanes, and only the sums of fours are left to be summed across lanes. A byte's neighbour is the same
//! lane of the register before, and three selections and a narrowing shift make a word of a bit from
//! every byte.

use std::arch::aarch64::*;
use std::arch::is_aarch64_feature_detected;

use super::looks::{AllFn, BitsFn, Glance, GlanceFn, Lanes, NearSums, SumFn};
use super::{Needle, WINDOW_LEN};

/// Byte `i` of register `j` is byte `4 * i + j` of a window.
type Dealt = [uint8x16_t; 4];

/// Bytes that fill a register.
const PART_LEN: usize = 16;
/// Sums of 32 bits that fill a register.
const SUMS_LEN: usize = 4;

pub(super) fn is_available() -> bool {
    is_aarch64_feature_detected!("neon")
}

super::acts!("neon");

/// What both acts are made of.
#[inline]
#[target_feature(enable = "neon")]
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
    inner: uint8x16_t,
    mask: uint8x16_t,
}

impl LowNeedle {
    #[inline]
    #[target_feature(enable = "neon")]
    fn new(needle: Needle) -> Self {
        LowNeedle { inner: vdupq_n_u8(needle.inner as u8), mask: vdupq_n_u8(needle.mask as u8) }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn glance(self, bytes: &[u8; WINDOW_LEN], carry: u8, spare: u32) -> Glance {
        let bytes = deal(bytes);
        let open = bytes.map(|part| vcltzq_s8(vreinterpretq_s8_u8(part)));
        let sums = byte_sums(parts_of_gaps(bytes, open), carry);
        let spare = vdupq_n_u8(spare as u8);
        let near = |sums| {
            let diff = vandq_u8(veorq_u8(sums, self.inner), self.mask);
            vcleq_u8(vcntq_u8(diff), spare)
        };
        Glance { open: bits(open), perhaps: bits(sums.map(near)) }
    }
}

/// Bytes with the high bit set.
#[inline]
#[target_feature(enable = "neon")]
fn open(bytes: &[u8; WINDOW_LEN]) -> u64 {
    bits(deal(bytes).map(|part| vcltzq_s8(vreinterpretq_s8_u8(part))))
}

/// Bytes that are zero.
#[inline]
#[target_feature(enable = "neon")]
fn zero(bytes: &[u8; WINDOW_LEN]) -> u64 {
    bits(deal(bytes).map(|part| vceqzq_u8(part)))
}

/// What each byte adds to the lowest byte of its gap. Where the byte before is open, this one is a later
/// part of its gap: of the second part one bit comes down so far, of the third none.
#[inline]
#[target_feature(enable = "neon")]
fn parts_of_gaps(bytes: Dealt, [a, b, c, d]: Dealt) -> Dealt {
    let none = vdupq_n_u8(0);
    let (before_a, before_b) = (vextq_u8::<15>(none, c), vextq_u8::<15>(none, d));
    let part = |bytes, one_before, two_before| {
        // Shifts by more than a byte is long leave nothing.
        let at_least = vorrq_u8(vandq_u8(two_before, vdupq_n_u8(8)), vdupq_n_u8(7));
        let shift = vreinterpretq_s8_u8(vandq_u8(one_before, at_least));
        vshlq_u8(vandq_u8(bytes, vdupq_n_u8(0x7f)), shift)
    };
    let [first, second, third, fourth] = bytes;
    [
        part(first, before_b, before_a),
        part(second, a, before_b),
        part(third, b, a),
        part(fourth, c, b),
    ]
}

/// The sum of each byte and those before it, `carry` included.
#[inline]
#[target_feature(enable = "neon")]
fn byte_sums([a, b, c, d]: Dealt, carry: u8) -> Dealt {
    let ab = vaddq_u8(a, b);
    let abc = vaddq_u8(ab, c);
    let abcd = vaddq_u8(abc, d);
    let none = vdupq_n_u8(0);
    let mut fours = vaddq_u8(abcd, vextq_u8::<15>(none, abcd));
    fours = vaddq_u8(fours, vextq_u8::<14>(none, fours));
    fours = vaddq_u8(fours, vextq_u8::<12>(none, fours));
    fours = vaddq_u8(fours, vextq_u8::<8>(none, fours));
    let before = vaddq_u8(vextq_u8::<15>(none, fours), vdupq_n_u8(carry));
    [a, ab, abc, abcd].map(|sums| vaddq_u8(sums, before))
}

/// A bit for each byte, which is all ones or zero; in the order of the window, the first one lowest.
#[inline]
#[target_feature(enable = "neon")]
fn bits([a, b, c, d]: Dealt) -> u64 {
    let ab = vbslq_u8(vdupq_n_u8(0x55), a, b);
    let cd = vbslq_u8(vdupq_n_u8(0x55), c, d);
    // Both halves of each byte have the four bits; two bytes give one.
    let pairs = vreinterpretq_u16_u8(vbslq_u8(vdupq_n_u8(0x33), ab, cd));
    vget_lane_u64::<0>(vreinterpret_u64_u8(vshrn_n_u16::<4>(pairs)))
}

/// All ones in the bytes of a part that its bits name.
#[inline]
#[target_feature(enable = "neon")]
fn named(part_bits: u16) -> uint8x16_t {
    let [low, high] = part_bits.to_le_bytes();
    let own = vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201));
    vtstq_u8(vcombine_u8(vdup_n_u8(low), vdup_n_u8(high)), own)
}

/// The sum of the lower seven bits of the bytes that `mask` names.
#[inline]
#[target_feature(enable = "neon")]
fn sum(bytes: &[u8; WINDOW_LEN], mask: u64) -> u64 {
    let mut pairs = vdupq_n_u16(0);
    for (number, part) in (0..).zip(bytes.as_chunks::<PART_LEN>().0) {
        let wanted = named((mask >> (number * PART_LEN as u64)) as u16);
        let values = vandq_u8(load(part), vdupq_n_u8(0x7f));
        pairs = vpadalq_u8(pairs, vandq_u8(values, wanted));
    }
    u64::from(vaddlvq_u16(pairs))
}

/// The sums at all bytes in lanes of 32 bits, and which are near.
#[inline]
#[target_feature(enable = "neon")]
#[expect(unsafe_code, reason = "stores take pointers")]
fn all_sums(bytes: &[u8; WINDOW_LEN], open: u64, near: NearSums) -> ([u32; WINDOW_LEN], u64) {
    let second = open << 1;
    let third = second & open << 2;
    let fourth = third & open << 3;
    let fifth = fourth & open << 4;
    // This and what comes after is shifted by more than 32 bits: nothing is left.
    let sixth = fifth & open << 5;
    let [inner, mask, head] = [near.inner, near.mask, near.head].map(|word| vdupq_n_u32(word));
    let (before, head_before) = (vdupq_n_u32(near.before), vdupq_n_u32(near.head_before));
    let at_most = |diff: uint32x4_t, count: u32| {
        let ones = vpaddlq_u16(vpaddlq_u8(vcntq_u8(vreinterpretq_u8_u32(diff))));
        vcleq_u32(ones, vdupq_n_u32(count))
    };
    let (mut sums, mut found, none) = ([0; WINDOW_LEN], 0, vdupq_n_u32(0));
    let own = vcombine_u32(vcreate_u32(2 << 32 | 1), vcreate_u32(8 << 32 | 4));
    let (mut carry, mut places) = (none, sums.as_chunks_mut::<SUMS_LEN>().0.iter_mut());
    let parts = bytes.as_chunks::<PART_LEN>().0.iter().take(near.len.div_ceil(PART_LEN));
    for (number, part) in (0..).zip(parts) {
        let values = vandq_u8(load(part), vdupq_n_u8(0x7f));
        // Seven for each part of its gap that comes before.
        let mut shifts = vdupq_n_u8(0);
        for later in [second, third, fourth, fifth, sixth] {
            let here = named((later >> (number * PART_LEN as u64)) as u16);
            shifts = vaddq_u8(shifts, vandq_u8(here, vdupq_n_u8(7)));
        }
        let mut found_here = 0_u64;
        let quarters = widened(values).into_iter().zip(widened(shifts)).zip(&mut places);
        for (quarter, ((values, shifts), place)) in (0..).zip(quarters) {
            let mut lanes = vshlq_u32(values, vreinterpretq_s32_u32(shifts));
            lanes = vaddq_u32(lanes, vextq_u32::<3>(none, lanes));
            lanes = vaddq_u32(lanes, vextq_u32::<2>(none, lanes));
            lanes = vaddq_u32(lanes, carry);
            carry = vdupq_laneq_u32::<3>(lanes);
            // SAFETY: the place has room for the four lanes of a register.
            unsafe { vst1q_u32(place.as_mut_ptr(), lanes) };
            let diff = veorq_u32(vaddq_u32(lanes, before), inner);
            let head_diff = veorq_u32(vaddq_u32(lanes, head_before), head);
            let both =
                vandq_u32(at_most(vandq_u32(diff, mask), near.spare), at_most(head_diff, near.k));
            found_here |= u64::from(vaddvq_u32(vandq_u32(both, own))) << (quarter * SUMS_LEN);
        }
        found |= found_here << (number * PART_LEN as u64);
    }
    (sums, found)
}

/// The bytes of a register in lanes of 32 bits.
#[inline]
#[target_feature(enable = "neon")]
fn widened(bytes: uint8x16_t) -> [uint32x4_t; 4] {
    let (low, high) = (vmovl_u8(vget_low_u8(bytes)), vmovl_high_u8(bytes));
    [
        vmovl_u16(vget_low_u16(low)),
        vmovl_high_u16(low),
        vmovl_u16(vget_low_u16(high)),
        vmovl_high_u16(high),
    ]
}

#[inline]
#[target_feature(enable = "neon")]
#[expect(unsafe_code, reason = "loads take pointers")]
fn load(part: &[u8; PART_LEN]) -> uint8x16_t {
    // SAFETY: the array has the 16 bytes that are read.
    unsafe { vld1q_u8(part.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
#[expect(unsafe_code, reason = "loads take pointers")]
fn deal(bytes: &[u8; WINDOW_LEN]) -> Dealt {
    // SAFETY: four registers of 16 bytes are the 64 bytes of the array.
    let uint8x16x4_t(a, b, c, d) = unsafe { vld4q_u8(bytes.as_ptr()) };
    [a, b, c, d]
}
