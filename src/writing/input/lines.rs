//! The layout of records in lines of text.

use super::chunk::{Chunk, LINE_LEN_MAX};
use super::layout::{ChunkPlace, Layout, RecordConsumer};
use fpstore_base::{Fingerprint, IdRef, Radix};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

type Parsed<'a> = (Fingerprint, Option<IdRef<'a>>);

/// One record a line, with fingerprints in this spelling.
pub(super) struct Lines {
    pub(super) radix: Radix,
}

impl Layout for Lines {
    fn whole_len(&self, bytes: &[u8], searched_len: usize) -> usize {
        let last = memchr::memrchr(b'\n', &bytes[searched_len..]);
        last.map_or(0, |at| searched_len + at + 1)
    }

    fn parse(&self, chunk: &Chunk, consumer: &mut impl RecordConsumer) -> u64 {
        if chunk.is_long_line {
            consumer.bad_record(ChunkPlace::Line(1), too_long());
            return 1;
        }
        let mut rest = chunk.bytes.as_slice();
        let mut number = 0;
        while !rest.is_empty() {
            number += 1;
            let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
            let (line, after) = rest.split_at(end);
            rest = after;
            let is_first = chunk.offset == 0 && number == 1;
            if !self.parse_line(line, is_first, ChunkPlace::Line(number), consumer) {
                break;
            }
        }
        number
    }
}

impl Lines {
    /// Gives the record of a line to the consumer. Returns whether to go on.
    fn parse_line(
        &self,
        line: &[u8],
        is_first: bool,
        place: ChunkPlace,
        consumer: &mut impl RecordConsumer,
    ) -> bool {
        if line.len() > LINE_LEN_MAX {
            return consumer.bad_record(place, too_long());
        }
        let mut content = trim_end(line);
        if is_first {
            content = content.strip_prefix(BYTE_ORDER_MARK).unwrap_or(content);
        }
        match parse_record(content, self.radix) {
            Ok(Some((fingerprint, id))) => consumer.record(place, fingerprint, id),
            Ok(None) => true,
            Err(reason) => consumer.bad_record(place, reason),
        }
    }
}

fn too_long() -> String {
    "line is longer than 1 MiB, expected a fingerprint and an id".into()
}

fn trim_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The record of a line, or `None` for a blank line or a comment.
fn parse_record(line: &[u8], radix: Radix) -> Result<Option<Parsed<'_>>, String> {
    if radix == Radix::Hex
        && let Some(record) = parse_plain(line)
    {
        return Ok(Some(record));
    }
    let text = str::from_utf8(line).map_err(|fault| {
        format!("byte {} of the line is not UTF-8, expected text", fault.valid_up_to() + 1)
    })?;
    let trimmed = text.trim_start_matches(' ');
    if trimmed.is_empty() || trimmed.starts_with('#') {
        return Ok(None);
    }
    let end = text.find(['\t', ',', ':', ' ']).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    // After an empty column the id would be taken for the fingerprint.
    if digits.is_empty() {
        return Err(no_fingerprint(rest, radix));
    }
    let fingerprint = Fingerprint::parse(digits, radix).map_err(|fault| fault.to_string())?;
    // The id after a tab is taken unchanged; it may start with a space.
    let id = match rest.strip_prefix('\t') {
        Some(id) => id,
        None => rest.strip_prefix([',', ':', ' ']).unwrap_or(rest).trim_start_matches(' '),
    };
    let id = (!id.is_empty()).then_some(IdRef::Text(id));
    Ok(Some((fingerprint, id)))
}

/// The fault of a line whose first column is empty; `rest` starts with the separator.
fn no_fingerprint(rest: &str, radix: Radix) -> String {
    let separator = match rest.as_bytes().first() {
        Some(b'\t') => "tab",
        Some(b':') => "colon",
        Some(b' ') => "space",
        _ => "comma",
    };
    format!("no fingerprint before the first {separator}, expected {}", radix.expected())
}

/// The record of a line with 16 hex digits and optionally an id after a tab: the most frequent
/// form. `None` for every other line, which [`parse_record`] reads or refuses.
fn parse_plain(line: &[u8]) -> Option<Parsed<'_>> {
    let (digits, rest) = line.split_first_chunk::<16>()?;
    let mut value = 0;
    let mut all = 0;
    for digit in digits {
        let nibble = HEX_VALUES[usize::from(*digit)];
        all |= nibble;
        value = value << 4 | u64::from(nibble);
    }
    if all > 15 {
        return None;
    }
    let id = match rest.split_first() {
        None | Some((b'\t', [])) => None,
        Some((b'\t', id)) => Some(IdRef::Text(str::from_utf8(id).ok()?)),
        Some(_) => return None,
    };
    Some((Fingerprint::new(value), id))
}

