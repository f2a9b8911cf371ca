//! Windows over the tokens, which are the features: word shingles and character n-grams.

use std::ops::Range;

use crate::tokens::words::Token;

/// Forms features of tokens that arrive in order.
///
/// A feature starts at each token. The number of its tokens depends on the kind of the first token;
/// see [`Lens`]. Its text is the text of the tokens; if `spaced`, with a space between two tokens
/// unless both are single characters. A feature that would extend past the end of the text is
/// dropped; if no feature is left, all tokens are one feature. With word length 2 and character
/// length 2, the tokens `ab x y cd` (`x` and `y` are characters) yield `ab x`, `xy`, `y cd`.
///
/// Tokens are spans of a text that the caller keeps. If the text between them is already the text
/// of the feature, the feature is a slice of the text and nothing is copied.
#[derive(Clone, Debug)]
pub(crate) struct Windows {
    lens: Lens,
    /// Whether a space separates a word from its neighbours in a feature.
    spaced: bool,
    /// The tokens of features that are not formed yet.
    tokens: Vec<Span>,
    /// Whether a token of this text was not a word.
    any_single: bool,
    /// The length of `tokens` when features were last formed.
    kept_count: usize,
    made_any: bool,
    /// Buffer for the text of a feature that is not a slice.
    joined: Vec<u8>,
}

/// The number of tokens in a feature, each at least 1, by the kind of its first token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lens {
    pub(crate) word: usize,
    pub(crate) character: usize,
    pub(crate) letter: usize,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    end: usize,
    kind: Kind,
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Word,
    Character,
    Letter,
}

impl Span {
    fn is_single(self) -> bool {
        self.kind != Kind::Word
    }
}

/// Features are formed when this many tokens have arrived: that takes half the time of forming
/// features after each token.
const BATCH_LEN: usize = 256;

/// Tokens of up to this number of bytes are copied with a single copy of fixed length.
const JOINED_LEN: usize = 16;

/// The receiver of features.
pub(crate) trait FeatureSink {
    /// Takes a feature: the first `len` bytes of `text`. If more bytes follow, hashing is faster.
    fn take(&mut self, text: &[u8], len: usize);
}

impl FeatureSink for Vec<String> {
    fn take(&mut self, text: &[u8], len: usize) {
        self.push(String::from_utf8_lossy(&text[..len]).into_owned());
    }
}

impl Windows {
    /// Windows of these lengths, with or without spaces between words.
    pub(crate) fn new(lens: Lens, spaced: bool) -> Self {
        Windows {
            lens,
            spaced,
            tokens: Vec::new(),
            any_single: false,
            kept_count: 0,
            made_any: false,
            joined: Vec::new(),
        }
    }

    /// Adds the next token, which is a slice of `text`.
    #[inline]
    pub(crate) fn push(&mut self, text: &str, token: Token<'_>, sink: &mut impl FeatureSink) {
        let (token, kind) = match token {
            Token::Word(word) => (word, Kind::Word),
            Token::Character(c) => (c, Kind::Character),
            Token::Letter(c) => (c, Kind::Letter),
        };
        // The token is a slice of `text`, so the difference of the addresses is its offset. If it
        // were not, slicing with the offset below would panic.
        let start = token.as_ptr().addr().wrapping_sub(text.as_ptr().addr());
        self.any_single |= kind != Kind::Word;
        self.tokens.push(Span { start, end: start + token.len(), kind });
        if self.tokens.len() >= BATCH_LEN + self.kept_count {
            self.make_complete(text, sink);
        }
    }

    /// Forms the features whose tokens have all arrived, and keeps the tokens of the other
    /// features.
    #[inline(never)]
    fn make_complete(&mut self, text: &str, sink: &mut impl FeatureSink) {
        let made_count =
            if self.any_single { self.make_mixed(text, sink) } else { self.make_words(text, sink) };
        self.made_any |= made_count > 0;
        self.tokens.drain(..made_count);
        self.kept_count = self.tokens.len();
    }

    /// Forms the features whose tokens have all arrived, for a text in which all tokens are words.
    /// Returns the number of tokens that are no longer needed.
    fn make_words(&mut self, text: &str, sink: &mut impl FeatureSink) -> usize {
        let len = self.lens.word;
        // The number of consecutive tokens, up to this one, that are in the text as in a feature.
        let mut run_len = 0;
        let mut last_end = usize::MAX;
        for number in 0..self.tokens.len() {
            let Span { start, end, .. } = self.tokens[number];
            run_len = if self.follows(text, last_end, start, true) { run_len + 1 } else { 1 };
            last_end = end;
            if number + 1 < len {
                continue;
            }
            let first = number + 1 - len;
            if run_len >= len {
                let start = self.tokens[first].start;
                sink.take(&text.as_bytes()[start..], end - start);
            } else {
                self.make_joined(text, first..number + 1, sink);
            }
        }
        (self.tokens.len() + 1).saturating_sub(len)
    }

