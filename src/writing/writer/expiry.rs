//! The rule that selects expired segments: a label before a given label, or a date before a day.
//!
//! A misspelt label must not remove a store. So a label is compared only with labels of the same
//! form, and removing everything must be allowed explicitly.

use jiff::Span;
use jiff::civil::Date;

use crate::base::error::{Error, Result};
use crate::store::SegmentInfo;
use crate::writing::labels::{day_after, is_like, today};

/// The rule by which [`Writer::expire`](crate::Writer::expire) removes segments.
///
/// # Examples
///
/// ```
/// use fpstore::writer::Expiry;
///
/// let expiry = Expiry::before("2026-10");
/// let monthly = Expiry::older_than("90d")?.all(true);
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expiry {
    bound: Bound,
    all: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Bound {
    Label(String),
    /// The first day that does not expire, and the given age.
    Day(Date, String),
}

impl Expiry {
    /// Selects segments whose label sorts before `label`, bytewise: `2026-09` before `2026-10`.
    ///
    /// Labels that sort before it must have the same form, or one form must be a prefix of the
    /// other: the same numbers of digits, letters at the same places, and the same signs between
    /// them. `30d` or `2026/11/01` have another form than `2026-11-05`.
    pub fn before(label: impl Into<String>) -> Self {
        Expiry { bound: Bound::Label(label.into()), all: false }
    }

    /// Selects segments whose label is a date more than `age` ago; `age` is a text such as `30d`,
    /// `6w`, `3mo` or `1y`. Today is the day in UTC.
    ///
    /// Dates are days (`2026-11-05`, optionally followed by a time, and `20261105`), weeks
    /// (`2026-W45`), months (`2026-11`) and years. The age of a month counts from its last day.
    /// Segments with other labels are kept.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`] if `age` is not a number of whole days, weeks, months or years.
    pub fn older_than(age: &str) -> Result<Self> {
        Expiry::older_than_on(age, today())
    }

    fn older_than_on(age: &str, today: Date) -> Result<Self> {
        let refused = || Error::InvalidOptions {
            reason: format!("age is '{age}', expected an age such as 30d, 6w, 3mo or 1y"),
        };
        let span: Span = age.trim().parse().map_err(|_| refused())?;
        let is_whole = span.fieldwise() == days_of(&span).fieldwise();
        if !is_whole || !span.is_positive() {
            return Err(refused());
        }
        let day = today.checked_sub(span).map_err(|_| refused())?;
        Ok(Expiry { bound: Bound::Day(day, age.trim().into()), all: false })
    }

    /// Sets whether all records of a store may be removed. The default is `false`.
    #[must_use]
    pub fn all(self, all: bool) -> Self {
        Expiry { all, ..self }
    }

    /// The reason for the expiry of a segment, as words that follow "label".
    pub fn description(&self) -> String {
        match &self.bound {
            Bound::Label(label) => format!("before '{label}'"),
            Bound::Day(day, age) => format!("older than {age} (before {day})"),
        }
    }

    /// Whether this rule can never select the segment: it has no label, a label of another form, or
    /// for [`Expiry::older_than`] a label that is not a date.
    pub fn passes_over(&self, segment: &SegmentInfo) -> bool {
        segment.has_records() && (segment.label.is_empty() || !self.fits(segment))
    }

    fn fits(&self, segment: &SegmentInfo) -> bool {
        match &self.bound {
            Bound::Label(label) => is_like(&segment.label, label),
            Bound::Day(..) => day_after(&segment.label).is_some(),
        }
    }

    /// The segments that this rule selects.
    pub(super) fn expiring(&self, segments: &[SegmentInfo]) -> Result<Vec<SegmentInfo>> {
        let labelled = || segments.iter().filter(|segment| !segment.label.is_empty());
        let refused = |segment: &SegmentInfo| {
            let expected = match &self.bound {
                Bound::Label(label) => format!("in the form of '{label}'"),
                Bound::Day(..) => "a date such as 2026-11-05".into(),
            };
            let SegmentInfo { number, label, .. } = segment;
            let reason =
                format!("segment {number} has the label '{label}', which is not {expected}");
            Error::InvalidOptions { reason }
        };
        let is_before = |segment: &&SegmentInfo| match &self.bound {
            Bound::Label(label) => segment.label < *label,
            Bound::Day(day, _) => day_after(&segment.label).is_some_and(|end| end <= *day),
        };
        let mut expiring: Vec<SegmentInfo> = labelled().filter(is_before).cloned().collect();
        // A segment without records never causes an error about its label.
        expiring.retain(|segment| segment.has_records() || self.fits(segment));
        if let Some(other) = expiring.iter().find(|segment| !self.fits(segment)) {
            return Err(refused(other));
        }
        // No label fits: the bound is misspelt, or intended for another store.
        let mut with_records = labelled().filter(|segment| segment.has_records());
        if let Some(first) = with_records.next()
            && !self.fits(first)
            && !with_records.any(|segment| self.fits(segment))
        {
            return Err(refused(first));
        }
        let count =
            |segments: &[SegmentInfo]| segments.iter().filter(|of| of.has_records()).count();
        let (gone, all) = (count(&expiring), count(segments));
        if !self.all && gone > 0 && gone == all {
            let every = match all {
                1 => "the only segment has a label".into(),
                all => format!("all {all} segments have labels"),
            };
            let reason = format!(
                "{every} {}, so no records would be left; 'all' allows that",
                self.description()
            );
            return Err(Error::InvalidOptions { reason });
        }
        Ok(expiring)
    }
}

/// `span` without hours and smaller units.
fn days_of(span: &Span) -> Span {
    Span::new()
        .years(span.get_years())
        .months(span.get_months())
        .weeks(span.get_weeks())
        .days(span.get_days())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_whole_days() {
        let today = Date::constant(2026, 11, 23);
        for (age, day) in [
            ("30d", "2026-10-24"),
            ("6w", "2026-10-12"),
            ("3mo", "2026-08-23"),
            ("1y", "2025-11-23"),
            ("1y 2mo", "2025-09-23"),
            ("14 days", "2026-11-09"),
        ] {
            let expected = Bound::Day(day.parse().unwrap(), age.into());
            assert_eq!(Expiry::older_than_on(age, today).unwrap().bound, expected);
        }
        for age in ["", "30", "d", "12h", "3m", "1d 2h", "-3d", "3d ago", "99999y", "0h"] {
            let error = Expiry::older_than_on(age, today).unwrap_err();
            assert!(error.to_string().ends_with("30d, 6w, 3mo or 1y"), "{age}: {error}");
        }
    }
}
