//! Decoding of bytes in any encoding to text.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{DecoderResult, Encoding, UTF_8};

use super::disguise::{Disguise, PADDING_LEN, disguise_of, is_padded, is_utf8};
use crate::error::{Error, Result};

/// The encoding of texts. A byte order mark in a text takes precedence.
///
/// The default is [`TextEncoding::UTF_8`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextEncoding(Choice);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Choice {
    #[default]
    Utf8,
    Detect,
    Named(&'static Encoding),
}

impl TextEncoding {
    /// UTF-8, or UTF-16 after a byte order mark; anything else is refused.
    pub const UTF_8: TextEncoding = TextEncoding(Choice::Utf8);
    /// UTF-8 if the first 64 KiB are valid UTF-8, otherwise the most probable encoding of these
    /// bytes.
    pub const DETECT: TextEncoding = TextEncoding(Choice::Detect);

    /// The encoding with a name of the WHATWG Encoding Standard (`gbk`, `big5`, `shift_jis`,
    /// `windows-1252`), `utf-8`, or `detect`.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownEncoding`] for any other name.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpstore_documents::TextEncoding;
    ///
    /// assert!(TextEncoding::named("gb18030").is_ok());
    /// assert!(TextEncoding::named("klingon").is_err());
    /// ```
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "detect" => Ok(TextEncoding::DETECT),
            name => match Encoding::for_label(name.as_bytes()) {
                Some(encoding) => Ok(TextEncoding::of_encoding(encoding)),
                None => Err(Error::UnknownEncoding { name: name.into() }),
            },
        }
    }

    pub(super) fn of_encoding(encoding: &'static Encoding) -> Self {
        if encoding == UTF_8 { TextEncoding::UTF_8 } else { TextEncoding(Choice::Named(encoding)) }
    }

    /// The encoding of a text that starts with `head`, and the length of its byte order mark. With
    /// `is_lines`, padding with NUL bytes between lines is permitted.
    fn of(self, head: &[u8], is_lines: bool) -> Result<(&'static Encoding, usize), Undecodable> {
        if let Some((encoding, len)) = Encoding::for_bom(head) {
            return Ok((encoding, len));
        }
        if let Choice::Named(encoding) = self.0 {
            return Ok((encoding, 0));
        }
        let disguise = disguise_of(head)
            .filter(|it| !(is_lines && *it == Disguise::Binary && is_padded(head)));
        let expected = match (disguise, self.0) {
            (None, Choice::Detect) if !is_utf8(head) => return Ok((guess(head), 0)),
            (None, _) => return Ok((UTF_8, 0)),
            (Some(Disguise::Encoded(encoding)), Choice::Detect) => return Ok((encoding, 0)),
            (Some(Disguise::Encoded(encoding)), _) => {
                format!("UTF-8; the text may be {}, see --encoding", encoding.name())
            }
            (Some(Disguise::Hz), _) => {
                "UTF-8; the text may be HZ-GB-2312, which cannot be read; convert it first".into()
            }
            (Some(Disguise::Binary), _) => HOLDS_NUL.into(),
        };
        let is_binary = disguise == Some(Disguise::Binary);
        let at = memchr::memchr(0, head).filter(|_| is_binary);
        Err(Undecodable { offset: at.map_or(0, |at| at as u64), expected })
    }
}

const HOLDS_NUL: &str = "a text: it holds NUL bytes";

/// The number of bytes at the start of a text from which its encoding is detected.
pub(super) const HEAD_LEN: usize = 1 << 16;

fn guess(head: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(head, true);
    detector.guess(None, Utf8Detection::Deny)
}

/// The error for bytes that are invalid in an encoding.
#[derive(Clone, Debug)]
pub(super) struct Undecodable {
    /// The offset of the first invalid byte, from the start of the text.
    pub(super) offset: u64,
    /// The name of the expected encoding, and the name of a more likely one.
    expected: String,
}

