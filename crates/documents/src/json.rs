//! Parses a document as a JSON object, without copying texts that have no escapes.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::json_array::Gather;
use super::json_text::{KeyText, TextValue, twice};
use super::options::{LISTED_MAX, Names, listed};
use super::paths::{self, Gathered};
use super::ready::ReadyForm;
use fpstore_base::Id;
use fpstore_text::Weight;

/// The error message for a lone surrogate, which Python and other programs write.
const LONE_SURROGATE: &str = "a \\u escape for half of a character (a lone surrogate)";
/// The error message for a JSON array, which `.json` files often contain.
const JSON_ARRAY: &str = "an array, expected one object per line; jq -c '.[]' FILE > NEW.jsonl \
                          converts the array";

/// Messages of serde for broken JSON, and plain explanations.
const OF_SERDE: [(&str, &str); 7] = [
    ("expected ident", "not JSON: a word that is not true, false or null"),
    ("key must be a string", "not JSON: the name of a field is not in quotes"),
    ("expected `:`", "not JSON: no colon after the name of a field"),
    ("expected `,` or `}`", "not JSON: no comma between two fields"),
    ("trailing comma", "not JSON: a comma after the last field"),
    ("trailing characters", "not JSON: there is text after the object"),
    ("invalid escape", "not JSON: a backslash before a character that cannot be escaped"),
];

/// The fields of a document.
#[derive(Debug, PartialEq)]
pub(super) struct TextFields<'a> {
    pub(super) id: Id,
    pub(super) text: Cow<'a, str>,
    /// The values of [`DocumentOptions::fields`](super::DocumentOptions::fields).
    pub(super) fields: Vec<Option<String>>,
}

/// The text, the id and the further fields of a JSON object. A null text is empty.
pub(super) fn text_of<'a>(line: &'a [u8], names: Names<'_>) -> Result<TextFields<'a>, String> {
    match parse(line, names, false)? {
        (id, Content::Text(text), mut fields) => {
            // `names.fields` may contain the field of the text or of the id, too.
            for (name, field) in names.fields.iter().zip(&mut fields) {
                if name == names.text {
                    let is_ready = names.ready.is_some();
                    let text = if is_ready { super::ready::unmarked(&text) } else { &text };
                    *field = Some(text.to_string());
                } else if Some(name.as_str()) == names.id {
                    *field = Some(id.to_string());
                }
            }
            Ok(TextFields { id, text, fields })
        }
        (_, Content::Features(_), _) => Err(format!("field '{}' is not a text", names.text)),
    }
}

/// The id of a JSON object, and its features with their weights.
pub(super) fn features_of<'a>(
    line: &'a [u8],
    id_field: Option<&str>,
) -> Result<(Id, Features<'a>), String> {
    let names = Names { id: id_field, text: "features", ready: None, fields: &[], new: &[] };
    match parse(line, names, true)? {
        (id, Content::Features(features), _) => Ok((id, features)),
        (_, Content::Text(_), _) => Err("field 'features' is not an object".into()),
    }
}

fn parse<'a>(
    line: &'a [u8],
    names: Names<'_>,
    features: bool,
) -> Result<(Id, Content<'a>, Vec<Option<String>>), String> {
    let text = super::decode::utf8_line(line)?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let Names { id, text: content, ready, fields: others, new } = names;
    let paths: Vec<Option<&str>> = others.iter().map(|name| Some(name.as_str())).collect();
    let fields =
        Fields { id, content: Some(content), others: &paths, new, features, ready, inside: None };
    let found = fields.deserialize(&mut deserializer).map_err(|fault| reason(&fault, text))?;
    deserializer.end().map_err(|fault| reason(&fault, text))?;
    let missing = |field: &str| {
        let passed: Vec<&str> = found.passed.iter().map(|name| name.as_ref()).collect();
        match passed.as_slice() {
            [] => format!("no field '{field}'"),
            passed => format!("no field '{field}'; other fields: {}", listed(passed)),
        }
    };
    let is_found = found.others.iter().map(Option::is_some);
    let singles = others.iter().map(String::as_str).zip(is_found);
    for (single, is_found) in singles.chain(id.map(|id| (id, found.id.is_some()))) {
        if paths::has_array(single) && !is_found {
            return Err(paths::not_single(single));
        }
    }
    let own_id = match id {
        // A placeholder: the caller replaces it by the line number, or needs no id.
        None => Id::U64(0),
        Some(id) => found.id.ok_or_else(|| missing(id))?,
    };
    let fields = found.others.into_iter().map(Option::flatten).collect();
    Ok((own_id, found.content.ok_or_else(|| missing(content))?, fields))
}

