//! What a cleaning removes, at a glance: the losses of files and sources, and the largest clusters.

use super::judgement::Judgement;
use super::loss::Loss;
use super::reasons::ReasonCounts;
use fpstore::rows::Side;
use fpstore_base::Id;

/// What a cleaning removes, at a glance.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Overview {
    /// By what documents are taken as near.
    pub judgement: Judgement,
    /// How many documents are removed by each reason.
    pub reasons: ReasonCounts,
    /// What all files lose together; then each file, in order; then each source, by its name. Files
    /// that are one document each are not listed.
    pub losses: Vec<Loss>,
    /// The ten largest clusters of ten or more documents, the largest first.
    pub clusters: Vec<LargeCluster>,
}

/// A document that stays, with those that are near it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LargeCluster {
    /// The documents of the cluster, with those that stay.
    pub document_count: u64,
    /// The id of the document that stays; a stored one may have none.
    pub id: Option<Id>,
    /// Where this document lies.
    pub side: Side,
    /// The beginning of the text of one of the documents; `None` if it cannot be read again.
    pub line: Option<String>,
}
