//! The spelling of recipes, read and written.

use std::fmt::Write;

use crate::error::{Error, Result};
use crate::recipe::Recipe;
use crate::text::chinese::{DICTIONARY, DictionaryMethod};
use crate::text::hash::{FeatureHash, HashKey};
use crate::text::recipe::{Factor, Mark, Segment, TextRecipe, VERSION, invalid};
use crate::text::votes::TieRule;
use crate::text::weight::CountWeight;

/// Segments and their names in recipes.
pub(crate) const SEGMENTS: &[(Segment, &str)] = &[
    (Segment::Words, "words"),
    (Segment::Letters, "letters"),
    (Segment::Characters, "characters"),
    (Segment::PythonCharacters, "python-characters"),
    (Segment::Dictionary(DictionaryMethod::Jieba), "jieba"),
    (Segment::Dictionary(DictionaryMethod::ForwardMaximum), "forward"),
    (Segment::Dictionary(DictionaryMethod::BackwardMaximum), "backward"),
    (Segment::Dictionary(DictionaryMethod::FewestWords), "fewest"),
    (Segment::Given, "given"),
];

pub(crate) const COUNTS: &[(CountWeight, &str)] =
    &[(CountWeight::Once, "once"), (CountWeight::Log, "log"), (CountWeight::Count, "count")];

pub(crate) const TIES: &[(TieRule, &str)] = &[(TieRule::Zero, "zero"), (TieRule::One, "one")];

