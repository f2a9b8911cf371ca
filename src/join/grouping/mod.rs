//! Clusters, components and groups of near documents, and the choice of the documents to keep.
//!
//! All three are built from near pairs. This file defines a cluster: its members, representative,
//! size and diameter.

pub(in crate::join) mod cluster_method;
pub(in crate::join) mod clusters;
pub(in crate::join) mod components;
pub(in crate::join) mod constrained_sets;
pub(in crate::join) mod dedup;
pub(in crate::join) mod disjoint_sets;
pub(in crate::join) mod graph;
pub(in crate::join) mod groups;
pub(in crate::join) mod judged;
mod judged_nodes;
pub(in crate::join) mod keep;
pub(in crate::join) mod leader_pairs;
pub(in crate::join) mod leaders;
pub(in crate::join) mod numbering;
pub(in crate::join) mod reading;
pub(in crate::join) mod within;

use std::cmp::Reverse;

use fpstore_base::{Fingerprint, Id};

/// Clusters of up to this many fingerprints get an exact diameter, for which each pair is compared.
const EXACT_DIAMETER_MAX: usize = 1 << 12;

/// A member of a cluster: a fingerprint with its documents.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClusterMember {
    /// The fingerprint.
    pub fingerprint: Fingerprint,
    /// The distance of the fingerprint from the representative, in bits.
    pub distance: u32,
    /// The ids of the fingerprint, in the order in which they were stored. A member without ids
    /// counts as one document.
    pub ids: Vec<Id>,
    /// The positions of these ids among all ids of the fingerprint; empty if all its ids are in
    /// this cluster.
    pub(in crate::join) places: Vec<u32>,
}

impl ClusterMember {
    /// The number of documents that have this fingerprint.
    pub fn document_count(&self) -> u64 {
        self.ids.len().max(1) as u64
    }
}

/// Two or more documents that are near-duplicates.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cluster {
    /// The number of the cluster. Clusters are numbered 1, 2, 3 ... in the order of the smallest
    /// fingerprint of their component;
    /// [`Clusters::keep_numbers`](crate::join::Clusters::keep_numbers) changes the numbers.
    pub number: u64,
    /// The number of documents in the cluster.
    pub size: u64,
    /// The largest distance between two members, or a lower bound of it.
    pub diameter: u32,
    /// Whether `diameter` is exact; it is always exact for up to 4096 fingerprints.
    pub diameter_is_exact: bool,
    /// The members: first the representative, then all others by distance from the representative,
    /// then by fingerprint. The representative is the member that is near the most documents, of
    /// ties the one with the smallest id, then with the smallest fingerprint; with
    /// [`ClusterMethod::Leader`](crate::join::ClusterMethod::Leader) it is the leader.
    pub members: Vec<ClusterMember>,
}

impl Cluster {
    /// The first member, which represents the cluster.
    pub fn representative(&self) -> &ClusterMember {
        &self.members[0]
    }
}

/// The cluster with these members, the representative first; its number is not set yet.
pub(in crate::join) fn cluster_of(mut members: Vec<ClusterMember>) -> Cluster {
    let center = members[0].fingerprint;
    for member in &mut members {
        member.distance = member.fingerprint.distance(center);
    }
    members[1..].sort_unstable_by_key(|member| (member.distance, member.fingerprint));
    let size = members.iter().map(ClusterMember::document_count).sum();
    let values: Vec<u64> = members.iter().map(|member| member.fingerprint.value()).collect();
    let (diameter, diameter_is_exact) = diameter(&values);
    Cluster { number: 0, size, diameter, diameter_is_exact, members }
}

/// The largest distance between two values, and whether it is exact.
pub(in crate::join) fn diameter(values: &[u64]) -> (u32, bool) {
    let farthest = |from: u64, others: &[u64]| {
        let distance = |other: u64| (other ^ from).count_ones();
        others.iter().map(|&other| (distance(other), other)).max().unwrap_or_default()
    };
    if values.len() <= EXACT_DIAMETER_MAX {
        let each = values.iter().enumerate();
        let most = each.map(|(at, &value)| farthest(value, &values[at + 1..]).0).max();
        return (most.unwrap_or(0), true);
    }
    // For a lower bound, repeatedly goes to the value that is farthest from the current one. The
    // bound is exact if it equals the number of varying bits, which is an upper bound.
    let mut from = values[0];
    let mut most = 0;
    for _ in 0..8 {
        let (distance, end) = farthest(from, values);
        most = most.max(distance);
        from = end;
    }
    let any = values.iter().fold(0, |any, value| any | (value ^ from));
    (most, most == any.count_ones())
}

/// The positions of the members, sorted by descending degree, then by smallest id, then by
/// fingerprint.
pub(in crate::join) fn by_degree(
    members: &[ClusterMember],
    degree: impl Fn(u32) -> u64,
) -> Vec<u32> {
    let mut order: Vec<u32> = (0..members.len() as u32).collect();
    order.sort_by_key(|&at| {
        let id = members[at as usize].ids.iter().min();
        (Reverse(degree(at)), id.is_none(), id)
    });
    order
}

/// The number of the cluster at position `count`, counted from 1. `numbers` are the numbers of all
/// clusters in order; `None` means 1, 2, 3 ...
pub(in crate::join) fn number_of(count: usize, numbers: Option<&[u64]>) -> u64 {
    match numbers {
        Some(numbers) => numbers.get(count - 1).copied().unwrap_or_default(),
        None => count as u64,
    }
}
