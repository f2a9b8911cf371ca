//! The bodies of answers.

use std::borrow::Cow;

use fpstore_base::HexFingerprint;
use serde::{Deserialize, Serialize};

/// The answer to a check-and-add.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AddAnswer {
    /// One result for each item, in the order of the items.
    pub results: Vec<AddedItem>,
    /// The number of new items.
    pub added: u64,
    /// Whether all new items are on the disk.
    pub durable: bool,
    /// The generation of the current snapshot.
    pub generation: u64,
}

/// The result for an item.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AddedItem {
    /// Whether the item was new.
    pub status: AddStatus,
    /// The fingerprint of the item.
    pub fingerprint: HexFingerprint,
    /// The nearest known record, if the item is not new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near: Option<NearItem>,
}

/// Whether an item was new.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AddStatus {
    /// The item was new and was added.
    New,
    /// The item is near a known record and was not added.
    Near,
}

/// The nearest known record.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct NearItem {
    /// The fingerprint of the record.
    pub fingerprint: HexFingerprint,
    /// The Hamming distance between the record and the item.
    pub distance: u32,
    /// The ids of the record, at most ten.
    pub ids: Vec<String>,
    /// Whether the request that added the record is not durable yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pending: bool,
}

/// The answer to a request for the fingerprints of an id.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct IdAnswer {
    /// The id.
    pub id: String,
    /// The fingerprints stored under the id, ascending; empty if no record has the id.
    pub fingerprints: Vec<HexFingerprint>,
    /// The store of each fingerprint; empty if a single store is served.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stores: Vec<String>,
    /// The generation of the current snapshot.
    pub generation: u64,
}

/// The answer to a deletion or a replacement: counts of the deleted records.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct DeleteAnswer {
    /// The number of distinct ids in the request.
    pub wanted: u64,
    /// The number of these ids that were stored.
    pub found: u64,
    /// The number of deleted fingerprints. A fingerprint is deleted with its last id.
    pub fingerprints: u64,
    /// The number of deleted ids.
    pub ids: u64,
    /// The generation of the current snapshot.
    pub generation: u64,
}

/// The answer to an expiry.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ExpireAnswer {
    /// The removed segments, oldest first; of a dry run, the segments that would be removed.
    pub segments: Vec<ExpiredSegment>,
    /// Whether the request was a dry run, so that nothing was removed.
    pub dry_run: bool,
    /// The generation of the current snapshot.
    pub generation: u64,
}

/// An expired segment.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ExpiredSegment {
    /// The number of the segment.
    pub number: u64,
    /// The label of the segment.
    pub label: String,
    /// The number of distinct fingerprints in the file of the segment.
    pub fingerprints: u64,
    /// The length of the file in bytes.
    pub bytes: u64,
}

/// The answer to a request that sets the label.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct LabelAnswer {
    /// The label of records added from now on; empty without a label.
    pub label: String,
}

/// The expected cost of a query.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct PriceAnswer<S = Vec<serde_json::Value>> {
    /// The largest distance of the matches.
    pub k: u32,
    /// The number of fingerprints in the query.
    pub queries: u64,
    /// The expected time of one search, in microseconds.
    pub expected_us: f64,
    /// The expected time of all searches in microseconds, which `max_cost` limits.
    pub cost_us: f64,
    /// The lane in which the query would run.
    pub lane: Lane,
    /// The plan of each segment, as `explain` returns it.
    pub segments: S,
    /// The generation of the current snapshot.
    pub generation: u64,
}

/// The lane in which a query runs.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Lane {
    /// On the thread that reads the request.
    Inline,
    /// On a thread for quick queries.
    Quick,
    /// On a thread for costly queries, which take turns in short slices.
    Slow,
}

/// The answer to a request to merge segments. The merge itself follows later.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct CompactAnswer {
    /// The name of the [`Compaction`](fpstore::writer::Compaction).
    pub segments: String,
}

/// The answer to an import.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ImportAnswer {
    /// The number of copied segments.
    pub segments: u64,
    /// The number of distinct fingerprints in the copied segments.
    pub fingerprints: u64,
    /// The bytes of the copied files.
    pub bytes: u64,
    /// The number of segments without fingerprints, which are not copied.
    pub empty: u64,
    /// The generation of the current snapshot.
    pub generation: u64,
}

/// The answer to a failed request.
#[derive(Debug, Deserialize, Serialize)]
pub struct FailureBody<'a> {
    /// The failure.
    #[serde(borrow)]
    pub error: FailureFields<'a>,
}

/// The cause of a failure.
#[derive(Debug, Deserialize, Serialize)]
pub struct FailureFields<'a> {
    /// A stable code, for programs.
    #[serde(borrow)]
    pub code: Cow<'a, str>,
    /// A sentence for people.
    #[serde(borrow)]
    pub message: Cow<'a, str>,
    /// The limit that the request exceeds.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub limit: Option<FailureLimit<'a>>,
    /// The expected cost in microseconds, if the request was refused for its cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_us: Option<f64>,
}

/// A limit that a request exceeds.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct FailureLimit<'a> {
    /// The option of `fpstore serve`, without dashes.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// The value of the limit.
    pub value: u64,
}
