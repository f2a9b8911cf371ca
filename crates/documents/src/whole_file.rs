//! Files that are a single document: plain text, or an HTML page.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use dom_query::{Document, NodeId};
use dom_smoothie::Readability;

use super::capped::{Capped, TooLong, too_long};
use super::decode::{TextEncoding, Undecodable, decode_stream};
use super::formats::HtmlPart;
use super::options::DocumentOptions;
use super::page_tree;
use crate::error::Result;
use fpstore_base::{IoError, source};

/// An HTML page declares its encoding within this many bytes (HTML standard, 13.2.3.2).
const PRESCAN_LEN: usize = 1024;

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
    match decode_stream(reader, options.encoding, take) {
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
        Ok(_) => Ok(text_of_page(&page, options.encoding, options.html, options.len_max)),
        Err(fault) => match too_long(&fault) {
            Some(fault) => Ok(Err(format!("it is {fault}"))),
            None => Err(IoError::of(source::doing(path), path)(fault).into()),
        },
    }
}

/// The text of an HTML page.
///
/// The result can change with the version of the extractor, so it is not part of a recipe.
pub(super) fn text_of_page(
    page: &[u8],
    encoding: TextEncoding,
    part: HtmlPart,
    len_max: u64,
) -> Result<String, String> {
    let encoding = if encoding == TextEncoding::UTF_8 {
        // Pages without a declared encoding can have any.
        named_encoding(page).unwrap_or(TextEncoding::DETECT)
    } else {
        encoding
    };
    let mut html = String::with_capacity(page.len());
    decode_stream(page, encoding, &mut |piece| html.push_str(piece))
        .map_err(|fault| fault.to_string())?
        .map_err(|fault| format!("byte {} is {fault}", fault.offset))?;
    text_of_html(&html, part, len_max)
}

/// The text of a decoded page or fragment.
pub(super) fn text_of_html(html: &str, part: HtmlPart, len_max: u64) -> Result<String, String> {
    let tree = page_tree::parse(html, len_max)?;
    if part == HtmlPart::Full {
        return Ok(all_text(&tree));
    }
    let reader = Readability::with_document(tree, None, None);
    let article = reader.and_then(|mut reader| reader.parse());
    // The extractor has modified the tree.
    let again = || page_tree::parse(html, len_max);
    let article = match article {
        Ok(article) if printed_len(&article.text_content) > 0 => article,
        _ => return Ok(all_text(&again()?)),
    };
    let main = || page_tree::parse(&article.content, len_max);
    if part == HtmlPart::Auto && main().is_ok_and(|tree| is_menu(&tree)) {
        let text = text_without_menus(&again()?);
        if printed_len(&text) > 0 {
            return Ok(text);
        }
    }
    let (title, text) = (article.title.trim(), article.text_content.trim());
    Ok(if title.is_empty() { text.to_string() } else { format!("{title}\n{text}") })
}

/// Length in bytes of a text, whitespace not counted.
fn printed_len(text: &str) -> usize {
    text.split_whitespace().map(str::len).sum()
}

/// Elements with invisible text.
const HIDDEN: &str = "script, style, noscript, template";

/// All text except menus, lists of links, comments and the page footer.
fn text_without_menus(page: &Document) -> String {
    page.select(HIDDEN).remove();
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
        if lens.get(&list.id).copied().unwrap_or_default().is_menu() {
            list.remove_from_parent();
        }
    }
    all_text(page)
}

/// The text below a node.
#[derive(Clone, Copy, Default)]
struct TextLen {
    /// Bytes, whitespace not counted.
    all: usize,
    /// Bytes in links.
    linked: usize,
}

impl TextLen {
    /// Whether most of the text is in links.
    fn is_menu(self) -> bool {
        self.linked * 2 > self.all
    }
}

/// The text below each node that has any, in one pass from the last node to the first, so that all
/// children are added before their parent.
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

/// Whether most of the text of a tree is in links.
fn is_menu(tree: &Document) -> bool {
    lens_below(tree).get(&tree.root().id).copied().unwrap_or_default().is_menu()
}

fn all_text(page: &Document) -> String {
    page.select(HIDDEN).remove();
    let title = page.select("title").text();
    let body = page.select("body").formatted_text();
    format!("{title}\n{body}")
}

/// The encoding that a page declares in `<meta charset>`.
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
        text_of_page(page, TextEncoding::UTF_8, HtmlPart::Main, 1 << 20)
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
        let of = |part| text_of_page(page.as_bytes(), TextEncoding::UTF_8, part, 1 << 20).unwrap();
        let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(of(HtmlPart::Main).contains("Section 7"));
        assert_eq!(words(of(HtmlPart::Auto)), "T Short Fish bite.");
        let full = of(HtmlPart::Full);
        for part in ["Section 7", "Fish bite.", "I think so", "Imprint"] {
            assert!(full.contains(part), "{part}: {full}");
        }
        // If there is no other text, the menu is used as the text.
        let page = format!("<title>T</title><ul>{menu}</ul>");
        let text = text_of_page(page.as_bytes(), TextEncoding::UTF_8, HtmlPart::Auto, 1 << 20);
        assert!(text.unwrap().contains("T"));
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
