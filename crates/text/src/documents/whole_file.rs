//! Files that are one document: plain text, or a page in HTML.

use std::io::Read;
use std::path::Path;

use dom_query::Document;
use dom_smoothie::Readability;

use super::capped::{Capped, TooLong, too_long};
use super::decode::{TextEncoding, Undecodable, decode_stream};
use super::{DocumentOptions, page_tree};
use crate::error::Result;
use fpstore_base::{IoError, source};

/// A page names its encoding within this many bytes (HTML standard, 13.2.3.2).
const PRESCAN_LEN: usize = 1024;

/// Why a file is no text.
pub(super) enum NotText {
    Undecodable(Undecodable),
    TooLong(TooLong),
}

/// Gives the text of a plain file to `take`, piece by piece.
pub(super) fn read_plain(
    path: &Path,
    options: &DocumentOptions,
    take: &mut dyn FnMut(&str),
) -> Result<Result<(), NotText>> {
    let reader = Capped::new(source::open(path)?, options.len_max);
    match decode_stream(reader, options.encoding, take) {
        Ok(decoded) => Ok(decoded.map_err(NotText::Undecodable)),
        Err(fault) => match too_long(&fault) {
            Some(fault) => Ok(Err(NotText::TooLong(fault))),
            None => Err(IoError::of(source::doing(path), path)(fault).into()),
        },
    }
}

/// The main text of a file in HTML.
pub(super) fn page_text(path: &Path, options: &DocumentOptions) -> Result<Result<String, String>> {
    let mut page = Vec::new();
    let mut reader = Capped::new(source::open(path)?, options.len_max);
    match reader.read_to_end(&mut page) {
        Ok(_) => Ok(main_text(&page, options.encoding, options.len_max)),
        Err(fault) => match too_long(&fault) {
            Some(fault) => Ok(Err(format!("it is {fault}"))),
            None => Err(IoError::of(source::doing(path), path)(fault).into()),
        },
    }
}

/// The main text of a page in HTML, without menus and advertisements. If there is no main part, all
/// text of the body.
///
/// The result changes from one version of the extractor to the next, so it is no part of a recipe.
fn main_text(page: &[u8], encoding: TextEncoding, len_max: u64) -> Result<String, String> {
    let encoding = if encoding == TextEncoding::UTF_8 {
        // Pages that name no encoding are of all kinds.
        named_encoding(page).unwrap_or(TextEncoding::DETECT)
    } else {
        encoding
    };
    let mut html = String::with_capacity(page.len());
    decode_stream(page, encoding, &mut |piece| html.push_str(piece))
        .map_err(|fault| fault.to_string())?
        .map_err(|fault| format!("byte {} is {fault}", fault.offset))?;
    let tree = page_tree::parse(&html, len_max)?;
    let reader = Readability::with_document(tree, None, None);
    let article = reader.and_then(|mut reader| reader.parse());
    match article {
        Ok(article) if !article.text_content.trim().is_empty() => {
            let title = article.title.trim();
            let text = article.text_content.trim();
            Ok(if title.is_empty() { text.to_string() } else { format!("{title}\n{text}") })
        }
        // The extractor has changed the tree.
        _ => Ok(all_text(&page_tree::parse(&html, len_max)?)),
    }
}

fn all_text(page: &Document) -> String {
    page.select("script, style, noscript, template").remove();
    let title = page.select("title").text();
    let body = page.select("body").formatted_text();
    format!("{title}\n{body}")
}

/// The encoding that a page names for itself in `<meta charset>`.
fn named_encoding(page: &[u8]) -> Option<TextEncoding> {
    let head = page.get(..PRESCAN_LEN).unwrap_or(page).to_ascii_lowercase();
    let head = String::from_utf8_lossy(&head);
    let tag =
        head.split("<meta").skip(1).find_map(|tag| tag.split('>').next()?.split_once("charset"));
    let value = tag?.1.trim_start().strip_prefix('=')?.trim_start_matches([' ', '"', '\'']);
    let end = value.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:.".contains(c));
    TextEncoding::named(&value[..end.unwrap_or(value.len())]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn main_text(page: &[u8]) -> Result<String, String> {
        super::main_text(page, TextEncoding::UTF_8, 1 << 20)
    }

    #[test]
    fn the_main_text_comes_out_and_the_menu_does_not() {
        let paragraph =
            "This is a sentence of the article, and a rather long one, too. ".repeat(12);
        let page = format!(
            "<html><head><title>On things</title><script>var x;</script></head><body>\
             <nav><a href=a>Home</a> <a href=b>Contact</a></nav><article><p>{paragraph}</p>\
             <p>{paragraph}</p></article><footer>Imprint</footer></body></html>"
        );
        let text = main_text(page.as_bytes()).unwrap();
        assert!(text.contains("sentence of the article") && text.contains("On things"), "{text}");
        assert!(!text.contains("Contact") && !text.contains("var x"), "{text}");
        let short = "<title>T</title><p>Just <b>one</b> line<script>no</script>";
        let text = main_text(short.as_bytes()).unwrap();
        assert!(text.contains("Just one line") && !text.contains("no"), "{text}");
    }

    #[test]
    fn the_encoding_that_the_page_names_is_used() {
        let words = "\u{4e2d}\u{6587}\u{7f51}\u{9875}";
        for meta in [
            "<meta charset=\"gb2312\">",
            "<meta http-equiv=Content-Type content='text/html; charset=gbk'>",
        ] {
            let page =
                format!("<html><head>{meta}<title>{words}</title></head><body>{words}</body>");
            let bytes = encoding_rs::GBK.encode(&page).0.into_owned();
            let text = main_text(&bytes).unwrap();
            assert!(text.contains(words), "{text}");
        }
        assert_eq!(main_text(b"").unwrap().trim(), "");
    }
}
