//! NEON, available on nearly every arm64 processor: a chunk is four registers with interleaved
//! bytes.
//!
//! Register `j` contains every fourth byte of the chunk from the `j`-th on. So three additions sum
//! each group of four bytes in all 16 lanes, and only these sums are added across lanes. The byte
//! before a byte is in the same lane of the previous register, and three selections and a narrowing
//! shift make a mask of 64 bits.
//!
//! Not measured on a real processor. The evidence is a count of instructions in an emulator, see
//! `tools/platforms/arm64.sh`.

#![expect(unsafe_code, reason = "instructions that not every processor has")]

use std::arch::aarch64::*;
use std::arch::is_aarch64_feature_detected;

use super::vector::{Task, Vector};
use crate::base::limits::CHUNK_LEN;

/// A value exists only on a processor with NEON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Neon(());

impl Neon {
    pub(super) fn detect() -> Option<Self> {
        is_aarch64_feature_detected!("neon").then_some(Neon(()))
    }

    /// Runs a task, compiled for these instructions.
    pub(super) fn run<T: Task>(self, task: T) -> T::Output {
        #[target_feature(enable = "neon")]
        fn run<T: Task>(vector: Neon, task: T) -> T::Output {
            task.run(vector)
        }
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { run(self, task) }
    }
}

// SAFETY of all blocks below: `self` exists, so the processor has the instructions. Blocks that
// access memory also give the reason why the access is within bounds.
impl Vector for Neon {
    /// Byte `i` of register `j` is byte `4 * i + j` of the chunk.
    type Bytes = [uint8x16_t; 4];
    type Sums = uint32x4_t;
    const SUMS_LEN: usize = 4;

    #[inline(always)]
    fn load(self, bytes: &[u8; CHUNK_LEN]) -> Self::Bytes {
        // SAFETY: four registers of 16 bytes are the 64 bytes of the array.
        let uint8x16x4_t(a, b, c, d) = unsafe { vld4q_u8(bytes.as_ptr()) };
        [a, b, c, d]
    }

    #[inline(always)]
    fn splat(self, byte: u8) -> Self::Bytes {
        // SAFETY: `self` exists, so the processor has the instructions.
        [unsafe { vdupq_n_u8(byte) }; 4]
    }

    #[inline(always)]
    fn high_bits(self, bytes: Self::Bytes) -> u64 {
        let [a, b, c, d] = bytes;
        mask([is_open(a), is_open(b), is_open(c), is_open(d)])
    }

    #[inline(always)]
    fn zero_bytes(self, bytes: Self::Bytes) -> u64 {
        let [a, b, c, d] = bytes;
        // SAFETY: `self` exists, so the processor has the instructions.
        mask(unsafe { [vceqzq_u8(a), vceqzq_u8(b), vceqzq_u8(c), vceqzq_u8(d)] })
    }

    #[inline(always)]
    fn low_parts(self, bytes: Self::Bytes) -> Self::Bytes {
        let [first, second, third, fourth] = bytes;
        let [a, b, c, d] = [is_open(first), is_open(second), is_open(third), is_open(fourth)];
        // SAFETY: `self` exists, so the processor has the instructions.
        let (before_a, before_b) = unsafe {
            let none = vdupq_n_u8(0);
            (vextq_u8::<15>(none, c), vextq_u8::<15>(none, d))
        };
        [
            low_part(first, before_b, before_a),
            low_part(second, a, before_b),
            low_part(third, b, a),
            low_part(fourth, c, b),
        ]
    }

    #[inline(always)]
    fn prefix_sums(self, [a, b, c, d]: Self::Bytes, carry: u8) -> Self::Bytes {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe {
            let ab = vaddq_u8(a, b);
            let abc = vaddq_u8(ab, c);
            let abcd = vaddq_u8(abc, d);
            let none = vdupq_n_u8(0);
            let mut fours = vaddq_u8(abcd, vextq_u8::<15>(none, abcd));
            fours = vaddq_u8(fours, vextq_u8::<14>(none, fours));
            fours = vaddq_u8(fours, vextq_u8::<12>(none, fours));
            fours = vaddq_u8(fours, vextq_u8::<8>(none, fours));
            let before = vaddq_u8(vextq_u8::<15>(none, fours), vdupq_n_u8(carry));
            [
                vaddq_u8(a, before),
                vaddq_u8(ab, before),
                vaddq_u8(abc, before),
                vaddq_u8(abcd, before),
            ]
        }
    }

    #[inline(always)]
    fn near_bytes(
        self,
        bytes: Self::Bytes,
        [wanted, ..]: Self::Bytes,
        [under, ..]: Self::Bytes,
        count: u32,
    ) -> u64 {
        let [a, b, c, d] = bytes;
        // SAFETY: `self` exists, so the processor has the instructions.
        let count = unsafe { vdupq_n_u8(count as u8) };
        mask([
            is_near(a, wanted, under, count),
            is_near(b, wanted, under, count),
            is_near(c, wanted, under, count),
            is_near(d, wanted, under, count),
        ])
    }

