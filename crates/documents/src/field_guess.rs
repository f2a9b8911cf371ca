//! Guesses the fields of ids and texts where the caller names none.
//!
//! The first file with fields decides for all files: the header of a table, the columns of Parquet,
//! or the first object of JSON Lines. `id` and `text` are taken if they exist. Otherwise the only
//! field with one of the names in [`fields::ID`] or [`fields::TEXT`] is taken; several such fields,
//! or no such field, are an error. Nothing is guessed where bad records are skipped. Standard input
//! is not examined, because it can be read only once.

use std::io::{BufRead, BufReader, Read};

use super::decode;
use super::delimited::{FieldReader, Fields, header_fault};
use super::formats::DocumentFormat;
use super::inputs::Input;
use super::options::listed;
use super::options::{DocumentOptions, ID_FIELD, TEXT_FIELD};
use crate::error::{Error, LikelyFields, Result};
use fpstore_base::fields;
use fpstore_base::source::{self, Source};

/// The maximum length of an examined first record; a longer record yields no guess.
const RECORD_LEN_MAX: u64 = 4 << 20;

/// The guessed fields of all files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldGuess {
    pub(super) id: Option<String>,
    pub(super) text: Option<String>,
    /// The guess in words: `ids are in 'url', texts in 'content'`.
    pub(super) words: Option<String>,
}

impl FieldGuess {
    /// The options completed with the guessed fields.
    pub(super) fn completed(&self, options: &DocumentOptions) -> DocumentOptions {
        let mut options = options.clone();
        options.id_field = options.id_field.or_else(|| self.id.clone());
        options.text_field = options.text_field.or_else(|| self.text.clone());
        options
    }
}

/// A field of the first record.
struct Field {
    name: String,
    /// The length of its value in bytes, 0 if unknown; `None` if it cannot be a text.
    text_len: Option<usize>,
    /// Whether its value may be a text of several words; true if it is unknown.
    is_prose: bool,
    can_be_id: bool,
    /// A path to the texts in it, if it is an array or an object.
    inner: Option<String>,
}

/// Examines the first file with fields.
pub(super) fn guess(list: &[Input], options: &DocumentOptions) -> Result<FieldGuess> {
    let wants_id = options.id_field.is_none() && !options.line_ids;
    let wants_text = options.text_field.is_none();
    // Where bad records are skipped, a guess could lose files with other fields.
    if options.skip_bad || !wants_id && !wants_text {
        return Ok(FieldGuess::default());
    }
    let has_columns = |input: &&Input| {
        input.len.is_some()
            && input.fault.is_none()
            && options.format_of(input, false).has_columns()
    };
    let Some(input) = list.iter().find(has_columns) else { return Ok(FieldGuess::default()) };
    // A file that cannot be read causes an error later, when it is read.
    let found = super::guard::guarded(|| first_fields(input, options)).ok().flatten();
    let Some(found) = found.filter(|found| !found.is_empty()) else {
        return Ok(FieldGuess::default());
    };
    let ids = |field: &&Field| field.can_be_id && fields::is_id(&field.name);
    let texts = |field: &&Field| field.text_len.is_some() && fields::is_text(&field.name);
    let id = if wants_id { choose(&found, ID_FIELD, &fields::ID, ids) } else { Choice::Default };
    let text =
        if wants_text { choose(&found, TEXT_FIELD, &fields::TEXT, texts) } else { Choice::Default };
    // Features are in the place of a text.
    let has_features = found.iter().any(|field| field.name == "features");
    let text = if has_features && text == Choice::None { Choice::Default } else { text };
    if let Some(reason) = unclear(&id, "id").or_else(|| unclear(&text, "text")) {
        let names: Vec<&str> = found.iter().map(|field| field.name.as_str()).collect();
        let format = options.format_of(input, false);
        let is_table = matches!(format, DocumentFormat::Csv | DocumentFormat::Tsv);
        let fault = header_fault(&names, format == DocumentFormat::Tsv).filter(|_| is_table);
        if let Some(reason) = fault {
            return Err(Error::BadFile { name: input.name.clone(), reason });
        }
        let reason = format!("{reason} among {}", listed(&names));
        return Err(unclear_fields(input, reason, &found, &id, &text));
    }
    let words = match (id.name(), text.name()) {
        (None, None) => None,
        (Some(id), None) => Some(format!("took '{id}' for the ids")),
        (None, Some(text)) => Some(format!("took '{text}' for the texts")),
        (Some(id), Some(text)) => Some(format!("took '{id}' for the ids, '{text}' for the texts")),
    };
    Ok(FieldGuess { id: id.name(), text: text.name(), words })
}

