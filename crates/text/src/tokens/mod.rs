//! From pieces of a text to features: normal form, tokens, windows.
//!
//! [`TextHasher`](crate::TextHasher) passes the pieces of a text to [`Tokens`] in order. `normal`
//! folds a piece, `words` or `dictionary` cuts it, `windows` joins tokens to features. Features do
//! not depend on the boundaries of the pieces: tokens of an unfinished window are carried over.

pub(crate) mod dictionary;
mod normal;
pub(crate) mod placed;
pub(crate) mod runs;
pub(crate) mod scripts;
pub(crate) mod windows;
pub(crate) mod words;

use crate::recipe::{FeaturelessText, TextRecipe, Tokenizer};
use crate::resources::lists::StopWords;
use crate::tokens::dictionary::dictionary_words;
use crate::tokens::normal::Form;
use crate::tokens::scripts::Scripts;
use crate::tokens::windows::{FeatureSink, Lens, Windows};
use crate::tokens::words::{CharacterSet, Token, code, words};

/// Cuts the pieces of a text in order, and forms features of the tokens.
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    form: Form,
    tokenizer: Tokenizer,
    scripts: Scripts,
    windows: Windows,
    /// The tokens carried over from the previous piece, and then the folded piece.
    folded: String,
    scratch: String,
    /// The text of the tokens of unfinished features.
    carried: String,
    /// The folded text, while no token was found in it; `None` if the recipe never makes the whole
    /// text a feature.
    bare: Option<String>,
}

impl Tokens {
    pub(crate) fn new(recipe: &TextRecipe) -> Self {
        let lens = Lens {
            word: recipe.shingle as usize,
            character: recipe.ngram as usize,
            // If the recipe has no length for letters, letters are treated as signs, and this
            // length is unused.
            letter: recipe.letter_ngram.unwrap_or(recipe.ngram) as usize,
        };
        Tokens {
            form: Form::of(recipe),
            tokenizer: recipe.tokenizer,
            scripts: if recipe.letter_ngram.is_some() { Scripts::All } else { Scripts::First },
            windows: Windows::new(lens, recipe.tokenizer != Tokenizer::Letters),
            folded: String::new(),
            scratch: String::new(),
            carried: String::new(),
            bare: (recipe.featureless == FeaturelessText::WholeText).then(String::new),
        }
    }

    /// Calls `take` with the tokens of a piece.
    pub(crate) fn each(
        &mut self,
        piece: &str,
        stop_words: Option<&StopWords>,
        take: &mut impl FnMut(&str),
    ) {
        self.folded.clear();
        self.fold(piece);
        let stopped = |text: &str| stop_words.is_some_and(|words| words.contains(text));
        match self.characters() {
            // Where tokens are characters, stop words are removed before words are split.
            Some(characters) if stop_words.is_some() => {
                cut_words(&self.folded, self.tokenizer, self.scripts, &mut |word| {
                    if !stopped(word.text()) {
                        characters.each(word.text(), &mut |letter| take(letter.text()));
                    }
                });
            }
            Some(characters) => characters.each(&self.folded, &mut |letter| take(letter.text())),
            None => cut_words(&self.folded, self.tokenizer, self.scripts, &mut |token| {
                if !stopped(token.text()) {
                    take(token.text());
                }
            }),
        }
    }

    /// The only word of a text, in the form that is compared with stop words; `None` if the text
    /// has no word or several words.
    pub(crate) fn only_word(&mut self, text: &str) -> Option<String> {
        self.folded.clear();
        self.fold(text);
        let mut words = Vec::new();
        cut_words(&self.folded, self.tokenizer, self.scripts, &mut |word| {
            words.push(word.text().to_string());
        });
        words.pop().filter(|_| words.is_empty())
    }

    /// The only feature of a text; `None` if it has no feature or several. With the tokenizer
    /// `Given`, the text itself.
    pub(crate) fn only_feature(&mut self, text: &str) -> Option<String> {
        if self.tokenizer == Tokenizer::Given {
            return Some(text.into());
        }
        let mut features = Vec::new();
        self.feed(text, None, &mut features);
        self.finish(&mut features);
        features.pop().filter(|_| features.is_empty())
    }

