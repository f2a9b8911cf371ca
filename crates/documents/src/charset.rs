//! The encoding that an HTML page declares (HTML standard, 13.2.3 and 13.2.6.4.4).
//!
//! Browsers look for a declaration in the first 1024 bytes, and begin again when the parser meets a
//! later one. Here a single search finds both: the tokenizer of the parser skips comments, scripts
//! and texts, and reads attributes.

use std::cell::Cell;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED, mem};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer,
};

use super::decode::{HEAD_LEN, TextEncoding};

/// The encoding of a page: `said` if it is given, else the declared encoding, else detection. A
/// byte order mark in the page takes precedence when it is decoded.
pub(super) fn of_page(page: &[u8], said: Option<TextEncoding>) -> TextEncoding {
    let head = || page.get(..HEAD_LEN).unwrap_or(page);
    said.or_else(|| declared(head()).map(TextEncoding::of_encoding)).unwrap_or(TextEncoding::DETECT)
}

/// The encoding declared in a meta element, else in an XML declaration.
fn declared(head: &[u8]) -> Option<&'static Encoding> {
    let input = BufferQueue::default();
    // All declarations are ASCII, so Latin-1 preserves them.
    input.push_back(StrTendril::from_slice(&mem::decode_latin1(head)));
    let tokenizer = Tokenizer::new(Declarations::default(), Default::default());
    // The tokenizer stops at the first declaration.
    let _ = tokenizer.feed(&input);
    tokenizer.sink.found.get().or_else(|| xml_encoding(head))
}

/// Receives tags, and keeps the first declared encoding.
#[derive(Default)]
struct Declarations {
    found: Cell<Option<&'static Encoding>>,
}

impl TokenSink for Declarations {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let Token::TagToken(tag @ Tag { kind: TagKind::StartTag, .. }) = token else {
            return TokenSinkResult::Continue;
        };
        match &*tag.name {
            "script" => TokenSinkResult::RawData(RawKind::ScriptData),
            "textarea" | "title" => TokenSinkResult::RawData(RawKind::Rcdata),
            "iframe" | "noembed" | "noframes" | "style" | "xmp" => {
                TokenSinkResult::RawData(RawKind::Rawtext)
            }
            "plaintext" => TokenSinkResult::Plaintext,
            "meta" => match of_meta(&tag) {
                None => TokenSinkResult::Continue,
                found => {
                    self.found.set(found);
                    TokenSinkResult::EncodingIndicator(StrTendril::new())
                }
            },
            _ => TokenSinkResult::Continue,
        }
    }
}

/// The encoding that a meta element declares; `None` if it is unknown.
fn of_meta(tag: &Tag) -> Option<&'static Encoding> {
    let attribute = |name: &str| {
        let found = tag.attrs.iter().find(|attribute| &*attribute.name.local == name);
        found.map(|attribute| &*attribute.value)
    };
    if let Some(label) = attribute("charset") {
        return of_label(label);
    }
    let is_type = attribute("http-equiv")?.eq_ignore_ascii_case("content-type");
    of_label(label_in(attribute("content").filter(|_| is_type)?)?)
}

/// The encoding label in a Content-Type (HTML standard, 2.6.4).
fn label_in(content: &str) -> Option<&str> {
    let lower = content.to_ascii_lowercase();
    let mut names = lower.match_indices("charset").map(|(at, name)| &content[at + name.len()..]);
    let value = names.find_map(|rest| rest.trim_ascii_start().strip_prefix('='))?;
    let value = value.trim_ascii_start();
    match value.chars().next()? {
        quote @ ('"' | '\'') => value[1..].split_once(quote).map(|(label, _)| label),
        _ => value.split(|c: char| c.is_ascii_whitespace() || c == ';').next(),
    }
}

/// The encoding with this label. As in browsers, UTF-16 is replaced by UTF-8, because a label in
/// UTF-16 could not have been read, and x-user-defined by windows-1252.
fn of_label(label: &str) -> Option<&'static Encoding> {
    Encoding::for_label(label.as_bytes()).map(|encoding| match encoding {
        _ if encoding == UTF_16BE || encoding == UTF_16LE => UTF_8,
        _ if encoding == X_USER_DEFINED => WINDOWS_1252,
        _ => encoding,
    })
}

/// The encoding in an XML declaration (HTML standard, "get an XML encoding").
fn xml_encoding(head: &[u8]) -> Option<&'static Encoding> {
    let rest = head.strip_prefix(b"<?xml")?;
    let declaration = str::from_utf8(&rest[..memchr::memchr(b'>', rest)?]).ok()?;
    let (_, value) = declaration.split_once("encoding")?;
    let value = value.trim_ascii_start().strip_prefix('=')?.trim_ascii_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    of_label(value[1..].split_once(quote)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_meta_element_declares_an_encoding_and_only_in_its_attributes() {
        let script = format!("<script>{}</script>", "var x = '<meta charset=koi8-r>';".repeat(900));
        for (head, expected) in [
            ("<meta charset=gb2312>", Some("GBK")),
            ("<META CHARSET = ' Windows-1251 '/>", Some("windows-1251")),
            ("<meta content='text/html; charset = gbk' http-equiv=Content-Type>", Some("GBK")),
            ("<meta http-equiv=content-type content='a charset; charset=\"big5\"'>", Some("Big5")),
            ("<meta content='text/html; charset=gbk'>", None),
            ("<meta http-equiv=refresh content='9; url=a?charset=gbk'>", None),
            ("<meta name=description content='charset=koi8-r'><meta charset=gbk>", Some("GBK")),
            ("<meta property=og:url content='http://a/?charset=gbk&page=2'>", None),
            ("<meta data-charset=koi8-r><meta charset=klingon><meta charset=gbk>", Some("GBK")),
            ("<!-- <meta charset=koi8-r> --><!--[if IE]><meta charset=big5><![endif]-->", None),
            ("<title><meta charset=koi8-r></title><style><meta charset=big5></style>", None),
            ("<body title='<meta charset=koi8-r>'><link charset=big5><metal charset=gbk>", None),
            ("<meta charset=utf-16><meta charset=gbk>", Some("UTF-8")),
            ("<meta http-equiv=Content-Type content='text/html; charset=utf-16le'>", Some("UTF-8")),
            ("<meta charset=iso-2022-kr>", Some("replacement")),
            ("<meta charset=x-user-defined>", Some("windows-1252")),
            ("<?xml version='1.0' encoding='windows-1251'?><html>", Some("windows-1251")),
            ("<?xml version='1.0' encoding='big5'?><meta charset=gbk>", Some("GBK")),
            ("<?xml version='1.0'?><p>encoding='big5'", None),
            (&format!("<!DOCTYPE html>{script}<meta charset=gbk>"), Some("GBK")),
            ("<meta charset", None),
            ("caf\u{e9}<meta charset=gbk>", Some("GBK")),
        ] {
            assert_eq!(declared(head.as_bytes()).map(Encoding::name), expected, "{head:.90}");
        }
    }
}
