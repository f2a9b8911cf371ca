//! Guesses the fields of ids and texts if the caller names none.
//!
//! The first file with fields decides for all files: the header of a table, the columns of Parquet,
//! or the first object of JSON Lines. `id` and `text` are chosen if they exist. Otherwise the only
//! field with one of the names in [`fields::ID`] or [`fields::TEXT`] is chosen; several such
//! fields, or no such field, are an error, which proposes a field of texts only if its values are
//! several times longer than the values of the other fields. The same rules apply if bad records
//! are skipped, but a bad file of a folder is skipped, and the next file decides. Standard input is
//! not examined, because it can be read only once.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};

use serde_json::Value;

use super::decode;
use super::delimited::{FieldReader, Fields, header_fault};
use super::formats::DocumentFormat;
use super::inputs::Input;
use super::options::{DocumentOptions, ID_FIELD, TEXT_FIELD, listed};
#[cfg(feature = "parquet")]
use super::parquet_file::Column;
use crate::error::{Error, LikelyFields, Result};
use fpstore_base::fields;
use fpstore_base::source::{self, Source};

/// The maximum length of an examined record; a longer first record yields no guess.
const RECORD_LEN_MAX: u64 = 4 << 20;
/// The maximum number of records and of bytes in which the lengths of texts are compared.
const SAMPLE_COUNT: usize = 100;
const SAMPLE_LEN: u64 = RECORD_LEN_MAX;
/// A field is proposed as the text only if it contains this many times the bytes of every other
/// field: with a wrong field, different documents would become equal.
const LEAD: u64 = 4;
/// The maximum length and number of words of a column name in a header.
const NAME_LEN_MAX: usize = 60;
const NAME_WORDS_MAX: usize = 5;

/// The guessed fields of all files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldGuess {
    pub(super) id: Option<String>,
    pub(super) text: Option<String>,
    /// The guess in words: `'url' is read as the id, 'content' as the text`.
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
    can_be_text: bool,
    can_be_id: bool,
}

/// The fields of a file, and samples of their values.
#[derive(Default)]
struct Found {
    fields: Vec<Field>,
    /// The values of each field, by the field's name or, for an array or an object, by a path to
    /// its texts.
    texts: HashMap<String, Texts>,
    /// Whether the header of a table may be a row of values instead.
    has_doubtful_names: bool,
}

/// The values of a field in the sampled records.
struct Texts {
    /// The total length of the values in bytes.
    len: u64,
    /// The number of texts of several words minus the number of other texts.
    prose: i64,
    /// Whether the caller can name the field as the text.
    is_readable: bool,
}

impl Found {
    fn push(&mut self, path: String, len: u64, is_prose: bool) {
        if len == 0 {
            return;
        }
        let texts = self.texts.entry(path).or_insert(Texts { len: 0, prose: 0, is_readable: true });
        texts.len += len;
        texts.prose += if is_prose { 1 } else { -1 };
    }

    /// The field that is clearly the text, because its values are the longest by far: one of
    /// `several` or, with `None`, of all fields with texts of several words, keys excluded.
    fn clear_text(&self, several: Option<&[String]>) -> Option<String> {
        let is_candidate = |(path, texts): &(&String, &Texts)| match several {
            Some(names) => names.contains(path),
            None => {
                self.fields.len() > 1
                    && (texts.prose > 0 || !texts.is_readable)
                    && (!path.starts_with('_') || path.contains('.'))
                    && !fields::is_id(path)
            }
        };
        let mut candidates: Vec<_> = self.texts.iter().filter(is_candidate).collect();
        candidates.sort_by_key(|(_, texts)| Reverse(texts.len));
        let &(path, first) = candidates.first()?;
        let next = candidates.get(1).map_or(0, |(_, next)| next.len);
        let is_clear = first.is_readable && first.len > 0 && first.len / LEAD >= next;
        (is_clear && self.is_name(path)).then(|| path.clone())
    }