    /// Forms the features that end in the next piece of a text; a piece ends before white space or
    /// at the end of the text.
    pub(crate) fn feed(
        &mut self,
        piece: &str,
        stop_words: Option<&StopWords>,
        sink: &mut impl FeatureSink,
    ) {
        let is_first = self.windows.is_untouched();
        std::mem::swap(&mut self.folded, &mut self.carried);
        let start = self.folded.len();
        match self.characters() {
            Some(characters) => self.feed_characters(characters, piece, start, stop_words, sink),
            None => {
                self.fold(piece);
                let Tokens { folded, windows, tokenizer, scripts, .. } = self;
                let text = &folded[start..];
                match stop_words {
                    None => cut_words(text, *tokenizer, *scripts, &mut |token| {
                        windows.push(folded, token, sink);
                    }),
                    Some(stop_words) => cut_words(text, *tokenizer, *scripts, &mut |token| {
                        if !stop_words.contains(token.text()) {
                            windows.push(folded, token, sink);
                        }
                    }),
                }
            }
        }
        if is_first {
            self.note_bare(piece);
        }
        self.windows.carry(&self.folded, &mut self.carried, sink);
    }

    /// Keeps a piece in `bare` while the text has no token, and clears `bare` at the first token.
    fn note_bare(&mut self, piece: &str) {
        let Some(bare) = &mut self.bare else { return };
        match self.windows.is_untouched() {
            true => self.form.push(piece, bare, &mut self.scratch),
            false => *bare = String::new(),
        }
    }

    /// Like [`Tokens::feed`], but for tokens that are single characters: they are written without
    /// gaps, so that each feature is a slice.
    fn feed_characters(
        &mut self,
        characters: CharacterSet,
        piece: &str,
        start: usize,
        stop_words: Option<&StopWords>,
        sink: &mut impl FeatureSink,
    ) {
        // The carried characters come first; they are already known to be in the set.
        let mut letters = std::mem::take(&mut self.folded);
        self.folded = std::mem::take(&mut self.carried);
        self.folded.clear();
        self.fold(piece);
        match stop_words {
            None => characters.push_members(&self.folded, &mut letters),
            // As in `each`, stop words are removed before words are split.
            Some(stop_words) => {
                cut_words(&self.folded, self.tokenizer, self.scripts, &mut |word| {
                    if !stop_words.contains(word.text()) {
                        characters.push_members(word.text(), &mut letters);
                    }
                })
            }
        }
        if letters.is_ascii() {
            self.windows.push_bytes(&letters, characters.is_single(), sink);
        } else {
            characters
                .each(&letters[start..], &mut |token| self.windows.push(&letters, token, sink));
        }
        self.carried = std::mem::replace(&mut self.folded, letters);
    }

    /// Forms the last features of the text, and clears it.
    pub(crate) fn finish(&mut self, sink: &mut impl FeatureSink) {
        if let Some(bare) = &mut self.bare {
            let text = bare.trim().as_bytes();
            if self.windows.is_untouched() && !text.is_empty() {
                sink.take(text, text.len());
            }
            bare.clear();
        }
        self.windows.finish(&self.carried, sink);
        self.carried.clear();
    }

    /// Clears the text.
    pub(crate) fn clear(&mut self) {
        self.windows.clear();
        self.carried.clear();
        if let Some(bare) = &mut self.bare {
            bare.clear();
        }
    }

    /// Appends a piece, folded by the recipe, to `folded`.
    fn fold(&mut self, piece: &str) {
        self.form.push(piece, &mut self.folded, &mut self.scratch);
    }

    /// The characters that are tokens, or `None` if tokens are words.
    fn characters(&self) -> Option<CharacterSet> {
        match self.tokenizer {
            Tokenizer::Letters => Some(CharacterSet::Letters(self.scripts)),
            Tokenizer::Characters => Some(CharacterSet::Characters),
            Tokenizer::PythonCharacters => Some(CharacterSet::PythonCharacters),
            Tokenizer::Words | Tokenizer::Code | Tokenizer::Dictionary(_) | Tokenizer::Given => {
                None
            }
        }
    }
}

fn cut_words<'a>(
    text: &'a str,
    tokenizer: Tokenizer,
    scripts: Scripts,
    take: &mut impl FnMut(Token<'a>),
) {
    match tokenizer {
        Tokenizer::Dictionary(method) => dictionary_words(text, method, scripts, take),
        Tokenizer::Code => code(text, take),
        // Given features are not processed here.
        Tokenizer::Given => {}
        _ => words(text, scripts, take),
    }
}
