//! Files that are a single document: plain text, or an HTML page.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use dom_query::{Document, NodeId, NodeRef};
use dom_smoothie::Readability;

use super::capped::{Capped, TooLong, too_long};
use super::decode::{TextEncoding, Undecodable, decode_stream, decode_whole};
use super::formats::HtmlPart;
use super::options::DocumentOptions;
use super::{charset, page_text, page_tree};
use crate::error::Result;
use fpstore_base::{IoError, source};

/// The reason why a file is not text.
pub(super) enum NotText {
    Undecodable(Undecodable),
    TooLong(TooLong),
}

/// Calls `take` with the text of a plain file, piece by piece.
pub(super) fn read_plain(
    path: &Path,
    options: &DocumentOptions,
    take: &mut dyn FnMut(&str),
) -> Result<Result<(), NotText>> {
    let reader = Capped::new(source::open(path)?, options.len_max);
    match decode_stream(reader, options.text_encoding(), take) {
        Ok(decoded) => Ok(decoded.map_err(NotText::Undecodable)),
        Err(fault) => match too_long(&fault) {
            Some(fault) => Ok(Err(NotText::TooLong(fault))),
            None => Err(IoError::of(source::doing(path), path)(fault).into()),
        },
    }
}

/// The text of an HTML file.
pub(super) fn page_text(path: &Path, options: &DocumentOptions) -> Result<Result<String, String>> {
    let mut page = Vec::new();
    let mut reader = Capped::new(source::open(path)?, options.len_max);
    match reader.read_to_end(&mut page) {
        Ok(_) => Ok(text_of_page(&page, options.encoding, options)),
        Err(fault) => match too_long(&fault) {
            Some(fault) => Ok(Err(format!("it is {fault}"))),
            None => Err(IoError::of(source::doing(path), path)(fault).into()),
        },
    }
}

/// The text of an HTML page; `said` is the encoding if it is declared outside the page.
///
/// The result can change with the version of the extractor, so it is not part of a recipe.
pub(super) fn text_of_page(
    page: &[u8],
    said: Option<TextEncoding>,
    options: &DocumentOptions,
) -> Result<String, String> {
    let html = decode_whole(page, charset::of_page(page, said))?;
    text_of_html(&html, options.html, options.len_max)
}

/// The text of a decoded page or fragment.
pub(super) fn text_of_html(html: &str, part: HtmlPart, len_max: u64) -> Result<String, String> {
    let tree = page_tree::parse(html, len_max)?;
    if part == HtmlPart::Full {
        return Ok(all_text(&tree));
    }
    // The extractor looks for the title in the head only.
    let title = tree.select_single("title").text();
    page_text::normalise(&tree);
    // The extractor modifies the tree, so all other texts need a new tree.
    let again = || page_tree::parse(html, len_max);
    let mut reader = Readability::with_document(tree, None, None).map_err(|it| it.to_string())?;
    let Ok(article) = reader.parse() else { return Ok(all_text(&again()?)) };
    let main = reader.doc.select_single(MAIN);
    let Some(main) = main.nodes().first() else { return Ok(all_text(&again()?)) };
    let text = page_text::text_of(main);
    if text.is_empty() {
        return Ok(all_text(&again()?));
    }
    if part == HtmlPart::Auto && is_menu(&lens_below(&reader.doc), main) {
        let text = text_without_menus(&again()?);
        if !text.trim().is_empty() {
            return Ok(text);
        }
    }
    let own = article.title.trim();
    Ok(titled(if own.is_empty() { &title } else { own }, &text))
}

/// The element to which the extractor moves the main part.
const MAIN: &str = "#readability-page-1";

/// Length in bytes of a text, whitespace not counted.
fn printed_len(text: &str) -> usize {
    text.split_whitespace().map(str::len).sum()
}

/// All text except menus, lists of links, comments and the page footer.
fn text_without_menus(page: &Document) -> String {
    page.select("script, style, noscript, template").remove();
    page.select("nav, footer, aside, form, button, select, [role=navigation]").remove();
    for node in page.select("[class], [id]").iter() {
        let is_comment = |name: &str| {
            let name = node.attr(name).unwrap_or_default();
            name.split_ascii_whitespace().any(|part| part.starts_with("comment"))
        };
        if (is_comment("class") || is_comment("id")) && !node.is("html, body") {
            node.remove();
        }
    }
    let lens = lens_below(page);
    for list in page.select("ul, ol, table, div").nodes() {
        if is_menu(&lens, list) {
            list.remove_from_parent();
        }
    }
    all_text(page)
}

