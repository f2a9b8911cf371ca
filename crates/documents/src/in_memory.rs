//! Documents in memory, such as the body of a request.

use super::capped::TooLong;
use super::decode::decode_whole;
use super::formats::DocumentFormat;
use super::guard::guarded;
use super::json;
use super::options::{DocumentOptions, Names};
use super::whole_file::text_of_page;
use crate::error::{Error, Result};

/// The text of a document in memory: a page if the format is [`DocumentFormat::Html`], a JSON
/// object if it is [`DocumentFormat::JsonLines`], else a plain text. Encoding, part of a page and
/// maximum length are set by the options.
///
/// # Errors
///
/// [`Error::BadFile`] if the bytes are invalid in the encoding, too long, or refused by the parser.
///
/// # Examples
///
/// ```
/// use fpstore_documents::{DocumentFormat, DocumentOptions, text_of_bytes};
///
/// let options = DocumentOptions::default().format(DocumentFormat::Html);
/// let text = text_of_bytes(b"<title>On fish</title><p>Fish bite.", &options)?;
/// assert!(text.contains("Fish bite."));
/// # Ok::<(), fpstore_documents::Error>(())
/// ```
pub fn text_of_bytes(bytes: &[u8], options: &DocumentOptions) -> Result<String> {
    let bad = |reason| Error::BadFile { name: "the text".into(), reason };
    if bytes.len() as u64 > options.len_max {
        return Err(bad(format!("it is {}", TooLong { len_max: options.len_max })));
    }
    if options.format == Some(DocumentFormat::Html) {
        let part = || text_of_page(bytes, options.encoding, options);
        return guarded(part).and_then(|text| text).map_err(bad);
    }
    if options.format == Some(DocumentFormat::JsonLines) {
        // An id may be missing, because it is not needed.
        let names = Names { id: None, ..options.names() };
        return json::text_of(bytes, names).map(|found| found.text.into_owned()).map_err(bad);
    }
    decode_whole(bytes, options.text_encoding()).map_err(bad)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HtmlPart, TextEncoding};

    #[test]
    fn texts_are_decoded_and_pages_are_read() {
        let options = DocumentOptions::default();
        assert_eq!(text_of_bytes(b"a \xe4\xb8\xad", &options).unwrap(), "a \u{4e2d}");
        let fault = text_of_bytes(b"ab\xff", &options).unwrap_err().to_string();
        assert!(fault.contains("byte 2 is not UTF-8"), "{fault}");
        let gbk = options.clone().encoding(TextEncoding::named("gbk").unwrap());
        assert_eq!(text_of_bytes(b"\xd6\xd0", &gbk).unwrap(), "\u{4e2d}");
        let json = options.clone().format(DocumentFormat::of_content(b" {\"text\":"));
        assert_eq!(text_of_bytes(b" {\"text\":\"a\"}\n", &json).unwrap(), "a");
        assert!(text_of_bytes(b"{\"text\":\"a\"}\n{}", &json).is_err());
        let short = options.clone().max_document(2);
        assert!(text_of_bytes(b"abc", &short).is_err());
        let page = options.format(DocumentFormat::Html).html(HtmlPart::Full);
        let text = text_of_bytes(b"<p>one <b>two</b><script>no</script>", &page).unwrap();
        assert_eq!(text.split_whitespace().collect::<Vec<_>>(), ["one", "two"]);
        assert!(text_of_bytes(b"<p>a", &page.max_document(2)).is_err());
    }
}
