//! The header `Date` of answers.
//!
//! hyper caches its own date for a second of wall-clock time: after the clock is set back, that
//! date would not change until the clock reaches the old time again.

use std::cell::RefCell;
use std::time::{Duration, Instant, SystemTime};

use hyper::header::HeaderValue;

/// The lifetime of a cached date, by the monotonic clock.
const KEPT: Duration = Duration::from_millis(500);

/// A cached date, and the time when it was made.
#[derive(Default)]
struct Kept(Option<(Instant, HeaderValue)>);

impl Kept {
    /// The date at the monotonic time `now` and the wall-clock time `time`.
    fn at(&mut self, now: Instant, time: impl FnOnce() -> SystemTime) -> HeaderValue {
        match &self.0 {
            Some((made, date)) if now.saturating_duration_since(*made) < KEPT => date.clone(),
            _ => {
                let date = httpdate::fmt_http_date(time());
                let date = HeaderValue::try_from(date).expect("it is ASCII");
                self.0 = Some((now, date.clone()));
                date
            }
        }
    }
}

thread_local! {
    static DATE: RefCell<Kept> = RefCell::default();
}

/// The current date.
pub(crate) fn now() -> HeaderValue {
    DATE.with_borrow_mut(|kept| kept.at(Instant::now(), SystemTime::now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_follows_the_clock_of_the_day_also_after_it_was_set_back() {
        let (start, day) = (Instant::now(), Duration::from_secs(86_400));
        let noon = SystemTime::UNIX_EPOCH + 20_000 * day + day / 2;
        let mut kept = Kept::default();
        let first = kept.at(start, || noon);
        assert_eq!(first, "Fri, 04 Oct 2024 12:00:00 GMT");
        let soon = start + KEPT / 2;
        assert_eq!(kept.at(soon, || unreachable!("it is kept")), first);
        // The clock is set back by an hour, and then forward by a day.
        let later = start + KEPT;
        assert_eq!(kept.at(later, || noon - day / 24), "Fri, 04 Oct 2024 11:00:00 GMT");
        assert_eq!(kept.at(later + KEPT, || noon + day), "Sat, 05 Oct 2024 12:00:00 GMT");
    }
}