    /// Like [`Windows::make_words`], for a text in which some tokens are not words.
    fn make_mixed(&mut self, text: &str, sink: &mut impl FeatureSink) -> usize {
        let mut run_len = 0;
        let mut before = Span { start: 0, end: usize::MAX, kind: Kind::Word };
        let mut first = 0;
        for number in 0..self.tokens.len() {
            let span = self.tokens[number];
            let spaced = !(before.is_single() && span.is_single());
            let follows = self.follows(text, before.end, span.start, spaced);
            run_len = if follows { run_len + 1 } else { 1 };
            before = span;
            while first <= number && number + 1 - first >= self.len_at(first) {
                // This feature may end before `number`, if it waited for a longer feature that
                // starts before it.
                let end = first + self.len_at(first);
                if run_len > number - first {
                    let start = self.tokens[first].start;
                    sink.take(&text.as_bytes()[start..], self.tokens[end - 1].end - start);
                } else {
                    self.make_joined(text, first..end, sink);
                }
                first += 1;
            }
        }
        first
    }

    /// Whether the text between the end of a token and the start of the next is the separator of a
    /// feature.
    #[inline]
    fn follows(&self, text: &str, end: usize, start: usize, spaced: bool) -> bool {
        if self.spaced && spaced {
            // Not `&&`: its branch would be unpredictable.
            (start == end.wrapping_add(1)) & (text.as_bytes().get(end) == Some(&b' '))
        } else {
            start == end
        }
    }

    /// The number of tokens in the feature that starts at token `number`.
    #[inline]
    fn len_at(&self, number: usize) -> usize {
        match self.tokens[number].kind {
            Kind::Word => self.lens.word,
            Kind::Character => self.lens.character,
            Kind::Letter => self.lens.letter,
        }
    }

    /// Adds an ASCII text in which each byte is a token and all tokens are of the same kind. The
    /// text starts with the carried tokens.
    pub(crate) fn push_bytes(
        &mut self,
        text: &str,
        is_character: bool,
        sink: &mut impl FeatureSink,
    ) {
        debug_assert!(text.is_ascii() && (is_character || !self.spaced));
        let (len, kind) = match is_character {
            true => (self.lens.character, Kind::Character),
            false => (self.lens.word, Kind::Word),
        };
        let bytes = text.as_bytes();
        let mut start = 0;
        while start + len <= bytes.len() {
            sink.take(&bytes[start..], len);
            start += 1;
        }
        self.made_any |= start > 0;
        self.any_single |= is_character;
        self.tokens.clear();
        self.tokens.extend((start..bytes.len()).map(|start| Span { start, end: start + 1, kind }));
    }

    fn make_joined(&mut self, text: &str, range: Range<usize>, sink: &mut impl FeatureSink) {
        let mut joined = std::mem::take(&mut self.joined);
        let len = self.join(text.as_bytes(), range, &mut joined);
        sink.take(&joined, len);
        self.joined = joined;
    }

    /// Writes the text of the feature with these tokens to the start of `out`; returns its length.
    fn join(&self, text: &[u8], range: Range<usize>, out: &mut Vec<u8>) -> usize {
        let mut len = 0;
        let mut before: Option<Span> = None;
        for span in &self.tokens[range] {
            // Room for a space, the token, and more bytes after it, which make hashing faster.
            let token_len = span.end - span.start;
            if out.len() < len + token_len + 2 * JOINED_LEN {
                out.resize(len + 2 * (token_len + 2 * JOINED_LEN), 0);
            }
            if self.spaced && before.is_some_and(|b| !(b.is_single() && span.is_single())) {
                out[len] = b' ';
                len += 1;
            }
            // Nearly all tokens are short, and a copy of fixed length is the fastest.
            match text[span.start..].first_chunk::<JOINED_LEN>() {
                Some(block) if token_len <= JOINED_LEN => {
                    out[len..len + JOINED_LEN].copy_from_slice(block);
                }
                _ => out[len..len + token_len].copy_from_slice(&text[span.start..span.end]),
            }
            len += token_len;
            before = Some(*span);
        }
        len
    }

    /// Forms the features whose tokens have all arrived, and writes the tokens of the others into
    /// `carried`, with which the next text must start; `text` is no longer needed.
    pub(crate) fn carry(&mut self, text: &str, carried: &mut String, sink: &mut impl FeatureSink) {
        self.make_complete(text, sink);
        carried.clear();
        let mut before: Option<Span> = None;
        for span in &mut self.tokens {
            if self.spaced && before.is_some_and(|b| !(b.is_single() && span.is_single())) {
                carried.push(' ');
            }
            let start = carried.len();
            carried.push_str(&text[span.start..span.end]);
            *span = Span { start, end: carried.len(), ..*span };
            before = Some(*span);
        }
    }

