//! Cutting a text into tokens without a dictionary: words, or single characters.
//!
//! A script is *unsegmented* if it puts no spaces between words.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;

use crate::tokens::runs::each_run;

/// A token, which is a slice of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// A word of a script that puts spaces between words, or one found in a dictionary.
    Word(&'a str),
    /// A character of a script that does not.
    Character(&'a str),
}

impl<'a> Token<'a> {
    #[inline]
    pub(crate) fn text(self) -> &'a str {
        let (Token::Word(text) | Token::Character(text)) = self;
        text
    }
}

/// Whether a character belongs to a script that puts no spaces between words: Han, Hiragana, Thai,
/// Lao, Myanmar, Khmer. These are letters, vowel signs and tones; punctuation is not among them.
#[inline]
pub(crate) fn is_unsegmented(c: char) -> bool {
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

/// Splits off the longest start of a text in which `inside` is the same for all characters.
pub(crate) fn split_run(text: &str, inside: fn(char) -> bool) -> (&str, bool, &str) {
    let is_inside = text.chars().next().is_some_and(inside);
    let len = text.find(|c| inside(c) != is_inside).unwrap_or(text.len());
    let (run, rest) = text.split_at(len);
    (run, is_inside, rest)
}

/// The words of UAX #29, with the characters of unsegmented scripts one by one.
pub(crate) fn words<'a>(text: &'a str, take: &mut impl FnMut(Token<'a>)) {
    each_run(text, &mut |mut run_text: &'a str| {
        if run_text.is_ascii() {
            return spaced_words(run_text, take);
        }
        while !run_text.is_empty() {
            let (run, unsegmented, rest) = split_run(run_text, is_unsegmented);
            if unsegmented {
                characters(run, take);
            } else {
                spaced_words(run, take);
            }
            run_text = rest;
        }
    });
}

/// The words of UAX #29.
pub(crate) fn spaced_words<'a>(text: &'a str, take: &mut impl FnMut(Token<'a>)) {
    text.unicode_words().for_each(|word| take(Token::Word(word)));
}

/// Source code: names and numbers, and every other character but white space by itself.
pub(crate) fn code<'a>(text: &'a str, take: &mut impl FnMut(Token<'a>)) {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let len = match rest.find(|c| !is_name_character(c)).unwrap_or(rest.len()) {
            0 => c.len_utf8(),
            len => len,
        };
        let (token, after) = rest.split_at(len);
        if !c.is_whitespace() {
            take(Token::Word(token));
        }
        rest = after;
    }
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

/// The set of characters that are tokens, one by one, whatever stands between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CharacterSet {
    /// Letters, marks and numbers; `Word` where their script puts spaces between words.
    Letters,
    /// Letters, marks and numbers, each a `Character`.
    Characters,
    /// Letters, numbers and the underscore, like `\w` in Python, each a `Character`.
    PythonCharacters,
}

impl CharacterSet {
    #[inline]
    fn contains(self, c: char) -> bool {
        match self {
            CharacterSet::Letters | CharacterSet::Characters => is_word_character(c),
            CharacterSet::PythonCharacters => is_python_word_character(c),
        }
    }

    /// Whether the token of a character of this set is a `Character`.
    #[inline]
    pub(crate) fn is_character(self, c: char) -> bool {
        self != CharacterSet::Letters || is_unsegmented(c)
    }

    /// Gives the characters of this set to `take` as tokens.
    pub(crate) fn each<'a>(self, text: &'a str, take: &mut impl FnMut(Token<'a>)) {
        for (start, c) in text.char_indices() {
            if self.contains(c) {
                let kept = &text[start..start + c.len_utf8()];
                take(if self.is_character(c) { Token::Character(kept) } else { Token::Word(kept) });
            }
        }
    }

    /// Appends the characters of this set to `out`.
    pub(crate) fn push_members(self, text: &str, out: &mut String) {
        if !text.is_ascii() {
            return out.extend(text.chars().filter(|&c| self.contains(c)));
        }
        // Without a branch, which would be unpredictable.
        let mut bytes = std::mem::take(out).into_bytes();
        let mut end = bytes.len();
        bytes.resize(end + text.len(), 0);
        for &byte in text.as_bytes() {
            bytes[end] = byte;
            end += usize::from(self.contains(char::from(byte)));
        }
        bytes.truncate(end);
        *out = String::from_utf8(bytes).expect("ASCII behind a string is a string");
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

fn is_name_character(c: char) -> bool {
    c == '_' || is_word_character(c)
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
    fn scripts_with_spaces_give_words_and_others_characters() {
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
    fn code_is_cut_into_names_and_signs() {
        let mut tokens = Vec::new();
        code("x_1 +=a-b; // \u{e9}t\u{301}\u{a0}\u{4e2d}\u{2192}", &mut |token| {
            tokens.push(token.text());
        });
        let name = "\u{e9}t\u{301}";
        let expected =
            ["x_1", "+", "=", "a", "-", "b", ";", "/", "/", name, "\u{4e2d}", "\u{2192}"];
        assert_eq!(tokens, expected);
    }

    #[test]
    fn characters_are_kept_by_their_category() {
        let mut kept = String::new();
        let text = "a_1\u{e9}\u{301}\u{4e2d}\u{2460}-\u{3002} \u{1f600}";
        CharacterSet::Characters.each(text, &mut |token| match token {
            Token::Character(c) => kept.push_str(c),
            Token::Word(_) => unreachable!(),
        });
        assert_eq!(kept, "a1\u{e9}\u{301}\u{4e2d}\u{2460}");
        kept.clear();
        CharacterSet::PythonCharacters.each(text, &mut |token| match token {
            Token::Character(c) => kept.push_str(c),
            Token::Word(_) => unreachable!(),
        });
        assert_eq!(kept, "a_1\u{e9}\u{4e2d}\u{2460}");
    }
}
