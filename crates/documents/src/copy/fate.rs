//! The fate of each record of a copied file.

use std::iter::Peekable;
use std::ops::Range;
use std::{fmt, io};

use fpstore_base::{Id, InputPlace};

/// A field or column added to records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewField {
    /// The name of the field, which no record may have yet.
    pub name: String,
    /// The type of the field.
    pub kind: NewFieldKind,
}

/// The type of a [`NewField`], which determines the type of a column in Parquet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewFieldKind {
    /// Ids. In Parquet, a column of texts.
    Id,
    /// Whole numbers.
    Count,
}

/// The fate of a record in a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordFate {
    /// The record is copied.
    Keep,
    /// The record is omitted.
    Drop,
    /// The record is copied with these values of the new fields, in the same order; `None` is null.
    Mark(Vec<Option<Id>>),
    /// The record is copied, and these ascending, disjoint byte ranges are cut out of its text; see
    /// [`DocumentFile::check_cut`](crate::DocumentFile::check_cut).
    Cut(Vec<Range<usize>>),
}

/// The decision about a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The [number](crate::DocumentPlace::record) of the record.
    pub record: u64,
    /// The [digest](crate::DocumentPlace::digest) of the record, if known. A record with another
    /// digest is refused.
    pub digest: Option<u64>,
    /// The fate of the record.
    pub fate: RecordFate,
}

/// The decisions about records of a file, sorted by record number.
pub type RecordDecisions<'a> = dyn Iterator<Item = io::Result<Decided>> + 'a;

/// The fate of each record of a file while it is copied.
pub(super) struct Fates<'a> {
    decisions: Peekable<&'a mut RecordDecisions<'a>>,
    /// The fate of records without a decision.
    other: &'a RecordFate,
    /// Converts a record number to a place: a line, a row or a record.
    at: fn(u64) -> InputPlace,
}

impl<'a> Fates<'a> {
    pub(super) fn new(
        decisions: &'a mut RecordDecisions<'a>,
        other: &'a RecordFate,
        at: fn(u64) -> InputPlace,
    ) -> Self {
        Fates { decisions: decisions.peekable(), other, at }
    }

    /// The decision about the next record, which has this number. A remaining decision about an
    /// earlier record is an error: that record was read before, and is missing.
    pub(super) fn of(&mut self, record: u64) -> io::Result<Decided> {
        let is_due = |next: &io::Result<Decided>| {
            next.as_ref().map_or(true, |decided| decided.record <= record)
        };
        match self.decisions.next_if(is_due).transpose()? {
            None => Ok(Decided { record, digest: None, fate: self.other.clone() }),
            Some(decided) if decided.record == record => Ok(decided),
            Some(missed) => Err(self.differs(missed.record)),
        }
    }

    /// Refuses a record that differs from the record read before. `found` is the digest of the
    /// record; `None` if the record is bad.
    pub(super) fn check(&self, decided: &Decided, found: Option<u64>) -> io::Result<()> {
        match decided.digest.is_none() || decided.digest == found {
            true => Ok(()),
            false => Err(self.differs(decided.record)),
        }
    }

    /// Checks that no decision is left at the end of the file.
    pub(super) fn end(&mut self) -> io::Result<()> {
        match self.decisions.next().transpose()? {
            None => Ok(()),
            Some(missed) => Err(self.differs(missed.record)),
        }
    }

    fn differs(&self, record: u64) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, OtherRecord((self.at)(record)))
    }
}

/// The error for a record that changed after its first reading.
#[derive(Debug)]
pub(super) struct OtherRecord(InputPlace);

impl fmt::Display for OtherRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OtherRecord(at) = self;
        write!(
            f,
            "{at} differs from the record read before, so the file is not copied: it was changed \
             meanwhile, or fpstore found other records in it; give the same command again"
        )
    }
}

impl std::error::Error for OtherRecord {}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Calls `act` with the fates of lines: `some` lists individual fates, and all other lines have
    /// `other`.
    pub(in super::super) fn with_fates<T>(
        some: &[(u64, RecordFate)],
        other: &RecordFate,
        act: impl FnOnce(&mut Fates<'_>) -> T,
    ) -> T {
        let mut decisions = some.iter().map(|(record, fate)| {
            Ok(Decided { record: *record, digest: None, fate: fate.clone() })
        });
        act(&mut Fates::new(&mut decisions, other, InputPlace::Line))
    }

    #[test]
    fn a_record_that_was_read_and_is_not_met_is_refused() {
        let some = [(2, RecordFate::Drop), (5, RecordFate::Drop)];
        let told = |fault: io::Error, line: &str| assert!(fault.to_string().starts_with(line));
        with_fates(&some, &RecordFate::Keep, |fates| {
            assert_eq!(fates.of(1).unwrap().fate, RecordFate::Keep);
            assert_eq!(fates.of(2).unwrap().fate, RecordFate::Drop);
            assert_eq!(fates.of(4).unwrap().fate, RecordFate::Keep);
            told(fates.of(6).unwrap_err(), "line 5 differs from the record read before");
        });
        with_fates(&some, &RecordFate::Keep, |fates| {
            assert_eq!(fates.of(2).unwrap().fate, RecordFate::Drop);
            told(fates.end().unwrap_err(), "line 5 differs from the record read before");
        });
        with_fates(&some[..1], &RecordFate::Keep, |fates| {
            let decided = Decided { digest: Some(7), ..fates.of(2).unwrap() };
            assert!(fates.check(&decided, Some(7)).is_ok());
            assert!(fates.end().is_ok());
            told(fates.check(&decided, Some(8)).unwrap_err(), "line 2 differs");
            told(fates.check(&decided, None).unwrap_err(), "line 2 differs");
        });
    }
}