    /// Whether the name of a field is really a name, not a value of a table without a header.
    fn is_name(&self, name: &str) -> bool {
        !self.has_doubtful_names || !name.contains(char::is_whitespace)
    }
}

/// Examines the first file with fields.
pub(super) fn guess(list: &[Input], options: &DocumentOptions) -> Result<FieldGuess> {
    let wants_id = options.id_field.is_none() && !options.line_ids;
    let wants_text = options.text_field.is_none();
    if !wants_id && !wants_text {
        return Ok(FieldGuess::default());
    }
    let has_columns = |input: &&Input| {
        input.len.is_some()
            && input.fault.is_none()
            && options.format_of(input, false).has_columns()
    };
    let mut refused = None;
    for input in list.iter().filter(has_columns) {
        match guess_of(input, options, (wants_id, wants_text)) {
            // A bad file of a folder is skipped.
            Ok(None) if options.skip_bad && input.is_found => {}
            Err(error) if options.skip_bad && input.is_found => {
                refused.get_or_insert(error);
            }
            guess => return guess.map(Option::unwrap_or_default),
        }
    }
    refused.map_or(Ok(FieldGuess::default()), Err)
}

/// The fields of a file; `None` if it cannot be read: the error is returned when it is read later.
fn guess_of(
    input: &Input,
    options: &DocumentOptions,
    wants: (bool, bool),
) -> Result<Option<FieldGuess>> {
    let sampled = super::guard::guarded(|| first_fields(input, options, wants)).ok().flatten();
    let Some(sampled) = sampled.filter(|sampled| !sampled.fields.is_empty()) else {
        return Ok(None);
    };
    let found = &sampled.fields;
    let (id, text) = choices(found, wants);
    if let Some(reason) = unclear(&id, "id").or_else(|| unclear(&text, "text")) {
        let names: Vec<&str> = found.iter().map(|field| field.name.as_str()).collect();
        let format = options.format_of(input, false);
        let is_table = matches!(format, DocumentFormat::Csv | DocumentFormat::Tsv);
        let fault = header_fault(&names, format == DocumentFormat::Tsv).filter(|_| is_table);
        if let Some(reason) = fault {
            return Err(Error::BadFile { name: input.name.clone(), reason });
        }
        let reason = format!("{reason} among {}", listed(&names));
        return Err(unclear_fields(input, reason, &sampled, &id, &text));
    }
    let words = match (id.name(), text.name()) {
        (None, None) => None,
        (Some(id), None) => Some(format!("field '{id}' is used as the id")),
        (None, Some(text)) => Some(format!("field '{text}' is used as the text")),
        (Some(id), Some(text)) => {
            Some(format!("field '{id}' is used as the id, field '{text}' as the text"))
        }
    };
    Ok(Some(FieldGuess { id: id.name(), text: text.name(), words }))
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

/// Chooses the field of ids and the field of texts.
fn choices(found: &[Field], (wants_id, wants_text): (bool, bool)) -> (Choice, Choice) {
    let ids = |field: &&Field| field.can_be_id && fields::is_id(&field.name);
    let texts = |field: &&Field| field.can_be_text && fields::is_text(&field.name);
    let id = if wants_id { choose(found, ID_FIELD, &fields::ID, ids) } else { Choice::Default };
    let text =
        if wants_text { choose(found, TEXT_FIELD, &fields::TEXT, texts) } else { Choice::Default };
    // A record with features needs no text.
    let has_features = found.iter().any(|field| field.name == "features");
    (id, if has_features && text == Choice::None { Choice::Default } else { text })
}

/// Whether the fields of ids and texts can be chosen unambiguously among `found`.
fn is_clear(found: &[Field], wants: (bool, bool)) -> bool {
    let (id, text) = choices(found, wants);
    unclear(&id, "id").or_else(|| unclear(&text, "text")).is_none()
}

/// Chooses the field `usual`, else the only candidate. Several candidates are sorted in the order
/// of `names_known`, the most common name first.
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
    sampled: &Found,
    id: &Choice,
    text: &Choice,
) -> Error {
    let found = &sampled.fields;
    let likely_id = match id {
        Choice::Other(name) => Some(name.clone()),
        Choice::Several(names) => names.first().cloned(),
        Choice::Default | Choice::None => None,
    };
    let is_print = |field: &&Field| fields::is_of_fingerprints(&field.name);
    let fingerprints = found.iter().find(is_print).filter(|field| sampled.is_name(&field.name));
    let is_table_of_fingerprints = *text == Choice::None && fingerprints.is_some();
    let text_field = match text {
        Choice::Default => None,
        Choice::Other(name) => Some(name.clone()),
        Choice::Several(names) => sampled.clear_text(Some(names)),
        Choice::None if is_table_of_fingerprints => None,
        Choice::None => sampled.clear_text(None),
    };
    // `_id` is the key of records in MongoDB and Elasticsearch.
    let key = found.iter().find(|field| field.name == "_id" && field.can_be_id);
    let key = key.filter(|_| *id == Choice::None).map(|field| field.name.clone());
    // Without a likely text, any proposed command would fail.
    let has_content = *text == Choice::Default || is_table_of_fingerprints || text_field.is_some();
    let likely = LikelyFields {
        line_ids: *id == Choice::None && key.is_none(),
        id_field: likely_id.or(key),
        text_field,
        fingerprint_field: fingerprints
            .filter(|_| is_table_of_fingerprints)
            .map(|field| field.name.clone()),
        radix: None,
    };
    let likely = if has_content { likely } else { LikelyFields::default() };
    Error::UnclearFields { name: input.name.clone(), reason, likely: likely.into() }
}

