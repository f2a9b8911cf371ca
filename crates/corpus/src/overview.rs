//! A summary of the removed documents: the losses of files and sources, the reasons, and the
//! largest clusters.

use super::judgement::Judgement;
use super::loss::Loss;
use super::reasons::ReasonCounts;
use fpstore::rows::Side;
use fpstore_base::Id;

/// A summary of the removed documents.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Overview {
    /// The criterion for near-duplicates.
    pub judgement: Judgement,
    /// The number of documents removed for each reason.
    pub reasons: ReasonCounts,
    /// The loss of all files together; then the loss of each file, in order; then the loss of each
    /// source, sorted by name. Files that are a single document are not listed.
    pub losses: Vec<Loss>,
    /// The ten largest clusters of ten or more documents, the largest first.
    pub clusters: Vec<LargeCluster>,
}

/// A large cluster: a kept document with its near-duplicates.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LargeCluster {
    /// The number of documents of the cluster, the kept ones included.
    pub document_count: u64,
    /// The id of the kept document; a stored document may have no id.
    pub id: Option<Id>,
    /// Whether the kept document is new or stored.
    pub side: Side,
    /// The beginning of the text of one of the documents; `None` if it cannot be read again.
    pub line: Option<String>,
}
