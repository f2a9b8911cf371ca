//! Which segments expire: those with a label before another one, or with the date of an older day.
//!
//! A label that is misspelt must not remove a store. So a label is compared only with labels of its
//! own form, and what leaves nothing has to be allowed.

use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use crate::base::error::{Error, Result};
use crate::store::SegmentInfo;

/// Which segments [`Writer::expire`](crate::Writer::expire) removes.
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
    /// The first day that does not expire, and the age that was asked for.
    Day(Date, String),
}

impl Expiry {
    /// Segments whose label sorts before `label`, byte by byte: `2026-09` before `2026-10`.
    ///
    /// Labels that sort before it have to be of the same form, or one of them has to begin as the
    /// other: the same numbers of digits, letters at the same places, and the same signs between
    /// them. `30d` or `2026/11/01` are of another form than `2026-11-05`.
    pub fn before(label: impl Into<String>) -> Self {
        Expiry { bound: Bound::Label(label.into()), all: false }
    }

    /// Segments whose label is a date that passed more than `age` ago, such as `30d`, `6w`, `3mo` or
    /// `1y`. Today is the day in UTC.
    ///
    /// Dates are days (`2026-11-05`, also with a time behind it, and `20261105`), weeks (`2026-W45`),
    /// months (`2026-11`) and years. A month is as old as its last day. Segments with other labels
    /// stay.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`] if `age` is not a time of whole days.
    pub fn older_than(age: &str) -> Result<Self> {
        Expiry::older_than_on(age, today())
    }

    fn older_than_on(age: &str, today: Date) -> Result<Self> {
        let refused = || Error::InvalidOptions {
            reason: format!("'{age}', expected days, weeks, months or years: 30d, 6w, 3mo or 1y"),
        };
        let span: Span = age.trim().parse().map_err(|_| refused())?;
        let is_whole = span.fieldwise() == days_of(&span).fieldwise();
        if !is_whole || !span.is_positive() {
            return Err(refused());
        }
        let day = today.checked_sub(span).map_err(|_| refused())?;
        Ok(Expiry { bound: Bound::Day(day, age.trim().into()), all: false })
    }

    /// Whether all segments of a store may be removed. The default is `false`.
    #[must_use]
    pub fn all(self, all: bool) -> Self {
        Expiry { all, ..self }
    }

    /// Why a segment expires, as words that follow "label".
    pub fn description(&self) -> String {
        match &self.bound {
            Bound::Label(label) => format!("before '{label}'"),
            Bound::Day(day, age) => format!("older than {age} (before {day})"),
        }
    }

    /// The segments that expire.
    pub(super) fn expiring(&self, segments: &[SegmentInfo]) -> Result<Vec<SegmentInfo>> {
        let labelled = || segments.iter().filter(|segment| !segment.label.is_empty());
        let refused = |segment: &SegmentInfo| {
            let expected = match &self.bound {
                Bound::Label(label) => format!("of the form of '{label}'"),
                Bound::Day(..) => "a date such as 2026-11-05".into(),
            };
            let SegmentInfo { number, label, .. } = segment;
            let reason =
                format!("segment {number} has the label '{label}', which is not {expected}");
            Error::InvalidOptions { reason }
        };
        let fits = |segment: &&SegmentInfo| match &self.bound {
            Bound::Label(label) => is_like(&segment.label, label),
            Bound::Day(..) => day_after(&segment.label).is_some(),
        };
        let is_before = |segment: &&SegmentInfo| match &self.bound {
            Bound::Label(label) => segment.label < *label,
            Bound::Day(day, _) => day_after(&segment.label).is_some_and(|end| end <= *day),
        };
        let expiring: Vec<SegmentInfo> = labelled().filter(is_before).cloned().collect();
        if let Some(other) = expiring.iter().find(|segment| !fits(segment)) {
            return Err(refused(other));
        }
        // No label fits: the bound is misspelt, or meant for another store.
        if let Some(first) = labelled().next()
            && !labelled().any(|segment| fits(&segment))
        {
            return Err(refused(first));
        }
        if !self.all && !expiring.is_empty() && expiring.len() == segments.len() {
            let reason = format!(
                "all {} segments have labels {}, so that nothing would stay; 'all' allows that",
                segments.len(),
                self.description()
            );
            return Err(Error::InvalidOptions { reason });
        }
        Ok(expiring)
    }
}

/// A label for what is added today: the day in UTC, such as `2026-11-05`.
pub fn label_of_today() -> String {
    today().to_string()
}

fn today() -> Date {
    Timestamp::now().to_zoned(TimeZone::UTC).date()
}