/// The fields of the first record of a file; `None` if they cannot be read.
fn first_fields(input: &Input, options: &DocumentOptions, wants: (bool, bool)) -> Option<Found> {
    let format = options.format_of(input, false);
    if format == DocumentFormat::Parquet {
        return columns_of_parquet(input);
    }
    let source = Source::open(&input.path).ok()?;
    let reader = Box::new(BufReader::with_capacity(source::BUFFER_LEN, source.reader));
    let reader = decode::utf8_reader(reader, options.text_encoding(), false).ok()?;
    match format {
        DocumentFormat::JsonLines => {
            let is_bad = |found: &[Field]| options.skip_bad && !is_clear(found, wants);
            fields_of_json(reader, options.skip_bad, is_bad)
        }
        DocumentFormat::Csv | DocumentFormat::Tsv => {
            let reader = reader.take(SAMPLE_LEN);
            fields_of_table(match format == DocumentFormat::Tsv {
                true => FieldReader::tsv(reader, RECORD_LEN_MAX),
                false => FieldReader::csv(reader, RECORD_LEN_MAX),
            })
        }
        _ => None,
    }
}

/// The fields of the first record for which `is_bad` is false, else of the first record.
fn fields_of_json(
    reader: impl BufRead,
    skip_bad: bool,
    is_bad: impl Fn(&[Field]) -> bool,
) -> Option<Found> {
    let mut reader = reader.take(SAMPLE_LEN);
    let mut found = Found::default();
    let mut line = Vec::new();
    for _ in 0..SAMPLE_COUNT {
        line.clear();
        if reader.read_until(b'\n', &mut line).ok()? == 0 {
            break;
        }
        let is_first = found.fields.is_empty();
        let object: serde_json::Map<String, Value> = match serde_json::from_slice(&line) {
            Ok(object) => object,
            _ if skip_bad || !is_first || line.trim_ascii().is_empty() => continue,
            Err(_) => return None,
        };
        let mut fields = Vec::new();
        for (name, value) in object {
            if let Value::String(text) = &value {
                found.push(name.clone(), text.len() as u64, is_prose(text.as_bytes()));
            } else if let Some((path, len, is_prose)) = inner_texts(&name, &value) {
                found.push(path, len, is_prose);
            }
            fields.push(Field {
                name,
                can_be_text: value.is_string() || value.is_null(),
                can_be_id: value.is_string() || value.is_u64(),
            });
        }
        if is_first || is_bad(&found.fields) && !is_bad(&fields) {
            found.fields = fields;
        }
    }
    Some(found)
}

