//! Stable partition of the bits of a fingerprint by a mask.

use fpstore_base::Fingerprint;

/// A fingerprint with its bits permuted for one table. Only a [`Permutation`] converts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Permuted(pub(crate) u64);

/// The permutation that brings the masked bits to the front: both the masked bits and the
/// others keep their order.
///
/// # Source
///
/// Gathering and scattering by a mask in six steps: H. S. Warren, "Hacker's Delight", second
/// edition, 7-4 and 7-5. It gives what PEXT and PDEP give, on every processor.
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    masked: Gather,
    others: Gather,
    prefix_bits: u32,
}

impl Permutation {
    /// The permutation by `mask`; the mask alone decides it.
    pub(crate) fn new(mask: u64) -> Self {
        Permutation {
            masked: Gather::new(mask),
            others: Gather::new(!mask),
            prefix_bits: mask.count_ones(),
        }
    }

    /// The number of masked bits, which lead.
    pub(crate) fn prefix_bits(&self) -> u32 {
        self.prefix_bits
    }

    /// Whether permuted order is natural order: the mask holds the leading bits, or all or none.
    pub(crate) fn is_identity(&self) -> bool {
        let mask = self.masked.mask;
        mask.leading_ones() == self.prefix_bits
    }

    pub(crate) fn apply(&self, fingerprint: Fingerprint) -> Permuted {
        let value = fingerprint.value();
        let shift = 64 - self.prefix_bits;
        let front = self.masked.compress(value).checked_shl(shift).unwrap_or(0);
        Permuted(front | self.others.compress(value))
    }

    pub(crate) fn invert(&self, permuted: Permuted) -> Fingerprint {
        let shift = 64 - self.prefix_bits;
        let front = permuted.0.checked_shr(shift).unwrap_or(0);
        // Expanding reads only as many low bits as the mask has, so the front needs no clearing.
        Fingerprint::new(self.masked.expand(front) | self.others.expand(permuted.0))
    }
}

/// Gathers the bits under a mask to the low end and scatters them back.
#[derive(Clone, Debug)]
struct Gather {
    mask: u64,
    /// Bit i of `moves[j]` is set when that bit moves 2^j places in step j of gathering.
    moves: [u64; 6],
}

impl Gather {
    fn new(mask: u64) -> Self {
        let mut moves = [0; 6];
        let mut left = mask;
        // Bits with an odd number of zeros of the mask below them move one place, and so on.
        let mut zeros_below = !mask << 1;
        for (step, slot) in moves.iter_mut().enumerate() {
            let mut parity = zeros_below ^ (zeros_below << 1);
            for shift in [2, 4, 8, 16, 32] {
                parity ^= parity << shift;
            }
            *slot = parity & left;
            left = (left ^ *slot) | (*slot >> (1 << step));
            zeros_below &= !parity;
        }
        Gather { mask, moves }
    }

    fn compress(&self, value: u64) -> u64 {
        let mut x = value & self.mask;
        for (step, moving) in self.moves.iter().enumerate() {
            let taken = x & moving;
            x = (x ^ taken) | (taken >> (1 << step));
        }
        x
    }

    fn expand(&self, value: u64) -> u64 {
        let mut x = value;
        for (step, moving) in self.moves.iter().enumerate().rev() {
            let shifted = x << (1 << step);
            x = (x & !moving) | (shifted & moving);
        }
        x & self.mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition: one bit after the other.
    fn slow(value: u64, mask: u64) -> u64 {
        let mut out = 0;
        for wanted in [1, 0] {
            for bit in (0..64).rev() {
                if mask >> bit & 1 == wanted {
                    out = out << 1 | (value >> bit & 1);
                }
            }
        }
        out
    }

    proptest! {
        #[test]
        fn masked_bits_lead_and_the_inverse_restores(value: u64, mask: u64) {
            let permutation = Permutation::new(mask);
            let permuted = permutation.apply(Fingerprint::new(value));
            prop_assert_eq!(permuted.0, slow(value, mask));
            prop_assert_eq!(permutation.invert(permuted).value(), value);
        }
    }

    #[test]
    fn extreme_masks_keep_every_bit() {
        for mask in [0, 1, 1 << 63, u64::MAX, u64::MAX << 32, u64::MAX >> 32] {
            let permutation = Permutation::new(mask);
            for value in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
                let permuted = permutation.apply(Fingerprint::new(value));
                assert_eq!(permuted.0, slow(value, mask));
                assert_eq!(permutation.invert(permuted).value(), value);
            }
        }
        assert!(Permutation::new(u64::MAX << 32).is_identity());
        assert!(Permutation::new(u64::MAX).is_identity());
        assert!(!Permutation::new(u64::MAX >> 32).is_identity());
    }
}
