//! The row of a query: its matches, and what is known of the answer.

use fpstore_base::{HexFingerprint, IdRef};
use serde::{Deserialize, Serialize};

use super::explained::Explained;
use super::row::{Cell, Column, Kind, Row};

/// The answer to one query. It has a line for each match and id.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct AnswerRow {
    /// The id of the record that asked, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The fingerprint that was searched for.
    pub query: HexFingerprint,
    /// The matches, nearest first, ties by ascending fingerprint.
    pub matches: Vec<MatchRow>,
    /// Whether there are more matches or ids, or may be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Which limit cut the answer of a server: `limit`, `ids` or `deadline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_by: Option<String>,
    /// The generation of the store of a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// How the query was answered, if that was asked.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub explain: Option<Explained>,
}

/// A stored fingerprint near that of a query.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct MatchRow {
    /// The fingerprint.
    pub fingerprint: HexFingerprint,
    /// The bits in which it differs from the query.
    pub distance: u32,
    /// The Jaccard similarity of each id, if it was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarities: Option<Vec<f64>>,
    /// The store that holds it, where several are asked as one. A fingerprint that two of them hold is
    /// a match in each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// The label of each id, or of each segment where there are no ids, if labels are wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
    /// The ids; empty for a fingerprint without, `None` if they are not wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<String>>,
    /// The number of all ids, where a server left some out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_count: Option<u64>,
}

impl Row for AnswerRow {
    const TABLE: &'static str = "matches";

    const COLUMNS: &'static [Column] = &[
        Column::new("query_id", Kind::Text),
        Column::new("query", Kind::U64),
        Column::new("fingerprint", Kind::U64),
        Column::new("distance", Kind::U32),
        Column::new("similarity", Kind::Double),
        Column::new("store", Kind::Text),
        Column::new("label", Kind::Text),
        Column::new("id", Kind::Text),
    ];

    fn lines<E>(&self, mut each: impl FnMut(&[Cell<'_>]) -> Result<(), E>) -> Result<(), E> {
        for found in &self.matches {
            let ids = found.ids.as_deref().unwrap_or_default();
            let similarities = found.similarities.as_deref();
            let labels = found.labels.as_deref();
            // A fingerprint without ids has a line for each label, or one.
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
