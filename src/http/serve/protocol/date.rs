//! The header `Date` of answers.
//!
//! hyper keeps its own for a second by the clock of the day: after that clock is set back, it would
//! stay the same until the time of before comes again.

use std::cell::RefCell;
use std::time::{Duration, Instant, SystemTime};

use hyper::header::HeaderValue;

/// How long a date is kept, by a clock that nobody sets.
const KEPT: Duration = Duration::from_millis(500);

thread_local! {
    static DATE: RefCell<Option<(Instant, HeaderValue)>> = const { RefCell::new(None) };
}

/// The date now.
pub(crate) fn now() -> HeaderValue {
    DATE.with_borrow_mut(|kept| match kept {
        Some((made, date)) if made.elapsed() < KEPT => date.clone(),
        _ => {
            let date = httpdate::fmt_http_date(SystemTime::now());
            let date = HeaderValue::try_from(date).expect("it is ASCII");
            *kept = Some((Instant::now(), date.clone()));
            date
        }
    })
}