/// The choice of a field.
#[derive(PartialEq, Eq)]
enum Choice {
    /// The default field, or the field named by the caller.
    Default,
    Other(String),
    Several(Vec<String>),
    None,
}

impl Choice {
    fn name(&self) -> Option<String> {
        match self {
            Choice::Other(name) => Some(name.clone()),
            _ => None,
        }
    }
}

/// Several candidates, the most usual name first, in the order of `names_known`.
fn choose(
    found: &[Field],
    usual: &str,
    names_known: &[&str],
    can_be: impl Fn(&&Field) -> bool,
) -> Choice {
    if found.iter().any(|field| field.name == usual) {
        return Choice::Default;
    }
    let mut names: Vec<String> = found.iter().filter(can_be).map(|it| it.name.clone()).collect();
    names.sort_by_key(|name| names_known.iter().position(|one| name.eq_ignore_ascii_case(one)));
    match names.len() {
        0 => Choice::None,
        1 => Choice::Other(names.remove(0)),
        _ => Choice::Several(names),
    }
}

fn unclear(choice: &Choice, kind: &str) -> Option<String> {
    match choice {
        Choice::Default | Choice::Other(_) => None,
        Choice::Several(names) => {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            Some(format!("{} could each hold the {kind}s", names.join(", ")))
        }
        Choice::None => Some(format!("no field '{kind}'")),
    }
}

fn unclear_fields(
    input: &Input,
    reason: String,
    found: &[Field],
    id: &Choice,
    text: &Choice,
) -> Error {
    let likely = |choice: &Choice| match choice {
        Choice::Other(name) => Some(name.clone()),
        Choice::Several(names) => names.first().cloned(),
        Choice::Default | Choice::None => None,
    };
    let fingerprints = found.iter().find(|field| fields::is_of_fingerprints(&field.name));
    let is_table_of_fingerprints = *text == Choice::None && fingerprints.is_some();
    // A key or a whole row as the text would make different documents equal.
    let longest = || {
        let texts = found.iter().filter(|field| {
            found.len() > 1
                && field.is_prose
                && !field.name.starts_with('_')
                && !fields::is_id(&field.name)
        });
        let longest = texts.filter_map(|field| Some((field.text_len?, &field.name))).max();
        let inner = || found.iter().find_map(|field| field.inner.clone());
        longest.map(|it| it.1.clone()).or_else(inner)
    };
    let text_field = match text {
        Choice::None if !is_table_of_fingerprints => longest(),
        text => likely(text),
    };
    // The key of records in MongoDB and Elasticsearch.
    let key = found.iter().find(|field| field.name == "_id" && field.can_be_id);
    let key = key.filter(|_| *id == Choice::None).map(|field| field.name.clone());
    // Without a likely text no command would work.
    let has_content = *text != Choice::None || is_table_of_fingerprints || text_field.is_some();
    let likely = LikelyFields {
        line_ids: *id == Choice::None && key.is_none(),
        id_field: likely(id).or(key),
        text_field: text_field.filter(|_| !is_table_of_fingerprints),
        fingerprint_field: fingerprints
            .filter(|_| is_table_of_fingerprints)
            .map(|field| field.name.clone()),
        radix: None,
    };
    let likely = if has_content { likely } else { LikelyFields::default() };
    Error::UnclearFields { name: input.name.clone(), reason, likely: likely.into() }
}

