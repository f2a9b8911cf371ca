//! All ways to flip at most `radius` of the low bits of a word.

/// The words below `2^bits` with at most `radius` bits set, by weight, then ascending; each
/// with its weight.
///
/// # Source
///
/// The next word of equal weight: Gosper, HAKMEM (MIT AI Memo 239, 1972), item 175.
#[derive(Clone, Debug)]
pub(crate) struct Flips {
    largest: u64,
    radius: u32,
    weight: u32,
    word: u64,
    ended: bool,
}

impl Flips {
    pub(crate) fn new(bits: u32, radius: u32) -> Self {
        let largest = u64::MAX.checked_shr(64 - bits).unwrap_or(0);
        Flips { largest, radius: radius.min(bits), weight: 0, word: 0, ended: false }
    }
}

impl Iterator for Flips {
    type Item = (u64, u32);

    #[inline(always)]
    fn next(&mut self) -> Option<(u64, u32)> {
        if self.ended {
            return None;
        }
        let (word, weight) = (self.word, self.weight);
        let lowest = word & word.wrapping_neg();
        let ripple = word.wrapping_add(lowest);
        let next = match word {
            0 => 0,
            _ => ripple | (word ^ ripple) >> lowest.trailing_zeros() >> 2,
        };
        // A ripple past bit 63 leaves a smaller word.
        if next > word && next <= self.largest {
            self.word = next;
        } else if weight < self.radius {
            self.weight = weight + 1;
            self.word = u64::MAX >> (63 - weight);
        } else {
            self.ended = true;
        }
        Some((word, weight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_small_weight_comes_once_by_weight_and_ascending() {
        for bits in 0..=12 {
            for radius in 0..=14 {
                let mut expected: Vec<(u64, u32)> = (0..1_u64 << bits)
                    .map(|word| (word, word.count_ones()))
                    .filter(|&(_, weight)| weight <= radius)
                    .collect();
                expected.sort_by_key(|&(word, weight)| (weight, word));
                let found: Vec<_> = Flips::new(bits, radius).collect();
                assert_eq!(found, expected, "{bits} bits, radius {radius}");
            }
        }
    }

    #[test]
    fn all_64_bits_can_flip() {
        assert_eq!(Flips::new(64, 3).count(), 43_745);
        assert!(Flips::new(64, 2).all(|(word, weight)| word.count_ones() == weight));
        assert_eq!(Flips::new(64, 64).take(65).last(), Some((1 << 63, 1)));
    }
}
