//! The names of hashes and the digits of their keys, in recipes and in options.

use std::fmt::Write;

use super::name_tables::unknown;
use crate::error::{Error, Result};
use crate::features::hash::{FeatureHash, HashKey};

pub(super) fn spell_key(key: HashKey) -> String {
    key.0.iter().flat_map(|word| word.to_le_bytes()).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl FeatureHash {
    /// The hash with this spelling in a recipe: `md5-low-64`, `fnv-1`, or `siphash-1-3` or
    /// `siphash-2-4` with a space and a key of 32 hex digits; without them the key is zero.
    ///
    /// # Errors
    ///
    /// * [`Error::UnknownName`] for any other name.
    /// * [`Error::InvalidHashKey`] for a bad key.
    pub fn spelled(text: &str) -> Result<Self> {
        let (name, key) = match text.split_once(' ') {
            Some((name, key)) => (name, Some(HashKey::from_hex(key)?)),
            None => (text, None),
        };
        match (name, key) {
            ("siphash-1-3", key) => Ok(FeatureHash::SipHash13(key.unwrap_or_default())),
            ("siphash-2-4", key) => Ok(FeatureHash::SipHash24(key.unwrap_or_default())),
            ("md5-low-64", None) => Ok(FeatureHash::Md5Low64),
            ("fnv-1", None) => Ok(FeatureHash::Fnv1),
            _ => {
                let expected = "siphash-1-3 or siphash-2-4 with or without a key, \
                                md5-low-64, fnv-1";
                Err(unknown("hash", text, expected.into()))
            }
        }
    }
}

impl HashKey {
    /// The key with these 32 hex digits, byte by byte as the SipHash paper writes keys.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHashKey`] for any other text.
    pub fn from_hex(text: &str) -> Result<Self> {
        let fault = || Error::InvalidHashKey { text: text.into() };
        let digits = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let number = if digits { u128::from_str_radix(text, 16).ok() } else { None };
        let bytes = number.ok_or_else(fault)?.to_be_bytes();
        let number = u128::from_le_bytes(bytes);
        Ok(HashKey([number as u64, (number >> 64) as u64]))
    }
}