/// The message without the offset: `not UTF-8; the text may be GBK, see --encoding`.
impl std::fmt::Display for Undecodable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not {}", self.expected)
    }
}

impl std::error::Error for Undecodable {}

fn undecodable(encoding: &'static Encoding, offset: u64, near: &[u8]) -> Undecodable {
    let hint = if encoding == UTF_8 && Encoding::for_bom(near).is_none() {
        format!("; the text may be {}, see --encoding", guess(near).name())
    } else {
        String::new()
    };
    Undecodable { offset, expected: format!("{}{hint}", encoding.name()) }
}

/// Decodes a text and calls `take` with pieces of it; the whole text is never in memory.
pub(super) fn decode_stream(
    mut reader: impl Read,
    encoding: TextEncoding,
    take: &mut dyn FnMut(&str),
) -> io::Result<Result<(), Undecodable>> {
    let mut buffer = Vec::with_capacity(HEAD_LEN);
    reader.by_ref().take(HEAD_LEN as u64).read_to_end(&mut buffer)?;
    let (encoding, mark_len) = match encoding.of(&buffer, false) {
        Ok(found) => found,
        Err(fault) => return Ok(Err(fault)),
    };
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = String::with_capacity(HEAD_LEN * 3);
    let mut start = mark_len;
    // The number of input bytes before the buffer.
    let mut passed = 0_u64;
    loop {
        if let Some(at) = memchr::memmem::find(&buffer, &[0; PADDING_LEN]) {
            let offset = passed + at as u64;
            return Ok(Err(Undecodable { offset, expected: HOLDS_NUL.into() }));
        }
        let last = buffer.len() < HEAD_LEN;
        while start < buffer.len() || last {
            let piece = buffer.get(start..).unwrap_or_default();
            let (result, read) =
                decoder.decode_to_string_without_replacement(piece, &mut text, last);
            start += read;
            take(&text);
            text.clear();
            match result {
                DecoderResult::InputEmpty => break,
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(bad, after) => {
                    let offset = passed + start as u64 - u64::from(bad) - u64::from(after);
                    return Ok(Err(undecodable(encoding, offset, &buffer)));
                }
            }
        }
        if last {
            return Ok(Ok(()));
        }
        passed += buffer.len() as u64;
        start = 0;
        buffer.clear();
        reader.by_ref().take(HEAD_LEN as u64).read_to_end(&mut buffer)?;
    }
}

/// Decodes a text that is in memory.
pub(super) fn decode_whole(bytes: &[u8], encoding: TextEncoding) -> Result<String, String> {
    let mut text = String::with_capacity(bytes.len());
    decode_stream(bytes, encoding, &mut |piece| text.push_str(piece))
        .map_err(|fault| fault.to_string())?
        .map_err(|fault| format!("byte {} is {fault}", fault.offset))?;
    Ok(text)
}

/// An input with a known encoding, determined from its first bytes. Both reading and copying use
/// it.
pub(super) struct KnownEncoding<R> {
    pub(super) encoding: &'static Encoding,
    /// The byte order mark; empty if the input has none.
    pub(super) mark: Vec<u8>,
    /// The input after the byte order mark.
    pub(super) rest: io::Chain<io::Cursor<Vec<u8>>, R>,
}

/// Determines the encoding of an input from its first bytes. `may_pause` means that the input may
/// be a pipe.
pub(super) fn begin<R: BufRead>(
    mut reader: R,
    encoding: TextEncoding,
    may_pause: bool,
) -> io::Result<KnownEncoding<R>> {
    let mut head = Vec::with_capacity(HEAD_LEN);
    // A program that writes line by line to a pipe may wait for the result of its first line. So
    // only the detection of an encoding waits for more than a line.
    let ends_with_line = may_pause && !matches!(encoding.0, Choice::Detect);
    while head.len() < HEAD_LEN && !(ends_with_line && head.contains(&b'\n')) {
        let len = match reader.fill_buf() {
            Ok([]) => break,
            Ok(bytes) => {
                let len = bytes.len().min(HEAD_LEN - head.len());
                head.extend_from_slice(&bytes[..len]);
                len
            }
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => continue,
            Err(fault) => return Err(fault),
        };
        reader.consume(len);
    }
    let found = encoding.of(&head, true);
    let (encoding, mark_len) =
        found.map_err(|fault| io::Error::new(io::ErrorKind::InvalidData, fault))?;
    let rest = head.split_off(mark_len);
    Ok(KnownEncoding { encoding, mark: head, rest: io::Cursor::new(rest).chain(reader) })
}

