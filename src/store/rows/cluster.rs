//! The row of a cluster.

use fpstore_base::columns;
use fpstore_base::rows::{Cell, Column, Row};
use fpstore_base::{HexFingerprint, IdRef};
use serde::Serialize;

/// A cluster of similar documents. Printed as lines, it has one line for each document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClusterRow {
    /// The number of the cluster.
    pub cluster: u64,
    /// The number of documents in the cluster.
    pub size: u64,
    /// The greatest distance between two members, or a lower bound of it.
    pub diameter: u32,
    /// Whether [`diameter`](Self::diameter) is exact.
    pub diameter_is_exact: bool,
    /// The fingerprint that represents the cluster.
    pub representative: HexFingerprint,
    /// The fingerprints of the cluster, the representative first.
    pub members: Vec<ClusterMemberRow>,
}

/// Those documents of a cluster that have the same fingerprint.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClusterMemberRow {
    /// The fingerprint.
    pub fingerprint: HexFingerprint,
    /// The distance of the fingerprint from the representative.
    pub distance: u32,
    /// The Jaccard similarity to the representative, if it was computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
    /// The ids, with one entry for each document; empty for a fingerprint without ids. `None` is a
    /// document without an id; JSON omits it.
    #[serde(serialize_with = "known_ids")]
    pub ids: Vec<Option<String>>,
}

fn known_ids<S: serde::Serializer>(ids: &[Option<String>], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(ids.iter().flatten())
}

impl Row for ClusterRow {
    const TABLE: &'static str = "clusters";

    const COLUMNS: &'static [Column] = columns!(
        cluster: U64,
        size: U64,
        diameter: U32,
        diameter_is_exact: Bool,
        distance: U32,
        similarity: Double,
        fingerprint: U64,
        id: Text,
    );

    fn lines<E>(&self, mut each: impl FnMut(&[Cell<'_>]) -> Result<(), E>) -> Result<(), E> {
        for member in &self.members {
            let none = member.ids.is_empty().then_some(&None);
            for id in member.ids.iter().chain(none) {
                each(&[
                    Cell::Number(self.cluster),
                    Cell::Number(self.size),
                    Cell::Distance(self.diameter),
                    Cell::Exact(self.diameter_is_exact),
                    Cell::Distance(member.distance),
                    member.similarity.map_or(Cell::Absent, Cell::Similarity),
                    Cell::Fingerprint(member.fingerprint),
                    Cell::Id(id.as_deref().map(IdRef::Text)),
                ])?;
            }
        }
        Ok(())
    }
}
