//! Records of web archives, WARC 1.0 and 1.1 (ISO 28500), and the documents in them.
//!
//! This module splits the records itself, because existing readers do not return the original bytes
//! of a record, and parses the headers of responses itself, because parsers for live connections
//! refuse the invalid headers of some servers.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use flate2::{Decompress, FlushDecompress, Status};
use fpstore_base::decompress::GzipReader;

use super::capped::{Capped, TooLong, too_long};
use super::decode::{TextEncoding, decode_whole};
use super::disguise::is_binary;
use super::options::DocumentOptions;
use super::whole_file;

/// The first bytes of each record.
pub(super) const MAGIC: &[u8] = b"WARC/";
/// The supported versions. The drafts 0.17 and 0.18 have the same headers as 1.0.
const VERSIONS: [&[u8]; 3] = [b"1.", b"0.17", b"0.18"];
/// Maximum length of the header of a record.
const HEADER_LEN_MAX: u64 = 1 << 16;

/// The names and values of the fields of a header.
type Fields = Vec<(String, String)>;

/// The header of a record.
#[derive(Debug, Default)]
pub(super) struct Header {
    fields: Fields,
    /// Length in bytes of the block that follows.
    pub(super) block_len: u64,
}

impl Header {
    /// The value of a field; its name is compared without regard to case.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.fields.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.as_str())
    }

    /// The URI of the record, else its record id.
    pub(super) fn id(&self) -> Option<&str> {
        let id = self.get("WARC-Target-URI").or_else(|| self.get("WARC-Record-ID"))?;
        Some(id.strip_prefix('<').and_then(|id| id.strip_suffix('>')).unwrap_or(id))
    }

    /// The kind of the block, if it may be a document.
    pub(super) fn content(&self) -> Option<Content> {
        let media = self.get("Content-Type").map(media_type).unwrap_or_default();
        match (self.get("WARC-Type")?.to_ascii_lowercase().as_str(), media.as_str()) {
            ("response", "application/http") => Some(Content::Http),
            ("conversion" | "resource", media) => Content::of_media(media),
            _ => None,
        }
    }
}

/// The kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// The response of a server.
    Http,
    Page,
    Text,
}

impl Content {
    fn of_media(media: &str) -> Option<Self> {
        match media {
            "text/html" | "application/xhtml+xml" => Some(Content::Page),
            "text/plain" => Some(Content::Text),
            _ => None,
        }
    }
}

/// The media type in a Content-Type, without parameters.
fn media_type(value: &str) -> String {
    value.split([';', ',']).next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The encoding named in a Content-Type.
fn charset(value: &str) -> Option<TextEncoding> {
    let parameters = value.split([';', ',']).skip(1);
    let mut named = parameters.filter_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    });
    TextEncoding::named(named.next()?).ok()
}

/// Reads the header of the next record, and puts its bytes, with preceding line ends, into `raw`.
/// Returns `None` at the end of the file; the inner error is the reason if there is no header. The
/// reader is then at the block.
pub(super) fn next_header(
    reader: &mut impl BufRead,
    raw: &mut Vec<u8>,
) -> io::Result<Option<Result<Header, String>>> {
    raw.clear();
    // A block should be followed by two line ends; some writers use more or fewer.
    loop {
        match reader.fill_buf()?.first() {
            None => return Ok(None),
            Some(&end @ (b'\r' | b'\n')) => {
                raw.push(end);
                reader.consume(1);
            }
            Some(_) => break,
        }
    }
    let start = raw.len();
    let mut limited = reader.take(HEADER_LEN_MAX);
    loop {
        let line_start = raw.len();
        if limited.read_until(b'\n', raw)? == 0 {
            let reason =
                if limited.limit() == 0 { "its header is too long" } else { "it is truncated" };
            return Ok(Some(Err(reason.into())));
        }
        let version = raw[start..].strip_prefix(MAGIC).unwrap_or_default();
        if line_start == start && !VERSIONS.iter().any(|known| version.starts_with(known)) {
            let line = String::from_utf8_lossy(&raw[start..]);
            let found: String = line.trim_end().chars().take(40).collect();
            return Ok(Some(Err(format!(
                "it begins with {found:?}, expected WARC/1.0 or WARC/1.1"
            ))));
        }
        if raw[line_start..].trim_ascii().is_empty() {
            return Ok(Some(parse(&raw[start..])));
        }
    }
}

