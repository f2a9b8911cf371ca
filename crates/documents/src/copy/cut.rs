//! Cuts passages out of the text of a record; the other bytes of the record are unchanged.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use serde_json::value::RawValue;

use super::super::decode::utf8_line;
use super::super::paths;

/// The error for a record that no longer fits the passages found in it.
pub(super) const CHANGED: &str = "the text of a record differs from the text in which passages were found; give the same \
     command again";

/// The error for a record from which passages cannot be cut.
pub(super) fn changed(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// The text without the byte ranges `cuts`, which are ascending and disjoint.
pub(super) fn without(text: &str, cuts: &[Range<usize>]) -> Result<String, String> {
    let mut rest = String::with_capacity(text.len());
    let mut from = 0;
    for cut in cuts {
        rest.push_str(text.get(from..cut.start).ok_or(CHANGED)?);
        from = cut.end;
    }
    rest.push_str(text.get(from..).ok_or(CHANGED)?);
    Ok(rest)
}

/// Cuts ranges out of a line that is a whole text.
pub(super) fn cut_line(line: &[u8], cuts: &[Range<usize>]) -> Result<Vec<u8>, String> {
    without(utf8_line(line)?, cuts).map(String::into_bytes)
}

/// Cuts ranges out of the text in the field `path` of a line of JSON.
pub(super) fn cut_json(line: &[u8], path: &str, cuts: &[Range<usize>]) -> Result<Vec<u8>, String> {
    let all = utf8_line(line)?;
    let value = value_at(all, path).ok_or(CHANGED)?;
    let text: String = serde_json::from_str(value).map_err(|_| CHANGED)?;
    let rest = serde_json::Value::from(without(&text, cuts)?).to_string();
    let start = value.as_ptr().addr() - all.as_ptr().addr();
    Ok([&line[..start], rest.as_bytes(), &line[start + value.len()..]].concat())
}

/// The raw value at the end of a path through nested objects.
fn value_at<'a>(object: &'a str, path: &str) -> Option<&'a str> {
    let members: BTreeMap<Cow<'a, str>, &'a RawValue> = serde_json::from_str(object).ok()?;
    if let Some(value) = members.get(path) {
        return Some(value.get());
    }
    members
        .iter()
        .find_map(|(key, value)| value_at(value.get(), paths::rest(path, key)?.strip_prefix('.')?))
}

/// Cuts ranges out of the text in the field at `place` of a record of a table. The record ends with
/// its line end. Comma-separated fields may be quoted.
pub(super) fn cut_field(
    record: &[u8],
    place: usize,
    delimiter: u8,
    cuts: &[Range<usize>],
) -> Result<Vec<u8>, String> {
    let has_quotes = delimiter == b',';
    let end = record.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(0, |at| at + 1);
    let field = field_at(&record[..end], place, delimiter, has_quotes).ok_or(CHANGED)?;
    let given = utf8_line(&record[field.clone()])?;
    let quoted = given.strip_prefix('"').filter(|_| has_quotes);
    let rest = match quoted {
        Some(quoted) => {
            let text = quoted.strip_suffix('"').ok_or(CHANGED)?.replace("\"\"", "\"");
            format!("\"{}\"", without(&text, cuts)?.replace('"', "\"\""))
        }
        None => without(given, cuts)?,
    };
    Ok([&record[..field.start], rest.as_bytes(), &record[field.end..]].concat())
}

/// The byte range of a field, with its quotes.
fn field_at(record: &[u8], place: usize, delimiter: u8, has_quotes: bool) -> Option<Range<usize>> {
    let (mut start, mut at) = (0, 0);
    for number in 0.. {
        if has_quotes && record.get(at) == Some(&b'"') {
            // Two quotes stand for a quote in the text, and do not end the field.
            at += 1;
            while !record[at..].starts_with(b"\"") || record[at..].starts_with(b"\"\"") {
                at += if record.get(at)? == &b'"' { 2 } else { 1 };
            }
        }
        let len = record[at..].iter().position(|byte| *byte == delimiter);
        let end = len.map_or(record.len(), |len| at + len);
        if number == place {
            return Some(start..end);
        }
        len?;
        (start, at) = (end + 1, end + 1);
    }
    None
}

#[cfg(test)]
mod tests {
    #![expect(clippy::single_range_in_vec_init, reason = "one cut is a list of cuts")]

    use super::*;

    fn text(bytes: Result<Vec<u8>, String>) -> String {
        String::from_utf8(bytes.unwrap()).unwrap()
    }

    #[test]
    fn a_line_of_json_changes_in_its_text_alone() {
        let line = b"{ \"id\" : 1.50, \"text\":\"one\\ntw\\u00f6\\nthree\" ,\"x\":[1, 2]}\r\n";
        assert_eq!(
            text(cut_json(line, "text", &[4..9])),
            "{ \"id\" : 1.50, \"text\":\"one\\nthree\" ,\"x\":[1, 2]}\r\n"
        );
        assert_eq!(
            text(cut_json(line, "text", &[0..4, 9..14])),
            "{ \"id\" : 1.50, \"text\":\"tw\u{f6}\\n\" ,\"x\":[1, 2]}\r\n"
        );
        // A path through objects, and a field name with a dot, which takes precedence over the
        // path.
        let line = b"{\"a\":{\"b\":\"x y\",\"text\":1},\"text\":\"own\"}";
        assert_eq!(
            text(cut_json(line, "a.b", &[0..2])),
            "{\"a\":{\"b\":\"y\",\"text\":1},\"text\":\"own\"}"
        );
        assert_eq!(
            text(cut_json(b"{\"a.b\":\"xy\",\"a\":{\"b\":1}}", "a.b", &[0..1])),
            "{\"a.b\":\"y\",\"a\":{\"b\":1}}"
        );
    }

    #[test]
    fn what_is_another_text_is_refused() {
        for line in [&b"{\"text\":\"short\"}"[..], b"{\"text\":7}", b"{\"other\":\"\"}", b"[]"] {
            assert_eq!(cut_json(line, "text", &[4..9]).unwrap_err(), CHANGED);
        }
        // A range that begins inside a character is refused.
        assert_eq!(without("\u{f6}", &[1..2]).unwrap_err(), CHANGED);
        assert_eq!(cut_field(b"a,b\n", 2, b',', &[0..1]).unwrap_err(), CHANGED);
        assert_eq!(cut_field(b"a,\"b\n", 1, b',', &[0..1]).unwrap_err(), CHANGED);
    }

    #[test]
    fn a_record_of_a_table_changes_in_its_text_alone() {
        let record = b"\"1,\"\"a\",\"say \"\"no\"\"\nor, yes\", x \r\n";
        assert_eq!(
            text(cut_field(record, 1, b',', &[0..4])),
            "\"1,\"\"a\",\"\"\"no\"\"\nor, yes\", x \r\n"
        );
        assert_eq!(
            text(cut_field(record, 1, b',', &[8..16])),
            "\"1,\"\"a\",\"say \"\"no\"\"\", x \r\n"
        );
        assert_eq!(text(cut_field(record, 2, b',', &[1..2])).len(), record.len() - 1);
        assert_eq!(text(cut_field(b"7,\"\"\n", 1, b',', &[])), "7,\"\"\n");
        // In TSV, a quote is an ordinary character.
        assert_eq!(text(cut_field(b"7\t\"a\" b\n", 1, b'\t', &[0..4])), "7\tb\n");
        assert_eq!(text(cut_line(b"one two\n", &[3..7])), "one\n");
    }
}
