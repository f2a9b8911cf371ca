//! Parses texts and names of fields in JSON.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::paths;

/// The error for a field that occurs more than once in an object.
pub(super) fn twice<E: serde::de::Error>(key: &str) -> E {
    // The intended value is unknown; other readers take the last one.
    E::custom(format!("field '{key}' occurs twice"))
}

/// The name of a field, borrowed if it has no escapes.
pub(super) struct KeyText<'a>(pub(super) Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for KeyText<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        TextValue("a key").deserialize(deserializer).map(KeyText)
    }
}

/// Parses a text; `null` is an empty text. Contains the name of the field, for errors.
pub(super) struct TextValue<'f>(pub(super) &'f str);

impl<'de> DeserializeSeed<'de> for TextValue<'_> {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TextValue<'_> {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a string in '{}'", self.0)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
        Err(serde::de::Error::custom(paths::is_array(self.0)))
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
        Err(serde::de::Error::custom(paths::is_object(self.0)))
    }
}
