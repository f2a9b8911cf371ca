//! Records of web archives, WARC 1.0 and 1.1 (ISO 28500), and the documents in them.
//!
//! Records are split here, because existing readers do not return the original bytes of a record.
//! The responses of servers are parsed by `httparse`.

use std::io::{self, BufRead, Read};

use flate2::read::ZlibDecoder;
use fpstore_base::decompress::GzipReader;

use super::capped::{Capped, TooLong};
use super::decode::{TextEncoding, decode_stream};
use super::options::DocumentOptions;
use super::whole_file;

/// The first bytes of each record.
pub(super) const MAGIC: &[u8] = b"WARC/1.";
/// Maximum length of the header of a record.
const HEADER_LEN_MAX: u64 = 1 << 16;
/// Maximum number of header fields of a response.
const HTTP_FIELDS_MAX: usize = 256;

/// The header of a record.
#[derive(Debug, Default)]
pub(super) struct Header {
    fields: Vec<(String, String)>,
    /// Length in bytes of the block that follows.
    pub(super) block_len: u64,
}

impl Header {
    /// The value of a field; its name is compared without regard to case.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.fields.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.as_str())
    }

    /// The URI of the record, else its own name.
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
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The encoding named in a Content-Type.
fn charset(value: &str) -> Option<TextEncoding> {
    let parameters = value.split(';').skip(1);
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
            let reason = if limited.limit() == 0 { "its header is too long" } else { "it is cut" };
            return Ok(Some(Err(reason.into())));
        }
        if line_start == start && !raw[start..].starts_with(MAGIC) {
            let found =
                String::from_utf8_lossy(&raw[start..]).trim_end().chars().take(40).collect();
            let found: String = found;
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
    let text = String::from_utf8_lossy(bytes);
    let mut header = Header::default();
    for line in text.lines().skip(1).filter(|line| !line.trim().is_empty()) {
        if line.starts_with([' ', '\t']) {
            // The rest of a long value.
            let Some((_, value)) = header.fields.last_mut() else { continue };
            value.push(' ');
            value.push_str(line.trim());
        } else if let Some((name, value)) = line.split_once(':') {
            header.fields.push((name.trim().into(), value.trim().into()));
        }
    }
    let len = header.get("Content-Length").ok_or("it has no Content-Length")?;
    header.block_len = len.parse().map_err(|_| format!("its Content-Length is {len:?}"))?;
    Ok(header)
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
        let encoding = charset(content_type).unwrap_or(options.encoding);
        if content == Content::Page {
            return whole_file::text_of_page(bytes, encoding, options.html, options.len_max);
        }
        let mut text = String::new();
        decode_stream(bytes, encoding, &mut |piece| text.push_str(piece))
            .map_err(|fault| fault.to_string())?
            .map_err(|fault| format!("byte {} is {fault}", fault.offset))?;
        Ok(text)
    };
    if block.content != Content::Http {
        return text(block.content, &block.bytes, &block.content_type).map(Some);
    }
    let mut fields = [httparse::EMPTY_HEADER; HTTP_FIELDS_MAX];
    let mut response = httparse::Response::new(&mut fields);
    let start = match response.parse(&block.bytes) {
        Ok(httparse::Status::Complete(start)) => start,
        Ok(httparse::Status::Partial) => return Err("its response is cut".into()),
        Err(fault) => return Err(format!("its response is no HTTP: {fault}")),
    };
    let field = |name: &str| {
        let found = response.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
        found.map(|field| String::from_utf8_lossy(field.value).trim().to_string())
    };
    let content_type = field("Content-Type").unwrap_or_default();
    let is_success = response.code.is_some_and(|code| (200..300).contains(&code));
    let Some(content) = Content::of_media(&media_type(&content_type)).filter(|_| is_success) else {
        return Ok(None);
    };
    let mut body = block.bytes[start..].to_vec();
    // Archives often keep these fields although they have decoded the body.
    let is_chunked =
        field("Transfer-Encoding").is_some_and(|it| it.eq_ignore_ascii_case("chunked"));
    if let Some(whole) = is_chunked.then(|| without_chunks(&body)).flatten() {
        body = whole;
    }
    let coding = field("Content-Encoding").unwrap_or_default().to_ascii_lowercase();
    let body = decompressed(body, &coding, options.len_max)?;
    text(content, &body, &content_type).map(Some)
}

/// A body without its chunk sizes; `None` if it is not chunked.
fn without_chunks(body: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::with_capacity(body.len());
    let mut rest = body;
    loop {
        let Ok(httparse::Status::Complete((start, len))) = httparse::parse_chunk_size(rest) else {
            return None;
        };
        if len == 0 {
            return Some(whole);
        }
        let chunk = rest.get(start..)?.get(..usize::try_from(len).ok()?)?;
        whole.extend_from_slice(chunk);
        rest = rest.get(start + chunk.len()..)?.strip_prefix(b"\r\n")?;
    }
}

fn decompressed(body: Vec<u8>, coding: &str, len_max: u64) -> Result<Vec<u8>, String> {
    let is_gzip = body.starts_with(&[0x1f, 0x8b]);
    let decoder: Box<dyn Read> = match coding {
        "" | "identity" => return Ok(body),
        "gzip" | "x-gzip" | "deflate" if is_gzip => Box::new(GzipReader::new(&body[..])),
        // The archive has decoded it.
        "gzip" | "x-gzip" => return Ok(body),
        "deflate" if body.first() == Some(&0x78) => Box::new(ZlibDecoder::new(&body[..])),
        "deflate" => return Ok(body),
        _ if str::from_utf8(&body).is_ok() => return Ok(body),
        other => return Err(format!("its response is compressed with {other}, which is not read")),
    };
    let mut whole = Vec::new();
    Capped::new(decoder, len_max).read_to_end(&mut whole).map_err(|fault| {
        match fault.get_ref().and_then(|inner| inner.downcast_ref::<TooLong>()) {
            Some(too_long) => format!("its text is {too_long}"),
            None => format!("its response cannot be decompressed: {fault}"),
        }
    })?;
    Ok(whole)
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
            (b"WARC/1.0\r\nA: b\r\n\r\n", "no Content-Length"),
            (b"WARC/1.0\r\nContent-Length: -1\r\n\r\n", "\"-1\""),
            (b"WARC/1.0\r\nContent-Length: 1\r\n", "it is cut"),
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
