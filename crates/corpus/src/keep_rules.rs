//! A list of rules that selects the kept document among near-duplicates.

use std::fmt;
use std::str::FromStr;

use super::keep::KeepRule;
use fpstore::{Error, Result};

/// A list of rules that selects the kept document among near-duplicates.
///
/// The first rule decides; the next rule decides among documents that are equal by it, and so on.
/// Of documents that are equal by all rules the first is kept. A document without the field of a
/// rule ranks after all documents with the field.
///
/// # Examples
///
/// ```
/// use fpstore_corpus::{KeepRule, KeepRules};
///
/// let rules: KeepRules = "source:curated,wiki,best:quality,longest".parse()?;
/// let source = KeepRule::Source(vec!["curated".into(), "wiki".into()]);
/// assert_eq!(rules.list(), [source, KeepRule::Best("quality".into()), KeepRule::Longest]);
/// assert_eq!(rules.to_string(), "source:curated,wiki,best:quality,longest");
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepRules(Vec<KeepRule>);

impl Default for KeepRules {
    fn default() -> Self {
        KeepRule::First.into()
    }
}

impl From<KeepRule> for KeepRules {
    fn from(rule: KeepRule) -> Self {
        KeepRules(vec![rule])
    }
}

impl FromStr for KeepRules {
    type Err = Error;

    /// Parses rules separated by commas. A part that is not a rule is a further source of the
    /// preceding [`KeepRule::Source`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`] if a part is not in [`KeepRule::NAMES`], or if a rule follows
    /// `first` or `last`, which never rank two documents equally.
    fn from_str(text: &str) -> Result<Self> {
        let mut list: Vec<KeepRule> = Vec::new();
        for part in text.split(',') {
            let rule = match (part.parse(), list.last_mut()) {
                (Ok(rule), _) => rule,
                (Err(_), Some(KeepRule::Source(sources))) if !part.is_empty() => {
                    sources.push(part.into());
                    continue;
                }
                (Err(error), _) => return Err(error),
            };
            if let Some(before) = list.last().filter(|rule| !rule.leaves_ties()) {
                let reason = format!(
                    "'{rule}' comes after '{before}', which already decides every \
                                      tie"
                );
                return Err(Error::InvalidOptions { reason });
            }
            list.push(rule);
        }
        Ok(KeepRules(list))
    }
}

