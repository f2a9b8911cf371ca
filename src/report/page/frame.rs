//! The frame of a page: its head, its style, its policy; and what the parts share.

use fpstore_plot::numbers::grouped;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");

/// A page: what stands in its head, and what it shows.
pub(super) struct Page<'a> {
    pub(super) title: &'a str,
    /// What the policy allows besides the style.
    pub(super) policy: String,
    pub(super) body: Markup,
}

impl Page<'_> {
    pub(super) fn write(self) -> String {
        let policy = format!("default-src 'none'; style-src 'unsafe-inline'; {}", self.policy);
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="referrer" content="no-referrer";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    link rel="icon" href="data:,";
                    title { (self.title) " - fpstore" }
                    style { (PreEscaped(fpstore_plot::PALETTE)) (PreEscaped(STYLE)) }
                }
                body { (self.body) }
            }
        };
        page.into_string()
    }
}

/// A number of characters with its noun.
pub(super) fn characters(count: usize) -> String {
    counted(count as u64, "character", "characters")
}

/// A count with its noun, singular or plural.
pub(super) fn counted(count: u64, singular: &str, plural: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { singular } else { plural })
}

/// The first characters of a text, at most `most`; whether that is all of it.
pub(super) fn beginning(text: &str, most: usize) -> (&str, bool) {
    match text.char_indices().nth(most) {
        Some((end, _)) => (&text[..end], false),
        None => (text, true),
    }
}
