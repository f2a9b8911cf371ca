//! Reads the record of a line in the documented form: a fingerprint, then optionally a separator
//! and an id.

use crate::{Fingerprint, IdRef, Radix};

/// The fingerprint and the id of a line.
pub type LineRecord<'a> = (Fingerprint, Option<IdRef<'a>>);

/// The line as text, or the reason why it is not text.
#[inline]
pub(super) fn text_of(line: &[u8]) -> Result<&str, String> {
    if memchr::memchr2(0, b'\r', line).is_some()
        && let Some(reason) = foreign(line)
    {
        return Err(reason);
    }
    str::from_utf8(line).map_err(|fault| {
        format!("byte {} of the line is not UTF-8, expected text", fault.valid_up_to() + 1)
    })
}

/// The name of the probable file format of a line with NUL or CR.
fn foreign(line: &[u8]) -> Option<String> {
    let nuls = |start| line.iter().skip(start).step_by(2).filter(|byte| **byte == 0).count();
    let name = match (line, nuls(0), nuls(1)) {
        ([0xff, 0xfe, ..] | [0xfe, 0xff, ..], ..) => Some("UTF-16"),
        (_, 0, odd) if odd * 3 >= line.len() => Some("UTF-16LE"),
        (_, even, 0) if even * 3 >= line.len() && line.len() > 2 => Some("UTF-16BE"),
        _ => None,
    };
    if let Some(name) = name {
        return Some(format!(
            "the line is {name}, expected UTF-8: iconv -f {name} -t UTF-8 converts it"
        ));
    }
    let has_cr = memchr::memchr(b'\r', line).is_some();
    has_cr.then(|| r"the line contains CR, expected LF or CR LF: tr '\r' '\n' converts it".into())
}

/// The record of a line in the documented form; `None` for a blank line or a comment.
#[inline]
pub(super) fn parse_record(line: &[u8], radix: Radix) -> Result<Option<LineRecord<'_>>, String> {
    if radix == Radix::Hex
        && let Some(record) = parse_plain(line)
    {
        return Ok(Some(record));
    }
    let text = text_of(line)?;
    let trimmed = text.trim_start_matches(' ');
    if trimmed.is_empty() || trimmed.starts_with('#') {
        return Ok(None);
    }
    let end = text.find(['\t', ',', ':', ' ']).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    // An empty first column is an error, because the id in the next column could look like a
    // fingerprint.
    if digits.is_empty() {
        return Err(no_fingerprint(rest, radix));
    }
    let fingerprint = Fingerprint::parse(digits, radix).map_err(|fault| fault.to_string())?;
    // After a tab, the id is used unchanged; it may start with a space.
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

/// The record of a line in the most frequent form: 16 hex digits, then optionally a tab and an id.
/// Returns `None` for all other lines, which [`parse_record`] handles.
#[inline]
fn parse_plain(line: &[u8]) -> Option<LineRecord<'_>> {
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
        Some((b'\t', id)) if memchr::memchr(b'\r', id).is_none() => {
            Some(IdRef::Text(str::from_utf8(id).ok()?))
        }
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

    /// If the fingerprint is missing, as in a column with NULLs, the id must not be read as the
    /// fingerprint.
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
}
