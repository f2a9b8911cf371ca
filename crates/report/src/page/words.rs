//! Finds the differences between two texts, word by word.
//!
//! Words are found by the rules of Unicode, so that texts without spaces between words are divided
//! as well. Differences in white space are not changes; they are only counted. Example: from "the
//! old fox" to "the new fox", "old" is removed and "new" is added.

use std::ops::Range;

use maud::{Markup, html};
use similar::{Algorithm, DiffOp, DiffableStr, capture_diff_slices};

/// A part of two compared texts. Except for white space, the first text is the sequence of the
/// common and the removed parts, the second text of the common and the added parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// A part of both texts, with the white space of the first.
    Same(&'a str),
    /// A part of the first text only.
    Removed(&'a str),
    /// A part of the second text only.
    Added(&'a str),
}

/// The result of the comparison of two texts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Differences<'a> {
    /// The parts in order: not empty, and never two [`Part::Same`] in a row.
    pub(super) parts: Vec<Part<'a>>,
    /// At how many positions in common parts the white space differs.
    pub(super) space_count: u64,
}

/// Compares two texts. Where text was replaced, the removed part comes before the added part. Two
/// changes with only a space or comma between them are joined to one change.
pub(super) fn differences<'a>(first: &'a str, second: &'a str) -> Differences<'a> {
    let (old_words, new_words) = (words(first), words(second));
    let (olds, news) = (starts(&old_words), starts(&new_words));
    let (old_keys, new_keys) = (keys(&old_words), keys(&new_words));
    // Myers, because its implementation bounds the work for texts with little in common.
    let ops = capture_diff_slices(Algorithm::Myers, &old_keys, &new_keys);
    let mut found = Differences { parts: Vec::new(), space_count: 0 };
    // How far, in both texts, the parts added to `found` reach.
    let (mut old, mut new) = (0, 0);
    for (number, op) in ops.iter().enumerate() {
        let DiffOp::Equal { old_index, new_index, len } = *op else { continue };
        let (old_start, new_start) = (olds[old_index], news[new_index]);
        let (old_end, new_end) = (olds[old_index + len], news[new_index + len]);
        let same = &first[old_start..old_end];
        let is_change = has_words(&first[old..old_start]) || has_words(&second[new..new_start]);
        if is_change && number + 1 < ops.len() && !same.chars().any(char::is_alphanumeric) {
            continue;
        }
        found.push_change(first, old..old_start, &second[new..new_start]);
        found.push_same(first, old_start..old_end);
        let pairs = old_words[old_index..].iter().zip(&new_words[new_index..]).take(len);
        found.space_count += pairs.filter(|(one, other)| one != other).count() as u64;
        (old, new) = (old_end, new_end);
    }
    found.push_change(first, old..first.len(), &second[new..]);
    found
}

/// Renders the second text with its differences from the first marked.
pub(super) fn marked(first: &str, second: &str) -> Markup {
    html! {
        @for part in differences(first, second).parts {
            @match part {
                Part::Removed(text) => del { (text) },
                Part::Added(text) => ins { (text) },
                Part::Same(text) => (text),
            }
        }
    }
}

impl<'a> Differences<'a> {
    /// Whether the texts are equal except for white space.
    pub(super) fn is_same(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Same(_)))
    }

    /// Adds a change. If the two texts differ only in white space, they are added as common text.
    fn push_change(&mut self, first: &'a str, old: Range<usize>, added: &'a str) {
        let removed = &first[old.clone()];
        if has_words(removed) || has_words(added) {
            let parts = [Part::Removed(removed), Part::Added(added)];
            self.parts.extend(parts.into_iter().filter(|part| !part.text().is_empty()));
        } else if removed != added {
            self.space_count += 1;
            self.push_same(first, old);
        }
    }

    /// Adds common text; it is joined with common text directly before it.
    fn push_same(&mut self, first: &'a str, at: Range<usize>) {
        if at.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(Part::Same(before)) => *before = &first[at.start - before.len()..at.end],
            _ => self.parts.push(Part::Same(&first[at])),
        }
    }
}

fn has_words(text: &str) -> bool {
    !text.chars().all(char::is_whitespace)
}