fn fields_of_table(mut rows: FieldReader<impl BufRead>) -> Option<Found> {
    let (mut header, mut row) = (Fields::default(), Fields::default());
    rows.next(&mut header).ok()??.ok()?;
    let names: Vec<String> =
        header.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let mut found = Found::default();
    for _ in 0..SAMPLE_COUNT {
        let Ok(Some(read)) = rows.next(&mut row) else { break };
        if read.is_ok() && row.iter().count() == names.len() {
            for (name, value) in names.iter().zip(row.iter()) {
                found.push(name.clone(), value.len() as u64, is_prose(value));
            }
        }
    }
    let is_known = |name: &String| fields::is_id(name) || fields::is_text(name);
    found.has_doubtful_names = !names.iter().any(is_known);
    if !names.iter().all(|name| may_be_name(name)) {
        found.texts.clear();
    }
    let field = |name| Field { name, can_be_text: true, can_be_id: true };
    found.fields = names.into_iter().map(field).collect();
    Some(found)
}

/// Whether a value of the first line of a table may be the name of a column.
fn may_be_name(value: &str) -> bool {
    value.len() <= NAME_LEN_MAX
        && value.split_whitespace().count() <= NAME_WORDS_MAX
        && (value.trim().is_empty() || value.contains(char::is_alphabetic))
}

/// Whether a value may be a text of several words, and not a key, a date or a hash.
fn is_prose(value: &[u8]) -> bool {
    let value = value.trim_ascii();
    value.iter().any(|byte| byte.is_ascii_whitespace() || !byte.is_ascii())
}

/// Searches an array or an object for texts: the items of the array, or a field with a common name
/// for texts, in nested objects and arrays, too. Returns the path to the texts, their length, and
/// whether they have several words or a field with a common name.
fn inner_texts(name: &str, value: &Value) -> Option<(String, u64, bool)> {
    match value {
        Value::Array(items) => {
            let path = format!("{name}[]");
            let mut texts = items.iter().filter_map(|item| match item {
                Value::String(text) => {
                    Some((path.clone(), text.len() as u64, is_prose(text.as_bytes())))
                }
                item => inner_texts(&path, item),
            });
            let mut first = texts.next()?;
            for (_, len, is_prose) in texts.filter(|(path, ..)| *path == first.0) {
                first.1 += len;
                first.2 |= is_prose;
            }
            Some(first)
        }
        Value::Object(object) => {
            let mut texts = object.iter().filter(|(key, _)| fields::is_text(key));
            let text = texts.find_map(|(key, value)| Some((key, value.as_str()?)));
            let text = text.map(|(key, text)| (format!("{name}.{key}"), text.len() as u64, true));
            // A key with these characters cannot be a part of a path.
            let mut inner = object.iter().filter(|(key, _)| !key.contains(['.', '[']));
            text.or_else(|| inner.find_map(|(key, it)| inner_texts(&format!("{name}.{key}"), it)))
        }
        _ => None,
    }
}

#[cfg(feature = "parquet")]
fn columns_of_parquet(input: &Input) -> Option<Found> {
    let columns = super::parquet_file::columns(&input.path).ok()?;
    let mut found = Found::default();
    for Column { name, is_text, is_whole, is_utf8, len } in columns {
        let is_readable = is_text && is_utf8;
        found.texts.insert(name.clone(), Texts { len, prose: 1, is_readable });
        found.fields.push(Field { name, can_be_text: is_text, can_be_id: is_text || is_whole });
    }
    Some(found)
}

