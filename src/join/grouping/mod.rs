//! Clusters, components and groups of near documents, and the documents of each that are kept.
//!
//! All are built from near pairs. This file defines a cluster: its members, representative, size
//! and diameter.

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

use std::cmp::Reverse;

use fpstore_base::{Fingerprint, Id};

/// Clusters of up to this many fingerprints get an exact diameter, for which each pair is compared.
const EXACT_DIAMETER_MAX: usize = 1 << 12;

/// A fingerprint of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClusterMember {
    /// The fingerprint.
    pub fingerprint: Fingerprint,
    /// Its distance from the representative in bits.
    pub distance: u32,
    /// Its ids in the order in which they were stored. A member without ids counts as one document.
    pub ids: Vec<Id>,
    /// The positions of these ids among all ids of the fingerprint, if other clusters have some of
    /// them.
    pub(in crate::join) places: Vec<u32>,
}

impl ClusterMember {
    /// The number of documents that have this fingerprint.
    pub fn document_count(&self) -> u64 {
        self.ids.len().max(1) as u64
    }

    pub(in crate::join) fn smallest_id(&self) -> Option<&Id> {
        self.ids.iter().min()
    }
}

/// Two or more documents that are near-duplicates.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cluster {
    /// Its number: 1, 2, 3 ... by ascending smallest fingerprint of its component, unless
    /// [`Clusters::keep_numbers`](crate::join::Clusters::keep_numbers) assigned another.
    pub number: u64,
    /// The number of its documents.
    pub size: u64,
    /// The largest distance between two of its members, or a lower bound of it.
    pub diameter: u32,
    /// Whether the diameter is exact; always for up to 4096 fingerprints.
    pub diameter_is_exact: bool,
    /// Its fingerprints: the representative, then the others by distance from it, then by
    /// fingerprint. The representative is near the most documents, ties by smallest id, then by
    /// smallest fingerprint; with [`ClusterMethod::Leader`](crate::join::ClusterMethod::Leader) it
    /// is the leader.
    pub members: Vec<ClusterMember>,
}

impl Cluster {
    /// The first member, which represents the cluster.
    pub fn representative(&self) -> &ClusterMember {
        &self.members[0]
    }
}

/// A cluster of these members. The first one is the representative.
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
    // Repeatedly moves to the farthest member. The number of varying bits is an upper bound.
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

/// Positions by descending degree, then smallest id, then fingerprint.
pub(in crate::join) fn by_degree(
    members: &[ClusterMember],
    degree: impl Fn(u32) -> u64,
) -> Vec<u32> {
    let mut order: Vec<u32> = (0..members.len() as u32).collect();
    order.sort_by_key(|&at| {
        let member = &members[at as usize];
        let id = member.smallest_id();
        (Reverse(degree(at)), id.is_none(), id)
    });
    order
}

/// The number of the cluster at position `count`, counted from 1; `numbers` are the numbers
/// assigned to the clusters in order.
pub(in crate::join) fn number_of(count: usize, numbers: Option<&[u64]>) -> u64 {
    match numbers {
        Some(numbers) => numbers.get(count - 1).copied().unwrap_or_default(),
        None => count as u64,
    }
}
