//! The bodies of answers.

use std::borrow::Cow;

use fpstore_base::HexFingerprint;
use serde::{Deserialize, Serialize};

use fpstore::rows::AnswerRow;

/// The answers to a list of queries, in their order.
#[derive(Debug, Deserialize)]
pub struct QueryAnswers {
    /// One answer for each query.
    pub answers: Vec<AnswerRow>,
    /// The generation of the state that all of them come from.
    #[serde(default)]
    pub generation: Option<u64>,
}

/// The answer to a check-and-add.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AddAnswer {
    /// One result for each item, in their order.
    pub results: Vec<AddedItem>,
    /// Items that were new.
    pub added: u64,
    /// Whether all that is new is on the disk.
    pub durable: bool,
    /// The generation of the store that is shown now.
    pub generation: u64,
}

/// What was found of an item.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AddedItem {
    /// Whether the item was new.
    pub status: AddStatus,
    /// The fingerprint of the item.
    pub fingerprint: HexFingerprint,
    /// The nearest one that was known before, if the item is not new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near: Option<NearItem>,
}

/// Whether an item was new.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AddStatus {
    /// It was new, and is remembered now.
    New,
    /// It is near one that was known before, and was left out.
    Near,
}

/// The nearest one that was known before.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct NearItem {
    /// Its fingerprint.
    pub fingerprint: HexFingerprint,
    /// Its Hamming distance from the item.
    pub distance: u32,
    /// Its ids, at most ten.
    pub ids: Vec<String>,
    /// Whether it was added by a request that is not durable yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pending: bool,
}

/// The answer to a question for an id.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct IdAnswer {
    /// The id.
    pub id: String,
    /// The fingerprints that are stored under it, ascending; none if no record has the id.
    pub fingerprints: Vec<HexFingerprint>,
    /// The store of each, where several are served as one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stores: Vec<String>,
    /// The generation of the store that is shown now.
    pub generation: u64,
}

/// The answer to a deletion; of a replacement, what was deleted for it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct DeleteAnswer {
    /// Distinct ids that the request names.
    pub wanted: u64,
    /// Those of them that were stored.
    pub found: u64,
    /// Fingerprints that were deleted, because no id of theirs is left.
    pub fingerprints: u64,
    /// Ids that were deleted.
    pub ids: u64,
    /// The generation of the store that is shown now.
    pub generation: u64,
}

/// The answer to an expiry.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ExpireAnswer {
    /// The segments that were removed, or would be, oldest first.
    pub segments: Vec<ExpiredSegment>,
    /// Whether nothing was removed, because the request asked what would be.
    pub dry_run: bool,
    /// The generation of the store that is shown now.
    pub generation: u64,
}

/// A segment that expired.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ExpiredSegment {
    /// Its number.
    pub number: u64,
    /// Its label.
    pub label: String,
    /// Distinct fingerprints in its file.
    pub fingerprints: u64,
    /// Bytes of its file.
    pub bytes: u64,
}

/// The answer to a new label.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct LabelAnswer {
    /// The label of what is added from now on; empty without one.
    pub label: String,
}

/// What a question would cost.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct PriceAnswer<S = Vec<serde_json::Value>> {
    /// The distance of the question.
    pub k: u32,
    /// How many fingerprints it asks for.
    pub queries: u64,
    /// The expected time of one search, in microseconds.
    pub expected_us: f64,
    /// The expected time of all of them: what `max_cost` is compared with.
    pub cost_us: f64,
    /// Where it would be searched for.
    pub lane: Lane,
    /// The plan of each segment, as `explain` gives it.
    pub segments: S,
    /// The generation of the store that is shown now.
    pub generation: u64,
}

/// Where a question is searched for.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Lane {
    /// On the thread that reads the request.
    Inline,
    /// On a thread for quick questions.
    Quick,
    /// On a thread for costly questions, in slices by turns.
    Slow,
}

/// The answer to a wish for a merge of segments, which takes its time.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct CompactAnswer {
    /// Which segments are merged.
    pub segments: String,
}

/// The answer to an import.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ImportAnswer {
    /// Segments that were copied.
    pub segments: u64,
    /// Their distinct fingerprints.
    pub fingerprints: u64,
    /// Bytes of their files.
    pub bytes: u64,
    /// Segments without fingerprints, which were left out.
    pub empty: u64,
    /// The generation of the store that is shown now.
    pub generation: u64,
}

/// The answer to a request that failed.
#[derive(Debug, Deserialize, Serialize)]
pub struct FailureBody<'a> {
    #[serde(borrow)]
    pub error: FailureFields<'a>,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct FailureFields<'a> {
    /// Stable, for programs.
    #[serde(borrow)]
    pub code: Cow<'a, str>,
    /// For people.
    #[serde(borrow)]
    pub message: Cow<'a, str>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub limit: Option<FailureLimit<'a>>,
    /// What the request would cost, in microseconds, if that is why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_us: Option<f64>,
}

/// The limit that was met: the name of its option, and its value.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct FailureLimit<'a> {
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    pub value: u64,
}
