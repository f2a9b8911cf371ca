//! Windows over the tokens: word shingles and character n-grams.

use crate::text::words::Token;

/// Makes features of tokens that arrive one after the other.
///
/// The feature that starts at a token spans as many tokens as the kind of that token says. Its text is
/// theirs, with one space between two of which one is a word, if so wanted. Where the text ends before a feature
/// does, that feature is left out; if that leaves none at all, the whole text is one.
#[derive(Clone, Debug)]
pub(crate) struct Windows {
    word_len: usize,
    character_len: usize,
    /// Whether a space stands next to words.
    spaced: bool,
    text: String,
    tokens: Vec<Span>,
    /// The first token whose feature is not made yet.
    first: usize,
    made_any: bool,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    end: usize,
    is_character: bool,
}

/// Text that is no longer needed is dropped when there is so much of it.
const KEPT_TOKEN_COUNT: usize = 4096;

impl Windows {
    /// Windows of these lengths, each at least 1, with or without spaces next to words.
    pub(crate) fn new(word_len: usize, character_len: usize, spaced: bool) -> Self {
        Windows {
            word_len,
            character_len,
            spaced,
            text: String::new(),
            tokens: Vec::new(),
            first: 0,
            made_any: false,
        }
    }

    /// Takes the next token.
    #[inline]
    pub(crate) fn push(&mut self, token: Token<'_>, make: &mut impl FnMut(&str)) {
        let (text, is_character) = match token {
            Token::Word(word) => (word, false),
            Token::Character(c) => (c, true),
        };
        if self.word_len == 1 && self.character_len == 1 {
            self.made_any = true;
            make(text);
            return;
        }
        if self.spaced
            && self.tokens.last().is_some_and(|last| !(last.is_character && is_character))
        {
            self.text.push(' ');
        }
        let start = self.text.len();
        self.text.push_str(text);
        self.tokens.push(Span { start, end: self.text.len(), is_character });
        while let Some(feature) = self.feature_at(self.first) {
            make(feature);
            self.first += 1;
            self.made_any = true;
        }
        if self.first >= KEPT_TOKEN_COUNT {
            self.drop_made();
        }
    }

    fn feature_at(&self, number: usize) -> Option<&str> {
        let first = self.tokens.get(number)?;
        let len = if first.is_character { self.character_len } else { self.word_len };
        let last = self.tokens.get(number + len - 1)?;
        Some(&self.text[first.start..last.end])
    }

    fn drop_made(&mut self) {
        // The one before stays, to say whether a space follows it.
        let kept = self.first - 1;
        let offset = self.tokens[kept].start;
        self.text.drain(..offset);
        self.tokens.drain(..kept);
        for span in &mut self.tokens {
            span.start -= offset;
            span.end -= offset;
        }
        self.first = 1;
    }

    /// Ends the text and starts anew.
    pub(crate) fn finish(&mut self, make: &mut impl FnMut(&str)) {
        for number in self.first..self.tokens.len() {
            if let Some(feature) = self.feature_at(number) {
                make(feature);
                self.made_any = true;
            }
        }
        if !self.made_any && !self.tokens.is_empty() {
            make(&self.text);
        }
        self.clear();
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.tokens.clear();
        self.first = 0;
        self.made_any = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(tokens: &[Token<'_>], word_len: usize, character_len: usize) -> Vec<String> {
        let mut windows = Windows::new(word_len, character_len, true);
        let mut made = Vec::new();
        for _ in 0..2 {
            made.clear();
            let mut make = |feature: &str| made.push(feature.to_string());
            for token in tokens {
                windows.push(*token, &mut make);
            }
            windows.finish(&mut make);
        }
        made
    }

    #[test]
    fn shingles_are_the_published_ones() {
        let words = ["one", "two", "three", "four", "five"].map(Token::Word);
        let all = "one two three four five";
        assert_eq!(features(&words, 1, 1), ["one", "two", "three", "four", "five"]);
        assert_eq!(features(&words, 1, 9), ["one", "two", "three", "four", "five"]);
        assert_eq!(features(&words, 2, 1), ["one two", "two three", "three four", "four five"]);
        assert_eq!(features(&words, 4, 1), ["one two three four", "two three four five"]);
        assert_eq!(features(&words, 5, 1), [all]);
        assert_eq!(features(&words, 6, 1), [all]);
        assert_eq!(features(&[], 6, 1), [""; 0]);
    }

    #[test]
    fn a_window_goes_by_its_first_token() {
        let tokens = [
            Token::Word("ab"),
            Token::Character("x"),
            Token::Character("y"),
            Token::Character("z"),
            Token::Word("cd"),
        ];
        assert_eq!(features(&tokens, 1, 2), ["ab", "xy", "yz", "z cd", "cd"]);
        // The first one is too long for the text; those behind it are not.
        assert_eq!(features(&tokens, 9, 3), ["xyz", "yz cd"]);
        assert_eq!(features(&tokens, 2, 3), ["ab x", "xyz", "yz cd"]);
        assert_eq!(features(&tokens, 7, 8), ["ab xyz cd"]);
    }

    #[test]
    fn long_texts_lose_nothing() {
        let letters: Vec<String> = (0..26).map(|n| char::from(b'a' + n).to_string()).collect();
        let mut windows = Windows::new(3, 2, true);
        let mut made = Vec::new();
        let tokens: Vec<Token<'_>> = (0..20_000)
            .map(|n| match n % 7 {
                0 => Token::Word(&letters[n % 26]),
                _ => Token::Character(&letters[n % 26]),
            })
            .collect();
        for token in &tokens {
            windows.push(*token, &mut |feature| made.push(feature.to_string()));
        }
        windows.finish(&mut |feature| made.push(feature.to_string()));
        let plain: Vec<String> = (0..tokens.len())
            .filter_map(|n| {
                let len = if n % 7 == 0 { 3 } else { 2 };
                let mut text = String::new();
                for (place, token) in tokens.get(n..n + len)?.iter().enumerate() {
                    let at = n + place;
                    if place > 0 && (at % 7 == 0 || (at - 1) % 7 == 0) {
                        text.push(' ');
                    }
                    match token {
                        Token::Word(t) | Token::Character(t) => text.push_str(t),
                    }
                }
                Some(text)
            })
            .collect();
        assert_eq!(made, plain);
    }
}
