//! The passages of a text and their positions: its paragraphs, its lines, or runs of words.
//!
//! Readers of documents convert each passage to a document, so that near-duplicate passages are
//! found; other code removes them. Nothing is copied: a passage is a slice of the text.

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::str::FromStr;

use crate::tokens::scripts::Scripts;
use crate::tokens::words::words;

/// The unit of passages.
///
/// It is spelled `paragraph`, `line`, or `words:N` with the number of words.
///
/// ```
/// use fpstore_text::PassageUnit;
///
/// let unit: PassageUnit = "words:100".parse()?;
/// assert_eq!(unit.to_string(), "words:100");
/// assert!("words:0".parse::<PassageUnit>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PassageUnit {
    /// Consecutive lines without a blank line between them.
    Paragraph,
    /// A line that is not blank. Lines end with LF or CR LF; the last line may have no line end.
    Line,
    /// A run of this many words; the last passage may have fewer. Words are Unicode words; in
    /// scripts without spaces between words, each letter or sign is a word.
    Words(NonZeroUsize),
}

impl fmt::Display for PassageUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PassageUnit::Paragraph => f.write_str("paragraph"),
            PassageUnit::Line => f.write_str("line"),
            PassageUnit::Words(count) => write!(f, "words:{count}"),
        }
    }
}

impl FromStr for PassageUnit {
    /// The message for an invalid unit.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "paragraph" => Ok(PassageUnit::Paragraph),
            "line" => Ok(PassageUnit::Line),
            _ => text
                .strip_prefix("words:")
                .and_then(|count| count.parse().ok())
                .map(PassageUnit::Words)
                .ok_or_else(|| {
                    "expected paragraph, line, or words: with a number above 0, as in words:100"
                        .into()
                }),
        }
    }
}

/// A passage of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage<'a> {
    /// The passage, without white space at its ends.
    pub text: &'a str,
    /// The range of the passage in the text, in bytes.
    pub bytes: Range<usize>,
    /// The range of the passage in the text, in characters (Unicode scalar values, as in Python).
    pub chars: Range<usize>,
}

/// The passages of a text, in order; none is empty. They are separated by white space, or with
/// [`PassageUnit::Words`] by characters that are not words.
///
/// # Examples
///
/// ```
/// use fpstore_text::{PassageUnit, passages};
///
/// let text = "A title\r\n\r\n  The f\u{ef}rst line\nand one more.\n \n";
/// let found: Vec<_> = passages(text, PassageUnit::Paragraph).collect();
/// assert_eq!(found[1].text, "The f\u{ef}rst line\nand one more.");
/// assert_eq!((found[1].bytes.clone(), found[1].chars.clone()), (13..42, 13..41));
/// assert_eq!(passages(text, PassageUnit::Line).count(), 3);
/// let words = passages(text, PassageUnit::Words(4.try_into().unwrap()));
/// assert_eq!(words.map(|it| it.text).last(), Some("line\nand one more"));
/// ```
pub fn passages(text: &str, unit: PassageUnit) -> Passages<'_> {
    let words = match unit {
        PassageUnit::Words(count) => word_runs(text, count.get()),
        _ => Vec::new(),
    };
    Passages { text, unit, at: 0, byte: 0, character: 0, words: words.into_iter() }
}

/// An iterator over passages; see [`passages`].
#[derive(Clone, Debug)]
pub struct Passages<'a> {
    text: &'a str,
    unit: PassageUnit,
    /// The byte position of the next line.
    at: usize,
    /// The position up to which characters are counted: in bytes, and in characters.
    byte: usize,
    character: usize,
    /// The runs of words, if the passages are runs of words.
    words: std::vec::IntoIter<Range<usize>>,
}

impl Passages<'_> {
    /// The byte range of the next line without white space at its ends; empty for a blank line.
    fn line(&mut self) -> Option<Range<usize>> {
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return None;
        }
        let len = rest.find('\n').map_or(rest.len(), |end| end + 1);
        let start = self.at + (rest[..len].len() - rest[..len].trim_start().len());
        let end = start + rest[..len].trim().len();
        self.at += len;
        Some(start..end)
    }

    fn range(&mut self) -> Option<Range<usize>> {
        match self.unit {
            PassageUnit::Words(_) => self.words.next(),
            PassageUnit::Line => loop {
                let line = self.line()?;
                if !line.is_empty() {
                    return Some(line);
                }
            },
            PassageUnit::Paragraph => {
                let mut paragraph: Option<Range<usize>> = None;
                while let Some(line) = self.line() {
                    match &mut paragraph {
                        Some(paragraph) if !line.is_empty() => paragraph.end = line.end,
                        Some(_) => break,
                        None => paragraph = Some(line).filter(|line| !line.is_empty()),
                    }
                }
                paragraph
            }
        }
    }

    /// The number of characters before a byte. Each call counts on from the byte of the last call.
    fn characters_before(&mut self, byte: usize) -> usize {
        self.character += self.text[self.byte..byte].chars().count();
        self.byte = byte;
        self.character
    }
}