impl fmt::Display for KeepRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, rule) in self.0.iter().enumerate() {
            write!(f, "{}{rule}", if at > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

impl KeepRules {
    /// The rules in their order.
    pub fn list(&self) -> &[KeepRule] {
        &self.0
    }

    /// Whether the last of the documents that are equal by all other rules is kept.
    pub fn keeps_last(&self) -> bool {
        self.0.contains(&KeepRule::Last)
    }

    /// The distinct names of the fields that a cleaning with these rules reads in addition to ids
    /// and texts: the fields of the rules, the source field (`source_field` if it is given) and
    /// `url_field`.
    pub fn field_names(&self, source_field: Option<&str>, url_field: Option<&str>) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let of_rules = self.list().iter().filter_map(KeepRule::field);
        for name in of_rules.chain(self.source_field(source_field)).chain(url_field) {
            if !names.iter().any(|other| other == name) {
                names.push(name.into());
            }
        }
        names
    }

    /// The source field, if sources are needed: the given field, or `source` if a rule is
    /// [`KeepRule::Source`].
    pub(super) fn source_field<'a>(&self, given: Option<&'a str>) -> Option<&'a str> {
        let has_rule = self.list().iter().any(|rule| matches!(rule, KeepRule::Source(_)));
        given.or(has_rule.then_some("source"))
    }

    /// The rules that compute a merit: all except `first` and `last`.
    pub(super) fn rating(&self) -> impl Iterator<Item = &KeepRule> {
        self.0.iter().filter(|rule| rule.leaves_ties())
    }

    /// The merits of a document by all rules of [`KeepRules::rating`], or a message about an
    /// invalid field. `value` returns the value of a field; `source` is the value of the source
    /// field.
    pub(super) fn merits<'a>(
        &self,
        source: Option<&'a str>,
        value: impl Fn(&str) -> Option<&'a str>,
        text_len: u64,
    ) -> Result<Vec<u64>, String> {
        let merit = |rule: &KeepRule| {
            let value = match rule {
                KeepRule::Source(_) => source,
                rule => rule.field().and_then(&value),
            };
            rule.merit(value, text_len)
        };
        self.rating().map(merit).collect()
    }

    /// The merit of a document as bytes, for database engines that sort documents themselves: of
    /// near-duplicates the one with the larger bytes is kept. The bytes contain
    /// [`MERIT_LEN`](KeepRules::MERIT_LEN) bytes for each rule except `first` and `last`, all 0 if
    /// the document has no value for the rule. `value` returns the value of a field of
    /// [`KeepRules::field_names`]; `text_len` is the length of the text in bytes.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`] if a field is not the date or number that its rule needs.
    pub fn merit<'a>(
        &self,
        source_field: Option<&str>,
        value: impl Fn(&str) -> Option<&'a str>,
        text_len: u64,
    ) -> Result<Vec<u8>, Error> {
        let source = self.source_field(source_field).and_then(&value);
        let merits = self.merits(source, value, text_len);
        let merits = merits.map_err(|reason| Error::InvalidOptions { reason })?;
        Ok(merits.into_iter().flat_map(u64::to_be_bytes).collect())
    }

    /// The number of bytes of a merit for each rule; see [`KeepRules::merit`].
    pub const MERIT_LEN: usize = size_of::<u64>();

    /// Refuses a rule if no document has its field or one of its sources. `is_found` gets the
    /// position of a rule in the list without `first` and `last`, and returns whether a document
    /// has a merit by the rule.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`] with the name of the rule.
    pub fn check_found(&self, mut is_found: impl FnMut(usize) -> bool) -> Result<(), Error> {
        for (at, rule) in self.rating().enumerate() {
            let what = match rule {
                KeepRule::Source(_) => "has one of the sources".into(),
                rule => match rule.field() {
                    Some(field) => format!("has the field '{field}'"),
                    None => continue,
                },
            };
            if !is_found(at) {
                let reason = format!("no document {what}, which the rule '{rule}' needs");
                return Err(Error::InvalidOptions { reason });
            }
        }
        Ok(())
    }

    /// The positions of documents, the best first. `merits` contains for each document one merit
    /// for each rule of [`KeepRules::rating`].
    pub(super) fn order(&self, merits: &[u64], document_count: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..document_count as u32).collect();
        // The sort is stable, so documents of equal merit remain in this order.
        if self.keeps_last() {
            order.reverse();
        }
        let count = self.rating().count();
        let of = |number: u32| &merits[number as usize * count..][..count];
        if count > 0 {
            order.sort_by(|&one, &other| of(other).cmp(of(one)));
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_spelled_as_they_are_read() {
        for text in [
            "first",
            "longest,last",
            "source:a,b c,newest:meta.date,best:score,longest,first",
            "best:x,source:a",
        ] {
            assert_eq!(text.parse::<KeepRules>().unwrap().to_string(), text);
        }
        for (text, part) in [
            ("", "expected first"),
            ("first,longest", "'longest' comes after 'first', which already decides every tie"),
            ("last,first", "already decides every tie"),
            ("longest,wiki", "expected first"),
            ("source:a,,longest", "expected first"),
            ("source:", "expected first"),
        ] {
            let error = text.parse::<KeepRules>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn bytes_sort_as_merits_do_and_a_bad_field_is_named() {
        let rules: KeepRules = "source:a,newest:date,longest,last".parse().unwrap();
        assert!(rules.keeps_last());
        let of = |source: &'static str, date: &'static str, text_len| {
            let value = |name: &str| match name {
                "source" => Some(source),
                "date" => Some(date),
                _ => None,
            };
            rules.merit(None, value, text_len)
        };
        let merits = [of("b", "", 9), of("b", "2026-01-02", 1), of("a", "", 1), of("a", " ", 2)];
        let merits = merits.map(Result::unwrap);
        assert!(merits.is_sorted_by(|a, b| a < b));
        assert!(merits.iter().all(|merit| merit.len() == 3 * KeepRules::MERIT_LEN));
        assert_eq!(merits[0][..2 * KeepRules::MERIT_LEN], [0; 16]);
        let error = of("a", "yesterday", 1).unwrap_err().to_string();
        assert!(error.contains("'date' is \"yesterday\""), "{error}");
        let error = rules.check_found(|at| at != 1).unwrap_err().to_string();
        assert!(error.contains("no document has the field 'date'"), "{error}");
        assert!(rules.check_found(|at| at != 2).is_ok());
    }

    #[test]
    fn each_rule_decides_among_what_is_equal_by_the_ones_before() {
        let merits = [[1, 5], [2, 0], [2, 7], [1, 5], [2, 7]].concat();
        let order = |text: &str| text.parse::<KeepRules>().unwrap().order(&merits, 5);
        assert_eq!(order("best:x,longest"), [2, 4, 1, 0, 3]);
        assert_eq!(order("best:x,longest,first"), [2, 4, 1, 0, 3]);
        assert_eq!(order("best:x,longest,last"), [4, 2, 1, 3, 0]);
        assert_eq!("last".parse::<KeepRules>().unwrap().order(&[], 3), [2, 1, 0]);
        assert_eq!(KeepRules::default().order(&[], 3), [0, 1, 2]);
    }
}
