//! Cuts Chinese into words of a dictionary.

use std::sync::OnceLock;

use jieba_rs::Jieba;

use crate::tokens::scripts::{Scripts, is_han};
use crate::tokens::words::{Token, split_run, words_and_letters};

/// The dictionary of the crate jieba-rs, in exactly this version, with the CRC-32 and the number of
/// lines of its file `dict.txt`.
///
/// Recipes contain this name, because the dictionary determines the words.
pub(crate) const DICTIONARY: &str = "jieba-rs-0.11.0 ddc10645 349045";

/// The method of cutting Chinese into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DictionaryMethod {
    /// The most probable words, by the frequencies in the dictionary.
    Jieba,
    /// Repeatedly the longest word of the dictionary, from the front.
    ForwardMaximum,
    /// Repeatedly the longest word of the dictionary, from the back.
    BackwardMaximum,
    /// The fewest words; of several solutions, the one with the longest first word, then the
    /// longest second word, and so on.
    FewestWords,
}

/// Cuts a text into words: runs of Han by `method`, letters of scripts without spaces one by one,
/// and the rest by UAX #29. A Han character outside all words of the dictionary is a word by
/// itself.
pub(crate) fn dictionary_words<'a>(
    mut text: &'a str,
    method: DictionaryMethod,
    scripts: Scripts,
    take: &mut impl FnMut(Token<'a>),
) {
    while !text.is_empty() {
        let (run, han, rest) = split_run(text, is_han);
        match (han, method) {
            (false, _) => words_and_letters(run, scripts, take),
            (true, DictionaryMethod::Jieba) => {
                for token in jieba().cut(run, false) {
                    take(Token::Word(token.word));
                }
            }
            (true, method) => matched_words(run, method, take),
        }
        text = rest;
    }
}

/// The dictionary, loaded at the first call.
fn jieba() -> &'static Jieba {
    static JIEBA: OnceLock<Jieba> = OnceLock::new();
    JIEBA.get_or_init(Jieba::new)
}

/// Applies one of the three classical methods to a run of Han.
///
/// # Source
///
/// Liang, "CDWS: an automatic word segmentation system for written Chinese", 1987, for the two
/// maximum matchings; Zhang and Liu, "Model of Chinese Words Rough Segmentation", 2002, for
/// fewest words.
fn matched_words<'a>(run: &'a str, method: DictionaryMethod, take: &mut impl FnMut(Token<'a>)) {
    // Byte offsets of the characters, and of the end of the run.
    let mut offsets: Vec<usize> = run.char_indices().map(|(at, _)| at).collect();
    let count = offsets.len();
    offsets.push(run.len());
    // All words of the dictionary in the run, as spans of character positions.
    let found = jieba().cut_all(run);
    let spans = found.iter().map(|token| (token.start, token.end));
    let cuts = match method {
        DictionaryMethod::BackwardMaximum => backward(spans, count),
        DictionaryMethod::FewestWords => fewest(spans, count),
        DictionaryMethod::ForwardMaximum | DictionaryMethod::Jieba => forward(spans, count),
    };
    let mut start = 0;
    for end in cuts {
        take(Token::Word(&run[offsets[start]..offsets[end]]));
        start = end;
    }
}

/// The ends of the words by forward matching, ascending.
fn forward(spans: impl Iterator<Item = (usize, usize)>, count: usize) -> Vec<usize> {
    let mut longest: Vec<usize> = (1..=count).collect();
    for (start, end) in spans {
        longest[start] = longest[start].max(end);
    }
    let mut cuts = Vec::new();
    let mut at = 0;
    while at < count {
        at = longest[at];
        cuts.push(at);
    }
    cuts
}

fn backward(spans: impl Iterator<Item = (usize, usize)>, count: usize) -> Vec<usize> {
    // For each position, the start of the longest word that ends there.
    let mut longest: Vec<usize> = (0..=count).map(|end| end.saturating_sub(1)).collect();
    for (start, end) in spans {
        longest[end] = longest[end].min(start);
    }
    let mut cuts = Vec::new();
    let mut at = count;
    while at > 0 {
        cuts.push(at);
        at = longest[at];
    }
    cuts.reverse();
    cuts
}

