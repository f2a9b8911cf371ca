//! Cutting a text into tokens without a dictionary: words, or single characters.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;

/// A piece of text between two cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// A word of a script that puts spaces between words, or one found in a dictionary.
    Word(&'a str),
    /// A character of a script that does not.
    Character(&'a str),
}

/// Whether a character belongs to a script that puts no spaces between words: Han, Hiragana, Thai,
/// Lao, Myanmar, Khmer. These are letters, vowel signs and tones; punctuation is not among them.
#[inline]
pub(crate) fn is_dense(c: char) -> bool {
    is_han(c)
        || matches!(
            c,
            '\u{3041}'..='\u{3096}'
                | '\u{309d}'..='\u{309f}'
                | '\u{0e01}'..='\u{0e3a}'
                | '\u{0e40}'..='\u{0e4e}'
                | '\u{0e81}'..='\u{0ecd}'
                | '\u{0edc}'..='\u{0edf}'
                | '\u{1000}'..='\u{103f}'
                | '\u{1050}'..='\u{108f}'
                | '\u{1780}'..='\u{17d3}'
        )
}

/// Whether a character is a Han ideograph.
#[inline]
pub(crate) fn is_han(c: char) -> bool {
    matches!(
        c,
        '\u{4e00}'..='\u{9fff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{3005}'..='\u{3007}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

/// Cuts off the longest run of characters that are `inside`, or else that are not.
pub(crate) fn split_run(text: &str, inside: fn(char) -> bool) -> (&str, bool, &str) {
    let is_inside = text.chars().next().is_some_and(inside);
    let len = text.find(|c| inside(c) != is_inside).unwrap_or(text.len());
    let (run, rest) = text.split_at(len);
    (run, is_inside, rest)
}

/// The words of UAX #29, with the characters of scripts without spaces one by one.
pub(crate) fn words<'a>(mut text: &'a str, take: &mut impl FnMut(Token<'a>)) {
    if text.is_ascii() {
        return spaced_words(text, take);
    }
    while !text.is_empty() {
        let (run, dense, rest) = split_run(text, is_dense);
        match dense {
            true => characters(run, take),
            false => spaced_words(run, take),
        }
        text = rest;
    }
}

/// The words of UAX #29.
pub(crate) fn spaced_words<'a>(text: &'a str, take: &mut impl FnMut(Token<'a>)) {
    text.unicode_words().for_each(|word| take(Token::Word(word)));
}

/// All characters one by one.
fn characters<'a>(text: &'a str, take: &mut impl FnMut(Token<'a>)) {
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let mut start = 0;
    for end in ends {
        take(Token::Character(&text[start..end]));
        start = end;
    }
}

/// The letters, marks and numbers one by one, whatever stands between them.
pub(crate) fn word_characters<'a>(text: &'a str, take: &mut impl FnMut(Token<'a>)) {
    kept_characters(text, is_word_character, take);
}

/// The letters, marks and numbers one by one, told apart by whether their script puts spaces between
/// words: `Word` where it does.
pub(crate) fn letters<'a>(text: &'a str, take: &mut impl FnMut(Token<'a>)) {
    for (start, c) in text.char_indices() {
        if is_word_character(c) {
            let letter = &text[start..start + c.len_utf8()];
            take(if is_dense(c) { Token::Character(letter) } else { Token::Word(letter) });
        }
    }
}

/// What the expression `\w` of Python matches, one by one: letters, numbers and the underscore.
pub(crate) fn python_word_characters<'a>(text: &'a str, take: &mut impl FnMut(Token<'a>)) {
    kept_characters(text, is_python_word_character, take);
}

fn kept_characters<'a>(text: &'a str, kept: fn(char) -> bool, take: &mut impl FnMut(Token<'a>)) {
    for (start, c) in text.char_indices() {
        if kept(c) {
            take(Token::Character(&text[start..start + c.len_utf8()]));
        }
    }
}

fn is_word_character(c: char) -> bool {
    match c {
        c if c.is_ascii() => c.is_ascii_alphanumeric(),
        '\u{4e00}'..='\u{9fff}' => true,
        c => matches!(
            c.general_category_group(),
            GeneralCategoryGroup::Letter
                | GeneralCategoryGroup::Mark
                | GeneralCategoryGroup::Number
        ),
    }
}

fn is_python_word_character(c: char) -> bool {
    match c {
        c if c.is_ascii() => c.is_ascii_alphanumeric() || c == '_',
        '\u{4e00}'..='\u{9fff}' => true,
        c => matches!(
            c.general_category_group(),
            GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<String> {
        let mut tokens = Vec::new();
        words(text, &mut |token| {
            tokens.push(match token {
                Token::Word(word) => word.to_string(),
                Token::Character(c) => format!("{c}*"),
            });
        });
        tokens
    }

    #[test]
    fn words_and_single_characters_as_the_script_has_them() {
        assert_eq!(cut("can't 3.14 a_b, x-y"), ["can't", "3.14", "a_b", "x", "y"]);
        // Two ideographs, a full stop, a word, a Hiragana, a Katakana word, a Thai word.
        assert_eq!(
            cut("\u{4e2d}\u{6587}\u{3002}abc\u{3042}\u{30ab}\u{30ca} \u{e01}\u{e33}"),
            [
                "\u{4e2d}*",
                "\u{6587}*",
                "abc",
                "\u{3042}*",
                "\u{30ab}\u{30ca}",
                "\u{e01}*",
                "\u{e33}*"
            ]
        );
        // Hangul has spaces; a variation selector after an ideograph is no word.
        assert_eq!(cut("\u{d55c}\u{ad6d} \u{845b}\u{e0100}"), ["\u{d55c}\u{ad6d}", "\u{845b}*"]);
        assert_eq!(cut("... --- \u{3002}"), [""; 0]);
    }

    #[test]
    fn characters_are_kept_by_their_category() {
        let mut kept = String::new();
        let text = "a_1\u{e9}\u{301}\u{4e2d}\u{2460}-\u{3002} \u{1f600}";
        word_characters(text, &mut |token| match token {
            Token::Character(c) => kept.push_str(c),
            Token::Word(_) => unreachable!(),
        });
        assert_eq!(kept, "a1\u{e9}\u{301}\u{4e2d}\u{2460}");
        kept.clear();
        python_word_characters(text, &mut |token| match token {
            Token::Character(c) => kept.push_str(c),
            Token::Word(_) => unreachable!(),
        });
        assert_eq!(kept, "a_1\u{e9}\u{4e2d}\u{2460}");
    }
}
