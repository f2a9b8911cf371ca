//! What the parts of a page share: its style, counts in words, and the beginnings of texts.

use fpstore_plot::numbers::grouped;

pub(super) const STYLE: &str = include_str!("style.css");

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
