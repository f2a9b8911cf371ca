//! Hash functions for features.

use md5::{Digest, Md5};
use siphasher::sip::SipHasher24;

use crate::features::siphash::SipHash13;

/// The key of the keyed hashes: the 16-byte key of the SipHash paper as two little-endian words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HashKey(pub [u64; 2]);

/// The hash function for features. It is applied to the UTF-8 bytes of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FeatureHash {
    /// SipHash with 1 compression and 3 finalisation rounds, keyed.
    SipHash13(HashKey),
    /// SipHash with 2 compression and 4 finalisation rounds, keyed.
    SipHash24(HashKey),
    /// The last eight bytes of the MD5 as a big-endian number, as in 1e0ng/simhash.
    Md5Low64,
    /// The 64-bit FNV-1 (not FNV-1a), as in go-dedup/simhash and mfonda/simhash.
    Fnv1,
}

impl Default for FeatureHash {
    /// SipHash-1-3 with a key of zeros.
    fn default() -> Self {
        FeatureHash::SipHash13(HashKey::default())
    }
}

impl FeatureHash {
    /// The hash of a feature.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpstore_text::FeatureHash;
    ///
    /// assert_eq!(FeatureHash::Fnv1.of(b"test string"), 8_811_532_157_352_841_348);
    /// ```
    #[inline]
    pub fn of(&self, feature: &[u8]) -> u64 {
        match self {
            FeatureHash::SipHash13(key) => SipHash13::new(key.0).hash(feature),
            FeatureHash::SipHash24(key) => {
                SipHasher24::new_with_keys(key.0[0], key.0[1]).hash(feature)
            }
            FeatureHash::Md5Low64 => {
                let digest: [u8; 16] = Md5::digest(feature).into();
                u128::from_be_bytes(digest) as u64
            }
            FeatureHash::Fnv1 => fnv1(feature),
        }
    }

    /// The key, if the hash has one.
    pub fn key(self) -> Option<HashKey> {
        match self {
            FeatureHash::SipHash13(key) | FeatureHash::SipHash24(key) => Some(key),
            FeatureHash::Md5Low64 | FeatureHash::Fnv1 => None,
        }
    }

    /// The same hash under another key; `None` for a hash without keys.
    pub fn with_key(self, key: HashKey) -> Option<Self> {
        match self {
            FeatureHash::SipHash13(_) => Some(FeatureHash::SipHash13(key)),
            FeatureHash::SipHash24(_) => Some(FeatureHash::SipHash24(key)),
            FeatureHash::Md5Low64 | FeatureHash::Fnv1 => None,
        }
    }
}

fn fnv1(bytes: &[u8]) -> u64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x100_0000_01b3;
    bytes.iter().fold(OFFSET_BASIS, |hash, &byte| hash.wrapping_mul(PRIME) ^ u64::from(byte))
}