/// The fields of the first record of a file; `None` if they cannot be read.
fn first_fields(input: &Input, options: &DocumentOptions) -> Option<Vec<Field>> {
    let format = options.format_of(input, false);
    if format == DocumentFormat::Parquet {
        return columns_of_parquet(input);
    }
    let source = Source::open(&input.path).ok()?;
    let reader = Box::new(BufReader::with_capacity(source::BUFFER_LEN, source.reader));
    let mut reader = decode::utf8_reader(reader, options.text_encoding(), false).ok()?;
    match format {
        DocumentFormat::JsonLines => {
            let mut line = Vec::new();
            while line.iter().all(u8::is_ascii_whitespace) {
                line.clear();
                let read =
                    reader.by_ref().take(RECORD_LEN_MAX).read_until(b'\n', &mut line).ok()?;
                if read == 0 {
                    return None;
                }
            }
            let object: serde_json::Map<String, serde_json::Value> =
                serde_json::from_slice(&line).ok()?;
            let field = |(name, value): (String, serde_json::Value)| Field {
                inner: inner_path(&name, &value),
                name,
                text_len: match &value {
                    serde_json::Value::String(text) => Some(text.len()),
                    serde_json::Value::Null => Some(0),
                    _ => None,
                },
                is_prose: value.as_str().is_none_or(|text| is_prose(text.as_bytes())),
                can_be_id: value.is_string() || value.is_u64(),
            };
            Some(object.into_iter().map(field).collect())
        }
        DocumentFormat::Csv | DocumentFormat::Tsv => {
            let mut rows = match format == DocumentFormat::Tsv {
                true => FieldReader::tsv(reader, RECORD_LEN_MAX),
                false => FieldReader::csv(reader, RECORD_LEN_MAX),
            };
            let (mut header, mut row) = (Fields::default(), Fields::default());
            rows.next(&mut header).ok()??.ok()?;
            // Without a second row the lengths are unknown.
            let has_row = matches!(rows.next(&mut row), Ok(Some(Ok(()))));
            let len = |place| if has_row { row.get(place).map_or(0, <[u8]>::len) } else { 0 };
            let field = |(place, name): (usize, &[u8])| Field {
                name: String::from_utf8_lossy(name).into_owned(),
                text_len: Some(len(place)),
                is_prose: !has_row || row.get(place).is_none_or(is_prose),
                can_be_id: true,
                inner: None,
            };
            Some(header.iter().enumerate().map(field).collect())
        }
        _ => None,
    }
}

/// Whether a value may be a text of several words, and not a key, a date or a hash.
fn is_prose(value: &[u8]) -> bool {
    let value = value.trim_ascii();
    value.is_empty() || value.iter().any(|byte| byte.is_ascii_whitespace() || !byte.is_ascii())
}

/// The path to the texts in an array of texts, or to a usual text field of an object, of an object
/// in it, or of the first object in an array.
fn inner_path(name: &str, value: &serde_json::Value) -> Option<String> {
    use serde_json::Value;
    match value {
        Value::Array(items) => match items.first()? {
            Value::String(_) => Some(format!("{name}[]")),
            Value::Object(_) => inner_path(&format!("{name}[]"), &items[0]),
            _ => None,
        },
        Value::Object(object) => {
            let is_text = |(key, value): &(&String, &Value)| {
                value.is_string() && (fields::is_text(key) || *key == TEXT_FIELD)
            };
            let text = object.iter().find(is_text).map(|(key, _)| format!("{name}.{key}"));
            // A key with these characters is not a part of a path.
            let mut inner = object.iter().filter(|(key, _)| !key.contains(['.', '[']));
            text.or_else(|| inner.find_map(|(key, it)| inner_path(&format!("{name}.{key}"), it)))
        }
        _ => None,
    }
}

