//! The digest of a file, for manifest entries and for the files of a job.

use std::fmt;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

use crate::fields;

/// The SipHash-1-3-128 of some bytes, with the key 0. It identifies the file of a manifest entry; a
/// CRC-32 would accept one in four thousand million other files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest([u8; 16]);

impl Digest {
    /// Stands for a file that does not exist.
    pub const NONE: Digest = Digest([0; 16]);

    pub fn of(bytes: &[u8]) -> Self {
        let mut digester = Digester::default();
        digester.update(bytes);
        digester.digest()
    }

    pub fn read(from: &[u8], offset: usize) -> Option<Self> {
        fields::slice_at(from, offset, 16)?.first_chunk().copied().map(Digest)
    }

    pub fn put(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    pub fn bytes(self) -> [u8; 16] {
        self.0
    }
}

/// Computes the [`Digest`] of bytes that arrive in parts.
#[derive(Clone, Debug)]
pub struct Digester(SipHasher13);

impl Default for Digester {
    fn default() -> Self {
        Digester(SipHasher13::new_with_keys(0, 0))
    }
}

impl Digester {
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// The digest of all bytes added so far.
    pub fn digest(&self) -> Digest {
        let hash = self.0.finish128();
        Digest((u128::from(hash.h2) << 64 | u128::from(hash.h1)).to_le_bytes())
    }
}

impl std::str::FromStr for Digest {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u128::from_str_radix(text, 16).map(|value| Digest(value.to_be_bytes()))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A set sum adds up the first 16 bytes of such digests, so they must equal the documented
    /// hash.
    #[test]
    fn the_digest_of_fingerprint_1_is_its_hash() {
        let digest = Digest::of(&1_u64.to_le_bytes());
        let hash = 0x5d0d_f78a_f04e_f22b_a6b9_2b8d_9ed2_5eb0_u128;
        assert_eq!(digest, Digest(hash.to_le_bytes()));
        assert_eq!(digest.to_string(), "b05ed29e8d2bb9a62bf24ef08af70d5d");
    }
}
