//! The text of a tree of HTML, as a browser lays it out.
//!
//! The boxes of elements follow the HTML standard, section 15.3 (rendering, non-replaced elements),
//! so that a page has the same text with and without white space between its tags.

use dom_query::{Document, NodeRef};

/// The effect of an element on the text around it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// The element is not shown.
    Hidden,
    /// The element is part of the word around it.
    Inline,
    /// The element ends the word before it and its own last word.
    Cell,
    /// The element ends the line before it and its own last line.
    Line,
    /// The element ends the paragraph before it and its own last paragraph.
    Block,
}

impl Layout {
    fn of(name: &str) -> Self {
        match name {
            "area" | "base" | "basefont" | "datalist" | "head" | "iframe" | "link" | "meta"
            | "noembed" | "noframes" | "noscript" | "param" | "script" | "style" | "template"
            | "title" => Layout::Hidden,
            "address" | "article" | "aside" | "blockquote" | "body" | "caption" | "center"
            | "details" | "dialog" | "dir" | "div" | "dl" | "fieldset" | "figcaption"
            | "figure" | "footer" | "form" | "frame" | "frameset" | "h1" | "h2" | "h3" | "h4"
            | "h5" | "h6" | "header" | "hgroup" | "hr" | "html" | "legend" | "listing" | "main"
            | "menu" | "nav" | "ol" | "p" | "plaintext" | "pre" | "search" | "section"
            | "summary" | "table" | "ul" | "xmp" => Layout::Block,
            "dd" | "dt" | "li" | "optgroup" | "option" | "tbody" | "tfoot" | "thead" | "tr" => {
                Layout::Line
            }
            "button" | "input" | "marquee" | "meter" | "progress" | "select" | "td"
            | "textarea" | "th" => Layout::Cell,
            _ => Layout::Inline,
        }
    }
}

/// Whether an element keeps the white space in it.
fn is_preformatted(name: &str) -> bool {
    matches!(name, "listing" | "plaintext" | "pre" | "textarea" | "xmp")
}

/// Removes the white space around blocks, lines and cells, so that the extractor finds the same
/// main part with and without it. Table cells get one space, because the extractor may remove their
/// tags.
pub(super) fn normalise(page: &Document) {
    let name_of = |node: &NodeRef<'_>| node.qual_name_ref().map(|name| name.local.to_string());
    let ends_word = |node: Option<NodeRef<'_>>| {
        let name = node.as_ref().and_then(name_of).unwrap_or_default();
        name == "br" || !matches!(Layout::of(&name), Layout::Inline | Layout::Hidden)
    };
    for node in page.root().descendants() {
        let keeps_space =
            |above: NodeRef<'_>| name_of(&above).is_some_and(|name| is_preformatted(&name));
        if !node.is_text() || node.ancestors_it(None).any(keeps_space) {
            continue;
        }
        let text = node.text();
        let mut rest = &*text;
        if ends_word(node.prev_sibling().or_else(|| node.parent())) {
            rest = rest.trim_ascii_start();
        }
        if ends_word(node.next_sibling().or_else(|| node.parent())) {
            rest = rest.trim_ascii_end();
        }
        match rest.len() {
            0 => node.remove_from_parent(),
            len if len < text.len() => node.set_text(rest),
            _ => {}
        }
    }
    for cell in page.select("td, th").nodes() {
        cell.append_child(&page.tree.new_text(" "));
    }
}

/// The text of a node and its descendants: paragraphs are separated by an empty line.
pub(super) fn text_of(node: &NodeRef<'_>) -> String {
    let mut text = PageText::default();
    text.push(node, false);
    text.0.truncate(text.0.trim_ascii_end().len());
    text.0
}

#[derive(Default)]
struct PageText(String);

impl PageText {
    /// Appends the text of a node. The recursion is as deep as the tree, whose depth is limited.
    fn push(&mut self, node: &NodeRef<'_>, is_preformatted_here: bool) {
        if node.is_text() {
            return self.push_words(&node.text(), is_preformatted_here);
        }
        let (layout, keeps_space) = match node.qual_name_ref() {
            Some(name) if &*name.local == "br" => return self.break_line(),
            Some(name) => (Layout::of(&name.local), is_preformatted(&name.local)),
            None => (Layout::Inline, false),
        };
        if layout == Layout::Hidden {
            return;
        }
        self.end(layout);
        for child in node.children_it(false) {
            self.push(&child, is_preformatted_here || keeps_space);
        }
        self.end(layout);
    }

    fn push_words(&mut self, words: &str, is_preformatted: bool) {
        if is_preformatted {
            return self.0.push_str(words);
        }
        for (number, word) in words.split(|c: char| c.is_ascii_whitespace()).enumerate() {
            if number > 0 {
                self.end(Layout::Cell);
            }
            self.0.push_str(word);
        }
    }