#[cfg(feature = "parquet")]
fn columns_of_parquet(input: &Input) -> Option<Vec<Field>> {
    let columns = super::parquet_file::columns(&input.path).ok()?;
    let field = |(name, is_text, is_whole): (String, bool, bool)| Field {
        name,
        text_len: is_text.then_some(0),
        is_prose: true,
        can_be_id: is_text || is_whole,
        inner: None,
    };
    Some(columns.into_iter().map(field).collect())
}

#[cfg(not(feature = "parquet"))]
fn columns_of_parquet(_: &Input) -> Option<Vec<Field>> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DocumentFiles;

    fn guessed(name: &str, content: &str) -> Result<FieldGuess> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let files = DocumentFiles::find(&[path], &DocumentOptions::default())?;
        Ok(files.guess)
    }

    #[test]
    fn usual_names_are_tried_and_said() {
        for (name, content, id, text) in [
            (
                "a.jsonl",
                "\n{\"url\":\"u\",\"content\":\"t\",\"ts\":1}\n",
                Some("url"),
                Some("content"),
            ),
            ("a.jsonl", "{\"text\":\"t\",\"id\":1,\"url\":\"u\",\"body\":\"\"}", None, None),
            ("a.jsonl", "{\"id\":1,\"body\":null}", None, Some("body")),
            ("a.csv", "uri,text\n1,2\n", Some("uri"), None),
            ("a.tsv", "docid\tx\tbody\n", Some("docid"), Some("body")),
            ("a.jsonl", "{\"id\":1,\"features\":{\"a\":1}}", None, None),
            ("a.jsonl", "no json", None, None),
            ("a.txt", "{\"url\":1}", None, None),
        ] {
            let found = guessed(name, content).unwrap();
            assert_eq!((found.id.as_deref(), found.text.as_deref()), (id, text), "{content}");
            assert_eq!(found.words.is_some(), id.is_some() || text.is_some());
        }
    }

    #[test]
    fn several_and_none_are_refused_with_what_is_most_likely() {
        for (content, id, line_ids, text, fingerprint) in [
            ("{\"url\":\"u\",\"path\":\"p\",\"text\":\"t\"}", Some("url"), false, None, None),
            ("{\"id\":1,\"body\":\"b\",\"content\":\"c\"}", None, false, Some("content"), None),
            ("{\"text\":\"t\",\"ts\":1}", None, true, None, None),
            ("{\"id\":1,\"a\":\"short\",\"b\":\"a longer one\"}", None, false, Some("b"), None),
            ("{\"id\":1,\"phash\":\"f2a7\"}", None, false, None, Some("phash")),
            (
                "{\"id\":1,\"messages\":[{\"role\":\"user\",\"content\":\"t\"}]}",
                None,
                false,
                Some("messages[].content"),
                None,
            ),
            ("{\"id\":1,\"parts\":[\"t\"]}", None, false, Some("parts[]"), None),
            (
                "{\"_index\":\"news\",\"_id\":\"1\",\"_source\":{\"tag\":\"a b\",\"content\":\"t\"}}",
                Some("_id"),
                false,
                Some("_source.content"),
                None,
            ),
            (
                "{\"id\":1,\"page\":{\"meta\":{\"n\":1},\"parts\":[{\"body\":\"t\"}]}}",
                None,
                false,
                Some("page.parts[].body"),
                None,
            ),
            ("{\"_index\":\"all news\",\"date\":\"2026-11-22\"}", None, false, None, None),
        ] {
            match guessed("a.jsonl", content) {
                Err(Error::UnclearFields { likely, .. }) => {
                    let LikelyFields {
                        id_field,
                        line_ids: lines,
                        text_field,
                        fingerprint_field,
                        ..
                    } = *likely;
                    assert_eq!((id_field.as_deref(), lines), (id, line_ids), "{content}");
                    assert_eq!(text_field.as_deref(), text, "{content}");
                    assert_eq!(fingerprint_field.as_deref(), fingerprint, "{content}");
                }
                other => panic!("{content}: {other:?}"),
            }
        }
    }
}