/// Converts an input to UTF-8. UTF-8 input is not checked here: each line is checked later, so that
/// a bad line does not end a file. `may_pause` means that the input may be a pipe.
pub(super) fn utf8_reader(
    reader: Box<dyn BufRead + Send>,
    encoding: TextEncoding,
    may_pause: bool,
) -> io::Result<Box<dyn BufRead + Send>> {
    let KnownEncoding { encoding, mark, rest } = begin(reader, encoding, may_pause)?;
    if encoding == UTF_8 {
        return Ok(Box::new(rest));
    }
    let recoder = Recoder {
        reader: rest,
        encoding,
        decoder: encoding.new_decoder_without_bom_handling(),
        offset: mark.len() as u64,
        text: String::with_capacity(HEAD_LEN * 3),
        given: 0,
        done: false,
    };
    Ok(Box::new(io::BufReader::with_capacity(HEAD_LEN, recoder)))
}

/// Refuses an encoding whose characters can contain the bytes of line ends, quotes and separators.
pub(super) fn check_line_ends(encoding: &'static Encoding) -> Result<(), String> {
    match encoding.is_ascii_compatible() {
        true => Ok(()),
        false => Err(format!(
            "its encoding is {}, in which records cannot be separated byte by byte; convert it to \
             UTF-8 first",
            encoding.name()
        )),
    }
}

/// Converts a part of a text, cut at ASCII characters, to UTF-8, with the same result as
/// [`utf8_reader`].
pub(super) fn in_utf8<'a>(bytes: &'a [u8], encoding: &'static Encoding) -> Cow<'a, [u8]> {
    if encoding == UTF_8 {
        return bytes.into();
    }
    match encoding.decode_without_bom_handling(bytes).0 {
        Cow::Borrowed(text) => text.as_bytes().into(),
        Cow::Owned(text) => text.into_bytes().into(),
    }
}

struct Recoder<R> {
    reader: R,
    encoding: &'static Encoding,
    decoder: encoding_rs::Decoder,
    offset: u64,
    text: String,
    given: usize,
    done: bool,
}

impl<R: BufRead> Read for Recoder<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() {
            if self.done {
                return Ok(0);
            }
            self.text.clear();
            self.given = 0;
            let input = self.reader.fill_buf()?;
            let last = input.is_empty();
            let (result, read) =
                self.decoder.decode_to_string_without_replacement(input, &mut self.text, last);
            self.reader.consume(read);
            self.offset += read as u64;
            match result {
                DecoderResult::InputEmpty => self.done = last,
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(bad, after) => {
                    let offset = self.offset - u64::from(bad) - u64::from(after);
                    let fault = undecodable(self.encoding, offset, &[]);
                    return Err(io::Error::new(io::ErrorKind::InvalidData, fault));
                }
            }
        }
        let text = &self.text.as_bytes()[self.given..];
        let len = text.len().min(out.len());
        out[..len].copy_from_slice(&text[..len]);
        self.given += len;
        Ok(len)
    }
}

/// Converts a line to text; the error describes invalid UTF-8.
pub(super) fn utf8_line(line: &[u8]) -> Result<&str, String> {
    utf8_of(line, "the line")
}

