//! What a question costs before it is asked: the cost model of the store decides in which lane it is
//! searched for, `max_cost` refuses it, and `/v1/plan` tells it.

use hyper::{Response, StatusCode, Uri};

use crate::protocol::failure::Failure;
use crate::protocol::params::{number, options_of, pairs};
use crate::protocol::request::{ResponseBody, json_response};
use crate::state::limits::CheckLimits as _;
use crate::state::shared::Shared;
use fpstore::SearchStats;
use fpstore::Store;
use fpstore::plan::Plan;
use fpstore::rows::Explained;
use fpstore_client::wire::{Lane, PriceAnswer};

/// A query that is expected to take longer than this is not searched for on the thread that reads
/// requests.
pub(super) const INLINE_NANOS: f64 = 50_000.0;
/// The same for all queries of a request together.
const INLINE_SUM_NANOS: f64 = 250_000.0;
/// All queries of a request that should take longer than this together are slow.
const QUICK_SUM_NANOS: f64 = 5_000_000.0;
/// The number of fingerprints in the question of `/v1/plan`.
const QUERIES: &str = "queries";

/// What a question is expected to cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Price {
    /// Nanoseconds of one search.
    pub(super) each: f64,
    /// Nanoseconds of all of them.
    pub(super) sum: f64,
}

impl Price {
    /// The price of `count` searches within `k` bits.
    pub(super) fn of(store: &Store, k: u32, count: usize) -> Self {
        let each = store.expected_nanos(k).unwrap_or(f64::INFINITY);
        Price { each, sum: each * count as f64 }
    }

    /// Where such a question is searched for.
    pub(super) fn lane(&self) -> Lane {
        if self.each <= INLINE_NANOS && self.sum <= INLINE_SUM_NANOS {
            Lane::Inline
        } else if self.sum <= QUICK_SUM_NANOS {
            Lane::Quick
        } else {
            Lane::Slow
        }
    }

    /// Fails if the client does not want to pay so much.
    pub(super) fn check(&self, max_cost: Option<u64>) -> Result<(), Failure> {
        let cost = micros(self.sum);
        match max_cost {
            Some(most) if cost > most as f64 => {
                let message = format!(
                    "this is expected to cost {cost} microseconds of search, and max_cost is \
                     {most}; ask for a smaller k, or for fewer at a time"
                );
                let failure =
                    Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "cost-over-max", message);
                Err(Failure { cost_us: Some(cost), ..failure })
            }
            _ => Ok(()),
        }
    }
}

/// Microseconds, to a tenth.
fn micros(nanos: f64) -> f64 {
    (nanos / 100.0).round() / 10.0
}

/// `/v1/plan`.
pub(crate) fn plan(server: &Shared, uri: &Uri) -> Result<Response<ResponseBody>, Failure> {
    let mut queries = 1;
    let mut rest = Vec::new();
    for (name, value) in pairs(uri)? {
        match &*name {
            QUERIES => queries = number(QUERIES, &value)?,
            _ => rest.push((name, value)),
        }
    }
    let (options, _) = options_of(rest, &["k"], QUERIES)?;
    server.limits.check_batch(usize::try_from(queries).unwrap_or(usize::MAX))?;
    let k = server.limits.k(options.k, server.live.opened().tuned_k)?;
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
