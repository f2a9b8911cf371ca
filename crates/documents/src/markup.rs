//! Removes the markup from texts in fields.

use std::borrow::Cow;

use pulldown_cmark::{Event, Options, Parser, TagEnd};

use super::formats::{HtmlPart, TextFormat};
use super::guard::guarded;
use super::options::DocumentOptions;
use super::whole_file;

impl DocumentOptions {
    /// The text in the value of a field, without its markup.
    pub(super) fn text_in<'a>(&self, field: Cow<'a, str>) -> Result<Cow<'a, str>, String> {
        match self.text_format {
            TextFormat::Plain => Ok(field),
            TextFormat::Html => {
                // A panic of the external parser must not end the program.
                guarded(|| whole_file::text_of_html(&field, self.html, self.len_max))
                    .flatten()
                    .map(Cow::Owned)
            }
            TextFormat::Markdown => {
                guarded(|| text_of_markdown(&field, self.len_max)).flatten().map(Cow::Owned)
            }
        }
    }
}

fn text_of_markdown(marked: &str, len_max: u64) -> Result<String, String> {
    let extensions =
        Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH;
    let mut text = String::with_capacity(marked.len());
    let mut html = String::new();
    for event in Parser::new_ext(marked, extensions) {
        match event {
            Event::Text(part) | Event::Code(part) => text.push_str(&part),
            // A part of a block of HTML: tags, and the texts between them.
            Event::Html(part) => html.push_str(&part),
            Event::End(TagEnd::HtmlBlock) => {
                let part = std::mem::take(&mut html);
                text.push_str(&whole_file::text_of_html(&part, HtmlPart::Full, len_max)?);
                text.push('\n');
            }
            Event::SoftBreak | Event::HardBreak | Event::Rule => text.push('\n'),
            // Markup within a word does not end the word.
            Event::End(
                TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link,
            ) => {}
            Event::End(_) => text.push('\n'),
            _ => {}
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_no_part_of_a_text() {
        let marked = "# Title\n\nSome **bo**ld [text](http://a.example/) and `code`.\n\n* one\n* two\n\n\
                      | a | b |\n|---|---|\n| c | d |\n\n<b>tags</b>\n";
        let words: Vec<_> =
            text_of_markdown(marked, 1000).unwrap().split_whitespace().map(String::from).collect();
        let expected = "Title Some bold text and code. one two a b c d tags";
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn a_field_is_what_the_option_says() {
        let field = "<p>some <i>text</i></p>";
        let of = |format| {
            let options = DocumentOptions::default().text_format(format);
            options.text_in(field.into()).unwrap().trim().to_string()
        };
        assert_eq!(of(TextFormat::Plain), field);
        assert_eq!(of(TextFormat::Html), "some text");
        assert_eq!(of(TextFormat::Markdown), "some text");
    }
}