/// The length of the text below a node.
#[derive(Clone, Copy, Default)]
struct TextLen {
    /// Bytes, whitespace not counted.
    all: usize,
    /// Bytes of the text in links.
    linked: usize,
}

/// Whether most of the text below a node is in links.
fn is_menu(lens: &HashMap<NodeId, TextLen>, node: &NodeRef<'_>) -> bool {
    lens.get(&node.id).is_some_and(|len| len.linked * 2 > len.all)
}

/// The length of the text below each node with text, computed in one pass from the last node to the
/// first, so that all children are added before their parent.
fn lens_below(page: &Document) -> HashMap<NodeId, TextLen> {
    let mut lens: HashMap<NodeId, TextLen> = HashMap::new();
    for node in page.root().descendants().iter().rev() {
        let mut len = lens.get(&node.id).copied().unwrap_or_default();
        if node.is_text() {
            len.all = printed_len(&node.text());
        } else if node.has_name("a") {
            len.linked = len.all;
        }
        if len.all == 0 {
            continue;
        }
        lens.insert(node.id, len);
        if let Some(parent) = node.parent() {
            let sum = lens.entry(parent.id).or_default();
            sum.all += len.all;
            sum.linked += len.linked;
        }
    }
    lens
}

fn all_text(page: &Document) -> String {
    let title = page.select_single("title").text();
    let body = page.select_single("body");
    titled(&title, &body.nodes().first().map(page_text::text_of).unwrap_or_default())
}

fn titled(title: &str, text: &str) -> String {
    let title = title.trim();
    if title.is_empty() { text.into() } else { format!("{title}\n{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn main_text(page: &[u8]) -> Result<String, String> {
        text_of_page(page, None, &DocumentOptions::default().html(HtmlPart::Main))
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
    fn a_short_article_inside_menus_and_comments_is_found() {
        let menu: String =
            (0..40).map(|n| format!("<li><a href=/{n}>Section {n} of the site</a></li>")).collect();
        let page = format!(
            "<title>T</title><body class='comments-open'><ul>{menu}</ul>\
             <div><h1>Short</h1><p>Fish bite.</p></div>\
             <ol class='list comment-list'><li>I think so, too.</ol>\
             <div>{menu}</div><footer>Imprint</footer>"
        );
        let of = |part| {
            text_of_page(page.as_bytes(), None, &DocumentOptions::default().html(part)).unwrap()
        };
        let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(of(HtmlPart::Main).contains("Section 7"));
        assert_eq!(words(of(HtmlPart::Auto)), "T Short Fish bite.");
        let full = of(HtmlPart::Full);
        for part in ["Section 7", "Fish bite.", "I think so", "Imprint"] {
            assert!(full.contains(part), "{part}: {full}");
        }
        // If there is no other text, the menu is used as the text.
        let page = format!("<title>T</title><ul>{menu}</ul>");
        let text = text_of_page(page.as_bytes(), None, &DocumentOptions::default());
        assert!(text.unwrap().contains("T"));
    }

    #[test]
    fn what_was_said_of_a_page_outright_wins_and_a_byte_order_mark_before_it() {
        let words = "\u{441}\u{43e}\u{432}\u{435}\u{442}";
        let page = format!("<meta charset=windows-1251><title>a</title><p>{words}");
        let cyrillic = TextEncoding::named("windows-1251").unwrap();
        let of = |bytes: &[u8], said| text_of_page(bytes, said, &DocumentOptions::default());
        let recoded = page.as_bytes();
        let original = encoding_rs::WINDOWS_1251.encode(&page).0.into_owned();
        let marked = [b"\xef\xbb\xbf", recoded].concat();
        for (bytes, said, is_read) in [
            (recoded, Some(TextEncoding::UTF_8), true),
            (recoded, Some(TextEncoding::DETECT), true),
            (recoded, None, false),
            (&marked, None, true),
            (&marked, Some(cyrillic), true),
            (&original, None, true),
            (&original, Some(cyrillic), true),
            (&original, Some(TextEncoding::UTF_8), false),
        ] {
            let text = of(bytes, said);
            assert_eq!(
                text.as_ref().is_ok_and(|it| it.contains(words)),
                is_read,
                "{said:?} {text:?}"
            );
        }
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
