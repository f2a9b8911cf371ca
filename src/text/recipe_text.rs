//! Reading the spelling of recipes.

use crate::error::Result;
use crate::text::hash::{FeatureHash, HashKey};
use crate::text::recipe::{
    COUNTS, Factor, Mark, SEGMENTS, TIES, TextRecipe, VERSION, by_name, invalid, unknown,
};

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
