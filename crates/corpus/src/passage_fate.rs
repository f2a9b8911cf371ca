//! The fate of removed passages in copies.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use fpstore_text::Passage;

/// The fate of removed passages in the outputs of a cleaning of passages.
///
/// # Examples
///
/// ```
/// use fpstore_corpus::PassageFate;
///
/// assert_eq!("drop:0.5".parse(), Ok(PassageFate::Drop(0.5)));
/// assert_eq!(PassageFate::Cut.to_string(), "cut");
/// assert!("drop:50".parse::<PassageFate>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PassageFate {
    /// Removed passages are cut out of the texts, and the rest of each record is copied byte for
    /// byte. A passage is cut up to the beginning of the next passage; the last passage is cut from
    /// the end of the passage before it. A document without remaining passages is removed.
    Cut,
    /// A document is removed as a whole if the removed passages contain at least this part, above 0
    /// and at most 1, of the characters of all its passages. The other documents are copied
    /// unchanged.
    Drop(f64),
    /// Documents are not copied. For each file, the attributes of its documents are written, one
    /// line of JSON for each document, with the positions of the removed passages.
    Annotate,
}

const EXPECTED: &str = "expected cut, annotate, or drop: with a part above 0 and at most 1, as in \
                        drop:0.5";

impl FromStr for PassageFate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("drop:")) {
            ("cut", _) => Ok(PassageFate::Cut),
            ("annotate", _) => Ok(PassageFate::Annotate),
            (_, Some(part)) => part
                .parse()
                .ok()
                .filter(|part: &f64| *part > 0.0 && *part <= 1.0)
                .map(PassageFate::Drop)
                .ok_or_else(|| EXPECTED.into()),
            _ => Err(EXPECTED.into()),
        }
    }
}

impl fmt::Display for PassageFate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PassageFate::Cut => f.write_str("cut"),
            PassageFate::Drop(part) => write!(f, "drop:{part}"),
            PassageFate::Annotate => f.write_str("annotate"),
        }
    }
}

/// The position of a passage in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PassagePlace {
    pub(super) bytes: Range<usize>,
    pub(super) chars: Range<usize>,
}

impl PassagePlace {
    pub(super) fn of(passage: &Passage<'_>) -> Self {
        PassagePlace { bytes: passage.bytes.clone(), chars: passage.chars.clone() }
    }
}

/// The byte ranges to cut out of a text to remove the passages at the ascending positions
/// `removed`. `None` if no passage is left.
pub(super) fn cuts(all: &[PassagePlace], removed: &[usize]) -> Option<Vec<Range<usize>>> {
    let mut cuts = Vec::new();
    for run in removed.chunk_by(|one, next| one + 1 == *next) {
        let (&first, &last) = (run.first()?, run.last()?);
        cuts.push(match (first.checked_sub(1), all.get(last + 1)) {
            (None, None) => return None,
            (_, Some(next)) => all[first].bytes.start..next.bytes.start,
            (Some(before), None) => all[before].bytes.end..all[last].bytes.end,
        });
    }
    Some(cuts)
}

/// The part of the characters of all passages that is in the passages at the positions `removed`.
pub(super) fn removed_part(all: &[PassagePlace], removed: &[usize]) -> f64 {
    let len_of = |places: &mut dyn Iterator<Item = &PassagePlace>| -> usize {
        places.map(|place| place.chars.len()).sum()
    };
    let len = len_of(&mut removed.iter().map(|&at| &all[at]));
    len as f64 / len_of(&mut all.iter()) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpstore_text::{PassageUnit, passages};

    fn places(text: &str, unit: PassageUnit) -> Vec<PassagePlace> {
        passages(text, unit).map(|passage| PassagePlace::of(&passage)).collect()
    }

    fn without(text: &str, unit: PassageUnit, removed: &[usize]) -> Option<String> {
        let mut rest = text.to_string();
        for cut in cuts(&places(text, unit), removed)?.into_iter().rev() {
            rest.replace_range(cut, "");
        }
        Some(rest)
    }

    #[test]
    fn passages_go_with_what_stands_behind_them_the_last_ones_with_what_is_before() {
        let text = "\u{f6}ne\n\n\n two \r\n\r\nthree\n";
        let without = |removed: &[usize]| without(text, PassageUnit::Paragraph, removed);
        assert_eq!(without(&[]).unwrap(), text);
        assert_eq!(without(&[0]).unwrap(), "two \r\n\r\nthree\n");
        assert_eq!(without(&[1]).unwrap(), "\u{f6}ne\n\n\n three\n");
        assert_eq!(without(&[2]).unwrap(), "\u{f6}ne\n\n\n two\n");
        assert_eq!(without(&[0, 2]).unwrap(), "two\n");
        assert_eq!(without(&[1, 2]).unwrap(), "\u{f6}ne\n");
        assert_eq!(without(&[0, 1, 2]), None);
    }

    #[test]
    fn what_is_left_has_the_passages_that_are_left() {
        let text = "a b c. d\n\n e f, g\nh i\r\n\r\n\nj (k) l m n\n";
        for unit in ["paragraph", "line", "words:2", "words:3"] {
            let unit: PassageUnit = unit.parse().unwrap();
            let all: Vec<&str> = passages(text, unit).map(|passage| passage.text).collect();
            for chosen in 0..1_u32 << all.len() {
                let is_removed = |at: &usize| chosen >> at & 1 == 1;
                let removed: Vec<usize> = (0..all.len()).filter(is_removed).collect();
                let kept: Vec<&str> =
                    (0..all.len()).filter(|at| !is_removed(at)).map(|at| all[at]).collect();
                let Some(rest) = without(text, unit, &removed) else {
                    assert!(kept.is_empty());
                    continue;
                };
                let left: Vec<&str> = passages(&rest, unit).map(|passage| passage.text).collect();
                // A run of words shorter than the others can be joined with the next run.
                match unit {
                    PassageUnit::Words(_) => {
                        let words = |parts: &[&str]| parts.join(" ").replace(['.', ',', '\n'], " ");
                        let words = |parts| {
                            words(parts).split_whitespace().map(String::from).collect::<Vec<_>>()
                        };
                        assert_eq!(words(&left), words(&kept));
                    }
                    _ => assert_eq!(left, kept, "{unit} without {removed:?}"),
                }
            }
        }
    }

    #[test]
    fn the_removed_part_is_one_of_characters_in_passages() {
        let all = places("\u{f6}\u{f6}\n\n  abcdef\n", PassageUnit::Line);
        assert_eq!(removed_part(&all, &[0]), 0.25);
        assert_eq!(removed_part(&all, &[0, 1]), 1.0);
        assert_eq!(removed_part(&all, &[]), 0.0);
    }
}
