//! The text of a page in HTML.

use dom_smoothie::{Config, Readability};

use crate::documents::decode::{TextEncoding, decode_stream};

/// How far into a page its encoding may be named (HTML standard, 13.2.3.2).
const PRESCAN_LEN: usize = 1024;

/// The main text of a page: what a reader came for, without menus and advertisements. Where no main part can be
/// told from the rest, all text of the body.
///
/// What counts as the main text changes from one version of the extractor to the next, so it is no part of a recipe.
pub(super) fn main_text(page: &[u8], encoding: TextEncoding) -> Result<String, String> {
    let encoding = match named_encoding(page) {
        _ if encoding != TextEncoding::Utf8 => encoding,
        Some(named) => named,
        // Pages that name no encoding are of all kinds.
        None => TextEncoding::Detect,
    };
    let mut html = String::with_capacity(page.len());
    decode_stream(page, encoding, &mut |piece| html.push_str(piece))
        .map_err(|fault| fault.to_string())?
        .map_err(|fault| fault.reason)?;
    let config = Config { keep_classes: false, ..Config::default() };
    let reader = Readability::new(html.as_str(), None, Some(config));
    let article = reader.and_then(|mut reader| reader.parse());
    match article {
        Ok(article) if !article.text_content.trim().is_empty() => {
            let title = article.title.trim();
            let text = article.text_content.trim();
            Ok(if title.is_empty() { text.to_string() } else { format!("{title}\n{text}") })
        }
        _ => Ok(all_text(&html)),
    }
}

fn all_text(html: &str) -> String {
    let Ok(reader) = Readability::new(html, None, None) else { return String::new() };
    reader.doc.select("script, style, noscript, template").remove();
    let title = reader.doc.select("title").text();
    let body = reader.doc.select("body").formatted_text();
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

    #[test]
    fn the_main_text_comes_out_and_the_menu_does_not() {
        let paragraph =
            "This is a sentence of the article, and a rather long one, too. ".repeat(12);
        let page = format!(
            "<html><head><title>On things</title><script>var x;</script></head><body>\
             <nav><a href=a>Home</a> <a href=b>Contact</a></nav><article><p>{paragraph}</p>\
             <p>{paragraph}</p></article><footer>Imprint</footer></body></html>"
        );
        let text = main_text(page.as_bytes(), TextEncoding::Utf8).unwrap();
        assert!(text.contains("sentence of the article") && text.contains("On things"), "{text}");
        assert!(!text.contains("Contact") && !text.contains("var x"), "{text}");
        let short = "<title>T</title><p>Just <b>one</b> line<script>no</script>";
        let text = main_text(short.as_bytes(), TextEncoding::Utf8).unwrap();
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
            let text = main_text(&bytes, TextEncoding::Utf8).unwrap();
            assert!(text.contains(words), "{text}");
        }
        assert_eq!(main_text(b"", TextEncoding::Utf8).unwrap().trim(), "");
    }
}
