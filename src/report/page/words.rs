//! The differences between two texts, by words.
//!
//! The words are those of Unicode, so that texts without spaces between words are divided as well.
//! White space is no difference: a text that was wrapped again has no changes, only places where
//! its white space is another.

use std::ops::Range;

use similar::{Algorithm, DiffOp, DiffableStr, capture_diff_slices};

/// A part of two texts that are compared. The parts in order make both texts, but for white space:
/// the first without what was added, the second without what was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// In both texts, with the white space of the first.
    Same(&'a str),
    /// In the first text alone.
    Removed(&'a str),
    /// In the second text alone.
    Added(&'a str),
}

/// The parts of two texts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Differences<'a> {
    /// The parts in order, none of them empty, no two of [`Part::Same`] in a row.
    pub(super) parts: Vec<Part<'a>>,
    /// The places in unchanged parts where the white space differs.
    pub(super) space_count: u64,
}

/// Compares two texts. What is removed comes before what is added in its place. A comma that is the
/// same between two changes belongs to them: it would only break the change into pieces.
pub(super) fn differences<'a>(first: &'a str, second: &'a str) -> Differences<'a> {
    let (old_words, new_words) = (words(first), words(second));
    let (olds, news) = (texts(first, &old_words), texts(second, &new_words));
    // This one bounds its work for texts with little in common.
    let ops = capture_diff_slices(Algorithm::Myers, &olds, &news);
    let mut found = Differences { parts: Vec::new(), space_count: 0 };
    // The ends of what is in `found`.
    let (mut old, mut new) = (0, 0);
    for (number, op) in ops.iter().enumerate() {
        let DiffOp::Equal { old_index, new_index, len } = *op else { continue };
        let old_run = &old_words[old_index..][..len];
        let new_run = &new_words[new_index..][..len];
        let (Some(old_last), Some(new_last)) = (old_run.last(), new_run.last()) else { continue };
        let (old_start, new_start) = (old_run[0].start, new_run[0].start);
        let same = &first[old_start..old_last.end];
        let is_change = has_words(&first[old..old_start]) || has_words(&second[new..new_start]);
        if is_change && number + 1 < ops.len() && !same.chars().any(char::is_alphanumeric) {
            continue;
        }
        found.push_gap(first, old..old_start, &second[new..new_start]);
        found.push_same(first, old_start..old_last.end);
        let gaps = spaces(first, old_run).zip(spaces(second, new_run));
        found.space_count += gaps.filter(|(one, other)| one != other).count() as u64;
        (old, new) = (old_last.end, new_last.end);
    }
    found.push_gap(first, old..first.len(), &second[new..]);
    found
}

impl<'a> Differences<'a> {
    /// Whether the texts differ in white space at most.
    pub(super) fn is_same(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Same(_)))
    }

    /// Adds what stands between unchanged words. White space around what differs is unchanged text.
    fn push_gap(&mut self, first: &'a str, old: Range<usize>, added: &'a str) {
        let removed = &first[old.clone()];
        let (removed_words, added_words) = (removed.trim(), added.trim());
        let lead = removed.len() - removed.trim_start().len();
        let tail = removed.trim_end().len().max(lead);
        let (old_lead, old_tail) = (&removed[..lead], &removed[tail..]);
        let new_lead = &added[..added.len() - added.trim_start().len()];
        let new_tail = &added[added.trim_end().len().max(new_lead.len())..];
        let is_any = |space: &str, of: [&str; 2]| of.contains(&space);
        self.space_count += match (removed_words.is_empty(), added_words.is_empty()) {
            (true, true) => u64::from(removed != added),
            (true, false) => u64::from(!is_any(removed, [new_lead, new_tail])),
            (false, true) => u64::from(!is_any(added, [old_lead, old_tail])),
            (false, false) => u64::from(old_lead != new_lead) + u64::from(old_tail != new_tail),
        };
        self.push_same(first, old.start..old.start + lead);
        let parts = [Part::Removed(removed_words), Part::Added(added_words)];
        self.parts.extend(parts.into_iter().filter(|part| !part.text().is_empty()));
        self.push_same(first, old.start + tail..old.end);
    }

    /// Adds unchanged text, which continues unchanged text before it.
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

/// Where the words of a text are, and the signs between them, but no white space.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let all = text.tokenize_unicode_words().into_iter().map(|word| {
        let start = at;
        at += word.len();
        start..at
    });
    all.filter(|word| has_words(&text[word.clone()])).collect()
}

fn texts<'a>(text: &'a str, words: &[Range<usize>]) -> Vec<&'a str> {
    words.iter().map(|word| &text[word.clone()]).collect()
}

/// What stands between neighbours of a run of words.
fn spaces<'a>(text: &'a str, run: &'a [Range<usize>]) -> impl Iterator<Item = &'a str> {
    run.windows(2).map(|pair| &text[pair[0].end..pair[1].start])
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
        let found = differences("one two three\nfour, five", "one\ntwo  three four,five\n");
        assert_eq!(found.parts, [Same("one two three\nfour, five")]);
        assert_eq!((found.space_count, found.is_same()), (5, true));
        assert_eq!(
            differences(" \n", ""),
            Differences { parts: vec![Same(" \n")], space_count: 1 }
        );
        // A change that takes the white space beside it along.
        let found = differences("the old\nbridge over it", "the new bridge\nover it");
        assert_eq!(
            found.parts,
            [Same("the "), Removed("old"), Added("new"), Same("\nbridge over it")]
        );
        assert_eq!((found.space_count, found.is_same()), (2, false));
        // Words that were joined are a change.
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
