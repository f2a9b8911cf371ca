//! Labels of segments, and the dates in them.
//!
//! Expiry compares labels, and treats dates as days. If the labels of a store are dates of one
//! form, the label of a new segment must be such a date, or the segment would never expire.

use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use crate::base::error::{Error, Result};
use crate::format::manifest::{fault_of_label, fault_of_run};
use crate::search::snapshot::{OpenSegment, Snapshot};

pub(super) fn today() -> Date {
    Timestamp::now().to_zoned(TimeZone::UTC).date()
}

/// The label; for `today` or `yesterday`, the date of that day in UTC.
pub fn dated_label(label: &str) -> String {
    match label {
        "today" => today().to_string(),
        "yesterday" => today().yesterday().map_or_else(|_| label.into(), |day| day.to_string()),
        other => other.into(),
    }
}

/// The reason why a new segment must not get this label: the `stored` labels are dates of one form,
/// and an expiry by dates would always skip the new segment. `None` for an empty label, and for a
/// store whose labels are not dates or have several forms.
pub(super) fn fault_beside<'a>(
    label: &str,
    stored: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let stored: Vec<&str> = stored.filter(|stored| !stored.is_empty()).collect();
    let last = stored.last().filter(|_| !label.is_empty())?;
    let dates: Vec<&str> = stored.iter().map(|stored| date_in(stored)).collect::<Option<_>>()?;
    let are_like = |date: &str| dates.iter().all(|other| is_like(date, other));
    if !are_like(dates[0]) || date_in(label).is_some_and(are_like) {
        return None;
    }
    Some(format!(
        "the label '{label}' is not a date in the form of the labels of the store, such as \
         '{last}', so its records would never expire"
    ))
}

/// Returns an error if [`fault_beside`] finds a fault in the label of a new segment.
pub(super) fn check_label(label: &str, store: &Snapshot) -> Result<()> {
    let stored = store.segments().iter().filter_map(OpenSegment::label_of_records);
    match fault_beside(label, stored) {
        None => Ok(()),
        Some(fault) => Err(Error::InvalidOptions {
            reason: format!(
                "{fault}; give a date in that form, or no label for records without \
                             expiry"
            ),
        }),
    }
}

/// Returns an error for an invalid label, and for an invalid name of a run.
pub(super) fn check_names(label: &str, run: Option<&str>) -> Result<()> {
    match fault_of_label(label).or_else(|| run.and_then(fault_of_run)) {
        Some(reason) => Err(Error::InvalidOptions { reason }),
        None => Ok(()),
    }
}

/// The date at the start of a label, if there is one.
fn date_in(label: &str) -> Option<&str> {
    day_after(label)?;
    let is_compact = runs(label).next().is_some_and(|run| run.len() == 8);
    Some(&label[..label.len().min(if is_compact { 8 } else { 10 })])
}

/// The days since the day of a label, or since the last day of its week, month or year; 0 for
/// future dates. `None` for a label that is not a date.
pub fn days_since_label(label: &str) -> Option<u64> {
    let since = today().since(day_after(label)?.yesterday().ok()?).ok()?;
    Some(since.get_days().try_into().unwrap_or(0))
}

/// Whether two labels have the same form, or one label has the same form as the start of the other.
pub(super) fn is_like(one: &str, other: &str) -> bool {
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

/// Splits a label into runs of digits, of letters, and of other characters.
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

/// The day after the last day of the date in a label. The date can be a day, week, month or year.
pub(super) fn day_after(label: &str) -> Option<Date> {
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
    fn a_label_beside_dates_of_one_form_is_one_of_them() {
        let beside = |label: &str, stored: &[&str]| fault_beside(label, stored.iter().copied());
        let days = ["", "2026-11-04", "2026-11-05-b"];
        for label in ["", "2026-11-06", "2026-11-05T10:00", "2026-11-06-9", "2026-11"] {
            assert_eq!(beside(label, &days), None, "{label}");
        }
        for label in ["foo", "30d", "today", "2026-13-45", "2026/11/05", "20261105", "2026-W45"] {
            let fault = beside(label, &days).unwrap();
            assert!(fault.contains(&format!("'{label}'")) && fault.contains("'2026-11-05-b'"));
        }
        assert_eq!(beside("20261106-2", &["20261105-b"]), None);
        assert!(beside("2026-10", &["2026-W45"]).is_some());
        for free in [&["a", "b"][..], &["2026-11-05", "x"], &["2026-11-05", "20261106"], &[""], &[]]
        {
            assert_eq!(beside("foo", free), None, "{free:?}");
        }
    }

    #[test]
    fn a_label_that_is_a_date_has_an_age() {
        assert_eq!(days_since_label(&dated_label("today")), Some(0));
        assert_eq!(days_since_label(&dated_label("yesterday")), Some(1));
        assert_eq!(days_since_label("9998"), Some(0));
        assert!(days_since_label("2020-01").is_some_and(|days| days > 365));
        assert_eq!(days_since_label("x"), None);
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
}
