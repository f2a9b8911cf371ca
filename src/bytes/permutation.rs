//! Permutes the bits of a fingerprint so that the bits under a mask come first.

use fpstore_base::Fingerprint;

/// A fingerprint with its bits permuted for one table. Only [`Permutation`] makes and inverts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Permuted(pub(crate) u64);

/// The permutation that moves the masked bits to the front: the masked bits keep their order, and
/// so do all other bits.
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    mask: u64,
    moves: Moves,
}

/// How the permutation moves bits, by the form of the mask.
#[derive(Clone, Debug)]
enum Moves {
    Run(Run),
    Scattered { masked: Gather, others: Gather },
}

impl Permutation {
    /// The permutation for `mask`; equal masks give equal permutations.
    pub(crate) fn new(mask: u64) -> Self {
        let scattered =
            || Moves::Scattered { masked: Gather::new(mask), others: Gather::new(!mask) };
        Permutation { mask, moves: Run::new(mask).map_or_else(scattered, Moves::Run) }
    }

    /// The number of masked bits, which come first in a permuted value.
    pub(crate) fn prefix_bits(&self) -> u32 {
        self.mask.count_ones()
    }

    /// Whether the permutation changes nothing: the masked bits already come first, or all or no
    /// bits are masked.
    pub(crate) fn is_identity(&self) -> bool {
        self.mask.leading_ones() == self.prefix_bits()
    }

    #[inline]
    pub(crate) fn apply(&self, fingerprint: Fingerprint) -> Permuted {
        let value = fingerprint.value();
        match &self.moves {
            Moves::Run(run) => Permuted(run.to_front(value)),
            Moves::Scattered { masked, others } => {
                let shift = 64 - self.prefix_bits();
                let front = masked.compress(value).checked_shl(shift).unwrap_or(0);
                Permuted(front | others.compress(value))
            }
        }
    }

    #[inline]
    pub(crate) fn invert(&self, permuted: Permuted) -> Fingerprint {
        match &self.moves {
            Moves::Run(run) => Fingerprint::new(run.back(permuted.0)),
            Moves::Scattered { masked, others } => {
                let shift = 64 - self.prefix_bits();
                let front = permuted.0.checked_shr(shift).unwrap_or(0);
                // `expand` reads only as many low bits as its mask has set bits, so no bits need
                // clearing.
                Fingerprint::new(masked.expand(front) | others.expand(permuted.0))
            }
        }
    }
}

/// A permutation for a mask whose bits are adjacent, as in most tables. It takes a tenth of the
/// instructions of [`Gather`].
#[derive(Clone, Debug)]
struct Run {
    mask: u64,
    /// Masks of the bits above `mask` and of the bits below it.
    high: u64,
    low: u64,
    /// The distance by which the masked bits move up to the front.
    up: u32,
    /// The distance by which the bits above the mask move down.
    down: u32,
}

impl Run {
    /// `None` if the masked bits are not adjacent.
    fn new(mask: u64) -> Option<Self> {
        let down = mask.count_ones() % 64;
        if down == 0 {
            return Some(Run { mask: 0, high: 0, low: u64::MAX, up: 0, down: 0 });
        }
        let (above, below) = (mask.leading_zeros(), mask.trailing_zeros());
        (above + down + below == 64).then(|| {
            let low = (1 << below) - 1;
            Run { mask, high: !mask & !low, low, up: above, down }
        })
    }

    #[inline(always)]
    fn to_front(&self, value: u64) -> u64 {
        (value & self.mask) << self.up | (value & self.high) >> self.down | value & self.low
    }

    #[inline(always)]
    fn back(&self, permuted: u64) -> u64 {
        permuted >> self.up & self.mask | permuted << self.down & self.high | permuted & self.low
    }
}

/// Moves the bits under a mask to the low end of a word, and back.
///
/// # Source
///
/// Both directions take six steps: H. S. Warren, "Hacker's Delight", second edition, 7-4 and 7-5.
/// The results equal those of the instructions PEXT and PDEP, but on every processor.
#[derive(Clone, Debug)]
struct Gather {
    mask: u64,
    /// Bit i of `moves[j]` is set if that bit moves by 2^j positions in step j of gathering.
    moves: [u64; 6],
}

impl Gather {
    fn new(mask: u64) -> Self {
        let mut moves = [0; 6];
        let mut left = mask;
        // In step 0, bits with an odd number of zeros in the mask below them move by one position;
        // later steps use the higher bits of that number.
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

    /// The definition of the permutation, computed bit by bit.
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
    fn masks_of_one_run_move_as_scattered_ones_do() {
        for len in 0..=64_u32 {
            for start in 0..=64 - len {
                let mask = if len == 64 { u64::MAX } else { ((1 << len) - 1) << start.min(63) };
                let permutation = Permutation::new(mask);
                assert!(matches!(permutation.moves, Moves::Run(_)), "{mask:x}");
                for value in [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 1, 1 << 63] {
                    let permuted = permutation.apply(Fingerprint::new(value));
                    assert_eq!(permuted.0, slow(value, mask), "{mask:x}");
                    assert_eq!(permutation.invert(permuted).value(), value, "{mask:x}");
                }
            }
        }
        assert!(matches!(Permutation::new(0b101).moves, Moves::Scattered { .. }));
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