fn name_of<T: PartialEq + Copy>(names: &[(T, &'static str)], value: T) -> &'static str {
    names.iter().find(|(named, _)| *named == value).map_or("?", |(_, name)| name)
}

pub(crate) fn by_name<T: Copy>(names: &[(T, &'static str)], name: &str) -> Option<T> {
    names.iter().find(|(_, known)| *known == name).map(|(value, _)| *value)
}

pub(crate) fn unknown<T>(what: &str, name: &str, names: &[(T, &str)]) -> Error {
    let names: Vec<&str> = names.iter().map(|(_, name)| *name).collect();
    invalid(format!("{what}={name}, expected {}", names.join(", ")))
}

/// The lines of a recipe, by name.
pub(crate) struct Lines<'a> {
    lines: Vec<(&'a str, &'a str)>,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(text: &'a str) -> Result<Self> {
        let split = |line: &'a str| line.split_once('=');
        let lines: Option<Vec<(&str, &str)>> = text.lines().map(split).collect();
        match lines {
            Some(lines) if lines.first() == Some(&("fpstore-text", "1")) => Ok(Lines { lines }),
            _ => {
                let first = text.lines().next().unwrap_or_default();
                Err(invalid(format!(
                    "its first line is '{first}', expected 'fpstore-text={VERSION}'"
                )))
            }
        }
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.lines.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn named<T: Copy>(&self, name: &str, names: &[(T, &'static str)], missing: T) -> Result<T> {
        match self.get(name) {
            None => Ok(missing),
            Some(value) => by_name(names, value).ok_or_else(|| unknown(name, value, names)),
        }
    }

    fn number(&self, name: &str, missing: u32) -> Result<u32> {
        match self.get(name) {
            None => Ok(missing),
            Some(value) => value
                .parse()
                .ok()
                .filter(|number| (1..=LENGTH_MAX).contains(number))
                .ok_or_else(|| invalid(format!("{name}={value}, expected 1 to {LENGTH_MAX}"))),
        }
    }

    fn mark(&self, name: &str, value: &str) -> Result<Mark> {
        let mark = value.split_once(' ').and_then(|(crc, count)| {
            let crc = u32::from_str_radix(crc, 16).ok()?;
            Some(Mark { crc, entry_count: count.parse().ok()? })
        });
        mark.ok_or_else(|| invalid(format!("{name}={value}, expected a checksum and a count")))
    }

    /// What the lines say; that there are no others is seen when it is written again.
    pub(crate) fn read(&self) -> Result<TextRecipe> {
        const YES_NO: &[(bool, &str)] = &[(true, "yes"), (false, "no")];
        const EMPTY: &[(bool, &str)] = &[(true, "feature"), (false, "nothing")];
        let default = TextRecipe::default();
        let factor = self.get("factor").unwrap_or("none");
        let hash = self.get("hash").unwrap_or_default();
        Ok(TextRecipe {
            nfkc: self.named("nfkc", YES_NO, true)?,
            lower: self.named("lower", YES_NO, true)?,
            segment: match self.get("segment") {
                Some(name) => {
                    by_name(SEGMENTS, name).ok_or_else(|| unknown("segment", name, SEGMENTS))?
                }
                None => return Err(invalid("it has no line 'segment'")),
            },
            shingle: self.number("shingle", default.shingle)?,
            ngram: self.number("ngram", default.ngram)?,
            stop_words: match self.get("stop") {
                None | Some("none") => None,
                Some(value) => Some(self.mark("stop", value)?),
            },
            count: self.named("count", COUNTS, default.count)?,
            factor: match factor.split_once(' ') {
                Some(("idf", mark)) => Factor::Idf(self.mark("factor", mark)?),
                Some(("given", mark)) => Factor::Given(self.mark("factor", mark)?),
                None if factor == "none" => Factor::None,
                _ => return Err(invalid(format!("factor={factor}, expected none, idf, given"))),
            },
            top: match self.get("top") {
                None | Some("all") => None,
                Some(count) => {
                    let top = count.parse().ok().filter(|&count| count > 0);
                    Some(top.ok_or_else(|| invalid(format!("top={count}, expected a count")))?)
                }
            },
            hash: FeatureHash::spelled(hash)?,
            ties: self.named("tie", TIES, default.ties)?,
            empty_feature: self.named("empty", EMPTY, false)?,
        })
    }
}

impl TextRecipe {
    /// The canonical text: lines of `name=value` in fixed order, of which those that have no
    /// meaning here are left out.
    pub fn to_recipe(&self) -> Recipe {
        let mut text = format!("fpstore-text={VERSION}\n");
        self.write_features(&mut text);
        if self.segment != Segment::Given {
            let count = name_of(COUNTS, self.count);
            let _ = writeln!(text, "count={count}");
            let _ = match self.factor {
                Factor::None => writeln!(text, "factor=none"),
                Factor::Idf(mark) => writeln!(text, "factor=idf {mark}"),
                Factor::Given(mark) => writeln!(text, "factor=given {mark}"),
            };
        }
        let _ = match self.top {
            None => writeln!(text, "top=all"),
            Some(count) => writeln!(text, "top={count}"),
        };
        let ties = name_of(TIES, self.ties);
        let empty = if self.empty_feature { "feature" } else { "nothing" };
        let _ = write!(text, "tie={ties}\nempty={empty}");
        Recipe::from_text(&text).expect("short, and has no control characters but line feeds")
    }

    /// The lines that decide what features there are and what their hashes are. Tables of document
    /// frequencies hold for these.
    pub(crate) fn feature_text(&self) -> String {
        let mut text = String::new();
        self.write_features(&mut text);
        text
    }

    fn write_features(&self, text: &mut String) {
        let segment = self.segment;
        if segment != Segment::Given {
            let yes_no = |yes| if yes { "yes" } else { "no" };
            if let Some(versions) = self.unicode_versions() {
                let _ = writeln!(text, "unicode={versions}");
            }
            let _ = writeln!(text, "nfkc={}\nlower={}", yes_no(self.nfkc), yes_no(self.lower));
        }
        let _ = writeln!(text, "segment={}", name_of(SEGMENTS, segment));
        if let Segment::Dictionary(_) = segment {
            let _ = writeln!(text, "dictionary={DICTIONARY}");
        }
        if segment.has_words() {
            let _ = writeln!(text, "shingle={}", self.shingle);
        }
        if segment.has_characters() {
            let _ = writeln!(text, "ngram={}", self.ngram);
        }
        if segment != Segment::Given {
            let _ = match self.stop_words {
                None => writeln!(text, "stop=none"),
                Some(mark) => writeln!(text, "stop={mark}"),
            };
        }
        let _ = match self.hash {
            FeatureHash::SipHash13(key) => writeln!(text, "hash=siphash-1-3 {}", spell_key(key)),
            FeatureHash::SipHash24(key) => writeln!(text, "hash=siphash-2-4 {}", spell_key(key)),
            FeatureHash::Md5Low64 => writeln!(text, "hash=md5-low-64"),
            FeatureHash::Fnv1 => writeln!(text, "hash=fnv-1"),
        };
    }

    /// The versions of the tables that this program cuts and folds texts by, as far as they matter here.
    fn unicode_versions(&self) -> Option<String> {
        let mut versions = Vec::new();
        match self.segment {
            Segment::Words | Segment::Dictionary(_) => {
                let (major, minor, _) = unicode_segmentation::UNICODE_VERSION;
                versions.push(format!("words {major}.{minor}"));
            }
            Segment::Letters | Segment::Characters | Segment::PythonCharacters => {
                let (major, minor, _) = unicode_properties::UNICODE_VERSION;
                versions.push(format!("categories {major}.{minor}"));
            }
            Segment::Given => {}
        }
        if self.nfkc {
            let (major, minor, _) = unicode_normalization::UNICODE_VERSION;
            versions.push(format!("nfkc {major}.{minor}"));
        }
        if self.lower {
            let (major, minor, _) = char::UNICODE_VERSION;
            versions.push(format!("lower {major}.{minor}"));
        }
        (!versions.is_empty()).then(|| versions.join(", "))
    }
}

fn spell_key(key: HashKey) -> String {
    key.0.iter().flat_map(|word| word.to_le_bytes()).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The longest shingle and n-gram.
const LENGTH_MAX: u32 = 1000;

impl FeatureHash {
    /// The hash that recipes spell so: `siphash-1-3` or `siphash-2-4` with a space and a key of 32
    /// hex digits, or without for the key of zeros; `md5-low-64`; `fnv-1`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRecipe`](crate::Error::InvalidRecipe) with the names there are.
    pub fn spelled(text: &str) -> Result<Self> {
        let (name, key) = match text.split_once(' ') {
            Some((name, key)) => (name, Some(HashKey::from_hex(key)?)),
            None => (text, None),
        };
        match (name, key) {
            ("siphash-1-3", key) => Ok(FeatureHash::SipHash13(key.unwrap_or_default())),
            ("siphash-2-4", key) => Ok(FeatureHash::SipHash24(key.unwrap_or_default())),
            ("md5-low-64", None) => Ok(FeatureHash::Md5Low64),
            ("fnv-1", None) => Ok(FeatureHash::Fnv1),
            _ => Err(invalid(format!(
                "hash={text}, expected siphash-1-3 or siphash-2-4 with or without a key, \
                 md5-low-64, fnv-1"
            ))),
        }
    }
}

impl HashKey {
    /// The key with these 32 hex digits, byte by byte as the SipHash paper writes keys.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRecipe`](crate::Error::InvalidRecipe) for any other text.
    pub fn from_hex(text: &str) -> Result<Self> {
        let fault = || invalid(format!("hash key '{text}', expected 32 hex digits"));
        let digits = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let number = if digits { u128::from_str_radix(text, 16).ok() } else { None };
        let bytes = number.ok_or_else(fault)?.to_be_bytes();
        let number = u128::from_le_bytes(bytes);
        Ok(HashKey([number as u64, (number >> 64) as u64]))
    }
}