/// The value of each hex digit; 255 for other bytes.
const HEX_VALUES: [u8; 256] = {
    let mut values = [u8::MAX; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789abcdef"[value] as usize] = value as u8;
        values[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    values
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::InputPlace;
    use crate::writing::input::read::tests::read_all;

    fn parsed(line: &str) -> Option<(u64, Option<&str>)> {
        let (fingerprint, id) = parse_record(line.as_bytes(), Radix::Hex).unwrap()?;
        let id = id.map(|id| match id {
            IdRef::Text(text) => text,
            IdRef::U64(_) => panic!("lines hold texts"),
        });
        Some((fingerprint.value(), id))
    }

    #[test]
    fn every_common_separator_is_accepted() {
        for line in ["ff\tdoc 7", "ff,doc 7", "ff:doc 7", "ff doc 7", "ff   doc 7", "0xFF, doc 7"] {
            assert_eq!(parsed(line), Some((255, Some("doc 7"))), "{line}");
        }
        for line in ["ff", "ff\t", "ff,", "ff "] {
            assert_eq!(parsed(line), Some((255, None)), "{line:?}");
        }
        for line in ["", "   ", "# ff", "  # ff"] {
            assert_eq!(parsed(line), None, "{line:?}");
        }
        assert_eq!(parsed("ff\t a,b:c\td "), Some((255, Some(" a,b:c\td "))));
        assert_eq!(parsed("ff:a:b"), Some((255, Some("a:b"))));
    }

    /// The id must never be taken for a fingerprint that is missing, as in a column with NULLs.
    #[test]
    fn an_empty_fingerprint_column_is_refused_in_every_radix() {
        for radix in [Radix::Hex, Radix::Decimal, Radix::SignedDecimal] {
            for line in [
                "\t102", ",102", ":102", " 102", "  \t102", " ,102", "\t", "\t\t102", "\tff", " ff",
            ] {
                let reason = parse_record(line.as_bytes(), radix).unwrap_err();
                assert!(
                    reason.starts_with("no fingerprint before the first"),
                    "{line:?}: {reason}"
                );
            }
        }
    }

    #[test]
    fn both_parsers_read_a_plain_line_alike() {
        for (line, id) in [
            ("0123456789abcdef", None),
            ("0123456789ABCDEF", None),
            ("0123456789abcdef\t", None),
            ("0123456789abcdef\t 7 ", Some(" 7 ")),
            ("0123456789abcdef, 7", Some("7")),
        ] {
            assert_eq!(parsed(line), Some((0x0123_4567_89ab_cdef, id)), "{line}");
        }
        for line in ["0123456789abcdefg", "0123456789abcdef0", "0123456789abcde/"] {
            assert!(parse_record(line.as_bytes(), Radix::Hex).is_err(), "{line}");
        }
        assert!(parse_record(b"0123456789abcdef\t\xff", Radix::Hex).is_err());
    }

    #[test]
    fn line_ends_and_a_byte_order_mark_do_not_matter() {
        let (done, values, summary) = read_all(b"\xef\xbb\xbf1\r\n2\n\r\n#x\r\n3", false);
        done.unwrap();
        assert_eq!((values, summary.record_count), (vec![1, 2, 3], 3));
    }

    #[test]
    fn a_bad_line_is_named_or_skipped() {
        let long = [b"4\t".as_slice(), &vec![b'x'; LINE_LEN_MAX], b"\n5\n"].concat();
        let input = [b"1\nxyz\n2\t\xff\n3\n".as_slice(), &long].concat();
        let (done, values, _) = read_all(&input, false);
        assert_eq!(values, [1]);
        let message = done.unwrap_err().to_string();
        assert!(message.contains(": line 2: 'xyz' is not a fingerprint"), "{message}");

        let (done, values, summary) = read_all(&input, true);
        done.unwrap();
        assert_eq!(values, [1, 3, 5]);
        assert_eq!((summary.record_count, summary.skipped_count), (3, 3));
        let places: Vec<InputPlace> = summary.skipped.iter().map(|bad| bad.place).collect();
        assert_eq!(places, [2, 3, 5].map(InputPlace::Line));
    }
}
