//! Copying files of one record a line.

use std::borrow::Cow;
use std::io::{self, BufRead, Read, Write};

use memchr::memchr;

use super::cut;
use super::fate::{DecideFate, NewField, RecordFate};
use fpstore_base::Id;

/// Copies the lines. One of more than `len_max` bytes is never held, and gets no mark. The text is
/// in the field `text_field`, or is the line.
pub(super) fn copy(
    mut reader: impl BufRead,
    len_max: u64,
    text_field: Option<&str>,
    new_fields: &[NewField],
    out: &mut dyn Write,
    decide: &mut DecideFate<'_>,
) -> io::Result<()> {
    for number in 1.. {
        if reader.fill_buf()?.is_empty() {
            break;
        }
        match decide(number)? {
            RecordFate::Drop => pass_line(&mut reader, &mut io::sink())?,
            RecordFate::Mark(values) => {
                let mut line = Vec::new();
                let limit = len_max.saturating_add(2);
                reader.by_ref().take(limit).read_until(b'\n', &mut line)?;
                let is_whole = line.last() == Some(&b'\n') || line.len() as u64 <= len_max;
                out.write_all(&with_marks(&line, new_fields, &values))?;
                if !is_whole {
                    pass_line(&mut reader, out)?;
                }
            }
            RecordFate::Cut(cuts) => {
                let mut line = Vec::new();
                reader.read_until(b'\n', &mut line)?;
                let cut = match text_field {
                    Some(field) => cut::cut_json(&line, field, &cuts),
                    None => cut::cut_line(&line, &cuts),
                };
                out.write_all(&cut.map_err(cut::changed)?)?;
            }
            RecordFate::Keep => pass_line(&mut reader, out)?,
        }
    }
    Ok(())
}

/// Writes the rest of a line, with its end, to `out`.
fn pass_line(reader: &mut impl BufRead, out: &mut dyn Write) -> io::Result<()> {
    loop {
        let bytes = reader.fill_buf()?;
        let end = memchr(b'\n', bytes);
        let len = end.map_or(bytes.len(), |at| at + 1);
        out.write_all(&bytes[..len])?;
        reader.consume(len);
        if end.is_some() || len == 0 {
            return Ok(());
        }
    }
}

/// A line of JSON with more fields at its end; what is no object stays as it is.
fn with_marks<'a>(line: &'a [u8], new_fields: &[NewField], values: &[Option<Id>]) -> Cow<'a, [u8]> {
    let text = line.trim_ascii_end();
    let is_object = serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
        && text.trim_ascii_start().starts_with(b"{");
    let Some(body) = text.strip_suffix(b"}").filter(|_| is_object) else {
        return Cow::Borrowed(line);
    };
    let mut separator = if body.trim_ascii().ends_with(b"{") { "" } else { "," };
    let mut marks = String::new();
    for (field, value) in new_fields.iter().zip(values) {
        let name = serde_json::Value::from(field.name.as_str());
        let value = match value {
            None => serde_json::Value::Null,
            Some(Id::U64(number)) => (*number).into(),
            Some(Id::Text(text)) => text.as_ref().into(),
        };
        marks.push_str(&format!("{separator}{name}:{value}"));
        separator = ",";
    }
    marks.push('}');
    Cow::Owned([body, marks.as_bytes(), &line[text.len()..]].concat())
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::super::fate::NewFieldKind;
    use super::*;

    /// Copies without the lines of these numbers.
    fn without(text: &[u8], dropped: &[u64]) -> Vec<u8> {
        let mut results = [1, 3, 64].map(|capacity| {
            let mut out = Vec::new();
            let fate = |number| match dropped.contains(&number) {
                true => RecordFate::Drop,
                false => RecordFate::Keep,
            };
            let reader = BufReader::with_capacity(capacity, text);
            copy(reader, 4, Some("text"), &[], &mut out, &mut |number| Ok(fate(number))).unwrap();
            out
        });
        assert!(results.iter().all(|result| *result == results[0]));
        std::mem::take(&mut results[0])
    }

    #[test]
    fn lines_that_stay_are_the_same_bytes() {
        let text = b"one\r\n\n \xff\n{long line}\nlast";
        assert_eq!(without(text, &[]), text);
        assert_eq!(without(text, &[1, 4]), b"\n \xff\nlast");
        assert_eq!(without(text, &[5]), b"one\r\n\n \xff\n{long line}\n");
        assert_eq!(without(b"", &[1]), b"");
    }

    #[test]
    fn marks_are_the_last_fields() {
        let field = |name: &str| NewField { name: name.into(), kind: NewFieldKind::Id };
        let fields = [field("of"), field("n")];
        let text = b"{\"id\":1 }\r\n\n{}\nno object\n[1]\n{\"a\":\"}\"}";
        let mut out = Vec::new();
        let mut decide = |number| {
            Ok(RecordFate::Mark(match number {
                1 => vec![Some(Id::U64(u64::MAX)), None],
                6 => vec![Some(Id::Text("a\"b".into())), Some(Id::U64(3))],
                _ => vec![None, None],
            }))
        };
        copy(&text[..], 100, Some("text"), &fields, &mut out, &mut decide).unwrap();
        let expected = "{\"id\":1 ,\"of\":18446744073709551615,\"n\":null}\r\n\n\
                        {\"of\":null,\"n\":null}\nno object\n[1]\n\
                        {\"a\":\"}\",\"of\":\"a\\\"b\",\"n\":3}";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        // Too long to be held, so it gets none.
        let mut out = Vec::new();
        let mut decide = |_| Ok(RecordFate::Mark(vec![None]));
        copy(&b"{\"a\":\"long\"}\n{}\n"[..], 5, None, &fields[..1], &mut out, &mut decide).unwrap();
        assert_eq!(out, b"{\"a\":\"long\"}\n{\"of\":null}\n");
    }
}