fn fewest(spans: impl Iterator<Item = (usize, usize)>, count: usize) -> Vec<usize> {
    let mut spans: Vec<(usize, usize)> = spans.collect();
    spans.extend((0..count).map(|start| (start, start + 1)));
    // Sorts by descending start, so that the best cut of the text after each word is already known.
    // Of words with the same start, the longest comes first and wins ties.
    spans.sort_unstable_by(|a, b| b.cmp(a));
    let mut word_counts = vec![usize::MAX; count + 1];
    let mut next = vec![count; count + 1];
    word_counts[count] = 0;
    for (start, end) in spans {
        let words = word_counts[end] + 1;
        if words < word_counts[start] {
            word_counts[start] = words;
            next[start] = end;
        }
    }
    let mut cuts = Vec::new();
    let mut at = 0;
    while at < count {
        at = next[at];
        cuts.push(at);
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, method: DictionaryMethod) -> String {
        let mut out = Vec::new();
        dictionary_words(text, method, Scripts::All, &mut |token| match token {
            Token::Word(word) => out.push(word.to_string()),
            _ => unreachable!("dictionaries give words"),
        });
        out.join("/")
    }

    /// "Research the origin of life": the methods differ on this example.
    const LIFE: &str = "\u{7814}\u{7a76}\u{751f}\u{547d}\u{7684}\u{8d77}\u{6e90}";

    #[test]
    fn the_methods_cut_the_textbook_example_as_the_textbook_says() {
        let graduate = "\u{7814}\u{7a76}\u{751f}/\u{547d}/\u{7684}/\u{8d77}\u{6e90}";
        let research = "\u{7814}\u{7a76}/\u{751f}\u{547d}/\u{7684}/\u{8d77}\u{6e90}";
        assert_eq!(cut(LIFE, DictionaryMethod::ForwardMaximum), graduate);
        assert_eq!(cut(LIFE, DictionaryMethod::BackwardMaximum), research);
        // Two cuts have four words each: the cut with the longer first word wins.
        assert_eq!(cut(LIFE, DictionaryMethod::FewestWords), graduate);
        assert_eq!(cut(LIFE, DictionaryMethod::Jieba), research);
    }

    #[test]
    fn the_three_methods_agree_with_their_definitions() {
        // All strings of four of these six characters, looked up word by word.
        let alphabet = ['\u{7814}', '\u{7a76}', '\u{751f}', '\u{547d}', '\u{7684}', '\u{8d77}'];
        let jieba = jieba();
        let has =
            |word: &[char]| word.len() == 1 || jieba.has_word(&word.iter().collect::<String>());
        for number in 0..6_usize.pow(4) {
            let text: Vec<char> =
                (0..4).map(|place| alphabet[number / 6_usize.pow(place) % 6]).collect();
            let mut ways: Vec<Vec<usize>> = vec![vec![0]];
            for _ in 0..4 {
                ways = ways
                    .into_iter()
                    .flat_map(|way| {
                        let start = *way.last().unwrap();
                        let ends: Vec<usize> =
                            (start + 1..=4).filter(|&end| has(&text[start..end])).collect();
                        match start {
                            4 => vec![way],
                            _ => ends.iter().map(|&end| [&way[..], &[end]].concat()).collect(),
                        }
                    })
                    .collect();
            }
            let lens = |way: &Vec<usize>| -> Vec<usize> {
                way.windows(2).map(|pair| pair[1] - pair[0]).collect()
            };
            let all: Vec<Vec<usize>> = ways.iter().map(lens).collect();
            let back = |way: &Vec<usize>| -> Vec<usize> { way.iter().rev().copied().collect() };
            let forward = all.iter().max().unwrap();
            let backward = back(&all.iter().map(back).max().unwrap());
            let fewest = all.iter().map(Vec::len).min().unwrap();
            let fewest = all.iter().filter(|way| way.len() == fewest).max().unwrap();
            let whole: String = text.iter().collect();
            for (method, lens) in [
                (DictionaryMethod::ForwardMaximum, forward),
                (DictionaryMethod::BackwardMaximum, &backward),
                (DictionaryMethod::FewestWords, fewest),
            ] {
                let words: Vec<usize> =
                    cut(&whole, method).split('/').map(|word| word.chars().count()).collect();
                assert_eq!(words, *lens, "{whole} {method:?}");
            }
        }
    }

    #[test]
    fn the_dictionary_is_of_the_version_that_recipes_name() {
        let lock = include_str!("../../../../Cargo.lock");
        assert!(lock.contains("name = \"jieba-rs\"\nversion = \"0.11.0\""));
        assert!(DICTIONARY.starts_with("jieba-rs-0.11.0 "));
    }

    #[test]
    fn text_other_than_han_is_cut_by_uax_29() {
        let text = "\u{4e2d}\u{56fd}, hello world 3.5";
        for method in [DictionaryMethod::Jieba, DictionaryMethod::ForwardMaximum] {
            assert_eq!(cut(text, method), "\u{4e2d}\u{56fd}/hello/world/3.5");
        }
    }
}
