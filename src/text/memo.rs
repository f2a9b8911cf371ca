//! Hashes that were worked out before.

use crate::text::hash::FeatureHash;

/// The longest feature that is remembered: four characters of UTF-8.
const FEATURE_LEN_MAX: usize = 16;
const SLOT_COUNT: usize = 1 << 14;

/// Remembers the hashes of short features, from one document to the next. MD5 takes ten times as long as
/// finding its result again, and of the n-grams of a language some ten thousand are most. Takes half a MiB: more would not
/// stay in the cache of a core.
#[derive(Clone, Debug)]
pub(crate) struct HashMemo {
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    feature: [u8; FEATURE_LEN_MAX],
    /// More than any feature has in an empty slot.
    len: u8,
    hash: u64,
}

impl HashMemo {
    pub(crate) fn new() -> Self {
        HashMemo { slots: vec![Slot { len: u8::MAX, ..Slot::default() }; SLOT_COUNT] }
    }

    /// What `hash` gives for the feature.
    pub(crate) fn hash(&mut self, feature: &[u8], hash: &FeatureHash) -> u64 {
        let mut key = [0; FEATURE_LEN_MAX];
        let Some(start) = key.get_mut(..feature.len()) else { return hash.of(feature) };
        start.copy_from_slice(feature);
        let number = u128::from_le_bytes(key);
        let mixed = (number as u64 ^ (number >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = &mut self.slots[(mixed >> (64 - SLOT_COUNT.ilog2())) as usize];
        let len = feature.len() as u8;
        if slot.feature != key || slot.len != len {
            *slot = Slot { feature: key, len, hash: hash.of(feature) };
        }
        slot.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_what_the_hash_gives() {
        let mut memo = HashMemo::new();
        let hash = FeatureHash::Md5Low64;
        for round in 0..3 {
            for number in 0..200_000_u32 {
                let feature = number.to_le_bytes();
                // Zeros at the end, and other lengths of the same.
                for feature in [&feature[..], &feature[..3], &[feature, feature].concat()] {
                    assert_eq!(memo.hash(feature, &hash), hash.of(feature), "{round}");
                }
            }
        }
        for text in ["", "\0", "0123456789abcdef", "0123456789abcdefg"] {
            assert_eq!(memo.hash(text.as_bytes(), &hash), hash.of(text.as_bytes()));
        }
    }
}
