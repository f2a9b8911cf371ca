//! Reads lists: short text files with one entry on each line, such as labelled pairs, ids, words
//! and tokens.

use std::io::{self, Read};

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Reads the text of a list in UTF-8, without a byte order mark.
///
/// # Errors
///
/// An error of `reader`, or [`io::ErrorKind::InvalidData`] for other encodings than UTF-8; the
/// message contains the line number, except for UTF-16.
pub fn text_of(mut reader: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    let is_utf_16 = matches!(bytes[..], [0xff, 0xfe, ..] | [0xfe, 0xff, ..])
        || matches!(bytes[..], [0, 1..=255, ..] | [1..=255, 0, ..]);
    let fault = |reason| io::Error::new(io::ErrorKind::InvalidData, reason);
    if is_utf_16 {
        return Err(fault("it is UTF-16, expected UTF-8: save it as UTF-8".to_owned()));
    }
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        fault(format!("line {line} is not UTF-8"))
    })?;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(text)
}

/// The lines of a list, with their numbers counted from 1. Skips blank lines and lines that start
/// with `#`.
pub fn rows(text: &str) -> impl Iterator<Item = (u64, &str)> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_saved_on_any_system_has_the_same_rows() {
        let plain = "a\tb\n\n# note\nc\td\n";
        let marked = format!("{BYTE_ORDER_MARK}{plain}");
        for list in [plain.to_owned(), marked.clone(), marked.replace('\n', "\r\n")] {
            let text = text_of(list.as_bytes()).unwrap();
            for text in [text, list] {
                assert_eq!(rows(&text).collect::<Vec<_>>(), [(1, "a\tb"), (4, "c\td")], "{text:?}");
            }
        }
        assert_eq!(rows("").count(), 0);
    }

    #[test]
    fn another_encoding_is_named() {
        let wide = |order: fn(u16) -> [u8; 2], text: &str| -> Vec<u8> {
            text.encode_utf16().flat_map(order).collect()
        };
        for list in ["\u{feff}id1\n", "id1\n"] {
            for order in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
                let refused = text_of(&*wide(order, list)).unwrap_err().to_string();
                assert!(refused.contains("it is UTF-16"), "{refused}");
            }
        }
        let refused = text_of(&b"a\nb\xe4\n"[..]).unwrap_err().to_string();
        assert_eq!(refused, "line 2 is not UTF-8");
    }
}
