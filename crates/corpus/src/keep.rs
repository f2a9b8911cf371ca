//! A rule that selects the kept document among near-duplicates: its spelling, and the value that it
//! compares.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::fmt::rfc2822;
use jiff::{Timestamp, tz::TimeZone};

use fpstore::{Error, Result};
use fpstore_base::fields::is_missing;

/// A rule that selects the kept document among near-duplicates. [`KeepRules`](super::KeepRules)
/// combines several rules.
///
/// Of documents that rank equally, the first is kept. Documents without the field of a rule rank
/// last.
///
/// # Examples
///
/// ```
/// use fpstore_corpus::KeepRule;
///
/// let rule: KeepRule = "newest:meta.date".parse()?;
/// assert_eq!(rule, KeepRule::Newest("meta.date".into()));
/// assert_eq!(rule.to_string(), "newest:meta.date");
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeepRule {
    /// The first document.
    #[default]
    First,
    /// The last document.
    Last,
    /// The document with the longest text.
    Longest,
    /// The document with the latest date in a field.
    Newest(String),
    /// The document with the largest number in a field.
    Best(String),
    /// The document whose source comes first in this list; unlisted sources rank last. The source
    /// is the value of the field [`Cleaner::source_field`](super::Cleaner::source_field).
    Source(Vec<String>),
}

impl FromStr for KeepRule {
    type Err = Error;

    /// # Errors
    ///
    /// [`Error::InvalidOptions`] for any text not in [`KeepRule::NAMES`].
    fn from_str(text: &str) -> Result<Self> {
        match text.split_once(':') {
            None if text == "first" => Ok(KeepRule::First),
            None if text == "last" => Ok(KeepRule::Last),
            None if text == "longest" => Ok(KeepRule::Longest),
            Some(("newest", field)) if !field.is_empty() => Ok(KeepRule::Newest(field.into())),
            Some(("best", field)) if !field.is_empty() => Ok(KeepRule::Best(field.into())),
            Some(("source", source)) if !source.is_empty() => {
                Ok(KeepRule::Source(source.split(',').map(str::to_string).collect()))
            }
            _ => {
                let [names @ .., last] = KeepRule::NAMES.map(|(name, _)| name);
                let reason = format!("expected {} or {last}", names.join(", "));
                Err(Error::InvalidOptions { reason })
            }
        }
    }
}

impl fmt::Display for KeepRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeepRule::First => f.write_str("first"),
            KeepRule::Last => f.write_str("last"),
            KeepRule::Longest => f.write_str("longest"),
            KeepRule::Newest(field) => write!(f, "newest:{field}"),
            KeepRule::Best(field) => write!(f, "best:{field}"),
            KeepRule::Source(sources) => write!(f, "source:{}", sources.join(",")),
        }
    }
}

impl KeepRule {
    /// The spelling of each rule, and the document that it keeps.
    pub const NAMES: [(&str, &str); 6] = [
        ("first", "the first one"),
        ("last", "the last one"),
        ("longest", "the one with the longest text"),
        ("newest:FIELD", "the one with the latest date, time or Unix time in the field"),
        ("best:FIELD", "the one with the largest number in the field"),
        ("source:A,B", "the one whose source comes first in the list"),
    ];

    /// The field that ranks the documents, if the rule names one.
    pub fn field(&self) -> Option<&str> {
        match self {
            KeepRule::Newest(field) | KeepRule::Best(field) => Some(field),
            KeepRule::First | KeepRule::Last | KeepRule::Longest | KeepRule::Source(_) => None,
        }
    }

    /// Whether documents can rank equally by the rule.
    pub(super) fn leaves_ties(&self) -> bool {
        !matches!(self, KeepRule::First | KeepRule::Last)
    }

    /// The merit of a document: of near-duplicates the one with the largest merit is kept. A
    /// document without the field has the least merit, 0. The error describes an invalid value.
    /// `value` is the value of the rule's field or, for [`KeepRule::Source`], the source.
    pub(super) fn merit(&self, value: Option<&str>, text_len: u64) -> Result<u64, String> {
        let value = value.filter(|text| !text.trim().is_empty());
        let merit = |read: fn(&str) -> Option<f64>, field: &str, expected: &str| {
            let Some(text) = value.filter(|text| !is_missing(text)) else { return Ok(0) };
            let number = read(text.trim()).filter(|number| !number.is_nan());
            number.map(ordered).ok_or_else(|| format!("'{field}' is {text:?}, expected {expected}"))
        };
        match self {
            KeepRule::First | KeepRule::Last => Ok(0),
            KeepRule::Longest => Ok(text_len),
            KeepRule::Newest(field) => merit(
                seconds,
                field,
                "a date such as 2026-11-22, a time such as 2026-11-22T08:00:00Z, or a Unix \
                 time",
            ),
            KeepRule::Best(field) => merit(|text| text.parse().ok(), field, "a number"),
            KeepRule::Source(sources) => {
                let after = sources
                    .iter()
                    .rev()
                    .position(|source| Some(source.as_str()) == value.map(str::trim));
                Ok(after.map_or(0, |after| after as u64 + 1))
            }
        }
    }
}

