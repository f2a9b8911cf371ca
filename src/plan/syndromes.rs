//! How many bits the syndromes of a table have, and how the name of a scheme says so.
//!
//! `halves-syndrome12` are the tables of `halves`, the second with syndromes of 12 bits;
//! `halves-syndrome` has the bits that suit the number of fingerprints and the distance.

use crate::base::error::{Error, Result};
use crate::base::limits::ERRORS_MAX;
use crate::bytes::syndrome::SYNDROME_BITS;

/// What follows the name of the masks.
const SUFFIX: &str = "-syndrome";

/// The syndromes that the name of a scheme asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syndromes {
    /// Whole values.
    None,
    /// Those that suit the number of fingerprints.
    Suitable,
    /// Of this number of bits.
    Bits(u32),
}

impl Syndromes {
    /// Takes the syndromes off the name of a scheme.
    pub(super) fn split(name: &str) -> Result<(&str, Syndromes)> {
        match name.split_once(SUFFIX) {
            None => Ok((name, Syndromes::None)),
            Some((masks, "")) => Ok((masks, Syndromes::Suitable)),
            Some((masks, bits)) => match bits.parse() {
                Ok(bits) if SYNDROME_BITS.contains(&bits) => Ok((masks, Syndromes::Bits(bits))),
                _ => Err(Error::InvalidScheme {
                    reason: format!(
                        "{name}: expected syndromes of 6 to 21 bits, as {masks}-syndrome12, or \
                         {masks}-syndrome for those that suit the number of fingerprints"
                    ),
                }),
            },
        }
    }

    /// The bits for `fingerprint_count` fingerprints and distance `k`; 0 for whole values.
    pub(super) fn bits_for(self, fingerprint_count: u64, k: u32) -> u32 {
        match self {
            Syndromes::None => 0,
            Syndromes::Bits(bits) => bits,
            Syndromes::Suitable => suitable_bits(fingerprint_count, k),
        }
    }
}

/// The name of a scheme with syndromes of `bits` bits.
pub(super) fn with_syndromes(masks: &str, bits: u32) -> String {
    format!("{masks}{SUFFIX}{bits}")
}

/// The bits with which chance names few values: up to distance 3 a fifth of one a query. Of twice
/// as many fingerprints twice as many agree with a query in one half, and each bit more names half
/// of them. Beyond, the errors to tell apart are so many more that two bits for each distance pay.
pub(super) fn suitable_bits(fingerprint_count: u64, k: u32) -> u32 {
    const LEAST: u32 = 12;
    let by_count = fingerprint_count.max(1).next_power_of_two().ilog2().saturating_sub(16);
    let beyond = k.clamp(3, ERRORS_MAX) - 3;
    (by_count.max(LEAST) + 2 * beyond).min(*SYNDROME_BITS.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_the_bits_or_leave_them_to_the_planner() {
        assert_eq!(Syndromes::split("halves").unwrap(), ("halves", Syndromes::None));
        let (masks, syndromes) = Syndromes::split("halves-live-syndrome").unwrap();
        assert_eq!((masks, syndromes), ("halves-live", Syndromes::Suitable));
        let name = with_syndromes("halves", 14);
        assert_eq!(Syndromes::split(&name).unwrap(), ("halves", Syndromes::Bits(14)));
        for name in ["halves-syndrome5", "halves-syndrome22", "halves-syndromeX"] {
            let error = Syndromes::split(name).unwrap_err().to_string();
            assert!(error.contains("halves-syndrome12"), "{error}");
        }
    }

    #[test]
    fn more_fingerprints_and_larger_distances_get_longer_syndromes() {
        for (count, k, bits) in [
            (0, 3, 12),
            (100_000_000, 3, 12),
            (1_000_000_000, 3, 14),
            (10_000_000_000, 1, 18),
            (100_000_000, 4, 14),
            (1_000_000, 7, 20),
            (1 << 40, 7, 21),
        ] {
            assert_eq!(suitable_bits(count, k), bits, "{count}, k={k}");
        }
    }
}
