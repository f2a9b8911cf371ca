//! Removal of repeated values, which occur if several segments of a store share a fingerprint.

/// Up to this many values are deduplicated by a hash table that fits the cache of a core.
const HASHED_MAX: usize = 1 << 16;
/// Odd factor of a multiplicative hash.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Removes repeated values. The hash table is reused for the next values.
///
/// A join removes repeats from each partition of several thousand values, so the hash table is
/// specialized: one fill empties it, and it takes a third of the time of sorting.
#[derive(Debug, Default)]
pub(in crate::join) struct Distinct {
    /// The slots of the hash table; 0 is a free slot.
    slots: Vec<u64>,
}

impl Distinct {
    /// Keeps one copy of each value; the order may change.
    pub(in crate::join) fn retain(&mut self, values: &mut Vec<u64>) {
        if values.len() > HASHED_MAX {
            values.sort_unstable();
            values.dedup();
            return;
        }
        let bits = (2 * values.len()).max(2).next_power_of_two().ilog2();
        self.slots.clear();
        self.slots.resize(1 << bits, 0);
        let mut has_zero = false;
        let slots = &mut self.slots;
        values.retain(|&value| {
            if value == 0 {
                return !std::mem::replace(&mut has_zero, true);
            }
            let mut at = (value.wrapping_mul(FACTOR) >> (64 - bits)) as usize;
            loop {
                match slots[at] {
                    0 => {
                        slots[at] = value;
                        return true;
                    }
                    found if found == value => return false,
                    _ => at = (at + 1) & (slots.len() - 1),
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::tests::random::Random;

    #[test]
    fn one_of_each_value_stays() {
        let mut random = Random::new(41);
        let mut distinct = Distinct::default();
        for count in [0, 1, 2, 3, 1000, 5000, HASHED_MAX, HASHED_MAX + 1] {
            for values in [2, 100, 3000, u64::MAX] {
                let mut all: Vec<u64> =
                    (0..count).map(|_| random.below(values).wrapping_mul(FACTOR)).collect();
                let mut expected = all.clone();
                expected.sort_unstable();
                expected.dedup();
                distinct.retain(&mut all);
                all.sort_unstable();
                assert!(all == expected, "{count} of {values}");
            }
        }
    }
}
