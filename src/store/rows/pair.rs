//! Rows with two records: a pair of similar records, and a removed record with the kept record.

use fpstore_base::rows::Cell;
use fpstore_base::{HexFingerprint, IdRef, one_line_row};
use serde::Serialize;

use crate::base::section::StoreIndex;

/// Two records within the distance of a join.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairRow<'a> {
    /// The smaller fingerprint.
    pub first: HexFingerprint,
    /// The larger fingerprint, or an equal one.
    pub second: HexFingerprint,
    /// The number of bits in which the fingerprints differ.
    pub distance: u32,
    /// The Jaccard similarity of the documents, if it was computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
    /// The id of the record with the first fingerprint.
    pub first_id: Option<IdRef<'a>>,
    /// The id of the record with the second fingerprint.
    pub second_id: Option<IdRef<'a>>,
    /// The store of the first record, if several stores are joined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_store: Option<&'a str>,
    /// The store of the second record, if several stores are joined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_store: Option<&'a str>,
}

// The ids are the last columns, because only the last column of a line may contain tabs.
one_line_row!(PairRow<'_>, "pairs", |row|
    first: U64 = Cell::Fingerprint(row.first),
    second: U64 = Cell::Fingerprint(row.second),
    distance: U32 = Cell::Distance(row.distance),
    similarity: Double = row.similarity.map_or(Cell::Absent, Cell::Similarity),
    first_store: Text = row.first_store.map_or(Cell::Absent, Cell::Text),
    second_store: Text = row.second_store.map_or(Cell::Absent, Cell::Text),
    first_id: Text = Cell::Id(row.first_id),
    second_id: Text = Cell::Id(row.second_id),
);

/// Whether the kept record is new or stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The kept record is one of the new records.
    New,
    /// The kept record is in the store.
    Stored,
}

fpstore_base::named! {
    /// Why a record is removed: the first reason that holds, in this order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Reason {
        /// People labelled the two records as duplicates.
        Judged = "judged",
        /// The kept document has the same address (URL) and is better.
        Address = "address",
        /// The text of the kept record has the same bytes.
        Bytes = "bytes",
        /// The text of the kept record has the same tokens under the recipe.
        Text = "text",
        /// The two fingerprints are within the chosen distance.
        Near = "near",
        /// The two fingerprints are within the chosen distance, and the features are similar enough.
        Confirmed = "confirmed",
    }
}

/// A removed record, and the kept record that is the reason for the removal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RemovedRow<'a> {
    /// The fingerprint of the removed record.
    pub fingerprint: HexFingerprint,
    /// The fingerprint of the kept record.
    pub other: HexFingerprint,
    /// The number of bits in which the fingerprints differ.
    pub distance: u32,
    /// The Jaccard similarity of the documents, if it was computed.
    pub similarity: Option<f64>,
    /// The id of the removed record.
    pub id: Option<IdRef<'a>>,
    /// The id of the kept record.
    pub other_id: Option<IdRef<'a>>,
    /// Whether the kept record is new or stored.
    pub side: Side,
    /// Why the record is removed.
    pub reason: Reason,
    /// The store that contains the kept record, if several stores are queried together.
    #[serde(skip)]
    pub other_store: StoreIndex,
    /// The name of `other_store` for lines and JSON; empty if the kept record is new, `None` if
    /// only one store is queried.
    #[serde(rename = "other_store", skip_serializing_if = "Option::is_none")]
    pub other_store_name: Option<&'a str>,
}

one_line_row!(RemovedRow<'_>, "removed", |row|
    fingerprint: U64 = Cell::Fingerprint(row.fingerprint),
    other: U64 = Cell::Fingerprint(row.other),
    distance: U32 = Cell::Distance(row.distance),
    // This cell is never absent, so that later columns keep their position.
    similarity: Double = row.similarity.map_or(Cell::Text(""), Cell::Similarity),
    id: Text = Cell::Id(row.id),
    other_id: Text = Cell::Id(row.other_id),
    side: Text = Cell::Text(if row.side == Side::New { "new" } else { "stored" }),
    reason: Text = Cell::Text(row.reason.name()),
    other_store: Text = row.other_store_name.map_or(Cell::Absent, Cell::Text),
);