/// Divides a text into words and the pieces between them; a run of white space is one piece.
fn words(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = Vec::new();
    let mut at = 0;
    for word in text.tokenize_unicode_words() {
        let end = at + word.len();
        match words.last_mut() {
            Some(last) if !has_words(last) && !has_words(word) => {
                *last = &text[at - last.len()..end];
            }
            _ => words.push(word),
        }
        at = end;
    }
    words
}

/// The keys by which words are compared. All white space has the same key.
fn keys<'a>(words: &[&'a str]) -> Vec<&'a str> {
    words.iter().map(|word| if has_words(word) { *word } else { " " }).collect()
}

/// The start of each word in bytes, and the end of the last word.
fn starts(words: &[&str]) -> Vec<usize> {
    let mut at = 0;
    let ends = words.iter().map(|word| {
        at += word.len();
        at
    });
    std::iter::once(0).chain(ends).collect()
}

impl<'a> Part<'a> {
    pub(super) fn text(self) -> &'a str {
        match self {
            Part::Same(text) | Part::Removed(text) | Part::Added(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_are_marked_and_changes_in_a_row_are_one() {
        use Part::{Added, Removed, Same};
        let parts = |first: &'static str, second: &'static str| differences(first, second).parts;
        assert_eq!(
            parts("the quick brown fox, jumps", "the slow red fox jumps"),
            [
                Same("the "),
                Removed("quick brown"),
                Added("slow red"),
                Same(" fox"),
                Removed(","),
                Same(" jumps")
            ]
        );
        assert_eq!(parts("same", "same"), [Same("same")]);
        assert_eq!(parts("", "new"), [Added("new")]);
        assert_eq!(parts("", ""), []);
        // Chinese has no spaces between words.
        let found = parts("\u{660e}\u{6708}\u{5149}", "\u{660e}\u{6708}\u{5fc3}");
        assert_eq!(found, [Same("\u{660e}\u{6708}"), Removed("\u{5149}"), Added("\u{5fc3}")]);
    }

    #[test]
    fn white_space_alone_is_counted_and_no_change() {
        use Part::{Added, Removed, Same};
        let found = differences("one two three\nfour, five", "one\ntwo  three four,five");
        assert_eq!(found.parts, [Same("one two three\nfour, five")]);
        assert_eq!((found.space_count, found.is_same()), (4, true));
        assert_eq!(
            differences(" \n", ""),
            Differences { parts: vec![Same(" \n")], space_count: 1 }
        );
        // Different line breaks next to a change are only counted.
        let found = differences("the old\nbridge over it", "the new bridge\nover it");
        assert_eq!(
            found.parts,
            [Same("the "), Removed("old"), Added("new"), Same("\nbridge over it")]
        );
        assert_eq!((found.space_count, found.is_same()), (2, false));
        // Joining two words is a change.
        assert!(!differences("foot ball", "football").is_same());
    }

    #[test]
    fn the_parts_make_both_texts_but_for_white_space() {
        let words = ["a", "b ", ", ", " ", "\u{301}", "\u{1f600}", "ab", "\n", "z9", "-"];
        let mut seed = 17_u64;
        let mut text = || {
            let mut pick = || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 33) as usize
            };
            let count = pick() % 30;
            (0..count).map(|_| words[pick() % words.len()]).collect::<String>()
        };
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        for _ in 0..4000 {
            let (first, second) = (text(), text());
            let found = differences(&first, &second);
            let side = |keep: fn(&Part<'_>) -> bool| -> String {
                found.parts.iter().filter(|part| keep(part)).map(|part| part.text()).collect()
            };
            assert_eq!(side(|part| !matches!(part, Part::Added(_))), first);
            let other = side(|part| !matches!(part, Part::Removed(_)));
            assert_eq!(bare(&other), bare(&second), "{first:?} {second:?}");
            assert!(found.space_count > 0 || other == second, "{first:?} {second:?} {found:?}");
            assert!(found.parts.iter().all(|part| !part.text().is_empty()));
            let is_same = |pair: &[Part<'_>]| pair.iter().all(|part| matches!(part, Part::Same(_)));
            assert!(!found.parts.windows(2).any(is_same), "{found:?}");
        }
    }
}
