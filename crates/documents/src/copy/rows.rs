//! Copies tables of comma- or tab-separated values.

use std::borrow::Cow;
use std::io::{self, BufRead, Read, Write};

use encoding_rs::Encoding;

use super::super::decode::in_utf8;
use super::super::delimited::{FieldReader, Fields};
use super::super::options::DocumentOptions;
use super::super::raw::digest_of;
use super::cut;
use super::fate::{Fates, NewField, RecordFate};
use fpstore_base::Id;

/// Copies a table with a header, with values separated by tabs or commas.
pub(super) fn copy_rows(
    reader: impl BufRead,
    encoding: &'static Encoding,
    is_tsv: bool,
    options: &DocumentOptions,
    new_fields: &[NewField],
    out: &mut dyn Write,
    fates: &mut Fates<'_>,
) -> io::Result<()> {
    let reader = Recorded::new(reader);
    let (mut table, delimiter) = match is_tsv {
        true => (FieldReader::tsv(reader, options.len_max), b'\t'),
        false => (FieldReader::csv(reader, options.len_max), b','),
    };
    let mut fields = Fields::default();
    let mut record = Vec::new();
    let mut is_header = true;
    let mut text_place = None;
    // Whether the previous record was dropped and ended in a CR, to which an LF may belong.
    let mut drops_lf = false;
    loop {
        // Empty lines between records are copied, in pieces: there may be any number of them.
        while table.pass_line_ends()? {
            let ends = &mut table.reader_mut().bytes;
            out.write_all(ends.strip_prefix(b"\n").filter(|_| drops_lf).unwrap_or(ends))?;
            ends.clear();
            drops_lf = false;
        }
        drops_lf = false;
        let read = table.next(&mut fields)?;
        record.clear();
        std::mem::swap(&mut record, &mut table.reader_mut().bytes);
        let Some(read) = read else { return out.write_all(&record) };
        if read.is_err() {
            out.write_all(&record)?;
            // The rest of the bad record may be long, so it is copied in pieces.
            while table.skip_some()? {
                let rest = &mut table.reader_mut().bytes;
                out.write_all(rest)?;
                rest.clear();
            }
            continue;
        }
        let name_of = |field: &NewField| Some(Id::Text(field.name.as_str().into()));
        let fate = if std::mem::take(&mut is_header) {
            text_place = fields.iter().position(|name| name == options.text_name().as_bytes());
            RecordFate::Mark(new_fields.iter().map(name_of).collect())
        } else {
            let decided = fates.of(fields.line)?;
            let fields = fields.iter().map(|field| in_utf8(field, encoding));
            fates.check(&decided, Some(digest_of(fields)))?;
            decided.fate
        };
        match fate {
            RecordFate::Drop => drops_lf = record.ends_with(b"\r"),
            RecordFate::Keep => out.write_all(&record)?,
            RecordFate::Cut(cuts) => {
                let place = text_place.unwrap_or(usize::MAX);
                let cut = cut::cut_field(&record, place, delimiter, &cuts);
                out.write_all(&cut.map_err(cut::changed)?)?;
            }
            RecordFate::Mark(values) => {
                let end =
                    record.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(0, |at| at + 1);
                out.write_all(&record[..end])?;
                for value in values {
                    let value = value.map(|id| id.to_string()).unwrap_or_default();
                    out.write_all(&[delimiter])?;
                    let field = field_of(&value, delimiter)?;
                    let (field, _, is_lossy) = encoding.encode(&field);
                    if is_lossy {
                        return Err(unwritable(&value, encoding));
                    }
                    out.write_all(&field)?;
                }
                out.write_all(&record[end..])?;
            }
        }
    }
}

/// Encodes a value as a field of a table.
fn field_of(value: &str, delimiter: u8) -> io::Result<Cow<'_, str>> {
    let is_plain = !value.contains(['\n', '\r', '"', char::from(delimiter)]);
    match delimiter {
        _ if is_plain => Ok(Cow::Borrowed(value)),
        b',' => Ok(Cow::Owned(format!("\"{}\"", value.replace('"', "\"\"")))),
        // In TSV, a quote is an ordinary character.
        _ if !value.contains(['\n', '\r', '\t']) => Ok(Cow::Borrowed(value)),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!(
                "the id {value:?} contains a tab or a line end, so it cannot be a field of a \
                     TSV file"
            ),
        )),
    }
}

