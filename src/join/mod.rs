//! Joins: find all near pairs within a set of fingerprints or between two sets. Clusters,
//! deduplication and batch queries are built on joins.
//!
//! | result | function |
//! |---|---|
//! | near pairs as they are found, in any order | [`near_pairs`], [`near_pairs_across`] |
//! | near pairs in order | [`sorted_pairs`], [`sorted_pairs_across`] |
//! | near pairs of documents, by their ids | [`document_pairs`] |
//! | a few pairs of every distance, for people to judge | [`sampled_pairs`] |
//! | clusters of near documents, and the document of each to keep | [`clusters`] |
//! | new documents that are near stored ones or one another | [`dedup`] |
//! | the answers to very many queries | [`search_many`], [`batch_count`], [`nearest_many`] |
//! | near pairs by many processes | [`JoinPlan`] |
//! | the connected components of near pairs | [`Components`] |
//! | the groups of many fingerprints in memory | [`Groups`] |
//! | near documents whose features are similar | [`confirm`] |
//!
//! All joins take [`JoinOptions`] and keep to their memory budget: values that do not fit into
//! memory are read again, and pairs that do not fit are written to temporary files. A join can be
//! divided into [`Share`]s. The result does not depend on memory, threads or shares.
//!
//! Internally, `engine::blocking` chooses the bits on which near values must agree,
//! `engine::partition_pass` gathers the values that agree on some of these bits, and
//! `engine::finder` compares these values with a hash table. A join reads stores through their
//! public interface and never changes one. A join that is divided over processes follows a plan
//! (module `shares`): each share reads a range of some tables, or joins groups that a data frame
//! engine made (`plan_groups`).
//!
//! Without the feature `write` there are only the functions that need neither temporary files nor
//! records: near pairs in any order, batches of queries, and plans.

#![cfg_attr(not(feature = "write"), allow(rustdoc::broken_intra_doc_links))]

mod batch;
#[cfg(feature = "write")]
pub mod confirm;
mod engine;
#[cfg(feature = "write")]
mod grouping;
mod options;
mod pairs;
mod shares;
#[cfg(all(test, feature = "write"))]
pub(crate) mod tests;

#[cfg(feature = "write")]
pub use crate::base::judged::JudgedPairs;
pub use batch::batch_mode::BatchMode;
pub use batch::{batch_count, nearest_many, search_many};
#[cfg(feature = "write")]
pub use fpstore_base::labels::{BadLabel, LabelFile};
#[cfg(feature = "write")]
pub use grouping::{
    Cluster, ClusterMember,
    cluster_method::ClusterMethod,
    clusters::{Clusters, clusters, judged_clusters},
    components::Components,
    dedup::{Dedup, DroppedDocument, dedup},
    disjoint_sets::DisjointSets,
    groups::Groups,
    judged::JudgedDocuments,
    keep::{Fate, KeepRule},
    numbering::EarlierClusters,
};
pub use options::{JoinInput, JoinOptions, Share};
#[cfg(feature = "write")]
pub use pairs::document_pairs::{DocumentPair, DocumentPairs, document_pairs};
#[cfg(feature = "write")]
pub(crate) use pairs::nearest_others::{for_each_nearest_other, searched_count};
#[cfg(feature = "write")]
pub use pairs::sampled_pairs::{JUDGED_DISTANCE, SampledPair, sampled_pairs};
#[cfg(feature = "write")]
pub use pairs::sorted_pairs::{SortedPairs, sorted_pairs, sorted_pairs_across};
pub use pairs::{Pair, near_pairs, near_pairs_across};
pub use shares::{JoinPlan, PlanReads};