    /// Forms the last features of the text from `carried`, which contains the tokens of unfinished
    /// features, and clears the windows.
    pub(crate) fn finish(&mut self, carried: &str, sink: &mut impl FeatureSink) {
        let count = self.tokens.len();
        for number in 0..count {
            let end = number + self.len_at(number);
            if end <= count {
                self.make_joined(carried, number..end, sink);
                self.made_any = true;
            }
        }
        if !self.made_any && count > 0 {
            self.make_joined(carried, 0..count, sink);
        }
        self.clear();
    }

    /// Whether no token of the text has arrived.
    pub(crate) fn is_untouched(&self) -> bool {
        self.tokens.is_empty() && !self.made_any
    }

    /// Clears the text.
    pub(crate) fn clear(&mut self) {
        self.tokens.clear();
        self.any_single = false;
        self.kept_count = 0;
        self.made_any = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The features of tokens in a text between `gaps`, cut into pieces by `is_cut`.
    fn made(
        windows: &mut Windows,
        tokens: &[Token<'_>],
        gaps: &[&str],
        is_cut: impl Fn(usize) -> bool,
    ) -> Vec<String> {
        let mut sink: Vec<String> = Vec::new();
        let (mut carried, mut at) = (String::new(), 0);
        while at < tokens.len() {
            let end = (at + 1..tokens.len()).find(|&end| is_cut(end)).unwrap_or(tokens.len());
            let mut text = carried.clone();
            let mut places = Vec::new();
            for (number, token) in (at..).zip(&tokens[at..end]) {
                text.push_str(gaps[number % gaps.len()]);
                places.push(text.len());
                text.push_str(token.text());
            }
            for (start, token) in places.into_iter().zip(&tokens[at..end]) {
                let slice = &text[start..start + token.text().len()];
                let token = match token {
                    Token::Word(_) => Token::Word(slice),
                    Token::Character(_) => Token::Character(slice),
                    Token::Letter(_) => Token::Letter(slice),
                };
                windows.push(&text, token, &mut sink);
            }
            windows.carry(&text, &mut carried, &mut sink);
            at = end;
        }
        windows.finish(&carried, &mut sink);
        sink
    }

    /// The features of `tokens` if letters have a length of 3.
    fn features(tokens: &[Token<'_>], word: usize, character: usize) -> Vec<String> {
        let mut windows = Windows::new(Lens { word, character, letter: 3 }, true);
        let plain = made(&mut windows, tokens, &[" "], |_| false);
        for gaps in [&[", "][..], &["", " "], &[" ", "-", "", " ", " ", " "]] {
            for step in [1, 2, 5] {
                let cut = |number: usize| number.is_multiple_of(step);
                assert_eq!(made(&mut windows, tokens, gaps, cut), plain, "{gaps:?} {step}");
            }
        }
        plain
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
        // Only the feature that starts at the first token would extend past the end of the text.
        assert_eq!(features(&tokens, 9, 3), ["xyz", "yz cd"]);
        assert_eq!(features(&tokens, 2, 3), ["ab x", "xyz", "yz cd"]);
        assert_eq!(features(&tokens, 7, 8), ["ab xyz cd"]);
    }

    #[test]
    fn letters_have_a_length_of_their_own() {
        let [a, b, c, d] = ["a", "b", "c", "d"].map(Token::Letter);
        let (word, sign) = (Token::Word("word"), Token::Character("s"));
        assert_eq!(features(&[a, b, c, d], 2, 2), ["abc", "bcd"]);
        assert_eq!(features(&[a, b], 2, 2), ["ab"]);
        let tokens = [a, b, sign, c, word, d];
        assert_eq!(features(&tokens, 2, 2), ["abs", "bsc", "sc", "c word d", "word d"]);
    }

    #[test]
    fn long_texts_lose_nothing() {
        let letters: Vec<String> = (0..26).map(|n| char::from(b'a' + n).to_string()).collect();
        let tokens: Vec<Token<'_>> = (0..20_000)
            .map(|n| match n % 7 {
                0 => Token::Word(&letters[n % 26]),
                _ => Token::Character(&letters[n % 26]),
            })
            .collect();
        let made = features(&tokens, 5, 2);
        let plain: Vec<String> = (0..tokens.len())
            .filter_map(|n| {
                let len = if n % 7 == 0 { 5 } else { 2 };
                let mut text = String::new();
                for (place, token) in tokens.get(n..n + len)?.iter().enumerate() {
                    let at = n + place;
                    if place > 0 && (at % 7 == 0 || (at - 1) % 7 == 0) {
                        text.push(' ');
                    }
                    text.push_str(token.text());
                }
                Some(text)
            })
            .collect();
        assert_eq!(made, plain);
    }
}
