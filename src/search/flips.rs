//! All ways to flip at most so many of the low bits of a word.

/// The words below `2^bits` with at most `radius` bits set, by weight, then ascending; each
/// with its weight.
#[derive(Clone, Debug)]
pub(crate) struct Flips {
    bits: u32,
    radius: u32,
    weight: u32,
    next: Option<u64>,
}

impl Flips {
    pub(crate) fn new(bits: u32, radius: u32) -> Self {
        debug_assert!(bits <= 64);
        Flips { bits, radius: radius.min(bits), weight: 0, next: Some(0) }
    }

    /// The smallest word of the next weight.
    fn next_weight(&mut self) -> Option<u64> {
        (self.weight < self.radius).then(|| {
            self.weight += 1;
            u64::MAX >> (64 - self.weight)
        })
    }
}

impl Iterator for Flips {
    type Item = (u64, u32);

    #[inline]
    fn next(&mut self) -> Option<(u64, u32)> {
        let current = self.next?;
        let weight = self.weight;
        self.next = following(current)
            .filter(|&word| self.bits == 64 || word >> self.bits == 0)
            .or_else(|| self.next_weight());
        Some((current, weight))
    }
}

/// The next larger word with as many bits set, if there is one.
///
/// # Source
///
/// Gosper, HAKMEM (MIT AI Memo 239, 1972), item 175.
#[inline]
fn following(word: u64) -> Option<u64> {
    let lowest = word & word.wrapping_neg();
    let ripple = word.checked_add(lowest).filter(|_| word != 0)?;
    let moved_down = (word ^ ripple).checked_shr(lowest.trailing_zeros() + 2).unwrap_or(0);
    Some(ripple | moved_down)
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