fn parse(bytes: &[u8]) -> Result<Header, String> {
    let mut header = Header { fields: fields_of(bytes), block_len: 0 };
    let len = header.get("Content-Length").ok_or("it has no Content-Length")?;
    header.block_len = len.parse().map_err(|_| format!("its Content-Length is {len:?}"))?;
    Ok(header)
}

/// The names and values of the fields after the first line of a header. Lines that are no fields
/// are skipped.
fn fields_of(header: &[u8]) -> Fields {
    let text = String::from_utf8_lossy(header);
    let mut fields = Fields::new();
    for line in text.lines().skip(1).filter(|line| !line.trim().is_empty()) {
        if line.starts_with([' ', '\t']) {
            // The line continues the previous value.
            let Some((_, value)) = fields.last_mut() else { continue };
            value.push(' ');
            value.push_str(line.trim());
        } else if let Some((name, value)) = line.split_once(':') {
            fields.push((name.trim().into(), value.trim().into()));
        }
    }
    fields
}

/// A document in a block, not yet decoded.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) content: Content,
    /// The Content-Type of the record.
    pub(super) content_type: String,
    pub(super) bytes: Vec<u8>,
}

/// The text of a block; `None` if it contains no document: the response of the server is an error,
/// or not a text.
pub(super) fn text_of(block: &Block, options: &DocumentOptions) -> Result<Option<String>, String> {
    let text = |content, bytes: &[u8], content_type: &str| {
        let said = charset(content_type).or(options.encoding);
        match content {
            Content::Page => whole_file::text_of_page(bytes, said, options),
            _ => decode_whole(bytes, said.unwrap_or_default()),
        }
    };
    if block.content != Content::Http {
        return text(block.content, &block.bytes, &block.content_type).map(Some);
    }
    let (code, fields, body) = response_of(&block.bytes)?;
    // The values of a field that occurs several times are one list (RFC 9110, 5.3).
    let field = |name: &str| {
        let found = fields.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(",")
    };
    let content_type = field("Content-Type");
    let is_success = (200..300).contains(&code);
    let Some(content) = Content::of_media(&media_type(&content_type)).filter(|_| is_success) else {
        return Ok(None);
    };
    let codings = format!("{},{}", field("Content-Encoding"), field("Transfer-Encoding"));
    let mut body = Cow::from(body);
    for coding in codings.rsplit(',') {
        if let Some(decoded) = decoded(&body, &coding.trim().to_ascii_lowercase(), options.len_max)?
        {
            body = decoded.into();
        }
    }
    text(content, &body, &content_type).map(Some)
}

/// The status code, the fields and the body of a response. Crawlers write the version of the
/// connection, such as `HTTP/2`, before fields in the form of HTTP/1.1, and keep invalid fields of
/// the server. So any version is accepted, and lines that are not fields are skipped.
fn response_of(response: &[u8]) -> Result<(u16, Fields, &[u8]), String> {
    let response = response.trim_ascii_start();
    let mut line_start = 0;
    let (head, body) = loop {
        let rest = &response[line_start..];
        let len = memchr::memchr(b'\n', rest).ok_or("its response is truncated")? + 1;
        if matches!(rest[..len], [b'\n'] | [b'\r', b'\n']) {
            break (&response[..line_start], &rest[len..]);
        }
        line_start += len;
    };
    let status = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut status = status.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let version = status.next().unwrap_or_default();
    let code = status.next().and_then(|code| str::from_utf8(code).ok()?.parse().ok());
    match code {
        Some(code) if version.starts_with(b"HTTP/") || version == b"ICY" => {
            let is_text = |line: &&[u8]| !line.contains(&0);
            let lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').filter(is_text).collect();
            Ok((code, fields_of(&lines.join(&b'\n')), body))
        }
        _ => Err("its response is not HTTP".into()),
    }
}

