//! Clusters, components and groups of near documents, and which of them to keep.
//!
//! All are made of near pairs.

pub(in crate::join) mod cluster;
pub(in crate::join) mod cluster_method;
pub(in crate::join) mod clusters;
pub(in crate::join) mod components;
pub(in crate::join) mod constrained_sets;
pub(in crate::join) mod dedup;
pub(in crate::join) mod disjoint_sets;
pub(in crate::join) mod graph;
pub(in crate::join) mod groups;
pub(in crate::join) mod judged;
pub(in crate::join) mod judged_clusters;
mod judged_nodes;
pub(in crate::join) mod keep;
pub(in crate::join) mod leader_pairs;
pub(in crate::join) mod leaders;
pub(in crate::join) mod numbering;
pub(in crate::join) mod reading;
pub(in crate::join) mod within;