    #[inline(always)]
    fn sum_selected(self, bytes: &[u8; CHUNK_LEN], selected: u64) -> u64 {
        // SAFETY: each load reads the 16 bytes of a part.
        unsafe {
            let mut pairs = vdupq_n_u16(0);
            for (number, part) in (0..).zip(bytes.as_chunks::<16>().0) {
                let values = vandq_u8(vld1q_u8(part.as_ptr()), vdupq_n_u8(0x7f));
                let [low, high, ..] = (selected >> (16 * number)).to_le_bytes();
                let own = vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201));
                let is_selected = vtstq_u8(vcombine_u8(vdup_n_u8(low), vdup_n_u8(high)), own);
                pairs = vpadalq_u8(pairs, vandq_u8(values, is_selected));
            }
            u64::from(vaddlvq_u16(pairs))
        }
    }

    #[inline(always)]
    fn zero_sums(self) -> Self::Sums {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { vdupq_n_u32(0) }
    }

    #[inline(always)]
    fn widen(self, bytes: &[u8; CHUNK_LEN], part: usize) -> Self::Sums {
        let four = bytes.as_chunks::<4>().0.get(part).unwrap_or(&[0; 4]);
        let low_bits = u32::from_le_bytes(*four) & 0x7f7f_7f7f;
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(low_bits.into())))) }
    }

    #[inline(always)]
    fn shift_selected(self, sums: Self::Sums, selected: u64) -> Self::Sums {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { vbslq_u32(lanes(selected), vshlq_n_u32::<7>(sums), sums) }
    }

    #[inline(always)]
    fn clear_selected(self, sums: Self::Sums, selected: u64) -> Self::Sums {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { vbicq_u32(sums, lanes(selected)) }
    }

    #[inline(always)]
    fn prefix_sums_32(self, mut sums: Self::Sums, carry: Self::Sums) -> Self::Sums {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe {
            let none = vdupq_n_u32(0);
            sums = vaddq_u32(sums, vextq_u32::<3>(none, sums));
            sums = vaddq_u32(sums, vextq_u32::<2>(none, sums));
            vaddq_u32(sums, carry)
        }
    }

    #[inline(always)]
    fn last_sum(self, sums: Self::Sums) -> Self::Sums {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { vdupq_laneq_u32::<3>(sums) }
    }

    #[inline(always)]
    fn store(self, sums: Self::Sums, out: &mut [u32; CHUNK_LEN], part: usize) {
        if let Some(four) = out.as_chunks_mut::<4>().0.get_mut(part) {
            // SAFETY: the store writes the four sums of 32 bits of `four`.
            unsafe { vst1q_u32(four.as_mut_ptr(), sums) };
        }
    }

    #[inline(always)]
    fn near_sums(self, sums: Self::Sums, before: u32, wanted: u32, under: u32, count: u32) -> u64 {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe {
            let differs = veorq_u32(vaddq_u32(sums, vdupq_n_u32(before)), vdupq_n_u32(wanted));
            let diff = vreinterpretq_u8_u32(vandq_u32(differs, vdupq_n_u32(under)));
            let ones = vpaddlq_u16(vpaddlq_u8(vcntq_u8(diff)));
            let near = vcleq_u32(ones, vdupq_n_u32(count));
            u64::from(vaddvq_u32(vandq_u32(near, own_bits())))
        }
    }
}

// The helpers below are functions, not closures: closures may not be inlined, and then are not
// compiled for NEON.

/// What each byte adds to the lowest byte of its gap, given masks of the bytes that continue a gap.
#[inline(always)]
fn low_part(bytes: uint8x16_t, one_before: uint8x16_t, two_before: uint8x16_t) -> uint8x16_t {
    // SAFETY: reached only through methods of `Neon`, so the processor has the instructions.
    unsafe {
        // A shift by eight or more yields zero, for third and later bytes.
        let at_least = vorrq_u8(vandq_u8(two_before, vdupq_n_u8(8)), vdupq_n_u8(7));
        let shift = vreinterpretq_s8_u8(vandq_u8(one_before, at_least));
        vshlq_u8(vandq_u8(bytes, vdupq_n_u8(0x7f)), shift)
    }
}

/// A byte becomes all ones if it differs from `wanted` in at most `count` bits under a mask.
#[inline(always)]
fn is_near(
    bytes: uint8x16_t,
    wanted: uint8x16_t,
    under: uint8x16_t,
    count: uint8x16_t,
) -> uint8x16_t {
    // SAFETY: reached only through methods of `Neon`, so the processor has the instructions.
    unsafe { vcleq_u8(vcntq_u8(vandq_u8(veorq_u8(bytes, wanted), under)), count) }
}

/// A byte becomes all ones if its high bit is set.
#[inline(always)]
fn is_open(part: uint8x16_t) -> uint8x16_t {
    // SAFETY: reached only through methods of `Neon`, so the processor has the instructions.
    unsafe { vcltzq_s8(vreinterpretq_s8_u8(part)) }
}

/// A mask with one bit for each byte of the chunk, the first byte lowest; each byte is all ones or
/// zero.
#[inline(always)]
fn mask([a, b, c, d]: [uint8x16_t; 4]) -> u64 {
    // SAFETY: reached only through methods of `Neon`, so the processor has the instructions.
    unsafe {
        let ab = vbslq_u8(vdupq_n_u8(0x55), a, b);
        let cd = vbslq_u8(vdupq_n_u8(0x55), c, d);
        // Both halves of each byte contain the same four bits; the shift joins two bytes into one.
        let pairs = vreinterpretq_u16_u8(vbslq_u8(vdupq_n_u8(0x33), ab, cd));
        vget_lane_u64::<0>(vreinterpret_u64_u8(vshrn_n_u16::<4>(pairs)))
    }
}

/// The bits 1, 2, 4 and 8, one in each lane.
#[inline(always)]
fn own_bits() -> uint32x4_t {
    // SAFETY: reached only through methods of `Neon`, so the processor has the instructions.
    unsafe { vcombine_u32(vcreate_u32(2 << 32 | 1), vcreate_u32(8 << 32 | 4)) }
}

/// Sets the 32-bit lanes selected by the low four bits of `selected` to all ones.
#[inline(always)]
fn lanes(selected: u64) -> uint32x4_t {
    // SAFETY: reached only through methods of `Neon`, so the processor has the instructions.
    unsafe { vtstq_u32(vdupq_n_u32(selected as u32), own_bits()) }
}
