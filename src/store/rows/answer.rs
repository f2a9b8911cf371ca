//! The row of a query: its matches, and how the query was answered.

use fpstore_base::columns;
use fpstore_base::rows::{Cell, Column, Row};
use fpstore_base::{HexFingerprint, IdRef};
use serde::{Deserialize, Serialize};

use crate::base::error::Result as StoreResult;
use crate::plan::{CostEstimate, Plan};
use crate::search::SearchStats;
use crate::store::Store;

/// The answer to one query. Printed as lines, it has one line for each id of each match.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct AnswerRow {
    /// The id of the query record, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The query fingerprint.
    pub query: HexFingerprint,
    /// The matches, nearest first, ties by ascending fingerprint.
    pub matches: Vec<MatchRow>,
    /// Whether more matches or ids than listed exist or may exist.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// The limit that cut the answer of a server: `limit`, `ids` or `deadline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_by: Option<String>,
    /// The generation of the store, in the answer of a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// How the query was answered, if the caller requested it.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub explain: Option<Explained>,
}

/// A stored fingerprint within the queried distance.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct MatchRow {
    /// The fingerprint.
    pub fingerprint: HexFingerprint,
    /// The number of bits in which the fingerprint differs from the query.
    pub distance: u32,
    /// The Jaccard similarity of each id, if it was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarities: Option<Vec<f64>>,
    /// The store that contains the fingerprint, if several stores are queried together. A
    /// fingerprint in two stores is a match in each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// The label of each id; for a fingerprint without ids, the label of each of its segments.
    /// `None` if labels are not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
    /// The ids; empty for a fingerprint without ids, `None` if ids are not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<String>>,
    /// The number of all ids, if a server omitted some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_count: Option<u64>,
}

impl Row for AnswerRow {
    const TABLE: &'static str = "matches";

    const COLUMNS: &'static [Column] = columns!(
        query_id: Text,
        query: U64,
        fingerprint: U64,
        distance: U32,
        similarity: Double,
        store: Text,
        label: Text,
        id: Text,
    );

    fn lines<E>(&self, mut each: impl FnMut(&[Cell<'_>]) -> Result<(), E>) -> Result<(), E> {
        for found in &self.matches {
            let ids = found.ids.as_deref().unwrap_or_default();
            let similarities = found.similarities.as_deref();
            let labels = found.labels.as_deref();
            // A fingerprint without ids has a line for each label, or one line without labels.
            let count = ids.len().max(labels.map_or(1, <[String]>::len));
            for at in 0..count {
                let similarity = similarities.and_then(|list| list.get(at)).copied();
                each(&[
                    self.id.as_deref().map_or(Cell::Absent, Cell::Text),
                    Cell::Fingerprint(self.query),
                    Cell::Fingerprint(found.fingerprint),
                    Cell::Distance(found.distance),
                    similarity.map_or(Cell::Absent, Cell::Similarity),
                    found.store.as_deref().map_or(Cell::Absent, Cell::Text),
                    labels.map_or(Cell::Absent, |list| {
                        Cell::Text(list.get(at).map(String::as_str).unwrap_or_default())
                    }),
                    Cell::Id(ids.get(at).map(|id| IdRef::Text(id))),
                ])?;
            }
        }
        Ok(())
    }
}

/// How a query was answered: the plan, its expected cost, and the counted steps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// The distance of the query.
    pub k: u32,
    /// The expected time in microseconds, over all segments.
    pub expected_us: f64,
    /// The plan of each segment.
    pub segments: Vec<Plan>,
    /// The counted steps of the search.
    #[serde(flatten)]
    pub stats: SearchStats,
}

impl Explained {
    /// The plan of a search of `store` within `k` bits, with the counts of a finished search.
    ///
    /// # Errors
    ///
    /// The same as [`Store::plans`].
    pub fn of(store: &Store, k: u32, stats: SearchStats) -> StoreResult<Self> {
        let segments = store.plans(k)?;
        let nanos: f64 = segments.iter().map(|plan| plan.expected_nanos).sum();
        Ok(Explained { k, expected_us: nanos / 1000.0, segments, stats })
    }

    /// The expected steps of the query, over all segments.
    pub fn estimate(&self) -> CostEstimate {
        let mut sum = CostEstimate::default();
        self.segments.iter().for_each(|plan| sum += plan.estimate);
        sum
    }
}