/// The same span without hours and less.
fn days_of(span: &Span) -> Span {
    Span::new()
        .years(span.get_years())
        .months(span.get_months())
        .weeks(span.get_weeks())
        .days(span.get_days())
}

/// Whether two labels are of one form, or one begins as the other.
fn is_like(one: &str, other: &str) -> bool {
    let mut pairs = runs(one).zip(runs(other));
    pairs.all(|(one, other)| match (kind(one), kind(other)) {
        (Kind::Digits, Kind::Digits) => one.len() == other.len(),
        (Kind::Letters, Kind::Letters) => true,
        _ => one == other,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Digits,
    Letters,
    Signs,
}

fn kind(run: &str) -> Kind {
    run.chars().next().map_or(Kind::Signs, kind_of)
}

fn kind_of(of: char) -> Kind {
    match of {
        _ if of.is_ascii_digit() => Kind::Digits,
        _ if of.is_alphabetic() => Kind::Letters,
        _ => Kind::Signs,
    }
}

/// The longest parts of a label that are of one kind.
fn runs(label: &str) -> impl Iterator<Item = &str> {
    let mut rest = label;
    std::iter::from_fn(move || {
        let first = kind_of(rest.chars().next()?);
        let end = rest.find(|of| kind_of(of) != first).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        Some(run)
    })
}

/// The day after the day, week, month or year that a label names.
fn day_after(label: &str) -> Option<Date> {
    let number = |text: &str| text.parse::<i16>().ok();
    let date = |year: &str, month: &str, day: &str| {
        let (month, day) = (i8::try_from(number(month)?).ok()?, i8::try_from(number(day)?).ok()?);
        Date::new(number(year)?, month, day).ok()
    };
    let parts: Vec<&str> = runs(label).collect();
    let digits: Vec<usize> =
        parts.iter().map(|run| if kind(run) == Kind::Digits { run.len() } else { 0 }).collect();
    match (&digits[..], &parts[..]) {
        ([8, ..], [day, ..]) => date(&day[..4], &day[4..6], &day[6..])?.tomorrow().ok(),
        ([4, 0, 2, 0, 2, ..], [year, "-", month, "-", day, ..]) => {
            date(year, month, day)?.tomorrow().ok()
        }
        ([4, 0, 2], [year, "-", month]) => {
            date(year, month, "1")?.checked_add(Span::new().months(1)).ok()
        }
        ([4], [year]) => Date::new(number(year)? + 1, 1, 1).ok(),
        ([4, 0, 0, 2] | [4, 0, 2], [year, "-", "W", week] | [year, "W", week]) => {
            let week = i8::try_from(number(week)?).ok()?;
            ISOWeekDate::new(number(year)?, week, Weekday::Sunday).ok()?.date().tomorrow().ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_one_form_are_compared() {
        for (one, other) in [
            ("2026-09", "2026-10"),
            ("2026-09", "2026-10-01"),
            ("2026", "2026-10-01"),
            ("20260901", "20261001"),
            ("a", "crawl"),
            ("crawl-7", "news-9"),
            ("v1", "v2"),
            ("2026-W09", "2026-W10"),
        ] {
            assert!(is_like(one, other) && is_like(other, one), "{one} {other}");
        }
        for (one, other) in [
            ("2026-11-05", "30d"),
            ("2026-11-05", "today"),
            ("2026-11-05", "2026/11/01"),
            ("2026-11-05", "20261105"),
            ("2026-11-05", "2026-11-5"),
            ("v2", "v10"),
            ("crawl", "2026"),
            ("crawl-7", "crawl_7"),
        ] {
            assert!(!is_like(one, other) && !is_like(other, one), "{one} {other}");
        }
    }

    #[test]
    fn dates_end() {
        for (label, end) in [
            ("2026-11-05", "2026-11-06"),
            ("2026-11-05T10:00", "2026-11-06"),
            ("2026-11-05-b", "2026-11-06"),
            ("20261105", "2026-11-06"),
            ("2026-12-31", "2027-01-01"),
            ("2024-02", "2024-03-01"),
            ("2026-12", "2027-01-01"),
            ("2026", "2027-01-01"),
            ("2026-W45", "2026-11-09"),
            ("2026W45", "2026-11-09"),
            ("2020-W53", "2021-01-04"),
        ] {
            assert_eq!(
                day_after(label).map(|day| day.to_string()).as_deref(),
                Some(end),
                "{label}"
            );
        }
        for label in
            ["", "x", "2026-13", "2026-02-30", "2026-1", "202611", "2021-W53", "2026/11", "30d"]
        {
            assert_eq!(day_after(label), None, "{label}");
        }
    }

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
