//! The length of syndromes in bits, and its form in the name of a scheme.
//!
//! `halves-syndrome12` is the scheme `halves` with syndromes of 12 bits in the second table.
//! `halves-syndrome` has syndromes of a length that suits the data and the distance.

use crate::base::error::{Error, Result};
use crate::base::limits::ERRORS_MAX;
use crate::bytes::syndrome::SYNDROME_BITS;

/// Appended to the name of the masks, before the number of bits.
const SUFFIX: &str = "-syndrome";

/// The syndromes that the name of a scheme specifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syndromes {
    /// No syndromes: all tables hold whole values.
    None,
    /// Syndromes of a suitable length for the number of fingerprints.
    Suitable,
    /// Syndromes of this number of bits.
    Bits(u32),
}

impl Syndromes {
    /// Splits the name of a scheme into the name of its masks and its syndromes.
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

    /// The length of the syndromes in bits, for `fingerprint_count` fingerprints and distance `k`;
    /// 0 for whole values.
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

/// The length in bits for which decoding syndromes yields few false values: up to distance 3 about
/// a fifth of a value for each query. In a collection twice as large, twice as many fingerprints
/// agree with a query in one half; one more bit compensates. At distances above 3 a syndrome must
/// distinguish many more errors: two more bits for each further distance.
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
