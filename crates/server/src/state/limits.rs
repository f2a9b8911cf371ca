//! Checks requests against the limits of the server. Errors contain the limit and its value.

use std::time::Duration;

use crate::protocol::failure::Failure;
use fpstore::options::{K, NumberOption};
use fpstore_client::limits::{MAX_BATCH, MAX_ITEMS, MAX_K, ServeLimits};

/// The distance of a request: `asked`, or by default the smaller of `default` and the limit.
pub(crate) fn checked_k(
    limits: &ServeLimits,
    asked: Option<u32>,
    default: u32,
) -> Result<u32, Failure> {
    let k = asked.unwrap_or(default.min(limits.max_k));
    K.check(k).map_err(|error| Failure::bad("bad-k", error))?;
    if k > limits.max_k {
        let message = format!("k={k} is above the limit of this server");
        return Err(Failure::above("k-over-limit", &MAX_K, limits.max_k.into(), message));
    }
    Ok(k)
}

/// Fails if a batch has too many fingerprints.
pub(crate) fn check_batch(limits: &ServeLimits, count: usize) -> Result<(), Failure> {
    check_count(count, "fingerprints", "batch-over-limit", &MAX_BATCH, limits.max_batch)
}

/// Fails if a request has too many items or ids.
pub(crate) fn check_items(limits: &ServeLimits, count: usize, things: &str) -> Result<(), Failure> {
    check_count(count, things, "items-over-limit", &MAX_ITEMS, limits.max_items)
}

fn check_count(
    count: usize,
    things: &str,
    code: &'static str,
    limit: &NumberOption,
    most: u64,
) -> Result<(), Failure> {
    if count as u64 > most {
        let message = format!("the request has {count} {things}; send them in several requests");
        return Err(Failure::over(code, limit, most, message));
    }
    Ok(())
}

/// The value of an option, at most `most`; `most` if it is omitted.
pub(crate) fn number_within(
    option: &NumberOption,
    asked: Option<u64>,
    limit: &NumberOption,
    most: u64,
) -> Result<usize, Failure> {
    let number = asked.unwrap_or(most);
    if number > most {
        let message = format!("{}={number} is above the limit of this server", option.name);
        return Err(Failure::above("over-limit", limit, most, message));
    }
    option.check(number).map_err(|error| Failure::bad("bad-parameter", error))?;
    Ok(usize::try_from(number).unwrap_or(usize::MAX))
}

/// A time as options spell it, such as `250ms`.
pub(crate) fn millis(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpstore::options::IDS;
    use fpstore_client::limits::MAX_MATCHES;

    fn code<T>(checked: Result<T, Failure>) -> &'static str {
        checked.err().map_or("", |failure| {
            let limit = failure.limit.is_some();
            assert_eq!(limit, failure.code.ends_with("over-limit"), "{failure:?}");
            failure.code
        })
    }

    #[test]
    fn what_is_at_a_limit_is_allowed_and_one_more_is_not() {
        let limits = ServeLimits { max_k: 8, max_batch: 5, max_items: 3, ..ServeLimits::default() };
        assert_eq!(
            (code(check_batch(&limits, 5)), code(check_batch(&limits, 6))),
            ("", "batch-over-limit")
        );
        assert_eq!(code(check_items(&limits, 3, "ids")), "");
        assert_eq!(code(check_items(&limits, 4, "ids")), "items-over-limit");
        assert_eq!(
            (checked_k(&limits, Some(8), 3).unwrap(), checked_k(&limits, None, 3).unwrap()),
            (8, 3)
        );
        assert_eq!(
            checked_k(&limits, None, 20).unwrap(),
            8,
            "the default is no more than is allowed"
        );
        assert_eq!(
            (code(checked_k(&limits, Some(9), 3)), code(checked_k(&limits, Some(65), 3))),
            ("k-over-limit", "bad-k")
        );
        let within = |option, asked| number_within(option, asked, &MAX_MATCHES, 100);
        assert_eq!((within(&IDS, None).unwrap(), within(&IDS, Some(100)).unwrap()), (100, 100));
        assert_eq!(within(&IDS, Some(0)).unwrap(), 0);
        assert_eq!(code(within(&IDS, Some(101))), "over-limit");
        assert_eq!(code(within(&K, Some(65))), "bad-parameter");
    }
}
