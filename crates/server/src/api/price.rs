//! The expected cost of a query, by the cost model of the store. It selects the lane of the query,
//! `max_cost` limits it, and `/v1/plan` returns it.

use hyper::{StatusCode, Uri};

use crate::protocol::failure::Failure;
use crate::protocol::params::{number, options_of, pairs};
use crate::protocol::request::{HttpResult, json_response};
use crate::state::limits::{check_batch, checked_k};
use crate::state::shared::Shared;
use fpstore::plan::Plan;
use fpstore::rows::Explained;
use fpstore::{SearchStats, Store};
use fpstore_client::{Lane, PriceAnswer};

/// The largest expected time of a search on the thread that reads requests.
pub(super) const INLINE_NANOS: f64 = 50_000.0;
/// The largest expected time of all searches of a request on that thread.
const INLINE_SUM_NANOS: f64 = 250_000.0;
/// The largest expected time of all searches of a request in the lane of quick queries.
const QUICK_SUM_NANOS: f64 = 5_000_000.0;
/// The parameter of `/v1/plan` for the number of query fingerprints.
const QUERIES: &str = "queries";

/// The expected cost of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Price {
    /// Nanoseconds of one search.
    pub(super) each: f64,
    /// Nanoseconds of all searches.
    pub(super) sum: f64,
}

impl Price {
    /// The price of `count` searches within `k` bits.
    pub(super) fn of(store: &Store, k: u32, count: usize) -> Self {
        let each = store.expected_nanos(k).unwrap_or(f64::INFINITY);
        Price { each, sum: each * count as f64 }
    }

    /// The lane for a query of this price.
    pub(super) fn lane(&self) -> Lane {
        if self.each <= INLINE_NANOS && self.sum <= INLINE_SUM_NANOS {
            Lane::Inline
        } else if self.sum <= QUICK_SUM_NANOS {
            Lane::Quick
        } else {
            Lane::Slow
        }
    }

    /// Fails if the price exceeds `max_cost` of the client.
    pub(super) fn check(&self, max_cost: Option<u64>) -> Result<(), Failure> {
        let cost = micros(self.sum);
        match max_cost {
            Some(most) if cost > most as f64 => {
                let message = format!(
                    "the search is expected to take {cost} microseconds, and max_cost is {most}; \
                     use a smaller k, or send fewer queries at a time"
                );
                let failure =
                    Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "cost-over-max", message);
                Err(Failure { cost_us: Some(cost), ..failure })
            }
            _ => Ok(()),
        }
    }
}

/// Converts nanoseconds to microseconds, rounded to a tenth.
fn micros(nanos: f64) -> f64 {
    (nanos / 100.0).round() / 10.0
}

/// Answers `/v1/plan`.
pub(crate) fn plan(server: &Shared, uri: &Uri) -> HttpResult {
    let mut queries = 1;
    let mut rest = Vec::new();
    for (name, value) in pairs(uri)? {
        match &*name {
            QUERIES => queries = number(QUERIES, &value)?,
            _ => rest.push((name, value)),
        }
    }
    let (options, _) = options_of(rest, &["k"], QUERIES)?;
    check_batch(&server.limits, usize::try_from(queries).unwrap_or(usize::MAX))?;
    let k = checked_k(&server.limits, options.k, server.live.opened().tuned_k)?;
    let store = server.live.store();
    let generation = store.generation();
    let explained = Explained::of(store, k, SearchStats::default())?;
    let each = explained.expected_us * 1000.0;
    let price = Price { each, sum: each * queries as f64 };
    let answer = PriceAnswer::<Vec<Plan>> {
        k,
        queries,
        expected_us: micros(price.each),
        cost_us: micros(price.sum),
        lane: price.lane(),
        segments: explained.segments,
        generation,
    };
    Ok(json_response(StatusCode::OK, &answer))
}
