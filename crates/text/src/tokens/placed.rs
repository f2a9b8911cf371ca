//! The words of a text with their positions, for callers that report positions.
//!
//! The tokens of a recipe are cut from a folded text, so they have no position in the original
//! text. Here the original text is cut, after ignorables are dropped and apostrophes replaced, and
//! then each word is folded separately.

use std::ops::Range;

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::recipe::TextRecipe;
use crate::tokens::normal::Form;
use crate::tokens::scripts::Scripts;
use crate::tokens::words::{Token, words};

/// Cuts texts into words that are compared without regard to case, normal form and punctuation, and
/// returns their positions.
///
/// Words are Unicode words (UAX #29). In scripts without spaces between words, each letter or sign
/// is a word. Folding is the folding of the default recipe: characters without a glyph (soft
/// hyphens, joiners) are dropped and the forms of the apostrophe are equal; in each word,
/// compatibility characters are replaced (NFKC), case is folded, and the vowel marks of Hebrew and
/// Arabic are removed. The memory is reused from text to text.
///
/// # Examples
///
/// ```
/// let mut found = Vec::new();
/// let mut words = fpstore_text::PlacedWords::default();
/// words.each("Don't \u{ff30}anic: \u{6708}\u{5149}", |word, place| {
///     found.push((word.to_string(), place));
/// });
/// assert_eq!(found[0], ("don't".into(), 0..5));
/// assert_eq!(found[1], ("panic".into(), 6..13));
/// assert_eq!(found[2], ("\u{6708}".into(), 15..18));
/// ```
#[derive(Clone, Debug, Default)]
pub struct PlacedWords {
    /// The text without ignorables and with plain apostrophes.
    seen: String,
    /// The positions where the difference between offsets in `seen` and in the text changes: the
    /// offset in `seen`, and the offset in the text.
    jumps: Vec<(usize, usize)>,
    folded: String,
    scratch: String,
}

impl PlacedWords {
    /// Calls `take` with the folded words of a text, each with its byte range in the text, in
    /// order.
    pub fn each(&mut self, text: &str, mut take: impl FnMut(&str, Range<usize>)) {
        let PlacedWords { seen, jumps, folded, scratch } = self;
        let form = Form::of(&TextRecipe::default());
        seen.clear();
        jumps.clear();
        jumps.push((0, 0));
        let mut skipped_len = 0;
        for (at, c) in text.char_indices() {
            let Some(c) = form.seen(c) else { continue };
            if at - seen.len() != skipped_len {
                skipped_len = at - seen.len();
                jumps.push((seen.len(), at));
            }
            seen.push(c);
        }
        jumps.push((seen.len(), text.len()));
        let place_of = |offset| {
            let (from, place) = jumps[jumps.partition_point(|jump| jump.0 <= offset) - 1];
            place + (offset - from)
        };
        let text = seen.as_str();
        let mut give = |word: Range<usize>| {
            folded.clear();
            form.push(&text[word.clone()], folded, scratch);
            // The normal form of a letter can begin with an apostrophe, which is not part of a
            // word.
            let folded = folded.trim_matches('\'');
            if !folded.is_empty() {
                take(folded, place_of(word.start)..place_of(word.end));
            }
        };
        let mut last: Option<Range<usize>> = None;
        words(text, Scripts::All, &mut |token| {
            // The tokens are slices of the text.
            let start = token.text().as_ptr() as usize - text.as_ptr() as usize;
            if last.as_ref().is_some_and(|last| start < last.end) {
                return;
            }
            let mut end = start + token.text().len();
            // A mark belongs to the preceding sign, with which it may be one character in normal
            // form.
            if !matches!(token, Token::Word(_)) {
                let marks = text[end..].chars().take_while(|&c| is_mark(c));
                end += marks.map(char::len_utf8).sum::<usize>();
            }
            let place = last.replace(start..end);
            place.into_iter().for_each(&mut give);
        });
        last.into_iter().for_each(give);
    }
}

/// Whether a character joins the character before it in normal form.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{ff9e}' | '\u{ff9f}')
        || !c.is_ascii() && c.general_category_group() == GeneralCategoryGroup::Mark
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<(String, Range<usize>)> {
        let mut found = Vec::new();
        PlacedWords::default().each(text, |word, place| found.push((word.to_string(), place)));
        found
    }

    fn only_words(text: &str) -> Vec<String> {
        cut(text).into_iter().map(|(word, _)| word).collect()
    }

    #[test]
    fn words_are_alike_whatever_their_case_form_and_marks() {
        for (one, other) in [
            ("The  quick\r\nFOX", "the, quick: fox!"),
            ("Stra\u{df}e", "STRASSE"),
            ("caf\u{e9} 3.5", "CAFE\u{301} \u{ff13}.5"),
            // Kana with a separate mark, and a syllable of Hangul as separate letters.
            ("\u{304c}\u{304d}", "\u{304b}\u{3099}\u{304d}"),
            ("\u{d55c}\u{ae00}", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}"),
            ("\u{5e9}\u{5dc}\u{5d5}\u{5dd}", "\u{5e9}\u{5c1}\u{5b8}\u{5dc}\u{5d5}\u{5b9}\u{5dd}"),
            ("don't 'quote' 'n", "don\u{2019}t \u{2018}quote\u{2bc} \u{149}"),
            ("hyphen wordbreak", "\u{feff}hy\u{ad}phen\u{200b} word\u{200b}break\u{2060}"),
        ] {
            assert_eq!(only_words(one), only_words(other), "{one} {other}");
        }
        assert_eq!(only_words("\u{6708}\u{5149}a"), ["\u{6708}", "\u{5149}", "a"]);
        assert_eq!(only_words(" \u{1f600} -- "), Vec::<String>::new());
        assert_eq!(only_words(""), Vec::<String>::new());
        assert_eq!(only_words("\u{200b}\u{ad}"), Vec::<String>::new());
        // The range of a word excludes the invisible characters before it.
        let expected = [("don't".to_string(), 2..11), ("b".to_string(), 12..15)];
        assert_eq!(cut("\u{ad}don\u{2019}t\u{ad} b\u{ad}"), expected);
    }

    #[test]
    fn places_are_in_order_and_hold_their_words() {
        let parts = [
            "a",
            "B\u{e9} ",
            ", ",
            " ",
            "e\u{301}",
            "\u{1f600}",
            "\u{6708}",
            "\u{304b}",
            "\n",
            "\u{3099}",
            "z9",
            "-",
            "\u{e01}\u{e34}",
            "\u{ff76}\u{ff9e}",
            "\u{5b8}",
            "\u{200b}",
            "\u{2019}",
        ];
        let mut seed = 5_u64;
        let mut pick = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize
        };
        for _ in 0..2000 {
            let text: String = (0..pick() % 40).map(|_| parts[pick() % parts.len()]).collect();
            let mut end = 0;
            for (word, place) in cut(&text) {
                assert!(place.start >= end && place.start < place.end, "{text:?}");
                assert!(text.get(place.clone()).is_some() && !word.is_empty(), "{text:?}");
                end = place.end;
            }
        }
    }
}
