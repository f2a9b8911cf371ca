//! The options of a query, which stand in the address or in the body of a request.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use fpstore::options::{self, NumberOption};

/// The nearest matches that are searched for: over HTTP at least one.
pub const COUNT: NumberOption = NumberOption { min: 1, ..options::COUNT };

/// What a query may say beside its fingerprints. The server chooses what is left out.
///
/// The names of the fields are those of the parameters in an address and of the fields in a body.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct QueryOptions {
    /// The largest distance; by default that of the tables of the store, and 64 with `count`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<u32>,
    /// Find this number of nearest matches, instead of all within `k`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Keep this number of matches within `k`, the nearest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Ids of each match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<u64>,
    /// Whether the answer says how it was found; for a single query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<bool>,
    /// Refuse the request if it is expected to cost more than this, in microseconds of search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<u64>,
}

impl QueryOptions {
    /// The options that are given, by their names.
    pub fn to_fields(self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => unreachable!("a struct with named fields is an object"),
        }
    }

    /// The options with these names and values; other names are ignored.
    pub fn from_fields(fields: Map<String, Value>) -> serde_json::Result<Self> {
        serde_json::from_value(Value::Object(fields))
    }
}