/// Converts an error of serde to a message without the line number, which is always 1 here.
fn reason(fault: &serde_json::Error, line: &str) -> String {
    let mut text = fault.to_string();
    let rest = line.get(fault.column().saturating_sub(1)..).unwrap_or_default();
    if let Some(name) = ["NaN", "Infinity"].into_iter().find(|name| rest.starts_with(name)) {
        let column = fault.column();
        return format!(
            "{name} at column {column} is not JSON; use null, or json.dumps of Python with \
             allow_nan=False"
        );
    }
    // The messages of serde for arrays and for lone surrogates explain nothing.
    if text.starts_with("invalid type: sequence, expected an object") {
        return JSON_ARRAY.into();
    }
    if text.contains("surrogate") || text.starts_with("unexpected end of hex escape") {
        text = text.replacen(text.split(" at line").next().unwrap_or_default(), LONE_SURROGATE, 1);
    }
    let what = text.split(" at line").next().unwrap_or_default();
    if let Some((_, words)) = OF_SERDE.iter().find(|(own, _)| *own == what) {
        text = text.replacen(what, words, 1);
    }
    match text.split_once(" at line 1 column ") {
        Some((what, column)) => format!("{what} at column {column}"),
        None => text,
    }
}

/// The names and weights of features, in input order.
pub(super) type Features<'a> = Vec<(Cow<'a, str>, Weight)>;

enum Content<'a> {
    Text(Cow<'a, str>),
    Features(Features<'a>),
}

/// Selects some fields of an object and skips the others. A name with dots or brackets is a path
/// into objects and arrays, unless a field has the whole name.
#[derive(Clone, Copy)]
struct Fields<'f> {
    /// The rest of the path to the id; `None` if the id is not in this object.
    id: Option<&'f str>,
    content: Option<&'f str>,
    others: &'f [Option<&'f str>],
    new: &'f [String],
    features: bool,
    ready: Option<ReadyForm>,
    /// The name of the object, if it is not the whole line.
    inside: Option<&'f str>,
}

/// The values found in an object.
#[derive(Default)]
struct ObjectFields<'a> {
    id: Option<Id>,
    content: Option<Content<'a>>,
    /// The values of [`Fields::others`]. Null is `Some(None)`.
    others: Vec<Option<Option<String>>>,
    /// The names of some fields that were not selected, for error messages.
    passed: Vec<Cow<'a, str>>,
}

/// The rest of a path below the object `key`; `None` if the path leads elsewhere.
fn below<'f>(path: Option<&'f str>, key: &str) -> Option<&'f str> {
    path?.strip_prefix(key)?.strip_prefix('.')
}

/// The error for a field that cannot be added because it exists.
pub(super) fn is_there(name: &str) -> String {
    format!("field '{name}' exists already; choose another name for the new field")
}

