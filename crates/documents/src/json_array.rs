//! Collects texts in the arrays of a JSON object, as in
//! `{"messages":[{"role":"user","content":"..."}]}`.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::json_text::{KeyText, twice};
use super::paths::{Gathered, is_array, is_object, rest};

/// Collects the texts at the end of a path that starts at the current value.
pub(super) struct Gather<'g> {
    /// The rest of the path: empty, or it begins with `.` or `[]`.
    pub(super) rest: &'g str,
    /// The path to the current value, for errors.
    pub(super) name: String,
    pub(super) to: &'g mut Gathered,
}

impl<'de> DeserializeSeed<'de> for Gather<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Gather<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.rest {
            "" => "a string",
            rest if rest.starts_with('.') => "an object",
            _ => "an array",
        };
        write!(f, "{what} in '{}'", self.name)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        if !self.rest.is_empty() {
            // The text itself may be long, so it is not quoted.
            return Err(E::invalid_type(serde::de::Unexpected::Other("string"), &self));
        }
        self.to.push(text);
        Ok(())
    }

    /// Null counts as no text, at any position.
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        let Gather { rest, name, to } = self;
        let Some(rest) = rest.strip_prefix("[]") else {
            return Err(A::Error::custom(is_array(&name)));
        };
        let name = format!("{name}[]");
        while array.next_element_seed(Gather { rest, name: name.clone(), to })?.is_some() {
            to.any_element = true;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Gather { rest: path, name, to } = self;
        let Some(path) = path.strip_prefix('.') else {
            return Err(A::Error::custom(is_object(&name)));
        };
        let mut is_found = false;
        while let Some(KeyText(key)) = map.next_key()? {
            let Some(rest) = rest(path, &key) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if std::mem::replace(&mut is_found, true) {
                return Err(twice(&key));
            }
            map.next_value_seed(Gather { rest, name: format!("{name}.{key}"), to })?;
        }
        Ok(())
    }
}
