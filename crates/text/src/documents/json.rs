//! A document as a JSON object, parsed without copies where it holds no escapes.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::votes::weight::Weight;
use fpstore_base::Id;

/// The text of an object, and its id. A text that is null is empty.
pub(super) fn text_of<'a>(
    line: &'a [u8],
    id_field: &str,
    text_field: &str,
) -> Result<(Id, Cow<'a, str>), String> {
    let found = parse(line, Fields { id: id_field, content: text_field, features: false })?;
    match found {
        (id, Content::Text(text)) => Ok((id, text)),
        (_, Content::Features(_)) => Err(format!("field '{text_field}' is not a text")),
    }
}

/// The features of an object with their weights, and its id.
pub(super) fn features_of<'a>(
    line: &'a [u8],
    id_field: &str,
) -> Result<(Id, Features<'a>), String> {
    let found = parse(line, Fields { id: id_field, content: "features", features: true })?;
    match found {
        (id, Content::Features(features)) => Ok((id, features)),
        (_, Content::Text(_)) => Err("field 'features' is not an object".into()),
    }
}

fn parse<'a>(line: &'a [u8], fields: Fields<'_>) -> Result<(Id, Content<'a>), String> {
    let text = super::decode::utf8_line(line)?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let found = fields.deserialize(&mut deserializer).map_err(|fault| reason(&fault))?;
    deserializer.end().map_err(|fault| reason(&fault))?;
    Ok(found)
}

/// The message of serde without its line number, which is always 1 here.
fn reason(fault: &serde_json::Error) -> String {
    let text = fault.to_string();
    match text.split_once(" at line 1 column ") {
        Some((what, column)) => format!("{what} at column {column}"),
        None => text,
    }
}

/// Names and weights, in their order and with repeats.
pub(super) type Features<'a> = Vec<(Cow<'a, str>, Weight)>;

enum Content<'a> {
    Text(Cow<'a, str>),
    Features(Features<'a>),
}

/// Picks two fields of an object and skips the others.
#[derive(Clone, Copy)]
struct Fields<'f> {
    id: &'f str,
    content: &'f str,
    features: bool,
}

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = (Id, Content<'de>);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = (Id, Content<'de>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut id, mut content) = (None, None);
        let mut others = Vec::new();
        while let Some(KeyText(key)) = map.next_key()? {
            // Which of two the writer meant is unknown; other readers take the last one.
            let is_second =
                key == self.id && id.is_some() || key == self.content && content.is_some();
            if is_second {
                return Err(serde::de::Error::custom(format!("field '{key}' is there twice")));
            }
            if key == self.id {
                id = Some(map.next_value_seed(IdValue(self.id))?);
            } else if key == self.content {
                content = Some(if self.features {
                    Content::Features(map.next_value_seed(FeaturesValue)?)
                } else {
                    Content::Text(map.next_value_seed(TextValue(self.content))?)
                });
            } else {
                if others.len() <= super::LISTED_MAX {
                    others.push(key);
                }
                map.next_value::<IgnoredAny>()?;
            }
        }
        let missing = |field: &str| {
            let others: Vec<&str> = others.iter().map(|name| name.as_ref()).collect();
            serde::de::Error::custom(match others.as_slice() {
                [] => format!("no field '{field}'"),
                others => format!("no field '{field}'; other fields: {}", super::listed(others)),
            })
        };
        let id = id.ok_or_else(|| missing(self.id))?;
        Ok((id, content.ok_or_else(|| missing(self.content))?))
    }
}

/// A text that is borrowed where it holds no escapes.
struct KeyText<'a>(Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for KeyText<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        TextValue("a key").deserialize(deserializer).map(KeyText)
    }
}

struct TextValue<'f>(&'f str);

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
}

struct IdValue<'f>(&'f str);

impl<'de> DeserializeSeed<'de> for IdValue<'_> {
    type Value = Id;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Id, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for IdValue<'_> {
    type Value = Id;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a string or a whole number in '{}'", self.0)
    }

    fn visit_u64<E>(self, number: u64) -> Result<Id, E> {
        Ok(Id::U64(number))
    }

    /// A store has no negative numbers as ids, but any text.
    fn visit_i64<E>(self, number: i64) -> Result<Id, E> {
        Ok(Id::Text(number.to_string().into()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Id, E> {
        Ok(Id::Text(text.into()))
    }
}

struct FeaturesValue;

impl<'de> DeserializeSeed<'de> for FeaturesValue {
    type Value = Features<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for FeaturesValue {
    type Value = Features<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of names and weights in 'features'")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut features = Vec::new();
        while let Some((KeyText(name), number)) = map.next_entry::<KeyText<'_>, f64>()? {
            let weight = Weight::try_from(number).map_err(|fault| {
                serde::de::Error::custom(format!("weight {number} of '{name}' is {fault}"))
            })?;
            features.push((name, weight));
        }
        Ok(features)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_picked_and_others_skipped() {
        let line = br#"{"x":[1,{"id":2}],"id":"a\tb","text":"one \u4e2d","more":null}"#;
        let (id, text) = text_of(line, "id", "text").unwrap();
        assert_eq!((id, text.as_ref()), (Id::Text("a\tb".into()), "one \u{4e2d}"));
        let (id, text) = text_of(br#"{"n":18446744073709551615,"t":""}"#, "n", "t").unwrap();
        assert_eq!((id, text.as_ref()), (Id::U64(u64::MAX), ""));
        let (id, text) = text_of(br#"{"id":-7,"text":null,"a":1,"a":2}"#, "id", "text").unwrap();
        assert_eq!((id, text.as_ref()), (Id::Text("-7".into()), ""));
        let line = br#"{"features":{"b":2.5,"a":1,"b":0},"id":7}"#;
        let (id, features) = features_of(line, "id").unwrap();
        let expected = [("b", 2.5), ("a", 1.0), ("b", 0.0)]
            .map(|(name, number)| (Cow::from(name), Weight::try_from(number).unwrap()));
        assert_eq!((id, features), (Id::U64(7), expected.to_vec()));
    }

    #[test]
    fn a_bad_object_is_refused_with_its_reason() {
        for (line, part) in [
            (&b"{\"id\":1}"[..], "no field 'text'"),
            (b"{\"text\":\"x\"}", "no field 'id'"),
            (b"{\"id\":1.5,\"text\":\"x\"}", "expected a string or a whole number in 'id'"),
            (b"{\"id\":null,\"text\":\"x\"}", "expected a string or a whole number in 'id'"),
            (b"{\"url\":1,\"body\":\"x\"}", "no field 'id'; other fields: url, body"),
            (b"{\"id\":1,\"id\":2,\"text\":\"x\"}", "field 'id' is there twice"),
            (b"{\"id\":1,\"text\":\"x\",\"a\":1,\"text\":\"y\"}", "field 'text' is there twice"),
            (b"{\"id\":1,\"text\":5}", "expected a string in 'text'"),
            (b"{\"id\":1,\"text\":\"x\"} y", "trailing characters at column 21"),
            (b"[1]", "expected an object"),
            (b"{\"id\":1,\"te", "EOF while parsing"),
            (b"{\"id\":1,\"text\":\"\xff\"}", "byte 16 of the line is not UTF-8"),
        ] {
            let reason = text_of(line, "id", "text").unwrap_err();
            assert!(reason.contains(part), "{reason}");
        }
        let reason = features_of(br#"{"id":1,"features":{"a":-1}}"#, "id").unwrap_err();
        assert!(reason.contains("weight -1 of 'a' is not a weight"), "{reason}");
        assert!(features_of(br#"{"id":1,"features":[1]}"#, "id").is_err());
    }
}