impl<'a> Iterator for Passages<'a> {
    type Item = Passage<'a>;

    fn next(&mut self) -> Option<Passage<'a>> {
        let bytes = self.range()?;
        let start = self.characters_before(bytes.start);
        let chars = start..self.characters_before(bytes.end);
        Some(Passage { text: &self.text[bytes.clone()], bytes, chars })
    }
}

/// The byte range of each run of `count` words.
fn word_runs(text: &str, count: usize) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut free = 0;
    words(text, Scripts::All, &mut |token| {
        // The tokens are slices of the text.
        let start = token.text().as_ptr() as usize - text.as_ptr() as usize;
        let end = start + token.text().len();
        match runs.last_mut() {
            Some(run) if free > 0 => {
                run.end = end;
                free -= 1;
            }
            _ => {
                runs.push(start..end);
                free = count - 1;
            }
        }
    });
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, unit: &str) -> Vec<String> {
        passages(text, unit.parse().unwrap()).map(|it| it.text.to_string()).collect()
    }

    #[test]
    fn paragraphs_lines_and_words_are_cut_where_people_see_them() {
        let text = "\u{feff}One\r\n  two \r\n\t\r\n\r\nthree\n\n\n \u{3000}\nfour\u{2028}five";
        assert_eq!(found(text, "paragraph"), ["\u{feff}One\r\n  two", "three", "four\u{2028}five"]);
        assert_eq!(found(text, "line"), ["\u{feff}One", "two", "three", "four\u{2028}five"]);
        assert_eq!(found(text, "words:2"), ["One\r\n  two", "three\n\n\n \u{3000}\nfour", "five"]);
        assert_eq!(found("\u{6708}\u{5149}\u{3002}a", "words:3"), ["\u{6708}\u{5149}\u{3002}a"]);
        for unit in ["paragraph", "line", "words:5"] {
            for blank in ["", "\n", " \r\n\r\n\t"] {
                assert_eq!(found(blank, unit), Vec::<String>::new(), "{unit} {blank:?}");
            }
            assert_eq!(found("a", unit), ["a"]);
        }
        // A text without line ends is a single line and paragraph, whatever its length.
        let giant = "word ".repeat(300_000);
        assert_eq!(found(&giant, "line"), [giant.trim()]);
        assert_eq!(found(&giant, "paragraph"), [giant.trim()]);
        assert_eq!(found(&giant, "words:1000").len(), 300);
        // A lone CR does not end a line.
        assert_eq!(found("a\rb\nc", "line"), ["a\rb", "c"]);
    }

    #[test]
    fn places_are_those_of_the_passages_in_bytes_and_in_characters() {
        let parts = [
            "a",
            "b c",
            "\u{e9}",
            "\u{6708}\u{5149}",
            "\u{1f600}",
            " ",
            "\n",
            "\r\n",
            "\n\n",
            "\r",
            "\t",
            "\u{a0}",
            "e\u{301}",
            ".",
            "\u{2029}",
            "\0",
        ];
        let mut seed = 23_u64;
        let mut pick = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize
        };
        for round in 0..3000 {
            let text: String = (0..pick() % 40).map(|_| parts[pick() % parts.len()]).collect();
            let unit = ["paragraph", "line", "words:1", "words:3"][round % 4].parse().unwrap();
            let mut end = 0;
            for passage in passages(&text, unit) {
                let Passage { text: own, bytes, chars } = passage;
                assert_eq!(own, &text[bytes.clone()]);
                let count = chars.end - chars.start;
                assert_eq!(own, text.chars().skip(chars.start).take(count).collect::<String>());
                assert!(!own.is_empty() && own.trim() == own, "{text:?} {own:?}");
                let between = &text[end..bytes.start];
                match unit {
                    PassageUnit::Words(_) => assert!(!between.contains(char::is_alphanumeric)),
                    _ => assert!(between.trim().is_empty() && (end == 0 || between.contains('\n'))),
                }
                if unit == PassageUnit::Line {
                    assert!(!own.contains('\n'));
                }
                if unit == PassageUnit::Paragraph {
                    assert!(own.split('\n').all(|line| !line.trim().is_empty()));
                    let ends = between.chars().filter(|&c| c == '\n').count();
                    assert!(end == 0 || ends >= 2, "{text:?}");
                }
                end = bytes.end;
            }
            let rest = &text[end..];
            assert!(!rest.contains(char::is_alphanumeric), "{text:?} {unit}");
        }
    }

    #[test]
    fn units_are_spelled_as_they_are_read() {
        for name in ["paragraph", "line", "words:1", "words:100"] {
            assert_eq!(name.parse::<PassageUnit>().unwrap().to_string(), name);
        }
        for name in ["", "words", "words:", "words:0", "words:-1", "sentence", "Line"] {
            assert!(name.parse::<PassageUnit>().unwrap_err().contains("paragraph"), "{name}");
        }
    }
}
