//! Records as lines of text.

use std::io::{BufRead, Read};

use crate::build::input::{Intake, Record};
use crate::error::{InputPlace, Result};
use crate::fingerprint::{Fingerprint, Radix};
use crate::id::IdRef;

/// A longer line is no record: it shows a file of another kind, and must not fill the memory.
const LINE_LEN_MAX: usize = 1 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads all lines of an input.
pub(super) fn read(
    mut reader: Box<dyn BufRead>,
    radix: Radix,
    intake: &mut Intake<'_>,
) -> Result<()> {
    let mut line = Vec::new();
    for number in 1.. {
        let place = InputPlace::Line(number);
        line.clear();
        let limit = LINE_LEN_MAX as u64 + 1;
        let taken = reader.by_ref().take(limit).read_until(b'\n', &mut line);
        if taken.map_err(|source| intake.unreadable(source))? == 0 {
            break;
        }
        if line.len() > LINE_LEN_MAX {
            intake
                .bad(place, "line is longer than 1 MiB, expected a fingerprint and an id".into())?;
            skip_line(&mut reader, &line).map_err(|source| intake.unreadable(source))?;
            continue;
        }
        let content = trim_end(&line);
        let content = match number {
            1 => content.strip_prefix(BYTE_ORDER_MARK).unwrap_or(content),
            _ => content,
        };
        match parse(content, radix) {
            Ok(Some(record)) => intake.record(place, record)?,
            Ok(None) => {}
            Err(reason) => intake.bad(place, reason)?,
        }
    }
    Ok(())
}

/// Passes over the rest of a line that was cut.
fn skip_line(reader: &mut dyn BufRead, begun: &[u8]) -> std::io::Result<()> {
    if !begun.ends_with(b"\n") {
        reader.skip_until(b'\n')?;
    }
    Ok(())
}

fn trim_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The record of a line, or `None` for a blank line or a comment.
fn parse(line: &[u8], radix: Radix) -> Result<Option<Record<'_>>, String> {
    let text = str::from_utf8(line).map_err(|fault| {
        format!("byte {} of the line is not UTF-8, expected text", fault.valid_up_to() + 1)
    })?;
    let text = text.trim_start_matches([' ', '\t']);
    if text.is_empty() || text.starts_with('#') {
        return Ok(None);
    }
    let end = text.find(['\t', ',', ':', ' ']).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let fingerprint = Fingerprint::parse(digits, radix).map_err(|fault| fault.to_string())?;
    // After a tab the id is taken as it stands; it may start with a space.
    let id = match rest.strip_prefix('\t') {
        Some(id) => id,
        None => rest.strip_prefix([',', ':', ' ']).unwrap_or(rest).trim_start_matches(' '),
    };
    let id = (!id.is_empty()).then_some(IdRef::Text(id));
    Ok(Some(Record { fingerprint, id }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::input::InputSummary;

    fn parsed(line: &str) -> Option<(u64, Option<&str>)> {
        let record = parse(line.as_bytes(), Radix::Hex).unwrap()?;
        let id = record.id.map(|id| match id {
            IdRef::Text(text) => text,
            IdRef::U64(_) => unreachable!("lines give texts"),
        });
        Some((record.fingerprint.value(), id))
    }

    #[test]
    fn every_common_separator_is_understood() {
        for line in ["ff\tdoc 7", "ff,doc 7", "ff:doc 7", "ff doc 7", "ff   doc 7", "0xFF, doc 7"] {
            assert_eq!(parsed(line), Some((255, Some("doc 7"))), "{line}");
        }
        for line in ["ff", "ff\t", "ff,", "ff ", " ff"] {
            assert_eq!(parsed(line), Some((255, None)), "{line:?}");
        }
        for line in ["", "   ", "# ff", "  # ff", "\t"] {
            assert_eq!(parsed(line), None, "{line:?}");
        }
        assert_eq!(parsed("ff\t a,b:c\td "), Some((255, Some(" a,b:c\td "))));
        assert_eq!(parsed("ff:a:b"), Some((255, Some("a:b"))));
    }

    fn read_all(bytes: &[u8], skip_bad: bool) -> (Result<()>, Vec<u64>, InputSummary) {
        let mut values = Vec::new();
        let mut take = |record: Record<'_>| {
            values.push(record.fingerprint.value());
            Ok(())
        };
        let summary = InputSummary::default();
        let mut intake =
            Intake { name: "test".into(), doing: "read", skip_bad, summary, take: &mut take };
        let done = read(Box::new(std::io::Cursor::new(bytes.to_vec())), Radix::Hex, &mut intake);
        let summary = intake.summary;
        (done, values, summary)
    }

    #[test]
    fn line_ends_and_a_byte_order_mark_do_not_matter() {
        let (done, values, summary) = read_all(b"\xef\xbb\xbf1\r\n2\n\r\n#x\r\n3", false);
        done.unwrap();
        assert_eq!((values, summary.record_count), (vec![1, 2, 3], 3));
    }

    #[test]
    fn a_bad_line_is_named_or_passed_over() {
        let long = [b"4\t".as_slice(), &vec![b'x'; LINE_LEN_MAX], b"\n5\n"].concat();
        let input = [b"1\nxyz\n2\t\xff\n3\n".as_slice(), &long].concat();
        let (done, values, _) = read_all(&input, false);
        assert_eq!(values, [1]);
        let message = done.unwrap_err().to_string();
        assert!(message.starts_with("test: line 2: 'xyz' is not a fingerprint"), "{message}");

        let (done, values, summary) = read_all(&input, true);
        done.unwrap();
        assert_eq!(values, [1, 3, 5]);
        assert_eq!((summary.record_count, summary.skipped_count), (3, 3));
        let places: Vec<InputPlace> = summary.skipped.iter().map(|bad| bad.place).collect();
        assert_eq!(places, [2, 3, 5].map(InputPlace::Line));
    }
}