/// Converts a part of a record to text; `part` names it in the error for invalid UTF-8.
pub(super) fn utf8_of<'b>(bytes: &'b [u8], part: &str) -> Result<&'b str, String> {
    str::from_utf8(bytes).map_err(|fault| {
        let fault = undecodable(UTF_8, fault.valid_up_to() as u64, bytes);
        format!("byte {} of {part} is {fault}", fault.offset)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8], encoding: TextEncoding) -> Result<String, Undecodable> {
        let mut text = String::new();
        decode_stream(bytes, encoding, &mut |piece| text.push_str(piece)).unwrap()?;
        Ok(text)
    }

    fn recode(bytes: &[u8], encoding: TextEncoding) -> io::Result<String> {
        let mut text = String::new();
        let reader = Box::new(io::Cursor::new(bytes.to_vec()));
        utf8_reader(reader, encoding, false)?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn every_encoding_comes_out_as_the_same_text() {
        let text = "\u{4e2d}\u{6587}\u{6587}\u{672c}\u{ff0c}abc\n".repeat(9000);
        let gbk = encoding_rs::GBK.encode(&text).0.into_owned();
        let utf16: Vec<u8> =
            [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
        for (bytes, encoding) in [
            (text.as_bytes(), TextEncoding::UTF_8),
            (text.as_bytes(), TextEncoding::DETECT),
            (&marked, TextEncoding::UTF_8),
            (&utf16, TextEncoding::UTF_8),
            (&gbk, TextEncoding::DETECT),
            (&utf16[2..], TextEncoding::DETECT),
            (&gbk, TextEncoding::named("gb2312").unwrap()),
        ] {
            assert!(decode(bytes, encoding).unwrap() == text);
            assert!(recode(bytes, encoding).unwrap() == text);
        }
    }

    #[test]
    fn bytes_that_cannot_be_decoded_are_refused_with_their_offset() {
        let mut bytes = "abc\u{4e2d}".repeat(30_000).into_bytes();
        bytes[100_003] = 0xff;
        let place = str::from_utf8(&bytes).unwrap_err().valid_up_to() as u64;
        let fault = decode(&bytes, TextEncoding::UTF_8).unwrap_err();
        assert_eq!(fault.offset, place);
        assert!(fault.to_string().starts_with("not UTF-8; the text may be "), "{fault}");
        let gbk = TextEncoding::named("gbk").unwrap();
        let fault = decode(b"ab\xffc", gbk).unwrap_err();
        assert_eq!((fault.offset, fault.to_string().as_str()), (2, "not GBK"));
        let reason = utf8_of(b"ab\xff", "'text'").unwrap_err();
        assert!(reason.starts_with("byte 2 of 'text' is not UTF-8"), "{reason}");
        assert!(recode(b"ab\xffc", gbk).is_err());
        for (bytes, part) in [
            (&b"a\0b\0c\0"[..], "not UTF-8; the text may be UTF-16LE, see --encoding"),
            (b"\x1b$B$3\x1b(B", "not UTF-8; the text may be ISO-2022-JP, see --encoding"),
            (b"\0\0\0\0", "not a text: it holds NUL bytes"),
        ] {
            assert_eq!(decode(bytes, TextEncoding::UTF_8).unwrap_err().to_string(), part);
            assert!(recode(bytes, TextEncoding::UTF_8).is_err());
        }
        assert_eq!(decode(b"\x1b$B$3\x1b(B", TextEncoding::DETECT).unwrap(), "\u{3053}");
        let binary = decode(b"a text and \0\x01\0\0 more", TextEncoding::UTF_8).unwrap_err();
        assert_eq!((binary.offset, &*binary.to_string()), (11, "not a text: it holds NUL bytes"));
        // The bytes end within a character.
        assert_eq!(decode(b"ab\xe4\xb8", TextEncoding::UTF_8).unwrap_err().offset, 2);
        assert_eq!(decode(b"", TextEncoding::UTF_8).unwrap(), "");
    }
}
