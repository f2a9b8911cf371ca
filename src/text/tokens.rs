//! From pieces of a text to features: normal form, tokens, windows.

use crate::text::chinese::dictionary_words;
use crate::text::normal::normalize;
use crate::text::recipe::{Segment, TextRecipe};
use crate::text::stop_words::StopWords;
use crate::text::windows::{Make, Windows};
use crate::text::words::{Kept, Token, words};

/// Cuts the pieces of one text after the other, and makes windows of the tokens. Keeps its memory.
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    nfkc: bool,
    lower: bool,
    segment: Segment,
    windows: Windows,
    /// The piece as tokens are cut from it, behind what was carried over from the last one.
    folded: String,
    scratch: String,
    /// Tokens that belong to features still to come.
    carried: String,
}

impl Tokens {
    pub(crate) fn new(recipe: &TextRecipe) -> Self {
        let (words, characters) = (recipe.shingle as usize, recipe.ngram as usize);
        Tokens {
            nfkc: recipe.nfkc,
            lower: recipe.lower,
            segment: recipe.segment,
            windows: Windows::new(words, characters, recipe.segment != Segment::Letters),
            folded: String::new(),
            scratch: String::new(),
            carried: String::new(),
        }
    }

    /// Hands over the tokens of a piece that stands alone.
    pub(crate) fn each(
        &mut self,
        piece: &str,
        stop_words: Option<&StopWords>,
        take: &mut impl FnMut(&str),
    ) {
        self.folded.clear();
        self.fold(piece);
        let stopped = |text: &str| stop_words.is_some_and(|words| words.contains(text));
        match self.kept() {
            // Stop words are words: where characters are tokens, the words go before they are cut up.
            Some(kept) if stop_words.is_some() => {
                cut_words(&self.folded, self.segment, &mut |word| {
                    if !stopped(word.text()) {
                        kept.each(word.text(), &mut |letter| take(letter.text()));
                    }
                });
            }
            Some(kept) => kept.each(&self.folded, &mut |letter| take(letter.text())),
            None => cut_words(&self.folded, self.segment, &mut |token| {
                if !stopped(token.text()) {
                    take(token.text());
                }
            }),
        }
    }

    /// Makes the features that end in the next piece of a text, which is whole or cut before white space.
    pub(crate) fn feed(
        &mut self,
        piece: &str,
        stop_words: Option<&StopWords>,
        make: &mut impl Make,
    ) {
        std::mem::swap(&mut self.folded, &mut self.carried);
        let start = self.folded.len();
        match self.kept() {
            Some(kept) => self.feed_kept(kept, piece, start, stop_words, make),
            None => {
                self.fold(piece);
                let Tokens { folded, windows, segment, .. } = self;
                let text = &folded[start..];
                match stop_words {
                    None => cut_words(text, *segment, &mut |token| {
                        windows.push(folded, token, make);
                    }),
                    Some(stop_words) => cut_words(text, *segment, &mut |token| {
                        if !stop_words.contains(token.text()) {
                            windows.push(folded, token, make);
                        }
                    }),
                }
            }
        }
        self.windows.carry(&self.folded, &mut self.carried, make);
    }

    /// The same where tokens are single characters: they are brought together, so that each feature is a slice.
    fn feed_kept(
        &mut self,
        kept: Kept,
        piece: &str,
        start: usize,
        stop_words: Option<&StopWords>,
        make: &mut impl Make,
    ) {
        // What was carried are characters that were kept.
        let mut letters = std::mem::take(&mut self.folded);
        self.folded = std::mem::take(&mut self.carried);
        self.folded.clear();
        self.fold(piece);
        match stop_words {
            None => kept.push_kept(&self.folded, &mut letters),
            // As in `each`.
            Some(stop_words) => cut_words(&self.folded, self.segment, &mut |word| {
                if !stop_words.contains(word.text()) {
                    kept.push_kept(word.text(), &mut letters);
                }
            }),
        }
        if letters.is_ascii() {
            self.windows.push_bytes(&letters, kept != Kept::Letters, make);
        } else {
            kept.each(&letters[start..], &mut |token| self.windows.push(&letters, token, make));
        }
        self.carried = std::mem::replace(&mut self.folded, letters);
    }

    /// Ends the text, and starts anew.
    pub(crate) fn finish(&mut self, make: &mut impl Make) {
        self.windows.finish(&self.carried, make);
        self.carried.clear();
    }

    /// Forgets the text.
    pub(crate) fn clear(&mut self) {
        self.windows.clear();
        self.carried.clear();
    }

    /// Appends a piece to `folded` as the recipe will have it.
    fn fold(&mut self, piece: &str) {
        normalize(piece, self.nfkc, self.lower, &mut self.folded, &mut self.scratch);
    }

    /// Which single characters are tokens, if they are.
    fn kept(&self) -> Option<Kept> {
        match self.segment {
            Segment::Letters => Some(Kept::Letters),
            Segment::Characters => Some(Kept::Characters),
            Segment::PythonCharacters => Some(Kept::PythonCharacters),
            Segment::Words | Segment::Dictionary(_) | Segment::Given => None,
        }
    }
}

fn cut_words<'a>(text: &'a str, segment: Segment, take: &mut impl FnMut(Token<'a>)) {
    match segment {
        Segment::Dictionary(method) => dictionary_words(text, method, take),
        // Ready features come another way.
        Segment::Given => {}
        _ => words(text, take),
    }
}
