//! Detects texts that pass for UTF-8 and have another encoding, and files that are not text.
//!
//! UTF-16 of ASCII without a byte order mark, ISO-2022-JP and HZ consist of ASCII bytes only. Read
//! as UTF-8, such texts would have near fingerprints because of their escape sequences.

use encoding_rs::{Encoding, ISO_2022_JP, UTF_16BE, UTF_16LE};

/// The actual content of a file whose start may be valid UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disguise {
    /// Text in this encoding.
    Encoded(&'static Encoding),
    /// HZ-GB-2312, which is no longer in the WHATWG Encoding Standard.
    Hz,
    /// Binary data, full of NUL bytes, and not UTF-16.
    Binary,
}

/// A text may contain at most one NUL per this many bytes: some programs terminate fields with NUL.
const BYTES_PER_NUL: usize = 10;

/// The least length of padding, a run of NUL bytes, in a file and at its end: a crash can leave
/// blocks of NUL bytes.
pub(super) const PADDING_LEN: usize = 512;
const PADDING_LEN_AT_END: usize = 4;

/// The disguise of a file that starts with `head`, if it has one.
pub(super) fn disguise_of(head: &[u8]) -> Option<Disguise> {
    let nul_count = head.iter().filter(|&&byte| byte == 0).count();
    if nul_count > 0 {
        let is_text = nul_count * BYTES_PER_NUL < head.len() && is_utf8(head);
        return (!is_text).then(|| utf16(head).map_or(Disguise::Binary, Disguise::Encoded));
    }
    let holds = |part: &[u8]| memchr::memmem::find(head, part).is_some();
    if head.contains(&0x1b) && [b"\x1b$B", b"\x1b$@", b"\x1b(J"].into_iter().any(|e| holds(e)) {
        return Some(Disguise::Encoded(ISO_2022_JP));
    }
    (holds(b"~{") && is_hz(head)).then_some(Disguise::Hz)
}

/// Whether bytes are lines of text with padding. Such a file is read; a line with padding is bad.
pub(super) fn is_padded(head: &[u8]) -> bool {
    let end = head.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1);
    let end = if head.len() - end < PADDING_LEN_AT_END { head.len() } else { end };
    let parts = head[..end].split(|&byte| byte == 0);
    let runs = head[..end].chunk_by(|one, other| (*one == 0) == (*other == 0));
    end > 0
        && parts.flatten().all(|byte| !is_binary(*byte))
        && runs.filter(|run| run[0] == 0).all(|run| run.len() >= PADDING_LEN)
}

/// Whether a byte occurs in binary data only, not in texts (MIME Sniffing Standard, 3).
pub(super) fn is_binary(byte: u8) -> bool {
    matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f)
}

/// Whether bytes are UTF-8, except for a character cut off at the end.
pub(super) fn is_utf8(head: &[u8]) -> bool {
    str::from_utf8(head).map_or_else(|fault| fault.error_len().is_none(), |_| true)
}

/// Detects UTF-16 and its byte order: the NUL bytes of ASCII characters are mostly at even
/// positions, or mostly at odd ones.
fn utf16(head: &[u8]) -> Option<&'static Encoding> {
    let nuls = |first: usize| head.iter().skip(first).step_by(2).filter(|&&b| b == 0).count();
    let (high_first, low_first) = (nuls(0), nuls(1));
    let encoding = match (high_first, low_first) {
        (high, low) if high > 4 * low => UTF_16BE,
        (high, low) if low > 4 * high => UTF_16LE,
        _ => return None,
    };
    let even = &head[..head.len() & !1];
    // A surrogate pair may be cut off at the end.
    let cut = even.len().saturating_sub(2);
    let is_valid = |bytes: &[u8]| !encoding.decode_without_bom_handling(bytes).1;
    (is_valid(even) || is_valid(&even[..cut])).then_some(encoding)
}

/// Whether most of a text is in runs of HZ (RFC 1843): `~{`, pairs of printable bytes, `~}`.
fn is_hz(head: &[u8]) -> bool {
    let mut inside = 0;
    let mut rest = head;
    while let Some(start) = memchr::memmem::find(rest, b"~{") {
        let run = &rest[start + 2..];
        let len = memchr::memmem::find(run, b"~}").unwrap_or(run.len());
        let is_pairs = len.is_multiple_of(2)
            && run[..len].chunks(2).all(|pair| matches!(pair, [0x21..=0x77, 0x21..=0x7e]));
        if is_pairs {
            inside += len + 4;
        }
        rest = &run[len..];
    }
    let printed = head.iter().filter(|byte| !byte.is_ascii_whitespace()).count();
    inside * 2 > printed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_that_pass_for_ascii_are_told() {
        let english = "Plain words, and more of them.\n";
        let chinese = "\u{4e2d}\u{6587}, abc\n";
        let utf16 = |text: &str, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
            text.encode_utf16().flat_map(bytes).collect()
        };
        for text in [english, chinese] {
            let (little, big) = (utf16(text, u16::to_le_bytes), utf16(text, u16::to_be_bytes));
            assert_eq!(disguise_of(&little), Some(Disguise::Encoded(UTF_16LE)), "{text}");
            assert_eq!(disguise_of(&big), Some(Disguise::Encoded(UTF_16BE)), "{text}");
            // The bytes end within a character.
            assert_eq!(disguise_of(&little[..little.len() - 1]), Some(Disguise::Encoded(UTF_16LE)));
            assert_eq!(disguise_of(text.as_bytes()), None, "{text}");
        }
        let japanese = ISO_2022_JP.encode("\u{65e5}\u{672c}\u{8a9e} abc").0.into_owned();
        assert!(japanese.is_ascii());
        assert_eq!(disguise_of(&japanese), Some(Disguise::Encoded(ISO_2022_JP)));
        assert_eq!(disguise_of(b"~{<:Ky2;S{#,NpJ)l6HK!#~}\n"), Some(Disguise::Hz));
        for text in
            [&b""[..], b"a ~{b} c, and ~} too", b"\x1b[31mred\x1b[0m text", b"x\0 ends a field"]
        {
            assert_eq!(disguise_of(text), None, "{text:?}");
        }
        assert_eq!(disguise_of(&[0; 100]), Some(Disguise::Binary));
        let padded = |len: usize, end: &str| [b"a line\n", &*vec![0; len], end.as_bytes()].concat();
        for text in [padded(4, ""), padded(4096, ""), padded(4096, "and more\n")] {
            assert_eq!(disguise_of(&text), Some(Disguise::Binary));
            assert!(is_padded(&text), "{}", text.len());
        }
        for binary in [padded(9, "\x01"), padded(4096, "\x01"), padded(20, "a"), vec![0; 4096]] {
            assert!(!is_padded(&binary), "{}", binary.len());
        }
        assert_eq!(
            disguise_of(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0"),
            Some(Disguise::Binary)
        );
    }
}