    fn end(&mut self, layout: Layout) {
        let breaks = match layout {
            Layout::Hidden | Layout::Inline => return,
            Layout::Cell if self.0.is_empty() || self.0.ends_with([' ', '\n']) => return,
            Layout::Cell => return self.0.push(' '),
            Layout::Line => "\n",
            Layout::Block => "\n\n",
        };
        self.trim();
        while !self.0.is_empty() && !self.0.ends_with(breaks) {
            self.0.push('\n');
        }
    }

    fn break_line(&mut self) {
        self.trim();
        if !self.0.is_empty() && !self.0.ends_with("\n\n") {
            self.0.push('\n');
        }
    }

    fn trim(&mut self) {
        self.0.truncate(self.0.trim_end_matches(' ').len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HtmlPart;
    use crate::page_tree;
    use crate::whole_file::text_of_html;

    fn text(html: &str) -> String {
        text_of(&page_tree::parse(html, 1 << 20).unwrap().root())
    }

    #[test]
    fn elements_end_words_lines_and_paragraphs_as_browsers_lay_them_out() {
        for (html, expected) in [
            ("<p>one two</p><p>three</p>", "one two\n\nthree"),
            ("one<div>two</div>three", "one\n\ntwo\n\nthree"),
            ("one<br>two<BR/>three", "one\ntwo\nthree"),
            ("one<br> <br>two", "one\n\ntwo"),
            ("<ul><li>one<li>two</ul><dl><dt>three<dd>four</dl>", "one\ntwo\n\nthree\nfour"),
            ("<ul><li>one<ul><li>two</ul><li>three</ul>", "one\n\ntwo\n\nthree"),
            (
                "<table><caption>a</caption><tr><th>b</th><td>c<tr><td>d<td>e</table>",
                "a\n\nb c\nd e",
            ),
            ("<select><optgroup><option>one<option>two</select>", "one\ntwo"),
            ("<button>one</button><button>two</button>", "one two"),
            ("<h1>one</h1>two<hr>three", "one\n\ntwo\n\nthree"),
            ("<details><summary>one</summary>two</details>", "one\n\ntwo"),
            // Elements within a word.
            ("s<b>o</b>me<wbr>thing H<sub>2</sub>O x<sup>2</sup>", "something H2O x2"),
            ("<x-menu>one</x-menu><x-menu>two</x-menu>", "onetwo"),
            ("<i>one</i> <i>two</i>\n<i> three</i>", "one two three"),
            ("<pre>one\n  two<br>three</pre>four", "one\n  two\nthree\n\nfour"),
            ("a\u{a0} b<svg><title>icon</title></svg><script>no</script>c", "a\u{a0} bc"),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
    }

    #[test]
    fn each_block_element_separates_words_with_and_without_white_space_around_it() {
        let blocks = "address article aside blockquote center dd details dialog dir div dl dt \
                      fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup legend \
                      li listing main menu nav ol p pre search section summary ul xmp";
        for name in blocks.split_whitespace() {
            let minified = text(&format!("one<{name}>two</{name}><{name}>three</{name}>four"));
            assert_eq!(minified.split_whitespace().count(), 4, "{name}: {minified}");
            let pretty = text(&format!("one\n<{name}>two</{name}>\n<{name}>three</{name}>\nfour"));
            assert_eq!(minified, pretty, "{name}");
        }
    }

    /// The same page as a minifier and as a pretty-printer write it.
    #[test]
    fn a_page_has_the_same_text_with_and_without_white_space_between_its_tags() {
        let words = "the river council met on monday to speak about the new bridge".repeat(3);
        let cells = format!("<td>{words}</td><td>short</td>");
        for body in [
            format!("<p>{words}</p><p>{words} again</p>").repeat(9),
            format!("<ul>{}</ul>", "<li>one item of a list</li><li>two</li>".repeat(30)),
            format!("<table><tbody>{}</tbody></table>", format!("<tr>{cells}</tr>").repeat(9)),
            format!("<div>{}</div>", "a line of a poem<br>another one<br>".repeat(30)),
            format!("<dl>{}</dl>", format!("<dt>term</dt><dd>{words}</dd>").repeat(9)),
            format!("<h2>head</h2><p>{words}</p>").repeat(9),
            format!("<section><header>head</header><main>{words}</main></section>").repeat(9),
            format!("<table><tr>{cells}</tr></table><form><label>a</label></form>"),
            "<nav><ul><li><a href=a>Home</a></li></ul></nav><div>short</div>".into(),
        ] {
            let minified = format!("<html><head><title>t</title></head><body>{body}</body></html>");
            let pretty = minified.replace('<', "\n  <").replace('>', ">\n  ");
            let pretty = pretty.replace("\n  <title>\n  t\n  ", "<title>t");
            for part in [HtmlPart::Auto, HtmlPart::Main, HtmlPart::Full] {
                let of = |html| text_of_html(html, part, 1 << 20).unwrap();
                let expected = of(&minified);
                assert_eq!(of(&pretty), expected, "{part:?}");
                let glued = ["twoone", "shortthe", "poemanother", "headthe", "bridgeshort"];
                assert!(!glued.iter().any(|it| expected.contains(it)), "{part:?}: {expected}");
            }
        }
    }
}
