//! The JSON forms of fingerprints, ids, id kinds and recipes, shared by all JSON of the project.
//!
//! A fingerprint is a text of 16 hex digits, or of fewer if its width is less than 64 bits. An id
//! is a text, even if it is a number, because JavaScript and jq round numbers above 2^53. The rows
//! of the package `fpstore` consist of these forms.

use std::borrow::Cow;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Fingerprint, HexFingerprint, Id, IdKind, IdRef, Radix, Recipe, Width};

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Fingerprint::parse(&text, Radix::Hex).map_err(D::Error::custom)
    }
}

impl Serialize for HexFingerprint {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HexFingerprint {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        HexFingerprint::parse(&text).map_err(D::Error::custom)
    }
}

impl Serialize for Width {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u32(self.bits())
    }
}

impl Serialize for IdRef<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            IdRef::Text(text) => to.serialize_str(text),
            number => to.collect_str(number),
        }
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.as_ref().serialize(to)
    }
}

impl Serialize for IdKind {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for IdKind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = Cow::<str>::deserialize(from)?;
        let kinds = [IdKind::None, IdKind::U64, IdKind::Text];
        kinds.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            D::Error::custom(format!("'{name}' is not a kind of ids, expected none, u64 or text"))
        })
    }
}

impl Serialize for Recipe {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.text())
    }
}
