//! A cache of hashes of short features, for slow hash functions.

use crate::features::hash::FeatureHash;

/// Features with fewer bytes are cached: all features of up to three characters, and nearly all of
/// four characters.
const FEATURE_LEN_END: usize = 16;
const SLOT_COUNT: usize = 1 << 16;

/// A direct-mapped cache of hashes that is kept from document to document. A lookup takes a tenth
/// of the time of MD5, and about ten thousand n-grams make up most of the text of a language.
#[derive(Clone, Debug)]
pub(crate) struct HashCache {
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// The bytes of the feature, with its length in the last byte; 0 in an empty slot.
    key: [u64; 2],
    hash: u64,
}

impl HashCache {
    pub(crate) fn new() -> Self {
        HashCache { slots: vec![Slot::default(); SLOT_COUNT] }
    }

    /// The value of `hash` for the first `len` bytes. The call is faster if `bytes` has at least 16
    /// bytes; the bytes after `len` have no effect.
    #[inline]
    pub(crate) fn hash(&mut self, bytes: &[u8], len: usize, hash: &FeatureHash) -> u64 {
        let feature = &bytes[..len];
        if len == 0 || len >= FEATURE_LEN_END {
            return hash.of(feature);
        }
        let block = bytes.first_chunk().copied().unwrap_or_else(|| {
            let mut block = [0; FEATURE_LEN_END];
            block[..len].copy_from_slice(feature);
            block
        });
        let number = u128::from_le_bytes(block) & !(u128::MAX << (8 * len)) | (len as u128) << 120;
        let key = [number as u64, (number >> 64) as u64];
        let mixed = (key[0] ^ key[1]).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = &mut self.slots[(mixed >> (64 - SLOT_COUNT.ilog2())) as usize];
        if slot.key != key {
            *slot = Slot { key, hash: hash.of(feature) };
        }
        slot.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cached_hash_is_that_of_the_function() {
        let mut cache = HashCache::new();
        let hash = FeatureHash::Md5Low64;
        for round in 0..3 {
            for number in 0..200_000_u32 {
                let feature = number.to_le_bytes();
                // The feature, its first three bytes, and the feature twice.
                for feature in [&feature[..], &feature[..3], &[feature, feature].concat()] {
                    let found = cache.hash(feature, feature.len(), &hash);
                    assert_eq!(found, hash.of(feature), "{round}");
                    let longer = [feature, b"0123456789abcdef"].concat();
                    assert_eq!(cache.hash(&longer, feature.len(), &hash), found);
                }
            }
        }
        for text in ["", "\0", "0123456789abcdef", "0123456789abcdefg"] {
            let found = cache.hash(text.as_bytes(), text.len(), &hash);
            assert_eq!(found, hash.of(text.as_bytes()));
        }
    }
}
