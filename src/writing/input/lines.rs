//! The layout of records in lines of text.

use super::layout::{Chunk, ChunkPlace, LINE_LEN_MAX, RecordConsumer};
use fpstore_base::lines::LineForm;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The number of bytes at the start of `bytes` that consist of whole lines. The caller guarantees
/// that no line ends in the first `searched_len` bytes.
pub(super) fn whole_len(bytes: &[u8], searched_len: usize) -> usize {
    let last = memchr::memrchr(b'\n', &bytes[searched_len..]);
    last.map_or(0, |at| searched_len + at + 1)
}

/// Passes the record of each line of a chunk to the consumer until it stops. Returns the number of
/// parsed lines. [`Chunk::form`] contains the columns and the radix.
pub(super) fn parse_lines(chunk: &Chunk, consumer: &mut impl RecordConsumer) -> u64 {
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
        let read_len = chunk.offset + (chunk.bytes.len() - rest.len()) as u64;
        let place = ChunkPlace::Line(number);
        if !chunk.form.is_header(read_len)
            && !parse_line(line, is_first, &chunk.form, place, consumer)
        {
            break;
        }
    }
    number
}

/// Passes the record of a line to the consumer. Returns whether to continue.
fn parse_line(
    line: &[u8],
    is_first: bool,
    form: &LineForm,
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
    form.parse(content, |parsed| match parsed {
        Ok(Some((fingerprint, id))) => consumer.record(place, fingerprint, id),
        Ok(None) => true,
        Err(reason) => consumer.bad_record(place, reason),
    })
}

fn too_long() -> String {
    "line is longer than 1 MiB, expected a fingerprint and an id".into()
}

fn trim_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::InputPlace;
    use crate::writing::input::read::tests::read_all;

    #[test]
    fn line_ends_and_a_byte_order_mark_do_not_matter() {
        let (done, values, summary) = read_all(b"\xef\xbb\xbf1\r\n2\n\r\n#x\r\n3", false);
        done.unwrap();
        assert_eq!((values, summary.record_count), (vec![1, 2, 3], 3));
    }

    #[test]
    fn lines_in_utf_16_and_lines_that_end_with_cr_are_refused_by_name() {
        let text = "91b7584a2265b1f5\ta\n1027c4d1c386bbc4\tb\n";
        let utf_16 = |bytes: fn(u16) -> [u8; 2], mark: &[u16]| -> Vec<u8> {
            mark.iter().copied().chain(text.encode_utf16()).flat_map(bytes).collect()
        };
        for (bytes, told) in [
            (utf_16(u16::to_le_bytes, &[0xfeff]), "UTF-16, expected UTF-8"),
            (utf_16(u16::to_be_bytes, &[0xfeff]), "UTF-16, expected UTF-8"),
            (utf_16(u16::to_le_bytes, &[]), "UTF-16LE, expected UTF-8"),
            (utf_16(u16::to_be_bytes, &[]), "UTF-16BE, expected UTF-8"),
            (text.replace('\n', "\r").into_bytes(), "contains CR"),
            (text.replace("\ta\n", "\r").into_bytes(), "contains CR"),
            (format!("# notes\r{text}").into_bytes(), "contains CR"),
            (format!("hash,id\r{text}").into_bytes(), "contains CR"),
        ] {
            let message = read_all(&bytes, false).0.unwrap_err().to_string();
            assert!(message.contains("line 1: the line") && message.contains(told), "{message}");
        }
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