/// Removes a content or transfer coding from a body. Returns `None` if the body does not have the
/// coding: archives often keep the header field of a coding that they have removed.
fn decoded(body: &[u8], coding: &str, len_max: u64) -> Result<Option<Vec<u8>>, String> {
    match coding {
        "" | "identity" => Ok(None),
        "chunked" => without_chunks(body),
        "gzip" | "x-gzip" | "deflate" if body.starts_with(&[0x1f, 0x8b]) => {
            let mut whole = Vec::new();
            let mut reader = Capped::new(GzipReader::new(body), len_max);
            match reader.read_to_end(&mut whole) {
                Ok(_) => Ok(Some(whole)),
                Err(fault) => Err(match too_long(&fault) {
                    Some(too_long) => format!("its text is {too_long}"),
                    None => format!("its response cannot be decompressed: {fault}"),
                }),
            }
        }
        "deflate" if !is_plain(body) || is_zlib(body) => {
            // Some servers send raw deflate without the zlib format (RFC 9110, 8.4.1.2).
            let of_raw = |of_zlib| {
                let is_zlib = is_zlib(body);
                inflated(body, false, len_max).map_err(|raw| if is_zlib { of_zlib } else { raw })
            };
            inflated(body, true, len_max).or_else(of_raw).map(Some)
        }
        "gzip" | "x-gzip" | "deflate" if is_plain(body) => Ok(None),
        "gzip" | "x-gzip" => Err("its response is declared as gzip, but it is not".into()),
        _ if is_plain(body) && str::from_utf8(body).is_ok() => Ok(None),
        other => Err(format!("its response has the coding '{other}', which is not supported")),
    }
}

/// Decompresses a body in the format of zlib (RFC 1950), or of raw deflate (RFC 1951).
fn inflated(body: &[u8], is_zlib: bool, len_max: u64) -> Result<Vec<u8>, String> {
    let mut inflater = Decompress::new(is_zlib);
    let mut whole = Vec::new();
    loop {
        let before = (inflater.total_in(), whole.len());
        let rest = usize::try_from(before.0).ok().and_then(|at| body.get(at..)).unwrap_or_default();
        whole.reserve(rest.len().max(1 << 12));
        let status = inflater.decompress_vec(rest, &mut whole, FlushDecompress::None);
        if whole.len() as u64 > len_max {
            return Err(format!("its text is {}", TooLong { len_max }));
        }
        match status {
            Ok(Status::StreamEnd) => return Ok(whole),
            Ok(_) if (inflater.total_in(), whole.len()) != before => {}
            Ok(_) => return Err("its response is truncated: the compressed data has no end".into()),
            Err(fault) => return Err(format!("its response cannot be decompressed: {fault}")),
        }
    }
}

/// Whether bytes begin with the usual header of zlib (RFC 1950, 2.2).
fn is_zlib(body: &[u8]) -> bool {
    matches!(body, [0x78, flags, ..] if (0x7800 + u16::from(*flags)).is_multiple_of(31))
}

/// Whether a body is text, so that no coding is left to remove.
fn is_plain(body: &[u8]) -> bool {
    encoding_rs::Encoding::for_bom(body).is_some() || !body.iter().copied().any(is_binary)
}

