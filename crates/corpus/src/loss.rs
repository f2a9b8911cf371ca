//! The losses (removed documents) of files and sources, and the limit of losses.

use std::fmt;
use std::str::FromStr;

use fpstore::{Error, Result};
use fpstore_base::one_line_row;
use fpstore_base::rows::Cell;
use serde::Serialize;

/// Files and sources with fewer documents are not checked: a few duplicates are a large part of
/// them.
const CHECKED_MIN: u64 = 100;
/// A loss of more than this part of the documents is a large loss.
const LARGE_PART: f64 = 0.5;

/// The number of documents that a cleaning removes from a file, a source, or all files together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LossRow<'a> {
    /// `all`, `file` or `source`.
    pub kind: &'static str,
    /// The name of the file or of the source.
    pub name: &'a str,
    /// The number of documents with a fingerprint.
    pub document_count: u64,
    /// The number of documents with a fingerprint that are removed or annotated.
    pub removed_count: u64,
    /// The number of documents without a fingerprint, because they have no features. They are kept.
    pub empty_count: u64,
}

one_line_row!(LossRow<'_>, "losses", |row|
    kind: Text = Cell::Text(row.kind),
    name: Text = Cell::Text(row.name),
    document_count: U64 = Cell::Number(row.document_count),
    removed_count: U64 = Cell::Number(row.removed_count),
    empty_count: U64 = Cell::Number(row.empty_count),
);

/// The loss of a file, of a source, or of all files together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The file or source whose documents are counted.
    pub of: LossOf,
    /// Documents with a fingerprint.
    pub document_count: u64,
    /// Documents that are removed or annotated.
    pub removed_count: u64,
    /// Documents without fingerprint, which are kept and not counted in the loss.
    pub empty_count: u64,
}

/// The file or source whose documents are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LossOf {
    /// All files.
    All,
    /// The file of this name.
    File(String),
    /// The documents with this value in the field
    /// [`Cleaner::source_field`](super::Cleaner::source_field); empty for documents without a
    /// source.
    Source(String),
}

impl fmt::Display for LossOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LossOf::All => f.write_str("all files"),
            LossOf::File(name) => f.write_str(name),
            LossOf::Source(name) if name.is_empty() => f.write_str("documents without a source"),
            LossOf::Source(name) => write!(f, "source '{name}'"),
        }
    }
}

impl Loss {
    pub(super) fn new(of: LossOf) -> Self {
        Loss { of, document_count: 0, removed_count: 0, empty_count: 0 }
    }

    pub(super) fn count(&mut self, is_removed: bool) {
        self.document_count += 1;
        self.removed_count += u64::from(is_removed);
    }

    /// The removed part of the documents, 0 to 1.
    pub fn part(&self) -> f64 {
        self.removed_count as f64 / self.document_count.max(1) as f64
    }

    /// The loss as a [`LossRow`].
    pub fn row(&self) -> LossRow<'_> {
        let (kind, name) = match &self.of {
            LossOf::All => ("all", ""),
            LossOf::File(name) => ("file", name.as_str()),
            LossOf::Source(name) => ("source", name.as_str()),
        };
        let Loss { document_count, removed_count, empty_count, .. } = *self;
        LossRow { kind, name, document_count, removed_count, empty_count }
    }

    /// Whether a person should check the loss: more than half of at least 100 documents are
    /// removed.
    pub fn is_large(&self) -> bool {
        self.document_count >= CHECKED_MIN && self.part() > LARGE_PART
    }

    /// Whether the loss is above a limit. Files and sources of fewer than 100 documents may lose
    /// all documents.
    pub(super) fn exceeds(&self, limit: LossLimit) -> bool {
        let is_checked = self.of == LossOf::All || self.document_count >= CHECKED_MIN;
        is_checked && self.part() > limit.0
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Loss { document_count, removed_count, .. } = self;
        write!(f, "{:.1} % ({removed_count} of {document_count})", 100.0 * self.part())
    }
}

/// The largest part of the documents that a cleaning may remove, for all files together and for
/// each file and source with 100 documents or more.
///
/// ```
/// use fpstore_corpus::LossLimit;
///
/// assert_eq!("50%".parse::<LossLimit>()?, LossLimit::new(0.5)?);
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossLimit(f64);

impl LossLimit {
    /// A limit from 0 (no document may be removed) to 1 (all documents may be removed).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`](fpstore::Error::InvalidOptions) for any other number.
    pub fn new(part: f64) -> Result<Self> {
        if (0.0..=1.0).contains(&part) {
            return Ok(LossLimit(part));
        }
        let reason = format!("max_loss is {part}, expected a share from 0 to 1");
        Err(Error::InvalidOptions { reason })
    }

    /// The limit as a part of the documents, 0 to 1.
    pub fn part(self) -> f64 {
        self.0
    }
}

impl FromStr for LossLimit {
    type Err = Error;

    /// Reads `50%` or `0.5`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`](fpstore::Error::InvalidOptions) for anything else.
    fn from_str(text: &str) -> Result<Self> {
        let part = match text.strip_suffix('%') {
            Some(percent) => percent.trim_end().parse().map(|percent: f64| percent / 100.0),
            None => text.parse(),
        };
        part.ok().and_then(|part| LossLimit::new(part).ok()).ok_or_else(|| {
            let reason = "expected a share of the documents, such as 50% or 0.5".into();
            Error::InvalidOptions { reason }
        })
    }
}

impl fmt::Display for LossLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", 100.0 * self.0)
    }
}

/// The largest of the losses above the limit.
pub(super) fn largest_above(losses: &[Loss], limit: LossLimit) -> Option<&Loss> {
    let exceeding = losses.iter().filter(|loss| loss.exceeds(limit));
    exceeding.max_by(|one, other| one.part().total_cmp(&other.part()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loss(of: LossOf, document_count: u64, removed_count: u64) -> Loss {
        Loss { of, document_count, removed_count, empty_count: 0 }
    }

    #[test]
    fn limits_are_parts_or_percents() {
        for (text, part) in
            [("50%", 0.5), ("0.5", 0.5), ("0", 0.0), ("100 %", 1.0), ("7.5%", 0.075)]
        {
            assert_eq!(text.parse::<LossLimit>().unwrap().part(), part, "{text}");
        }
        for text in ["50", "101%", "-1%", "nan", "", "%", "half"] {
            assert!(text.parse::<LossLimit>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_largest_loss_above_the_limit_is_named() {
        let file = |name: &str| LossOf::File(name.into());
        let list = [
            loss(LossOf::All, 1000, 400),
            loss(file("a"), 500, 300),
            loss(file("b"), 400, 300),
            // Too few documents to be checked.
            loss(file("c"), 99, 99),
        ];
        let largest = |part: f64| largest_above(&list, LossLimit::new(part).unwrap());
        assert_eq!(largest(0.3), Some(&list[2]));
        assert_eq!(largest(0.75), None);
        assert_eq!(format!("{}: {}", list[2].of, list[2]), "b: 75.0 % (300 of 400)");
        assert!(list[1].is_large() && !list[0].is_large() && !list[3].is_large());
        // The loss of all files is checked whatever their number of documents.
        assert!(loss(LossOf::All, 2, 1).exceeds(LossLimit::new(0.4).unwrap()));
        assert!(!loss(LossOf::All, 0, 0).exceeds(LossLimit::new(0.0).unwrap()));
    }
}
