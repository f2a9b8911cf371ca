//! Copies files with a record on each line.

use std::borrow::Cow;
use std::io::{self, BufRead, Write};

use encoding_rs::Encoding;
use serde::de::IgnoredAny;

use super::super::decode::in_utf8;
use super::super::raw::digest_of;
use super::super::records::Lines;
use super::cut;
use super::fate::{Fates, NewField, RecordFate};
use fpstore_base::Id;

/// Copies the lines. The text is in the field `text_field`; with `None` it is the whole line. A
/// line that is too long gets no new field.
pub(super) fn copy(
    mut lines: Lines<impl BufRead>,
    encoding: &'static Encoding,
    text_field: Option<&str>,
    new_fields: &[NewField],
    out: &mut dyn Write,
    fates: &mut Fates<'_>,
) -> io::Result<()> {
    while lines.next()? {
        let decided = fates.of(lines.number)?;
        let line = lines.text();
        fates.check(&decided, line.map(|line| digest_of([in_utf8(line, encoding)])))?;
        let line = line.unwrap_or_default();
        match decided.fate {
            RecordFate::Drop => continue,
            RecordFate::Keep => out.write_all(line)?,
            RecordFate::Mark(values) => {
                out.write_all(&with_marks(line, encoding, new_fields, &values))?;
            }
            RecordFate::Cut(cuts) => {
                let cut = match text_field {
                    Some(field) => cut::cut_json(line, field, &cuts),
                    None => cut::cut_line(line, &cuts),
                };
                out.write_all(&cut.map_err(cut::changed)?)?;
            }
        }
        lines.write_end(out)?;
    }
    Ok(())
}

/// Adds fields at the end of a line of JSON; a line that is not an object is unchanged.
fn with_marks<'a>(
    line: &'a [u8],
    encoding: &'static Encoding,
    new_fields: &[NewField],
    values: &[Option<Id>],
) -> Cow<'a, [u8]> {
    let text = line.trim_ascii_end();
    let is_object = serde_json::from_slice::<IgnoredAny>(&in_utf8(text, encoding)).is_ok()
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
    if encoding != encoding_rs::UTF_8 {
        marks = escaped(&marks);
    }
    Cow::Owned([body, marks.as_bytes(), &line[text.len()..]].concat())
}

/// Escapes JSON to ASCII, which is valid in all encodings of files that consist of lines.
fn escaped(json: &str) -> String {
    let mut units = [0; 2];
    let mut escape = |letter: char| match letter.is_ascii() {
        true => letter.to_string(),
        false => {
            letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
        }
    };
    json.chars().map(&mut escape).collect()
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use encoding_rs::UTF_8;

    use super::super::fate::NewFieldKind;
    use super::super::fate::tests::with_fates;
    use super::*;

    const LEN_MAX: u64 = 14;

    /// Copies lines with the fates `some` by line number, and with `other` for all other lines.
    fn copied(
        text: &[u8],
        fields: &[NewField],
        some: &[(u64, RecordFate)],
        other: &RecordFate,
    ) -> Vec<u8> {
        let mut results = [1, 3, 64].map(|capacity| {
            let mut out = Vec::new();
            let lines = Lines::new(BufReader::with_capacity(capacity, text), LEN_MAX);
            with_fates(some, other, |fates| {
                copy(lines, UTF_8, Some("text"), fields, &mut out, fates).unwrap();
            });
            out
        });
        assert!(results.iter().all(|result| *result == results[0]));
        std::mem::take(&mut results[0])
    }

    /// Copies a text without the lines with the numbers `dropped`.
    fn without(text: &[u8], dropped: &[u64]) -> Vec<u8> {
        let dropped: Vec<_> = dropped.iter().map(|&line| (line, RecordFate::Drop)).collect();
        copied(text, &[], &dropped, &RecordFate::Keep)
    }

    #[test]
    fn lines_that_stay_are_the_same_bytes() {
        let text = b"one\r\n\n \xff\n{long line}\nlast";
        assert_eq!(without(text, &[]), text);
        assert_eq!(without(text, &[1, 4]), b"\n \xff\nlast");
        assert_eq!(without(text, &[5]), b"one\r\n\n \xff\n{long line}\n");
        assert_eq!(without(b"", &[1]), b"");
        // All CRs before an LF belong to the line, whatever their number.
        let many = [b"one", &[b'\r'; 100][..], b"\ntwo\n", &[b'\r'; 100], b"x\nlast"].concat();
        assert_eq!(without(&many, &[]), many);
        assert_eq!(without(&many, &[1, 3]), b"two\nlast");
        assert_eq!(without(&many, &[2, 4]), [&many[..104], &many[108..many.len() - 4]].concat());
    }

    #[test]
    fn a_mark_is_in_the_encoding_of_the_file() {
        let fields = [NewField { name: "of".into(), kind: NewFieldKind::Id }];
        let id = "\u{4e57}\u{1f600}";
        // The second byte of the character is a backslash in GBK.
        let line = encoding_rs::GBK.encode("{\"a\":\"\u{4e57}\"}\n").0;
        let marked = with_marks(
            line.trim_ascii_end(),
            encoding_rs::GBK,
            &fields,
            &[Some(Id::Text(id.into()))],
        );
        let text = encoding_rs::GBK.decode(&marked).0;
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["a"], &value["of"]), (&"\u{4e57}".into(), &id.into()));
    }

    #[test]
    fn marks_are_the_last_fields() {
        let field = |name: &str| NewField { name: name.into(), kind: NewFieldKind::Id };
        let fields = [field("of"), field("n")];
        let text = b"{\"id\":1 }\r\n\n{}\nno object\n[1]\n{\"a\":\"}\"}";
        let some = [
            (1, RecordFate::Mark(vec![Some(Id::U64(u64::MAX)), None])),
            (6, RecordFate::Mark(vec![Some(Id::Text("a\"b".into())), Some(Id::U64(3))])),
        ];
        let out = copied(text, &fields, &some, &RecordFate::Mark(vec![None, None]));
        let expected = "{\"id\":1 ,\"of\":18446744073709551615,\"n\":null}\r\n\n\
                        {\"of\":null,\"n\":null}\nno object\n[1]\n\
                        {\"a\":\"}\",\"of\":\"a\\\"b\",\"n\":3}";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        // The line is too long to be buffered, so it gets no new field.
        let text = b"{\"a\":\"long line\"}\n{}\n";
        let out = copied(text, &fields[..1], &[], &RecordFate::Mark(vec![None]));
        assert_eq!(out, b"{\"a\":\"long line\"}\n{\"of\":null}\n");
    }

    #[test]
    fn lines_of_another_encoding_get_marks_by_their_text() {
        // The last byte of the character is a backslash.
        let text = b"{\"text\":\"\x81\\\"}\n";
        let fields = [NewField { name: "of".into(), kind: NewFieldKind::Id }];
        let mut out = Vec::new();
        with_fates(&[], &RecordFate::Mark(vec![Some(Id::U64(1))]), |fates| {
            let lines = Lines::new(&text[..], 100);
            copy(lines, encoding_rs::GBK, Some("text"), &fields, &mut out, fates).unwrap();
        });
        assert_eq!(out, b"{\"text\":\"\x81\\\",\"of\":1}\n");
    }
}
