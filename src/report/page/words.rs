//! The differences between two texts, by words.
//!
//! The words are those of Unicode, so that texts without spaces between words are divided as well.

use similar::{Algorithm, DiffOp, DiffableStr, capture_diff_slices};

/// A part of two texts that are compared. The parts in order make both texts: the first without
/// what was added, the second without what was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// In both texts.
    Same(&'a str),
    /// In the first text alone.
    Removed(&'a str),
    /// In the second text alone.
    Added(&'a str),
}

/// The parts of two texts, none of them empty. What is removed comes before what is added in its
/// place. A space or comma that is the same between two changes belongs to them: it would only
/// break the change into pieces.
pub(super) fn differences<'a>(first: &'a str, second: &'a str) -> Vec<Part<'a>> {
    let (old_words, new_words) = (first.tokenize_unicode_words(), second.tokenize_unicode_words());
    let (olds, news) = (starts(&old_words), starts(&new_words));
    // This one bounds its work for texts with little in common.
    let ops = capture_diff_slices(Algorithm::Myers, &old_words, &new_words);
    let mut parts = Vec::new();
    // The ends of what is in `parts`.
    let (mut old, mut new) = (0, 0);
    let mut push = |old_end: usize, new_end: usize, same: &'a str| {
        let changed = [
            Part::Removed(&first[old..old_end]),
            Part::Added(&second[new..new_end]),
            Part::Same(same),
        ];
        parts.extend(changed.into_iter().filter(|part| !part.text().is_empty()));
        (old, new) = (old_end + same.len(), new_end + same.len());
        (old, new)
    };
    let mut end = (0, 0);
    for (number, op) in ops.iter().enumerate() {
        let DiffOp::Equal { old_index, new_index, len } = *op else { continue };
        let (old_start, new_start) = (olds[old_index], news[new_index]);
        let same = &first[old_start..olds[old_index + len]];
        let is_between = end != (old_start, new_start) && number + 1 < ops.len();
        if is_between && !same.chars().any(char::is_alphanumeric) {
            continue;
        }
        end = push(old_start, new_start, same);
    }
    push(first.len(), second.len(), "");
    parts
}

/// Where each word starts, and the end of the last.
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
        assert_eq!(
            differences("the quick brown fox, jumps", "the slow red fox jumps"),
            [
                Same("the "),
                Removed("quick brown"),
                Added("slow red"),
                Same(" fox"),
                Removed(","),
                Same(" jumps")
            ]
        );
        assert_eq!(differences("same", "same"), [Same("same")]);
        assert_eq!(differences("", "new"), [Added("new")]);
        assert_eq!(differences("", ""), []);
        // Chinese has no spaces between words.
        let found = differences("\u{660e}\u{6708}\u{5149}", "\u{660e}\u{6708}\u{5fc3}");
        assert_eq!(found, [Same("\u{660e}\u{6708}"), Removed("\u{5149}"), Added("\u{5fc3}")]);
    }

    #[test]
    fn the_parts_make_both_texts() {
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
        for _ in 0..2000 {
            let (first, second) = (text(), text());
            let parts = differences(&first, &second);
            let side = |keep: fn(&Part<'_>) -> bool| -> String {
                parts.iter().filter(|part| keep(part)).map(|part| part.text()).collect()
            };
            assert_eq!(side(|part| !matches!(part, Part::Added(_))), first);
            assert_eq!(side(|part| !matches!(part, Part::Removed(_))), second);
            assert!(parts.iter().all(|part| !part.text().is_empty()));
        }
    }
}