/// A body without its chunk sizes; `None` if it is not chunked.
fn without_chunks(body: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let mut whole = Vec::with_capacity(body.len());
    let mut rest = body;
    loop {
        let (start, len) = match httparse::parse_chunk_size(rest) {
            Ok(httparse::Status::Complete(found)) => found,
            _ if rest.len() == body.len() => return Ok(None),
            _ => return Err("its response is truncated or has wrong chunk sizes".into()),
        };
        if len == 0 {
            return Ok(Some(whole));
        }
        let chunk = usize::try_from(len).ok().and_then(|len| rest.get(start..)?.get(..len));
        let after = chunk.and_then(|chunk| rest.get(start + chunk.len()..)?.strip_prefix(b"\r\n"));
        let (Some(chunk), Some(after)) = (chunk, after) else {
            return Err("its response is truncated or has wrong chunk sizes".into());
        };
        whole.extend_from_slice(chunk);
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn record(kind: &str, content_type: &str, block: &[u8]) -> Vec<u8> {
        let head = format!(
            "WARC/1.0\r\nWARC-Type: {kind}\r\nwarc-target-uri: <http://a.example/>\r\n\
             WARC-Date: 2026-11-22T08:00:00Z\r\nX-Long: one\r\n two\r\n\
             Content-Type: {content_type}\r\nContent-Length: {}\r\n\r\n",
            block.len()
        );
        [head.as_bytes(), block, b"\r\n\r\n"].concat()
    }

    fn header(bytes: &[u8]) -> Result<Header, String> {
        next_header(&mut &bytes[..], &mut Vec::new()).unwrap().unwrap()
    }

    #[test]
    fn headers_are_read_and_bad_ones_refused() {
        let found =
            header(&record("response", "application/http; msgtype=response", b"x")).unwrap();
        assert_eq!((found.id(), found.block_len), (Some("http://a.example/"), 1));
        assert_eq!(found.get("x-long"), Some("one two"));
        assert_eq!(found.content(), Some(Content::Http));
        for (kind, media, content) in [
            ("conversion", "text/plain", Some(Content::Text)),
            ("resource", "Text/HTML; charset=utf-8", Some(Content::Page)),
            ("resource", "image/png", None),
            ("request", "application/http", None),
            ("warcinfo", "application/warc-fields", None),
        ] {
            assert_eq!(header(&record(kind, media, b"")).unwrap().content(), content, "{kind}");
        }
        let long = format!("WARC/1.0\r\nX: {}", "x".repeat(70_000));
        for (bytes, part) in [
            (&b"HTTP/1.1 200 OK\r\n"[..], "expected WARC/1.0"),
            (b"WARC/0.9\r\n", "expected WARC/1.0"),
            (b"WARC/0.18\r\nA: b\r\n\r\n", "no Content-Length"),
            (b"WARC/1.0\r\nA: b\r\n\r\n", "no Content-Length"),
            (b"WARC/1.0\r\nContent-Length: -1\r\n\r\n", "\"-1\""),
            (b"WARC/1.0\r\nContent-Length: 1\r\n", "it is truncated"),
            (long.as_bytes(), "too long"),
        ] {
            assert!(header(bytes).unwrap_err().contains(part), "{part}");
        }
        assert!(next_header(&mut &b"\r\n\r\n"[..], &mut Vec::new()).unwrap().is_none());
    }

    fn text(response: &[u8]) -> Result<Option<String>, String> {
        let block = Block {
            content: Content::Http,
            content_type: "application/http".into(),
            bytes: response.to_vec(),
        };
        text_of(&block, &DocumentOptions::default().max_document(1000))
    }

    #[test]
    fn deflate_is_read_with_and_without_its_format_and_never_taken_as_the_text() {
        let of = |body: &[u8]| {
            let head =
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: deflate\r\n\r\n";
            text(&[head.as_bytes(), body].concat())
        };
        for words in ["a b", "some words of a page", &"many more words of a page ".repeat(30)] {
            let expected = Ok(Some(words.trim().to_string()));
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), Default::default());
            encoder.write_all(words.as_bytes()).unwrap();
            let zlib = encoder.finish().unwrap();
            let raw = &zlib[2..zlib.len() - 4];
            assert_eq!(of(&zlib), expected);
            assert_eq!(of(raw), expected);
            assert_eq!(of(words.as_bytes()), expected, "decoded by the archive");
            for len in 1..raw.len() - 1 {
                let cut = of(&raw[..len]);
                assert!(cut.is_err() || is_plain(&raw[..len]), "{len}: {cut:?}");
            }
            let cut = of(&zlib[..zlib.len() - 5]);
            assert!(cut.is_err(), "{cut:?}");
        }
        assert!(of(&[0x78, 0x9c, 0x4b, 1, 2, 3]).is_err());
    }

    #[test]
    fn responses_of_all_versions_of_http_and_with_broken_fields_are_read() {
        let rest = "content-type: text/html\r\n\r\n<p>some text";
        for head in [
            "HTTP/2 200\r\n",
            "HTTP/2 200 \r\n",
            "HTTP/2.0 200 OK\r\n",
            "HTTP/3 200\r\n",
            "HTTP/1.2 200 OK\n",
            "ICY 200 OK\r\n",
            "\r\nHTTP/1.1 200 OK\r\n",
            "HTTP/1.1 200 OK\r\nPolicy: default-src 'self';\r\n img-src *\r\n",
            "HTTP/1.1 200 OK\r\nP3P : CP=x\r\n",
            "HTTP/1.1 200 OK\r\nno field\r\n: empty\r\nb\u{e4}d: 1\r\n(x): 2\r\n",
            "HTTP/1.1 200 OK\r\nServer: a\0b\r\nX-\0: 1\r\nX: a\rb\r\n",
            &format!("HTTP/1.1 200 OK\r\n{}", "Set-Cookie: a=b\r\n".repeat(1000)),
            "HTTP/1.1 200 OK\r\nContent-Type: text/html, text/html\r\n",
        ] {
            let found = text(format!("{head}{rest}").as_bytes());
            assert_eq!(found, Ok(Some("some text".into())), "{head:?}");
        }
        let head = "HTTP/2 200\r\nContent-Type: text/html; charset=windows-1251\r\n";
        let twice = [head.as_bytes(), rest.as_bytes(), b" \xf1\xee\xe2\xe5\xf2"].concat();
        let expected = "some text \u{441}\u{43e}\u{432}\u{435}\u{442}";
        assert_eq!(text(&twice), Ok(Some(expected.into())));
        assert!(text(format!("HTTP/2\r\n{rest}").as_bytes()).is_err());
        assert_eq!(text(format!("HTTP/2 404\r\n{rest}").as_bytes()), Ok(None));
    }

    #[test]
    fn responses_give_their_texts_however_they_were_sent() {
        let of = |fields: &str, body: &[u8]| {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n{fields}\r\n");
            text(&[head.as_bytes(), body].concat())
        };
        let gzip = {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            encoder.write_all(b"some text").unwrap();
            encoder.finish().unwrap()
        };
        let expected = Ok(Some("some text".to_string()));
        assert_eq!(of("", b"some text"), expected);
        let chunked = "Transfer-Encoding: chunked\r\n";
        assert_eq!(of(chunked, b"4\r\nsome\r\n5\r\n text\r\n0\r\n\r\n"), expected);
        assert_eq!(of(chunked, b"some text"), expected);
        assert_eq!(of("content-encoding: gzip\r\n", &gzip), expected);
        assert_eq!(of("Content-Encoding: gzip\r\n", b"some text"), expected);
        assert!(of("Content-Encoding: gzip\r\n", &gzip[..12]).is_err());
        assert!(of("Content-Encoding: br\r\n", b"\xff\xfe").unwrap_err().contains("br"));
        for coding in ["br", "zstd", "compress", "x-own", "gzip, br"] {
            let field = format!("Content-Encoding: {coding}\r\n");
            assert!(
                of(&field, b"\x0b\x02\x80abc").unwrap_err().contains(&coding[coding.len() - 2..])
            );
            assert_eq!(of(&field, b"some text"), expected, "decoded by the archive");
        }
        assert!(of("Content-Encoding: gzip\r\n", b"\x0b\x02\x80abc").unwrap_err().contains("gzip"));
        assert_eq!(
            of("Content-Encoding: none, gzip\r\nContent-Encoding: gzip\r\n", &{
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
                encoder.write_all(&gzip).unwrap();
                encoder.finish().unwrap()
            }),
            expected
        );
        let coded =
            [&b"16\r\n"[..], &gzip[..22], b"\r\n7\r\n", &gzip[22..], b"\r\n0\r\n\r\n"].concat();
        assert_eq!(gzip.len(), 29);
        assert_eq!(of("Transfer-Encoding: gzip, chunked\r\n", &coded), expected);
        assert!(of(chunked, b"4\r\nsome\r\n5\r\n te").unwrap_err().contains("truncated"));
        let bomb = {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            encoder.write_all(&[b'x'; 5000]).unwrap();
            encoder.finish().unwrap()
        };
        assert!(of("Content-Encoding: gzip\r\n", &bomb).unwrap_err().contains("longer than"));
        let page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=windows-1252\r\n\r\n<p>caf\xe9 au lait";
        assert!(text(page).unwrap().unwrap().contains("caf\u{e9} au lait"));
        for other in [
            &b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<p>gone"[..],
            b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\nPNG",
            b"HTTP/1.1 200 OK\r\n\r\nunknown",
        ] {
            assert_eq!(text(other), Ok(None));
        }
        assert!(text(b"no HTTP").is_err());
        assert!(text(b"HTTP/1.1 200 OK\r\nA").is_err());
    }
}
