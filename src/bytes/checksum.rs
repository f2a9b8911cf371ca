//! CRC-32 of headers and pages, and the digest that ties a manifest to a file.

use std::fmt;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

use crate::bytes::fields;

/// The length of a page. Every section starts on a page.
pub(crate) const PAGE_LEN: usize = 4096;

/// CRC-32/ISO-HDLC of `bytes`.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// The identity of a page. It is part of the checksum, so that a page in the wrong place fails
///
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageIdentity {
    pub(crate) kind: u16,
    pub(crate) table: u16,
    /// The position of the page in its section.
    pub(crate) page_in_section: u64,
}

impl PageIdentity {
    /// CRC-32 of kind (u16), table (u16), zero (u32), page in section (u64), then the page.
    pub(crate) fn checksum(self, page: &[u8]) -> u32 {
        let mut salt = [0; 16];
        salt[0..2].copy_from_slice(&self.kind.to_le_bytes());
        salt[2..4].copy_from_slice(&self.table.to_le_bytes());
        salt[8..16].copy_from_slice(&self.page_in_section.to_le_bytes());
        let mut crc = crc32fast::Hasher::new();
        crc.update(&salt);
        crc.update(page);
        crc.finalize()
    }
}

/// The SipHash-1-3-128 of some bytes under a key of zeros. It ties the entry of a manifest to one
/// file: a CRC-32 would let one in four thousand million others pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digest([u8; 16]);

impl Digest {
    /// The digest in place of that of a file that does not exist.
    pub(crate) const NONE: Digest = Digest([0; 16]);

    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut digester = Digester::default();
        digester.update(bytes);
        digester.digest()
    }

    pub(crate) fn read(from: &[u8], offset: usize) -> Option<Self> {
        fields::slice_at(from, offset, 16)?.first_chunk().copied().map(Digest)
    }

    pub(crate) fn put(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    pub(crate) fn bytes(self) -> [u8; 16] {
        self.0
    }
}

/// Makes the [`Digest`] of bytes that come in parts.
#[derive(Clone, Debug)]
pub(crate) struct Digester(SipHasher13);

impl Default for Digester {
    fn default() -> Self {
        Digester(SipHasher13::new_with_keys(0, 0))
    }
}

impl Digester {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// The digest of all bytes so far.
    pub(crate) fn digest(&self) -> Digest {
        let hash = self.0.finish128();
        Digest((u128::from(hash.h2) << 64 | u128::from(hash.h1)).to_le_bytes())
    }
}

#[cfg(feature = "documents")]
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

    #[test]
    fn crc_is_the_iso_hdlc_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    /// The first 16 bytes of a digest are the hash that a set sum adds up.
    #[test]
    fn the_digest_of_fingerprint_1_is_its_hash() {
        let digest = Digest::of(&1_u64.to_le_bytes());
        let hash = 0x5d0d_f78a_f04e_f22b_a6b9_2b8d_9ed2_5eb0_u128;
        assert_eq!(digest, Digest(hash.to_le_bytes()));
        assert_eq!(digest.to_string(), "b05ed29e8d2bb9a62bf24ef08af70d5d");
    }

    #[test]
    fn page_in_another_place_has_another_checksum() {
        let page = [7; PAGE_LEN];
        let here = PageIdentity { kind: 4, table: 1, page_in_section: 9 };
        let sum = here.checksum(&page);
        assert_ne!(sum, PageIdentity { kind: 5, ..here }.checksum(&page));
        assert_ne!(sum, PageIdentity { table: 0, ..here }.checksum(&page));
        assert_ne!(sum, PageIdentity { page_in_section: 8, ..here }.checksum(&page));
    }
}