fn unwritable(value: &str, encoding: &'static Encoding) -> io::Error {
    let name = encoding.name();
    let reason = format!("{value:?} cannot be written in {name}, the encoding of the table");
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// A reader that also collects the consumed bytes.
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
        // The buffer was filled before, so this call reads nothing.
        if let Ok(bytes) = self.reader.fill_buf() {
            self.bytes.extend_from_slice(&bytes[..len]);
        }
        self.reader.consume(len);
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use encoding_rs::UTF_8;

    use super::super::fate::NewFieldKind;
    use super::super::fate::tests::with_fates;
    use super::*;

    fn options() -> DocumentOptions {
        DocumentOptions::default().max_document(20)
    }

    /// Copies a table with the fates `some` for records by line number, and `other` for all other
    /// records.
    fn copied(
        text: &[u8],
        is_tsv: bool,
        fields: &[NewField],
        some: &[(u64, RecordFate)],
        other: &RecordFate,
    ) -> io::Result<String> {
        let results = [1, 3, 64].map(|capacity| {
            let mut out = Vec::new();
            let reader = BufReader::with_capacity(capacity, text);
            let copied = with_fates(some, other, |fates| {
                copy_rows(reader, UTF_8, is_tsv, &options(), fields, &mut out, fates)
            });
            copied.map(|()| String::from_utf8(out).unwrap())
        });
        let first = results[0].as_ref().ok();
        assert!(results.iter().all(|result| result.as_ref().ok() == first));
        results.into_iter().next().unwrap()
    }

    /// Copies a table without the records that start in these lines.
    fn without(text: &[u8], dropped: &[u64]) -> String {
        let dropped: Vec<_> = dropped.iter().map(|&line| (line, RecordFate::Drop)).collect();
        copied(text, false, &[], &dropped, &RecordFate::Keep).unwrap()
    }

    #[test]
    fn records_that_stay_are_the_same_bytes() {
        let text = b"id,text\n1,\"a\nb\"\n\n2,c\n3,d";
        assert_eq!(without(text, &[]).as_bytes(), text);
        assert_eq!(without(text, &[2]), "id,text\n\n2,c\n3,d");
        assert_eq!(without(text, &[5, 6]), "id,text\n1,\"a\nb\"\n\n");
    }

    #[test]
    fn a_mark_is_in_the_encoding_of_the_table_or_refused() {
        let fields = [NewField { name: "of".into(), kind: NewFieldKind::Id }];
        let marked = |id: &str, encoding: &'static Encoding| {
            let other = RecordFate::Mark(vec![Some(Id::Text(id.into()))]);
            let mut out = Vec::new();
            with_fates(&[], &other, |fates| {
                copy_rows(&b"id\n1\n"[..], encoding, false, &options(), &fields, &mut out, fates)
            })
            .map(|()| out)
        };
        assert_eq!(marked("\u{e9}", encoding_rs::WINDOWS_1252).unwrap(), b"id,of\n1,\xe9\n");
        let error = marked("\u{4e2d}", encoding_rs::WINDOWS_1252).unwrap_err().to_string();
        assert!(error.contains("cannot be written in windows-1252"), "{error}");
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
        let marks = [Some(Id::Text("a,\"b\"".into())), Some(Id::U64(7))];
        let some = [(2, RecordFate::Mark(marks.to_vec()))];
        let none = RecordFate::Mark(vec![None, None]);
        let text = b"id,text\r\n1,a\r\n2,\"b\"";
        let expected = "id,text,of,n\r\n1,a,\"a,\"\"b\"\"\",7\r\n2,\"b\",,";
        assert_eq!(copied(text, false, &fields, &some, &none).unwrap(), expected);
        let out = copied(b"id\ttext\n1\ta\n", true, &fields, &some, &none).unwrap();
        assert_eq!(out, "id\ttext\tof\tn\n1\ta\ta,\"b\"\t7\n");
        let tabbed = RecordFate::Mark(vec![Some(Id::Text("a\tb".into()))]);
        let fault = copied(b"id\n1\n", true, &[], &[], &tabbed).unwrap_err();
        assert!(fault.to_string().contains("contains a tab"));
    }

    /// Receives pieces of a copy, and records the length of the longest piece.
    #[derive(Default)]
    struct Pieces {
        whole: Vec<u8>,
        longest: usize,
    }

    impl Write for Pieces {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.longest = self.longest.max(bytes.len());
            self.whole.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn any_number_of_empty_lines_is_copied_in_pieces() {
        for end in ["\n", "\r\n", "\r"] {
            let text = format!("id,text{end}1,a{end}{}2,b{end}", end.repeat(100_000));
            let mut out = Pieces::default();
            let reader = BufReader::with_capacity(64, text.as_bytes());
            with_fates(&[], &RecordFate::Keep, |fates| {
                copy_rows(reader, UTF_8, false, &options(), &[], &mut out, fates).unwrap();
            });
            assert_eq!(out.whole, text.as_bytes());
            assert!(out.longest <= 64, "{}", out.longest);
        }
    }
}
