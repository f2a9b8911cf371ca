//! The rows of pairs: two near records, and a removed record with the one that stays.

use fpstore_base::{HexFingerprint, IdRef};
use serde::Serialize;

use super::row::{Cell, Column, Kind, Row};
use crate::base::section::StoreIndex;

/// Two near records.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairRow<'a> {
    /// The smaller fingerprint.
    pub first: HexFingerprint,
    /// The other one.
    pub second: HexFingerprint,
    /// The bits in which the fingerprints differ.
    pub distance: u32,
    /// The Jaccard similarity of the documents, if it was compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
    /// The id of the record with the smaller fingerprint.
    pub first_id: Option<IdRef<'a>>,
    /// The id of the other record.
    pub second_id: Option<IdRef<'a>>,
}

impl Row for PairRow<'_> {
    const TABLE: &'static str = "pairs";

    const COLUMNS: &'static [Column] = &[
        Column::new("first", Kind::U64),
        Column::new("second", Kind::U64),
        Column::new("distance", Kind::U32),
        Column::new("similarity", Kind::Double),
        Column::new("first_id", Kind::Text),
        Column::new("second_id", Kind::Text),
    ];

    fn lines<E>(&self, mut each: impl FnMut(&[Cell<'_>]) -> Result<(), E>) -> Result<(), E> {
        each(&[
            Cell::Fingerprint(self.first),
            Cell::Fingerprint(self.second),
            Cell::Distance(self.distance),
            self.similarity.map_or(Cell::Absent, Cell::Similarity),
            Cell::Id(self.first_id),
            Cell::Id(self.second_id),
        ])
    }
}

/// Two near records, where several stores are asked as one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairInStoresRow<'a> {
    /// The records.
    #[serde(flatten)]
    pub pair: PairRow<'a>,
    /// The store of the record with the smaller fingerprint.
    pub first_store: &'a str,
    /// The store of the other record.
    pub second_store: &'a str,
}

impl Row for PairInStoresRow<'_> {
    const TABLE: &'static str = PairRow::TABLE;

    const COLUMNS: &'static [Column] = &[
        Column::new("first", Kind::U64),
        Column::new("second", Kind::U64),
        Column::new("distance", Kind::U32),
        Column::new("similarity", Kind::Double),
        Column::new("first_store", Kind::Text),
        Column::new("second_store", Kind::Text),
        Column::new("first_id", Kind::Text),
        Column::new("second_id", Kind::Text),
    ];

    fn lines<E>(&self, mut each: impl FnMut(&[Cell<'_>]) -> Result<(), E>) -> Result<(), E> {
        let stores = [Cell::Text(self.first_store), Cell::Text(self.second_store)];
        // Ids stay the last, where a text may have tabs.
        self.pair.lines(|cells| {
            let (before, ids) = cells.split_at(cells.len() - 2);
            each(&[before, &stores, ids].concat())
        })
    }
}

/// Where the record lies that stays in place of a removed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Among the new records.
    New,
    /// In the store.
    Stored,
}

/// Why a record is removed: the first of these that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// People have judged that the two are one.
    Judged,
    /// A better document has its address.
    Address,
    /// The text of the record that stays is the same bytes.
    Bytes,
    /// The text of the record that stays is the same tokens, as the recipe makes them.
    Text,
    /// Their fingerprints are near.
    Near,
    /// Their fingerprints are near, and their features are as similar as was asked.
    Confirmed,
}

impl Reason {
    /// Its name in a table.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Judged => "judged",
            Reason::Address => "address",
            Reason::Bytes => "bytes",
            Reason::Text => "text",
            Reason::Near => "near",
            Reason::Confirmed => "confirmed",
        }
    }
}

/// A removed record, and the near one that stays.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RemovedRow<'a> {
    /// The fingerprint of the removed record.
    pub fingerprint: HexFingerprint,
    /// The fingerprint of the record that stays.
    pub other: HexFingerprint,
    /// The bits in which the fingerprints differ.
    pub distance: u32,
    /// The Jaccard similarity of the documents, if it was compared.
    pub similarity: Option<f64>,
    /// The id of the removed record.
    pub id: Option<IdRef<'a>>,
    /// The id of the record that stays.
    pub other_id: Option<IdRef<'a>>,
    /// Where the record that stays lies.
    pub side: Side,
    /// Why it is removed.
    pub reason: Reason,
    /// The store of a stored record that stays, where several are asked as one. Lines and JSON name it
    /// by [`RemovedInStoresRow`].
    #[serde(skip)]
    pub other_store: StoreIndex,
}

impl Row for RemovedRow<'_> {
    const TABLE: &'static str = "removed";

    const COLUMNS: &'static [Column] = &[
        Column::new("fingerprint", Kind::U64),
        Column::new("other", Kind::U64),
        Column::new("distance", Kind::U32),
        Column::new("similarity", Kind::Double),
        Column::new("id", Kind::Text),
        Column::new("other_id", Kind::Text),
        Column::new("side", Kind::Text),
        Column::new("reason", Kind::Text),
    ];

    fn lines<E>(&self, mut each: impl FnMut(&[Cell<'_>]) -> Result<(), E>) -> Result<(), E> {
        each(&[
            Cell::Fingerprint(self.fingerprint),
            Cell::Fingerprint(self.other),
            Cell::Distance(self.distance),
            // The column is there in any case, so that later ones keep their place.
            self.similarity.map_or(Cell::Text(""), Cell::Similarity),
            Cell::Id(self.id),
            Cell::Id(self.other_id),
            Cell::Text(if self.side == Side::New { "new" } else { "stored" }),
            Cell::Text(self.reason.name()),
        ])
    }
}

/// A removed record, and the near one that stays, where several stores are asked as one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RemovedInStoresRow<'a> {
    /// The records.
    #[serde(flatten)]
    pub removed: RemovedRow<'a>,
    /// The store of the record that stays; `None` for a new one.
    pub other_store: Option<&'a str>,
}

impl Row for RemovedInStoresRow<'_> {
    const TABLE: &'static str = RemovedRow::TABLE;

    const COLUMNS: &'static [Column] = &[
        Column::new("fingerprint", Kind::U64),
        Column::new("other", Kind::U64),
        Column::new("distance", Kind::U32),
        Column::new("similarity", Kind::Double),
        Column::new("id", Kind::Text),
        Column::new("other_id", Kind::Text),
        Column::new("side", Kind::Text),
        Column::new("reason", Kind::Text),
        Column::new("other_store", Kind::Text),
    ];

    fn lines<E>(&self, mut each: impl FnMut(&[Cell<'_>]) -> Result<(), E>) -> Result<(), E> {
        let store = [Cell::Text(self.other_store.unwrap_or_default())];
        self.removed.lines(|cells| each(&[cells, &store].concat()))
    }
}