impl<'f> Fields<'f> {
    /// The rest of the path to the text, if `key` is an array on this path.
    fn array(&self, key: &str) -> Option<&'f str> {
        let is_text = !self.features && self.ready.is_none();
        paths::rest(self.content?, key).filter(|rest| is_text && rest.starts_with("[]"))
    }
}

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = ObjectFields<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        match self.inside {
            // If the value is an array, `visit_seq` returns a specific error message.
            Some(_) => deserializer.deserialize_any(self),
            None => deserializer.deserialize_map(self),
        }
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ObjectFields<'de>;

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
        let key = self.inside.unwrap_or_default();
        let other = || self.others.iter().copied().flatten().next();
        Err(serde::de::Error::custom(match (self.content, self.id.or_else(other)) {
            (Some(rest), _) => paths::is_array_before(key, rest),
            (None, rest) => paths::is_array_of_values(key, rest.unwrap_or_default()),
        }))
    }

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found =
            ObjectFields { others: vec![None; self.others.len()], ..ObjectFields::default() };
        while let Some(KeyText(key)) = map.next_key()? {
            let key_text = key.as_ref();
            let others: Vec<_> = self.others.iter().map(|path| below(*path, key_text)).collect();
            let own = self.others.iter().position(|path| *path == Some(key_text));
            let inner = Fields {
                id: below(self.id, key_text),
                content: below(self.content, key_text),
                others: &others,
                new: &[],
                inside: Some(key_text),
                ..self
            };
            let is_above = others.iter().any(Option::is_some);
            if self.new.iter().any(|name| name == key_text) {
                return Err(serde::de::Error::custom(is_there(key_text)));
            }
            if self.id == Some(key_text) {
                if found.id.replace(map.next_value_seed(IdValue(key_text))?).is_some() {
                    return Err(twice(key_text));
                }
            } else if self.content == Some(key_text) {
                let content = if self.features {
                    Content::Features(map.next_value_seed(FeaturesValue)?)
                } else if let Some(form) = self.ready {
                    Content::Text(map.next_value_seed(ReadyValue(key_text, form))?.into())
                } else {
                    Content::Text(map.next_value_seed(TextValue(key_text))?)
                };
                if found.content.replace(content).is_some() {
                    return Err(twice(key_text));
                }
            } else if let Some(own) = own {
                if found.others[own].replace(map.next_value_seed(OtherValue(key_text))?).is_some() {
                    return Err(twice(key_text));
                }
            } else if let Some(rest) = self.array(key_text) {
                let mut gathered = Gathered::default();
                let name = key_text.to_string();
                map.next_value_seed(Gather { rest, name, to: &mut gathered })?;
                if let Some(text) = gathered.finish()
                    && found.content.replace(Content::Text(text.into())).is_some()
                {
                    return Err(twice(key_text));
                }
                found.passed.push(key);
            } else if inner.id.is_some() || inner.content.is_some() || is_above {
                let mut deeper = map.next_value_seed(inner)?;
                let mut pairs = found.others.iter().zip(&deeper.others);
                let is_second = deeper.id.is_some() && found.id.is_some()
                    || deeper.content.is_some() && found.content.is_some()
                    || pairs.any(|(one, other)| one.is_some() && other.is_some());
                if is_second {
                    return Err(twice(key_text));
                }
                found.id = found.id.or(deeper.id);
                found.content = found.content.or(deeper.content);
                for (to, from) in found.others.iter_mut().zip(&mut deeper.others) {
                    *to = to.take().or(from.take());
                }
                found.passed.push(key);
            } else {
                if found.passed.len() <= LISTED_MAX {
                    found.passed.push(key);
                }
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// A fingerprint, as a text or a whole number; null means no fingerprint.
struct ReadyValue<'f>(&'f str, ReadyForm);

impl<'de> DeserializeSeed<'de> for ReadyValue<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for ReadyValue<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReadyValue(name, form) = self;
        write!(f, "a fingerprint in '{name}', as a text or a whole number of {} bits", form.width)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<String, E> {
        self.1.digits_of_number(number).map_err(E::custom)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<String, E> {
        self.1.digits_of_signed(number).map_err(E::custom)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<String, E> {
        self.1.digits_of_text(text).map_err(E::custom)
    }

    fn visit_unit<E>(self) -> Result<String, E> {
        Ok(String::new())
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

    /// A negative number becomes a text, because stores have no negative numbers as ids.
    fn visit_i64<E>(self, number: i64) -> Result<Id, E> {
        Ok(Id::Text(number.to_string().into()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Id, E> {
        Ok(Id::Text(text.into()))
    }
}

/// A text or a number; null means no value.
struct OtherValue<'f>(&'f str);

impl<'de> DeserializeSeed<'de> for OtherValue<'_> {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for OtherValue<'_> {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a string or a number in '{}'", self.0)
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Some(number.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(text.into()))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
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
        let mut seen: HashSet<&str> = HashSet::with_capacity(features.len());
        if let Some((name, _)) = features.iter().find(|(name, _)| !seen.insert(name)) {
            return Err(serde::de::Error::custom(format!("feature '{name}' occurs twice")));
        }
        Ok(features)
    }
}

#[cfg(test)]
mod tests {
    use fpstore_base::Radix;

    use super::*;

    const NAMES: Names<'static> =
        Names { id: Some("id"), text: "text", ready: None, fields: &[], new: &[] };

    fn pick<'a>(line: &'a [u8], id: &str, text: &str) -> Result<(Id, Cow<'a, str>), String> {
        let found = text_of(line, Names { id: Some(id), text, ..NAMES })?;
        Ok((found.id, found.text))
    }

    #[test]
    fn numbers_that_are_not_json_are_named() {
        for (line, part) in [
            ("{\"id\":1,\"text\":NaN}", "NaN at column 16 is not JSON"),
            ("{\"id\":1,\"s\":[Infinity],\"text\":\"t\"}", "Infinity at column 14 is not JSON"),
            ("{\"id\":1,\"s\":-Infinity,\"text\":\"t\"}", "Infinity at column 14 is not JSON"),
        ] {
            let refused = pick(line.as_bytes(), "id", "text").unwrap_err();
            assert!(refused.contains(part), "{refused}");
        }
        assert_eq!(pick(b"{\"id\":1,\"text\":\"NaN\"}", "id", "text").unwrap().1, "NaN");
    }

    #[test]
    fn fields_are_picked_and_others_skipped() {
        let line = br#"{"x":[1,{"id":2}],"id":"a\tb","text":"one \u4e2d","more":null}"#;
        let (id, text) = pick(line, "id", "text").unwrap();
        assert_eq!((id, text.as_ref()), (Id::Text("a\tb".into()), "one \u{4e2d}"));
        let (fields, new) = (["meta.q".to_string()], ["n", "of"].map(String::from));
        let names = Names { fields: &fields, new: &new, ..NAMES };
        let rank = |line: &'static [u8]| {
            text_of(line, names).map(|found| found.fields.into_iter().next().flatten())
        };
        assert_eq!(rank(br#"{"id":1,"meta":{"q":1.5},"text":""}"#), Ok(Some("1.5".into())));
        assert_eq!(rank(br#"{"id":1,"meta.q":"b","text":""}"#), Ok(Some("b".into())));
        assert_eq!(rank(br#"{"id":1,"meta":{"q":null},"text":""}"#), Ok(None));
        assert_eq!(rank(br#"{"id":1,"text":"","meta":{"of":1}}"#), Ok(None));
        assert!(rank(br#"{"id":1,"meta":{"q":[]},"text":""}"#).is_err());
        let found = text_of(br#"{"text":"x"}"#, Names { id: None, ..names });
        assert_eq!(found.unwrap().text, "x");
        for (name, value) in [("id", "1"), ("text", "x")] {
            let fields = ["none", name].map(String::from);
            let found = text_of(br#"{"id":1,"text":"x"}"#, Names { fields: &fields, ..names });
            assert_eq!(found.unwrap().fields, [None, Some(value.into())]);
        }
        // Several requested fields in the same object, and an object that occurs twice.
        let fields = ["meta.b", "meta.a", "c"].map(String::from);
        let names = Names { fields: &fields, ..NAMES };
        let line = br#"{"meta":{"a":1,"b":"x","c":0},"c":null,"id":1,"text":""}"#;
        let found = text_of(line, names).unwrap().fields;
        assert_eq!(found, [Some("x".into()), Some("1".into()), None]);
        let twice = br#"{"meta":{"a":1},"meta":{"a":2},"id":1,"text":""}"#;
        assert!(text_of(twice, names).unwrap_err().contains("'meta'"));
        assert!(rank(br#"{"id":1,"of":1,"text":""}"#).unwrap_err().contains("exists already"));
        let (id, text) = pick(br#"{"n":18446744073709551615,"t":""}"#, "n", "t").unwrap();
        assert_eq!((id, text.as_ref()), (Id::U64(u64::MAX), ""));
        let (id, text) = pick(br#"{"id":-7,"text":null,"a":1,"a":2}"#, "id", "text").unwrap();
        assert_eq!((id, text.as_ref()), (Id::Text("-7".into()), ""));
        // Fields in nested objects, and a field with a dot in its name.
        let line = br#"{"doc":{"body":{"en":"deep"},"id":4},"x":{"body":1},"doc.title":"flat"}"#;
        let (id, text) = pick(line, "doc.id", "doc.body.en").unwrap();
        assert_eq!((id, text.as_ref()), (Id::U64(4), "deep"));
        let (_, text) = pick(line, "doc.id", "doc.title").unwrap();
        assert_eq!(text, "flat");
        let line = br#"{"features":{"b":2.5,"a":1,"c":0},"id":7}"#;
        let (id, features) = features_of(line, Some("id")).unwrap();
        let expected = [("b", 2.5), ("a", 1.0), ("c", 0.0)]
            .map(|(name, number)| (Cow::from(name), Weight::try_from(number).unwrap()));
        assert_eq!((id, features), (Id::U64(7), expected.to_vec()));
    }

    #[test]
    fn a_fingerprint_is_a_text_in_its_radix_or_a_number() {
        let of = |line: &'static str, radix: Radix| {
            let names = Names { text: "doc.fp", ready: Some(radix.into()), ..NAMES };
            text_of(line.as_bytes(), names).map(|found| found.text.into_owned())
        };
        let read = |line| of(line, Radix::Hex);
        assert_eq!(read(r#"{"id":1,"doc":{"fp":"ff"}}"#), Ok("00000000000000ff".into()));
        assert_eq!(read(r#"{"id":1,"doc":{"fp":255}}"#), Ok("00000000000000ff".into()));
        assert_eq!(read(r#"{"id":1,"doc":{"fp":-1}}"#), Ok("ffffffffffffffff".into()));
        let most = r#"{"id":1,"doc.fp":18446744073709551615}"#;
        assert_eq!(read(most), Ok("ffffffffffffffff".into()));
        assert_eq!(read(r#"{"id":1,"doc.fp":null}"#), Ok("".into()));
        let signed = of(r#"{"id":1,"doc.fp":"-2"}"#, Radix::SignedDecimal);
        assert_eq!(signed, Ok("fffffffffffffffe".into()));
        for (line, part) in [
            (r#"{"id":1,"doc.fp":"xyz"}"#, "'xyz' is not a fingerprint"),
            (r#"{"id":1,"doc.fp":18446744073709551616}"#, "whole number of 64 bits"),
            (r#"{"id":1,"doc.fp":1.5}"#, "a fingerprint in 'doc.fp'"),
            (r#"{"id":1,"doc.fp":true}"#, "a fingerprint in 'doc.fp'"),
        ] {
            assert!(read(line).unwrap_err().contains(part), "{line}");
        }
    }

    #[test]
    fn texts_in_arrays_are_joined() {
        let of = |line: &'static str, path| {
            pick(line.as_bytes(), "id", path).map(|(_, text)| text.into_owned())
        };
        let chat = r#"{"messages":[{"role":"user","content":"one"},{"content":"t\u0077o","n":[1]},
            {"role":"tool","content":null},{"role":"tool"},null],"id":1,"m.n[]":"own"}"#;
        assert_eq!(of(chat, "messages[].content"), Ok("one\ntwo".into()));
        assert_eq!(of(chat, "messages[].role"), Ok("user\ntool\ntool".into()));
        assert_eq!(of(chat, "m.n[]"), Ok("own".into()));
        let deep = r#"{"id":1,"a":{"b":[[{"c.d":{"e":["x","y"]}}],[{"c.d":{"e":["z"]}}]]}}"#;
        assert_eq!(of(deep, "a.b[][].c.d.e[]"), Ok("x\ny\nz".into()));
        let plain = r#"{"id":1,"lines":["a","","b"]}"#;
        assert_eq!(of(plain, "lines[]"), Ok("a\n\nb".into()));
        for empty in [r#"{"id":1,"l":[]}"#, r#"{"id":1,"l":null}"#] {
            assert_eq!(of(empty, "l[]"), Ok("".into()));
            assert_eq!(of(empty, "l[].text"), Ok("".into()));
        }
        for (line, path, part) in [
            (chat, "messages[].text", "no field 'messages[].text'; other fields: messages"),
            (chat, "messages", "'messages' is an array, expected a text; 'messages[]' names"),
            (chat, "messages[]", "'messages[]' is an object, expected a text; 'messages[].FIELD'"),
            (chat, "messages[].n", "'messages[].n' is an array"),
            (plain, "lines[].x", "invalid type: string, expected an object in 'lines[]'"),
            (r#"{"id":1,"l":"x"}"#, "l[]", "invalid type: string, expected an array in 'l'"),
            (r#"{"id":1,"l":[7]}"#, "l[]", "integer `7`, expected a string in 'l[]'"),
            (r#"{"id":1,"l":["x"],"l":["y"]}"#, "l[]", "field 'l' occurs twice"),
            (r#"{"id":1,"l":[{"x":"y","x":"z"}]}"#, "l[].x", "field 'x' occurs twice"),
        ] {
            let reason = of(line, path).unwrap_err();
            assert!(reason.contains(part), "{path}: {reason}");
        }
        let reason = pick(chat.as_bytes(), "messages[].role", "messages[].content").unwrap_err();
        assert!(reason.contains("'messages[].role' names the values of an array"), "{reason}");
    }

    #[test]
    fn a_bad_object_is_refused_with_its_reason() {
        for (line, part) in [
            (&b"{\"id\":1}"[..], "no field 'text'"),
            (b"{\"text\":\"x\"}", "no field 'id'"),
            (b"{\"id\":1.5,\"text\":\"x\"}", "expected a string or a whole number in 'id'"),
            (b"{\"id\":null,\"text\":\"x\"}", "expected a string or a whole number in 'id'"),
            (b"{\"url\":1,\"body\":\"x\"}", "no field 'id'; other fields: url, body"),
            (b"{\"id\":1,\"id\":2,\"text\":\"x\"}", "field 'id' occurs twice"),
            (b"{\"id\":1,\"text\":\"x\",\"a\":1,\"text\":\"y\"}", "field 'text' occurs twice"),
            (b"{\"id\":1,\"text\":5}", "expected a string in 'text'"),
            (
                b"{\"id\":1,\"text\":\"x\"} y",
                "not JSON: there is text after the object at column 21",
            ),
            (b"[1]", "an array, expected one object per line"),
            (b"{\"id\":1,\"text\":[\"x\"]}", "'text' is an array, expected a text; 'text[]' names"),
            (
                b"{\"id\":1,\"text\":{\"x\":\"y\"}}",
                "'text' is an object, expected a text; 'text.FIELD'",
            ),
            (b"{\"id\":1,\"te", "EOF while parsing"),
            (b"{\"id\":1,\"text\":\"\xff\"}", "byte 16 of the line is not UTF-8"),
        ] {
            let reason = pick(line, "id", "text").unwrap_err();
            assert!(reason.contains(part), "{reason}");
        }
        for (line, part) in [
            (&br#"{"id":1,"doc":{"title":"x"}}"#[..], "no field 'doc.body'; other fields: doc"),
            (br#"{"id":1,"doc":"x"}"#, "expected an object"),
            (br#"{"id":1,"doc":{"body":"x"},"doc":{"body":"y"}}"#, "field 'doc' occurs twice"),
            (br#"{"id":1,"doc":{"body":"x"},"doc.body":"y"}"#, "field 'doc.body' occurs twice"),
        ] {
            let reason = pick(line, "id", "doc.body").unwrap_err();
            assert!(reason.contains(part), "{reason}");
        }
        let reason = features_of(br#"{"id":1,"features":{"a":-1}}"#, Some("id")).unwrap_err();
        assert!(reason.contains("weight -1 of 'a' is not a weight"), "{reason}");
        assert!(features_of(br#"{"id":1,"features":[1]}"#, Some("id")).is_err());
        let twice = br#"{"id":1,"features":{"a":1,"b":1,"\u0061":2}}"#;
        let reason = features_of(twice, Some("id")).unwrap_err();
        assert!(reason.starts_with("feature 'a' occurs twice"), "{reason}");
    }
}