/// Maps numbers to positive integers in the same order.
fn ordered(number: f64) -> u64 {
    // Adding 0 converts negative zero to positive zero, so both get the same integer.
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// Inserts separators in a compact year, month, date or time of 1900 to 2199, such as 20260105:
/// read as seconds since 1970, it would be a day of 1970. Any other text is unchanged.
fn dashed(text: &str) -> Cow<'_, str> {
    let is_compact = text.bytes().all(|byte| byte.is_ascii_digit())
        && ["19", "20", "21"].iter().any(|century| text.starts_with(century));
    let part = |from: usize, to: usize| &text[from..to];
    match text.len() {
        4 if is_compact => format!("{text}-01-01").into(),
        6 if is_compact => format!("{}-{}-01", part(0, 4), part(4, 6)).into(),
        8 if is_compact => format!("{}-{}-{}", part(0, 4), part(4, 6), part(6, 8)).into(),
        12 if is_compact => format!("{}T{}00", part(0, 8), part(8, 12)).into(),
        14 if is_compact => format!("{}T{}", part(0, 8), part(8, 14)).into(),
        17 if is_compact => format!("{}T{}.{}", part(0, 8), part(8, 14), part(14, 17)).into(),
        _ => text.into(),
    }
}

/// Converts seconds, milliseconds, microseconds or nanoseconds since 1970 to seconds. The size of
/// the number determines the unit: 1e11 is the year 5138 in seconds, but 1973 in milliseconds.
fn seconds_of_number(number: f64) -> Option<f64> {
    match number.abs() {
        ..1e11 => Some(number),
        ..1e14 => Some(number / 1e3),
        ..1e17 => Some(number / 1e6),
        ..1e20 => Some(number / 1e9),
        _ => None,
    }
}

/// Converts a date or time to seconds since 1970. A time without a zone is read as UTC.
fn seconds(text: &str) -> Option<f64> {
    let text = &*dashed(text);
    if let Ok(number) = text.parse() {
        return seconds_of_number(number);
    }
    let of = |at: Timestamp| at.as_second() as f64 + f64::from(at.subsec_nanosecond()) / 1e9;
    let whole = || text.parse::<Timestamp>().ok();
    let local = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok();
    let mail = || rfc2822::parse(text).ok();
    whole()
        .or_else(|| local().map(|at| at.timestamp()))
        .or_else(|| mail().map(|at| at.timestamp()))
        .map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_spelled_as_they_are_read() {
        for text in ["first", "last", "longest", "newest:meta.date", "best:score", "source:a"] {
            assert_eq!(text.parse::<KeepRule>().unwrap().to_string(), text);
        }
        for text in ["", "newest", "newest:", "oldest:date", "first:x"] {
            assert!(text.parse::<KeepRule>().is_err(), "{text}");
        }
    }

    #[test]
    fn sources_are_ranked_as_they_are_listed() {
        let rule = KeepRule::Source(["curated", "wiki"].map(String::from).into());
        let merits = [Some("curated"), Some("wiki"), Some("crawl"), Some(""), None];
        assert_eq!(merits.map(|source| rule.merit(source, 9).unwrap()), [2, 1, 0, 0, 0]);
    }

    #[test]
    fn a_placeholder_of_a_missing_value_ranks_last() {
        for rule in [KeepRule::Newest("d".into()), KeepRule::Best("n".into())] {
            for value in ["NULL", "nan", "N/A", "\\N", " "] {
                assert_eq!(rule.merit(Some(value), 9), Ok(0), "{rule}: {value}");
            }
        }
    }

    #[test]
    fn the_order_of_numbers_is_kept() {
        let numbers = [f64::NEG_INFINITY, -2.5, -1e-300, 0.0, 1e-300, 1.0, 1e10, f64::INFINITY];
        let keys: Vec<u64> = numbers.iter().map(|&number| ordered(number)).collect();
        assert!(keys.is_sorted_by(|a, b| a < b) && keys[0] > 0);
        assert_eq!(ordered(-0.0), ordered(0.0));
    }

    #[test]
    fn dates_of_all_usual_forms_are_read() {
        let expected = Some(1_795_305_600.0);
        for text in [
            "1795305600",
            "2026-11-22",
            "2026-11-22T00:00:00",
            "2026-11-22 00:00:00",
            "2026-11-22T00:00:00Z",
            "2026-11-22T01:00:00+01:00",
            "2026-11-22T00:00:00.000Z",
            "Sun, 22 Nov 2026 00:00:00 GMT",
            "20261122",
            "20261122000000",
            "202611220000",
            "20261122000000000",
            "1795305600000",
            "1795305600000.0",
            "1795305600000000",
            "1795305600000000000",
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
        for (compact, expected) in [("2026", 1_767_225_600.0), ("202611", 1_793_491_200.0)] {
            assert_eq!(seconds(compact), Some(expected), "{compact}");
        }
        for text in [
            "yesterday",
            "2026-13-01",
            "22.11.2026",
            "20261322",
            "202613",
            "202601052561",
            "1e30",
            "inf",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
