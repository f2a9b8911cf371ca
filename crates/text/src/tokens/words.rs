//! Cuts a text into tokens without a dictionary: words, or single characters.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;

use crate::tokens::runs::each_run;
use crate::tokens::scripts::{Class, Scripts};

/// A token, which is a slice of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// A word of a script with spaces between words, or a word found in a dictionary.
    Word(&'a str),
    /// A character of a script without spaces that is a sign; if all tokens of the recipe are
    /// characters, any character.
    Character(&'a str),
    /// A letter of a script without spaces, if the recipe has a length for letters.
    Letter(&'a str),
}

impl<'a> Token<'a> {
    #[inline]
    pub(crate) fn text(self) -> &'a str {
        let (Token::Word(text) | Token::Character(text) | Token::Letter(text)) = self;
        text
    }
}

/// Splits off the longest start of a text in which all characters have the same class.
pub(crate) fn split_run<C: PartialEq>(text: &str, class: impl Fn(char) -> C) -> (&str, C, &str) {
    let first = class(text.chars().next().unwrap_or_default());
    let len = text.find(|c| class(c) != first).unwrap_or(text.len());
    let (run, rest) = text.split_at(len);
    (run, first, rest)
}

/// The words of UAX #29, with scripts without spaces cut into single characters.
pub(crate) fn words<'a>(text: &'a str, scripts: Scripts, take: &mut impl FnMut(Token<'a>)) {
    each_run(text, &mut |mut run_text: &'a str| {
        if run_text.is_ascii() {
            return spaced_words(run_text, take);
        }
        while !run_text.is_empty() {
            let (run, class, rest) = split_run(run_text, |c| scripts.class(c));
            match class {
                Class::Spaced => spaced_words(run, take),
                Class::Sign => characters(run, Token::Character, take),
                Class::Letter => characters(run, Token::Letter, take),
            }
            run_text = rest;
        }
    });
}

/// The words of UAX #29 in text without Han, except that each letter of a script without spaces
/// ([`Class::Letter`]) is a token. Signs ([`Class::Sign`]) are split into words by UAX #29.
pub(crate) fn words_and_letters<'a>(
    mut text: &'a str,
    scripts: Scripts,
    take: &mut impl FnMut(Token<'a>),
) {
    while !text.is_empty() {
        let is_letter = |c| scripts.class(c) == Class::Letter;
        let (run, letters, rest) = split_run(text, is_letter);
        match letters {
            true => characters(run, Token::Letter, take),
            false => spaced_words(run, take),
        }
        text = rest;
    }
}

/// The words of UAX #29.
pub(crate) fn spaced_words<'a>(text: &'a str, take: &mut impl FnMut(Token<'a>)) {
    text.unicode_words().for_each(|word| take(Token::Word(word)));
}

/// The tokens of source code: each name, each number, and each other character except white space.
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

/// Calls `take` with each character, converted to a token by `token`.
fn characters<'a>(
    text: &'a str,
    token: fn(&'a str) -> Token<'a>,
    take: &mut impl FnMut(Token<'a>),
) {
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let mut start = 0;
    for end in ends {
        take(token(&text[start..end]));
        start = end;
    }
}

/// The set of characters that become tokens, one by one; other characters are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CharacterSet {
    /// Letters, marks and numbers; `Word` if their script has spaces between words.
    Letters(Scripts),
    /// Letters, marks and numbers, each a `Character`.
    Characters,
    /// Letters, numbers and the underscore, like `\w` in Python, each a `Character`.
    PythonCharacters,
}

impl CharacterSet {
    #[inline]
    fn contains(self, c: char) -> bool {
        match self {
            CharacterSet::Letters(_) | CharacterSet::Characters => is_word_character(c),
            CharacterSet::PythonCharacters => is_python_word_character(c),
        }
    }

    /// Whether all tokens are `Character`s, in any script.
    pub(crate) fn is_single(self) -> bool {
        !matches!(self, CharacterSet::Letters(_))
    }

    /// The token of a character of this set.
    #[inline]
    fn token(self, c: char, text: &str) -> Token<'_> {
        match self {
            CharacterSet::Letters(scripts) => match scripts.class(c) {
                Class::Spaced => Token::Word(text),
                Class::Sign => Token::Character(text),
                Class::Letter => Token::Letter(text),
            },
            _ => Token::Character(text),
        }
    }

    /// Calls `take` with the characters of this set as tokens.
    pub(crate) fn each<'a>(self, text: &'a str, take: &mut impl FnMut(Token<'a>)) {
        for (start, c) in text.char_indices() {
            if self.contains(c) {
                take(self.token(c, &text[start..start + c.len_utf8()]));
            }
        }
    }

    /// Appends the characters of this set to `out`.
    pub(crate) fn push_members(self, text: &str, out: &mut String) {
        if !text.is_ascii() {
            return out.extend(text.chars().filter(|&c| self.contains(c)));
        }
        // Without a branch for each byte, because the branch would be unpredictable.
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

    fn cut_by(scripts: Scripts, text: &str) -> Vec<String> {
        let mut tokens = Vec::new();
        words(text, scripts, &mut |token| {
            tokens.push(match token {
                Token::Word(word) => word.to_string(),
                Token::Character(c) => format!("{c}*"),
                Token::Letter(c) => format!("{c}+"),
            });
        });
        tokens
    }

    fn cut(text: &str) -> Vec<String> {
        cut_by(Scripts::First, text)
    }

    #[test]
    fn letters_of_scripts_without_spaces_are_told_from_signs() {
        // Thai with a digit, Han, and a run of Javanese.
        let text = "\u{e01}\u{e33}\u{e51}\u{4e2d} \u{a992}\u{a9b6}";
        let expected = ["\u{e01}+", "\u{e33}+", "\u{e51}", "\u{4e2d}*", "\u{a992}+", "\u{a9b6}+"];
        assert_eq!(cut_by(Scripts::All, text), expected);
        let mut kept = Vec::new();
        let letters = CharacterSet::Letters(Scripts::All);
        letters.each("a \u{e01}\u{4e2d}", &mut |token| kept.push(token));
        let expected = [Token::Word("a"), Token::Letter("\u{e01}"), Token::Character("\u{4e2d}")];
        assert_eq!(kept, expected);
        // In text without Han, letters of Thai are separate tokens, but signs of Hiragana are not.
        let mut kept = Vec::new();
        words_and_letters("\u{e01}b \u{3042}", Scripts::All, &mut |token| kept.push(token));
        let expected = [Token::Letter("\u{e01}"), Token::Word("b"), Token::Word("\u{3042}")];
        assert_eq!(kept, expected);
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
        // Hangul has spaces; a variation selector after an ideograph is not a word.
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
            _ => unreachable!(),
        });
        assert_eq!(kept, "a1\u{e9}\u{301}\u{4e2d}\u{2460}");
        kept.clear();
        CharacterSet::PythonCharacters.each(text, &mut |token| match token {
            Token::Character(c) => kept.push_str(c),
            _ => unreachable!(),
        });
        assert_eq!(kept, "a_1\u{e9}\u{4e2d}\u{2460}");
    }
}
