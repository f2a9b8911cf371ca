//! Joins: all near pairs within a set or between two, and clusters, deduplication and batch queries
//! built on them.
//!
//! | to find | call |
//! |---|---|
//! | near pairs as they are found, in any order | [`near_pairs`], [`near_pairs_across`] |
//! | near pairs in order | [`sorted_pairs`], [`sorted_pairs_across`] |
//! | near pairs of documents, by their ids | [`document_pairs`] |
//! | groups of near documents, and which document of each to keep | [`clusters`] |
//! | which new documents are near stored ones or one another | [`dedup`] |
//! | the answers to very many queries | [`search_many`] |
//! | near pairs by many processes | [`JoinPlan`] |
//! | the components of their pairs | [`Components`] |
//! | which near documents are alike in their features, not only in their fingerprints | [`confirm`] |
//!
//! All take [`JoinOptions`] and keep within its memory: values that do not fit are read again, and
//! pairs that do not fit go to temporary files. A join can be divided into [`Shard`]s. The result
//! does not depend on memory, threads or shards.
//!
//! Inside, `blocking` chooses the bits on which near values must agree, `run` and `partition_pass`
//! gather the values that agree on them, and `finder` compares these through `hash_table`. A join
//! reads stores through their public interface and never changes one. A join that is divided follows
//! a `plan`: a `shard` of it reads a `range` of some tables, or joins groups that an engine made
//! (`plan_groups`).

mod blocking;
mod callback;
mod cluster;
mod clusters;
mod components;
pub mod confirm;
mod dedup;
mod disjoint_sets;
mod distinct;
mod document_pairs;
mod finder;
mod graph;
mod hash_table;
mod keep;
mod near_pairs;
mod numbering;
mod options;
mod partition_pass;
mod plan;
mod plan_groups;
mod plan_text;
mod query_batch;
mod range;
mod ranks;
mod run;
mod search_many;
mod shard;
mod sides;
mod skew;
mod sorted_pairs;
#[cfg(test)]
mod tests;
mod values;

pub use cluster::{Cluster, ClusterMember};
pub use clusters::{ClusterMethod, Clusters, clusters};
pub use components::Components;
pub use dedup::{Dedup, DroppedDocument, dedup};
pub use document_pairs::{DocumentPair, DocumentPairs, document_pairs};
pub use keep::{Fate, KeepRule};
pub use near_pairs::{Pair, near_pairs, near_pairs_across};
pub use options::{JoinInput, JoinOptions, Shard};
pub use plan::{JoinPlan, PlanReads};
pub use search_many::{BatchMode, search_many};
pub use sorted_pairs::{SortedPairs, sorted_pairs, sorted_pairs_across};
