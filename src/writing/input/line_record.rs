//! The record of a line in the documented form: a fingerprint, then optionally a separator and the
//! id.

use fpstore_base::{Fingerprint, IdRef, Radix};

pub(super) type Parsed<'a> = (Fingerprint, Option<IdRef<'a>>);

/// A line as text.
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

/// A description of the probable file format, for a line with NUL or CR.
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

/// The record of a line, or `None` for a blank line or a comment.
pub(super) fn parse_record(line: &[u8], radix: Radix) -> Result<Option<Parsed<'_>>, String> {
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
    // After an empty column the id would be mistaken for the fingerprint.
    if digits.is_empty() {
        return Err(no_fingerprint(rest, radix));
    }
    let fingerprint = Fingerprint::parse(digits, radix).map_err(|fault| fault.to_string())?;
    // The id after a tab is taken verbatim; it may start with a space.
    let id = match rest.strip_prefix('\t') {
        Some(id) => id,
        None => rest.strip_prefix([',', ':', ' ']).unwrap_or(rest).trim_start_matches(' '),
    };
    let id = (!id.is_empty()).then_some(IdRef::Text(id));
    Ok(Some((fingerprint, id)))
}

/// The fault of a line with an empty first column; `rest` starts with the separator.
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
/// form. `None` for every other line, which [`parse_record`] handles.
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
