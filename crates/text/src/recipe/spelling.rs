//! Reads and writes the canonical text of a recipe: lines of `name=value` in fixed order.
//!
//! A line without effect on the recipe is omitted. Reading looks up the known lines by name, and
//! then writes the result again; a difference is an error, so an unknown line is never ignored.

use std::fmt::Write;

use super::hash_names::spell_key;
use super::name_tables::{by_name, name_of, names_of};
use super::parts::{
    COUNTS, Case, EMPTY, Factor, FeaturelessText, METHODS, Method, TOKENIZERS, Tokenizer, VoteRules,
};
use super::text_recipe::TextRecipe;
use crate::error::{Error, Result};
use crate::features::hash::FeatureHash;
use crate::resource_id::ResourceId;
use crate::tokens::dictionary::DICTIONARY;
use crate::votes::TieRule;
use fpstore_base::{Choice, Recipe};

/// The version of all rules that have no separate line.
const VERSION: u32 = 1;

const CASES: &[(Case, &str)] =
    &[(Case::Kept, "kept"), (Case::Lower, "lower"), (Case::Folded, "folded")];

fn bad_line<T>(line: &str, value: &str, names: &[(T, &str)]) -> Error {
    invalid(format!("{line}={value}, expected {}", names_of(names)))
}

/// The lines of a recipe, by name.
struct Lines<'a> {
    lines: Vec<(&'a str, &'a str)>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Result<Self> {
        let split = |line: &'a str| line.split_once('=');
        let lines: Option<Vec<(&str, &str)>> = text.lines().map(split).collect();
        match lines {
            Some(lines) if lines.first() == Some(&("fpstore-text", "1")) => Ok(Lines { lines }),
            Some(lines) if lines.first().is_some_and(|(name, _)| *name == "fpstore-text") => {
                let (found, this) = (lines[0].1, env!("CARGO_PKG_VERSION"));
                Err(invalid(format!(
                    "it has version {found}, fpstore {this} reads version {VERSION}; a newer fpstore \
                     reads it, or make the fingerprints again with this one"
                )))
            }
            Some(_) => {
                let first = text.lines().next().unwrap_or_default();
                Err(invalid(format!(
                    "its first line is '{first}', expected 'fpstore-text={VERSION}'"
                )))
            }
            None => {
                let line = text.lines().find(|line| split(line).is_none()).unwrap_or_default();
                Err(invalid(format!("its line '{line}' is not of the form name=value")))
            }
        }
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.lines.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn named<T: Copy>(&self, name: &str, names: &[(T, &'static str)], missing: T) -> Result<T> {
        match self.get(name) {
            None => Ok(missing),
            Some(value) => by_name(names, value).ok_or_else(|| bad_line(name, value, names)),
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

    fn resource_id(&self, name: &str, value: &str) -> Result<ResourceId> {
        let id = value.split_once(' ').and_then(|(crc, count)| {
            let crc = u32::from_str_radix(crc, 16).ok()?;
            Some(ResourceId { crc, entry_count: count.parse().ok()? })
        });
        id.ok_or_else(|| invalid(format!("{name}={value}, expected a checksum and a count")))
    }

    /// Parses the recipe from the lines. The caller writes it again to detect unknown lines.
    fn read(&self) -> Result<TextRecipe> {
        const YES_NO: &[(bool, &str)] = &[(true, "yes"), (false, "no")];
        const MARKS: &[(bool, &str)] = &[(true, "kept"), (false, "dropped")];
        const APOSTROPHES: &[(bool, &str)] = &[(false, "folded")];
        let default = TextRecipe::default();
        let hash = self.get("hash").unwrap_or_default();
        let tokenizer = match self.get("segment") {
            Some(name) => {
                by_name(TOKENIZERS, name).ok_or_else(|| bad_line("segment", name, TOKENIZERS))?
            }
            None => return Err(invalid("it has no line 'segment'")),
        };
        Ok(TextRecipe {
            // Recipes of earlier stores contain neither of the next two lines, and keep these
            // characters.
            ignorables: self.named("ignorables", &MARKS[1..], true)?,
            apostrophes: self.named("apostrophes", APOSTROPHES, true)?,
            nfkc: self.named("nfkc", YES_NO, true)?,
            vowel_marks: self.named("vowel-marks", MARKS, true)?,
            case: self.named("case", CASES, Case::Kept)?,
            tokenizer,
            shingle: self.number("shingle", default.shingle)?,
            ngram: self.number("ngram", default.ngram)?,
            letter_ngram: match self.get("letter-ngram") {
                Some(_) => Some(self.number("letter-ngram", default.ngram)?),
                // The line has no effect, or the recipe is older than the line.
                None => default.letter_ngram.filter(|_| !tokenizer.has_letters()),
            },
            stop_words: match self.get("stop") {
                None | Some("none") => None,
                Some(value) => Some(self.resource_id("stop", value)?),
            },
            hash: FeatureHash::spelled(hash)
                .map_err(|fault| invalid(format!("hash={hash}: {fault}")))?,
            method: match self.get("method") {
                Some(name) => match by_name(METHODS, name) {
                    Some(Method::SimHash(_)) => Method::SimHash(self.vote_rules()?),
                    Some(Method::MinHash) => Method::MinHash,
                    None => return Err(bad_line("method", name, METHODS)),
                },
                None => return Err(invalid("it has no line 'method'")),
            },
            featureless: self.named("empty", EMPTY, FeaturelessText::NoFingerprint)?,
            unit: match self.get("unit") {
                None => None,
                Some(unit) => {
                    Some(unit.parse().map_err(|fault| invalid(format!("unit={unit}, {fault}")))?)
                }
            },
        })
    }

    fn vote_rules(&self) -> Result<VoteRules> {
        let default = VoteRules::default();
        let factor = self.get("factor").unwrap_or("none");
        Ok(VoteRules {
            count: self.named("count", COUNTS, default.count)?,
            factor: match factor.split_once(' ') {
                Some(("idf", id)) => Factor::Idf(self.resource_id("factor", id)?),
                Some(("given", id)) => Factor::Given(self.resource_id("factor", id)?),
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
            ties: match self.get("tie") {
                None => default.ties,
                Some(name) => {
                    TieRule::named(name).map_err(|fault| invalid(format!("tie={name}, {fault}")))?
                }
            },
        })
    }
}

impl TextRecipe {
    /// Reads the canonical text, as `fpstore info` prints it.
    ///
    /// # Errors
    ///
    /// * [`Error::ExternalRecipe`] if the fingerprints were made elsewhere.
    /// * [`Error::InvalidRecipe`] if the recipe is not for texts, or has another version,
    ///   dictionary, or version of Unicode than this release. The message contains the line.
    pub fn from_recipe(recipe: &Recipe) -> Result<Self> {
        if recipe.is_external() {
            return Err(Error::ExternalRecipe);
        }
        let text_recipe = Lines::of(recipe.text())?.read()?;
        let canonical = text_recipe.to_recipe();
        if canonical == *recipe {
            return Ok(text_recipe);
        }
        let difference = recipe.difference(&canonical);
        Err(invalid(format!("this release does not support it: {difference}")))
    }

    /// The canonical text: lines of `name=value` in fixed order, without lines that have no effect
    /// on this recipe.
    pub fn to_recipe(&self) -> Recipe {
        let mut text = format!("fpstore-text={VERSION}\n");
        self.write_features(&mut text);
        let _ = writeln!(text, "method={}", self.method.name());
        if let Method::SimHash(rules) = &self.method {
            if self.tokenizer != Tokenizer::Given {
                let _ = writeln!(text, "count={}", name_of(COUNTS, rules.count));
                let _ = match rules.factor {
                    Factor::None => writeln!(text, "factor=none"),
                    Factor::Idf(id) => writeln!(text, "factor=idf {id}"),
                    Factor::Given(id) => writeln!(text, "factor=given {id}"),
                };
            }
            let _ = match rules.top {
                None => writeln!(text, "top=all"),
                Some(count) => writeln!(text, "top={count}"),
            };
            let _ = writeln!(text, "tie={}", rules.ties);
        }
        let _ = write!(text, "empty={}", name_of(EMPTY, self.featureless));
        if let Some(unit) = self.unit {
            let _ = write!(text, "\nunit={unit}");
        }
        Recipe::from_text(&text).expect("short, and has no control characters but line feeds")
    }

    /// The lines that determine the features and their hashes. A table of document frequencies is
    /// valid only for recipes with the same lines.
    pub(crate) fn feature_text(&self) -> String {
        let mut text = String::new();
        self.write_features(&mut text);
        text
    }

    fn write_features(&self, text: &mut String) {
        let tokenizer = self.tokenizer;
        if tokenizer != Tokenizer::Given {
            let yes_no = |yes| if yes { "yes" } else { "no" };
            if let Some(versions) = self.unicode_versions() {
                let _ = writeln!(text, "unicode={versions}");
            }
            if !self.ignorables {
                text.push_str("ignorables=dropped\n");
            }
            if !self.apostrophes {
                text.push_str("apostrophes=folded\n");
            }
            let marks = if self.vowel_marks { "kept" } else { "dropped" };
            let case = name_of(CASES, self.case);
            let nfkc = yes_no(self.nfkc);
            let _ = writeln!(text, "nfkc={nfkc}\nvowel-marks={marks}\ncase={case}");
        }
        let _ = writeln!(text, "segment={}", name_of(TOKENIZERS, tokenizer));
        if let Tokenizer::Dictionary(_) = tokenizer {
            let _ = writeln!(text, "dictionary={DICTIONARY}");
        }
        if tokenizer.has_words() {
            let _ = writeln!(text, "shingle={}", self.shingle);
        }
        if tokenizer.has_characters() {
            let _ = writeln!(text, "ngram={}", self.ngram);
        }
        if let Some(len) = self.letter_ngram.filter(|_| tokenizer.has_letters()) {
            let _ = writeln!(text, "letter-ngram={len}");
        }
        if tokenizer != Tokenizer::Given {
            let _ = match self.stop_words {
                None => writeln!(text, "stop=none"),
                Some(id) => writeln!(text, "stop={id}"),
            };
        }
        let _ = match self.hash {
            FeatureHash::SipHash13(key) => writeln!(text, "hash=siphash-1-3 {}", spell_key(key)),
            FeatureHash::SipHash24(key) => writeln!(text, "hash=siphash-2-4 {}", spell_key(key)),
            FeatureHash::Md5Low64 => writeln!(text, "hash=md5-low-64"),
            FeatureHash::Fnv1 => writeln!(text, "hash=fnv-1"),
        };
    }

    /// The versions of the Unicode tables used by the recipe.
    fn unicode_versions(&self) -> Option<String> {
        let mut versions = Vec::new();
        match self.tokenizer {
            Tokenizer::Words | Tokenizer::Dictionary(_) => {
                let (major, minor, _) = unicode_segmentation::UNICODE_VERSION;
                versions.push(format!("words {major}.{minor}"));
            }
            Tokenizer::Code
            | Tokenizer::Letters
            | Tokenizer::Characters
            | Tokenizer::PythonCharacters => {
                let (major, minor, _) = unicode_properties::UNICODE_VERSION;
                versions.push(format!("categories {major}.{minor}"));
            }
            Tokenizer::Given => {}
        }
        if self.nfkc {
            let (major, minor, _) = unicode_normalization::UNICODE_VERSION;
            versions.push(format!("nfkc {major}.{minor}"));
        }
        if self.case != Case::Kept {
            let (major, minor, _) = char::UNICODE_VERSION;
            versions.push(format!("case {major}.{minor}"));
        }
        (!versions.is_empty()).then(|| versions.join(", "))
    }
}

/// The maximum length of shingles and n-grams.
const LENGTH_MAX: u32 = 1000;

fn invalid(reason: impl Into<String>) -> Error {
    Error::InvalidRecipe { reason: reason.into() }
}
