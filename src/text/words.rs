//! Cutting a text into tokens without a dictionary: words, or single characters.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;

use crate::text::stretches::each_stretch;

/// A piece of text between two cuts.
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
pub(crate) fn words<'a>(text: &'a str, take: &mut impl FnMut(Token<'a>)) {
    each_stretch(text, &mut |mut stretch: &'a str| {
        if stretch.is_ascii() {
            return spaced_words(stretch, take);
        }
        while !stretch.is_empty() {
            let (run, dense, rest) = split_run(stretch, is_dense);
            match dense {
                true => characters(run, take),
                false => spaced_words(run, take),
            }
            stretch = rest;
        }
    });
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

/// Which characters are tokens, one by one, whatever stands between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Letters, marks and numbers; `Word` where their script puts spaces between words.
    Letters,
    /// Letters, marks and numbers, each a `Character`.
    Characters,
    /// What the expression `\w` of Python matches, letters, numbers and the underscore, each a `Character`.
    PythonCharacters,
}

impl Kept {
    #[inline]
    fn keeps(self, c: char) -> bool {
        match self {
            Kept::Letters | Kept::Characters => is_word_character(c),
            Kept::PythonCharacters => is_python_word_character(c),
        }
    }

    /// Whether a character that is kept is a `Character`.
    #[inline]
    pub(crate) fn is_character(self, c: char) -> bool {
        self != Kept::Letters || is_dense(c)
    }

    /// Hands over what is kept.
    pub(crate) fn each<'a>(self, text: &'a str, take: &mut impl FnMut(Token<'a>)) {
        for (start, c) in text.char_indices() {
            if self.keeps(c) {
                let kept = &text[start..start + c.len_utf8()];
                take(if self.is_character(c) { Token::Character(kept) } else { Token::Word(kept) });
            }
        }
    }

    /// Appends what is kept.
    pub(crate) fn push_kept(self, text: &str, out: &mut String) {
        if !text.is_ascii() {
            return out.extend(text.chars().filter(|&c| self.keeps(c)));
        }
        // Without a branch: what is kept cannot be foretold.
        let mut bytes = std::mem::take(out).into_bytes();
        let mut end = bytes.len();
        bytes.resize(end + text.len(), 0);
        for &byte in text.as_bytes() {
            bytes[end] = byte;
            end += usize::from(self.keeps(char::from(byte)));
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
        Kept::Characters.each(text, &mut |token| match token {
            Token::Character(c) => kept.push_str(c),
            Token::Word(_) => unreachable!(),
        });
        assert_eq!(kept, "a1\u{e9}\u{301}\u{4e2d}\u{2460}");
        kept.clear();
        Kept::PythonCharacters.each(text, &mut |token| match token {
            Token::Character(c) => kept.push_str(c),
            Token::Word(_) => unreachable!(),
        });
        assert_eq!(kept, "a_1\u{e9}\u{4e2d}\u{2460}");
    }
}
