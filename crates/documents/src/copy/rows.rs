//! Copying tables of comma- or tab-separated values.

use std::borrow::Cow;
use std::io::{self, BufRead, Read, Write};

use super::super::delimited::{FieldReader, Fields};
use super::super::options::DocumentOptions;
use super::cut;
use super::fate::{DecideFate, NewField, RecordFate};
use fpstore_base::Id;

/// Copies a table with a header, of values that tabs or commas separate.
pub(super) fn copy_rows(
    reader: impl BufRead,
    is_tsv: bool,
    options: &DocumentOptions,
    new_fields: &[NewField],
    out: &mut dyn Write,
    decide: &mut DecideFate<'_>,
) -> io::Result<()> {
    let reader = Recorded::new(reader);
    let (mut table, delimiter) = match is_tsv {
        true => (FieldReader::tsv(reader, options.len_max), b'\t'),
        false => (FieldReader::csv(reader, options.len_max), b','),
    };
    let mut fields = Fields::default();
    // Bytes of the input before those that are recorded.
    let mut passed = 0;
    let mut is_header = true;
    let mut text_place = None;
    // Whether the record before was dropped, and ended in a CR, to which an LF may belong.
    let mut drops_lf = false;
    loop {
        let read = table.next(&mut fields)?;
        let raw = std::mem::take(&mut table.reader_mut().bytes);
        let (between, record) = raw.split_at((fields.start - passed) as usize);
        passed += raw.len() as u64;
        // What stands between records belongs to none, but for the LF of a CRLF.
        out.write_all(between.strip_prefix(b"\n").filter(|_| drops_lf).unwrap_or(between))?;
        drops_lf = false;
        let Some(read) = read else { return out.write_all(record) };
        if read.is_err() {
            out.write_all(record)?;
            // The rest of it may be long.
            while table.skip_some()? {
                let rest = &mut table.reader_mut().bytes;
                passed += rest.len() as u64;
                out.write_all(rest)?;
                rest.clear();
            }
            continue;
        }
        let name_of = |field: &NewField| Some(Id::Text(field.name.as_str().into()));
        let fate = match is_header {
            false => decide(fields.line)?,
            true => RecordFate::Mark(new_fields.iter().map(name_of).collect()),
        };
        if is_header {
            text_place = fields.iter().position(|name| name == options.text_name().as_bytes());
            is_header = false;
        }
        match fate {
            RecordFate::Drop => drops_lf = record.ends_with(b"\r"),
            RecordFate::Keep => out.write_all(record)?,
            RecordFate::Cut(cuts) => {
                let place = text_place.unwrap_or(usize::MAX);
                let cut = cut::cut_field(record, place, delimiter, &cuts);
                out.write_all(&cut.map_err(cut::changed)?)?;
            }
            RecordFate::Mark(values) => {
                let end =
                    record.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(0, |at| at + 1);
                out.write_all(&record[..end])?;
                for value in values {
                    let value = value.map(|id| id.to_string()).unwrap_or_default();
                    out.write_all(&[delimiter])?;
                    out.write_all(field_of(&value, delimiter)?.as_bytes())?;
                }
                out.write_all(&record[end..])?;
            }
        }
    }
}

/// A value as a field of a table.
fn field_of(value: &str, delimiter: u8) -> io::Result<Cow<'_, str>> {
    let is_plain = !value.contains(['\n', '\r', '"', char::from(delimiter)]);
    match delimiter {
        _ if is_plain => Ok(Cow::Borrowed(value)),
        b',' => Ok(Cow::Owned(format!("\"{}\"", value.replace('"', "\"\"")))),
        // A quote is a character as any other.
        _ if !value.contains(['\n', '\r', '\t']) => Ok(Cow::Borrowed(value)),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("the id {value:?} holds a tab, so it can be no field of such a table"),
        )),
    }
}

/// A reader that keeps the bytes that were taken.
struct Recorded<R> {
    reader: R,
    bytes: Vec<u8>,
}

impl<R> Recorded<R> {
    fn new(reader: R) -> Self {
        Recorded { reader, bytes: Vec::new() }
    }
}

