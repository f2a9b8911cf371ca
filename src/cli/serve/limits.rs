//! The limits of the server: all are options, all are in `/v1/info`, and errors name them.

use std::time::Duration;

use bytesize::ByteSize;
use clap::Args;
use serde::Serialize;

/// What a client may ask for, and how long it may take.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Limits")]
pub(super) struct Limits {
    /// The longest body of a request; of a stream, the longest line
    #[arg(long, value_name = "SIZE", default_value = "16MiB")]
    pub(super) max_body: ByteSize,
    /// The longest answer; of a stream, the answer to one line
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    pub(super) max_answer: ByteSize,
    /// Fingerprints in a batch of queries
    #[arg(long, value_name = "N", default_value = "100000", value_parser = positive())]
    pub(super) max_batch: u64,
    /// Items of a check-and-add, or ids of a deletion
    #[arg(long, value_name = "N", default_value = "10000", value_parser = positive())]
    pub(super) max_items: u64,
    /// The largest distance
    #[arg(long, value_name = "K", default_value = "64", value_parser = clap::value_parser!(u32).range(0..=64))]
    pub(super) max_k: u32,
    /// Matches of a query, the nearest
    #[arg(long, value_name = "N", default_value = "1000", value_parser = positive())]
    pub(super) max_matches: u64,
    /// Ids of a match
    #[arg(long, value_name = "N", default_value = "1000", value_parser = positive())]
    pub(super) max_ids: u64,
    /// Connections at a time; a further one is answered 503
    #[arg(long, value_name = "N", default_value = "1024", value_parser = positive())]
    pub(super) max_connections: u64,
    /// Time for the head of a request, from its first byte on
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub(super) header_timeout: Duration,
    /// Time for the body of a request; of a stream, between two parts of it. Also how long a client
    /// may leave an answer unread
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(super) body_timeout: Duration,
    /// How long a connection may be idle
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(super) idle_timeout: Duration,
    /// Time to search for the answer to a request; what was found until then is answered as cut
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(super) deadline: Duration,
    /// How long a request waits for a free thread or for the writer before it is answered 503
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = duration)]
    pub(super) queue_timeout: Duration,
    /// How long open requests may take when the server ends
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(super) drain_timeout: Duration,
}

fn positive() -> clap::builder::RangedU64ValueParser<u64> {
    clap::value_parser!(u64).range(1..)
}

/// A time such as `200ms`, `5s` or `1m`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a time above 0, such as 200ms, 5s or 1m".to_string();
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "ms" => number / 1000.0,
        "s" | "" => number,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(wrong()),
    };
    if !(0.001..=1e9).contains(&seconds) {
        return Err(wrong());
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// The limits as `/v1/info` shows them, under the names of the options.
#[derive(Serialize)]
pub(super) struct LimitsShown {
    max_body: u64,
    max_answer: u64,
    max_batch: u64,
    max_items: u64,
    max_k: u32,
    max_matches: u64,
    max_ids: u64,
    max_connections: u64,
    header_timeout_ms: u64,
    body_timeout_ms: u64,
    idle_timeout_ms: u64,
    deadline_ms: u64,
    queue_timeout_ms: u64,
    drain_timeout_ms: u64,
}

impl Limits {
    pub(super) fn shown(&self) -> LimitsShown {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        LimitsShown {
            max_body: self.max_body.as_u64(),
            max_answer: self.max_answer.as_u64(),
            max_batch: self.max_batch,
            max_items: self.max_items,
            max_k: self.max_k,
            max_matches: self.max_matches,
            max_ids: self.max_ids,
            max_connections: self.max_connections,
            header_timeout_ms: millis(self.header_timeout),
            body_timeout_ms: millis(self.body_timeout),
            idle_timeout_ms: millis(self.idle_timeout),
            deadline_ms: millis(self.deadline),
            queue_timeout_ms: millis(self.queue_timeout),
            drain_timeout_ms: millis(self.drain_timeout),
        }
    }

    pub(super) fn body_max(&self) -> usize {
        usize::try_from(self.max_body.as_u64()).unwrap_or(usize::MAX)
    }

    pub(super) fn answer_max(&self) -> usize {
        usize::try_from(self.max_answer.as_u64()).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_are_above_0() {
        assert_eq!(duration("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["", "0s", "-1s", "5 parsecs", "s", "nan", "1e99h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