#[cfg(not(feature = "parquet"))]
fn columns_of_parquet(_: &Input) -> Option<Found> {
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

    /// The text field that the error proposes, if it proposes one.
    fn proposed(name: &str, content: &str) -> Option<String> {
        match guessed(name, content) {
            Err(Error::UnclearFields { likely, .. }) => likely.text_field,
            other => panic!("{content}: {other:?}"),
        }
    }

    #[test]
    fn only_a_field_that_is_clearly_the_text_is_proposed() {
        let prose = "a ferry that leaves at nine and returns with the tide";
        let object = |title: &str, prose: &str| {
            format!("{{\"id\":1,\"title\":\"{title}\",\"prose\":\"{prose}\"}}\n")
        };
        // The first record is not the longest one.
        let first = object("a long title of a short first record", "no text");
        let rest = object("a title", prose);
        assert_eq!(proposed("a.jsonl", &(first.clone() + &rest)), None);
        assert_eq!(proposed("a.jsonl", &(first + &rest.repeat(20))).as_deref(), Some("prose"));
        let row = format!("1,a title,{prose}\n");
        let table = |header: &str| format!("{header}{}", row.repeat(3));
        assert_eq!(proposed("a.csv", &table("id,title,prose\n")).as_deref(), Some("prose"));
        assert_eq!(proposed("a.csv", &table("id,title,the prose\n")).as_deref(), Some("the prose"));
        // These first lines are rows of values, so no field is proposed.
        for header in [&*row, "a.html,a title,a short first text\n", "x,the printer,some prose\n"] {
            let Err(Error::UnclearFields { likely, .. }) = guessed("a.csv", &table(header)) else {
                panic!("{header}");
            };
            assert_eq!(*likely, LikelyFields::default(), "{header}");
        }
    }

    #[test]
    fn skipping_bad_records_does_not_change_the_fields() {
        let folder = tempfile::tempdir().unwrap();
        let guessed = |name: &str, content: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            let found = [false, true].map(|skip_bad| {
                let options = DocumentOptions::default().skip_bad(skip_bad);
                DocumentFiles::find(std::slice::from_ref(&path), &options)
                    .map(|it| it.guess)
                    .map_err(|it| it.to_string())
            });
            assert_eq!(found[0], found[1], "{content}");
            found[0].clone().map(|guess| guess.text)
        };
        let url = "{\"url\":\"u\",\"content\":\"t\"}\n";
        let later = "{\"id\":1,\"text\":\"t\"}\n";
        assert_eq!(guessed("a.jsonl", url), Ok(Some("content".into())));
        assert_eq!(guessed("a.jsonl", &format!("{url}{later}")), Ok(Some("content".into())));
        assert!(guessed("a.jsonl", "{\"id\":1,\"a\":\"x\",\"b\":\"y\"}\n").is_err());
        assert!(guessed("a.csv", "id,a,b\n1,x,y\n").is_err());
        // A bad first record is skipped.
        let path = folder.path().join("a.jsonl");
        std::fs::write(&path, format!("no json\n{{\"id\":1}}\n{url}")).unwrap();
        let files =
            DocumentFiles::find(&[path], &DocumentOptions::default().skip_bad(true)).unwrap();
        assert_eq!(files.guess.text.as_deref(), Some("content"));
    }

    #[test]
    fn several_and_none_are_refused_with_what_is_most_likely() {
        for (content, id, line_ids, text, fingerprint) in [
            ("{\"url\":\"u\",\"path\":\"p\",\"text\":\"t\"}", Some("url"), false, None, None),
            ("{\"id\":1,\"body\":\"b\",\"content\":\"c\"}", None, false, None, None),
            ("{\"id\":1,\"body\":\"b\",\"content\":\"a b c\"}", None, false, Some("content"), None),
            ("{\"title\":\"t\",\"body\":\"b\",\"content\":\"c\"}", None, false, None, None),
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
            ("{\"id\":1,\"parts\":[\"t u\"]}", None, false, Some("parts[]"), None),
            ("{\"id\":1,\"tags\":[\"t\",\"u\"]}", None, false, None, None),
            (
                "{\"id\":1,\"title\":\"a b\",\"l\":[{\"text\":\"c d e\"},{\"text\":\"f g h\"}]}",
                None,
                false,
                None,
                None,
            ),
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
