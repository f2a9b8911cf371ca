//! Many at once: all near pairs within a set or between two.

mod batch;
mod chains;
mod cluster;
mod components;
mod crowd;
mod dedup;
mod documents;
mod graph;
mod keep;
mod members;
mod near;
mod options;
mod pair;
mod round;
mod run;
mod sorted;
mod source;
mod split;
#[cfg(test)]
mod tests;

pub use batch::{BatchMode, search_many};
pub use cluster::{ClusterMethod, Clusters, clusters};
pub use dedup::{Dedup, dedup};
pub use documents::{DocumentPair, DocumentPairs, document_pairs};
pub use keep::{Fate, KeepRule};
pub use members::{Cluster, ClusterMember};
pub use options::{JoinInput, JoinOptions, Share};
pub use pair::{Pair, near_pairs, near_pairs_across};
pub use sorted::{SortedPairs, sorted_pairs, sorted_pairs_across};