impl<R: BufRead> Read for Recorded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.reader.read(buffer)?;
        self.bytes.extend_from_slice(&buffer[..len]);
        Ok(len)
    }
}

impl<R: BufRead> BufRead for Recorded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, len: usize) {
        // It was filled before.
        if let Ok(bytes) = self.reader.fill_buf() {
            self.bytes.extend_from_slice(&bytes[..len]);
        }
        self.reader.consume(len);
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::super::fate::NewFieldKind;
    use super::*;

    fn options() -> DocumentOptions {
        DocumentOptions::default().max_document(20)
    }

    /// Copies without the records that start in these lines.
    fn without(text: &[u8], dropped: &[u64]) -> String {
        let mut results = [1, 3, 64].map(|capacity| {
            let mut out = Vec::new();
            let mut decide = |line| match dropped.contains(&line) {
                true => Ok(RecordFate::Drop),
                false => Ok(RecordFate::Keep),
            };
            let reader = BufReader::with_capacity(capacity, text);
            copy_rows(reader, false, &options(), &[], &mut out, &mut decide).unwrap();
            String::from_utf8(out).unwrap()
        });
        assert!(results.iter().all(|result| *result == results[0]));
        std::mem::take(&mut results[0])
    }

    #[test]
    fn records_that_stay_are_the_same_bytes() {
        let text = b"id,text\n1,\"a\nb\"\n\n2,c\n3,d";
        assert_eq!(without(text, &[]).as_bytes(), text);
        assert_eq!(without(text, &[2]), "id,text\n\n2,c\n3,d");
        assert_eq!(without(text, &[5, 6]), "id,text\n1,\"a\nb\"\n\n");
    }

    #[test]
    fn the_line_feed_after_a_carriage_return_goes_with_its_record() {
        let text = b"id,text\r\n1,a\r\n2,b\r\n3,c\r\n";
        assert_eq!(without(text, &[]).as_bytes(), text);
        assert_eq!(without(text, &[3]), "id,text\r\n1,a\r\n3,c\r\n");
        assert_eq!(without(text, &[4]), "id,text\r\n1,a\r\n2,b\r\n");
        assert_eq!(without(text, &[2, 3, 4]), "id,text\r\n");
    }

    #[test]
    fn bad_records_stay_whole() {
        let long = "x".repeat(100);
        let text = format!("id,text\n1,\"a\" b\n2,{long}\n3,\"{long}\n\"\n4,d\n5,\"no end\n");
        assert_eq!(without(text.as_bytes(), &[]), text);
        assert_eq!(without(text.as_bytes(), &[6]), text.replace("4,d\n", ""));
    }

    #[test]
    fn marks_are_the_last_fields() {
        let field = |name: &str| NewField { name: name.into(), kind: NewFieldKind::Id };
        let fields = [field("of"), field("n")];
        let mark = |line| {
            Ok(RecordFate::Mark(match line {
                2 => vec![Some(Id::Text("a,\"b\"".into())), Some(Id::U64(7))],
                _ => vec![None, None],
            }))
        };
        let mut out = Vec::new();
        let text = b"id,text\r\n1,a\r\n2,\"b\"";
        copy_rows(&text[..], false, &options(), &fields, &mut out, &mut { mark }).unwrap();
        let expected = "id,text,of,n\r\n1,a,\"a,\"\"b\"\"\",7\r\n2,\"b\",,";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let mut out = Vec::new();
        copy_rows(&b"id\ttext\n1\ta\n"[..], true, &options(), &fields, &mut out, &mut { mark })
            .unwrap();
        assert_eq!(out, b"id\ttext\tof\tn\n1\ta\ta,\"b\"\t7\n");
        let mut tabbed = |_| Ok(RecordFate::Mark(vec![Some(Id::Text("a\tb".into()))]));
        let copied =
            copy_rows(&b"id\n1\n"[..], true, &options(), &fields, &mut Vec::new(), &mut tabbed);
        assert!(copied.unwrap_err().to_string().contains("holds a tab"));
    }
}
