//! One cluster: its members, its representative, its size and diameter.

use std::cmp::Reverse;

use crate::fingerprint::Fingerprint;
use crate::id::Id;

/// Clusters of at most so many fingerprints get their exact diameter; it takes a look at each pair.
const EXACT_COUNT: usize = 1 << 12;
/// A fingerprint of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClusterMember {
    /// The fingerprint.
    pub fingerprint: Fingerprint,
    /// Its distance from the representative in bits.
    pub distance: u32,
    /// Its ids in the order they were stored in; without any it counts as one document.
    pub ids: Vec<Id>,
}

impl ClusterMember {
    /// How many documents it stands for.
    pub fn document_count(&self) -> u64 {
        self.ids.len().max(1) as u64
    }

    pub(super) fn smallest_id(&self) -> Option<&Id> {
        self.ids.iter().min()
    }
}

/// Two or more documents that are near-duplicates.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cluster {
    /// Its number, from 1 on by ascending smallest fingerprint of its component, unless
    /// [`Clusters::keep_numbers`](crate::Clusters::keep_numbers) gave it another.
    pub number: u64,
    /// How many documents it has.
    pub size: u64,
    /// The largest distance between two of its members, or a lower bound of that.
    pub diameter: u32,
    /// Whether the diameter is exact: always up to 4096 fingerprints.
    pub diameter_is_exact: bool,
    /// Its fingerprints: the representative, then the others by distance from it, then fingerprint. The representative
    /// is near the most documents, or the leader; among equals it has the smallest id, then is the smallest.
    pub members: Vec<ClusterMember>,
}

impl Cluster {
    /// The member that stands for all.
    pub fn representative(&self) -> &ClusterMember {
        &self.members[0]
    }
}

/// A cluster of these members, the first of which is the representative.
pub(super) fn cluster_of(mut members: Vec<ClusterMember>) -> Cluster {
    let center = members[0].fingerprint;
    for member in &mut members {
        member.distance = member.fingerprint.distance(center);
    }
    members[1..].sort_unstable_by_key(|member| (member.distance, member.fingerprint));
    let size = members.iter().map(ClusterMember::document_count).sum();
    let (diameter, diameter_is_exact) = diameter(&members);
    Cluster { number: 0, size, diameter, diameter_is_exact, members }
}

/// The largest distance between two members, and whether that is sure.
fn diameter(members: &[ClusterMember]) -> (u32, bool) {
    let value = |member: &ClusterMember| member.fingerprint.value();
    let farthest = |from: u64, others: &[ClusterMember]| {
        let distance = |other: &ClusterMember| (value(other) ^ from).count_ones();
        others.iter().map(|other| (distance(other), value(other))).max().unwrap_or_default()
    };
    if members.len() <= EXACT_COUNT {
        let each = members.iter().enumerate();
        let most = each.map(|(at, member)| farthest(value(member), &members[at + 1..]).0).max();
        return (most.unwrap_or(0), true);
    }
    // From one end to the other, a few times over; the bits that vary bound it from above.
    let mut from = value(&members[0]);
    let mut most = 0;
    for _ in 0..8 {
        let (distance, end) = farthest(from, members);
        most = most.max(distance);
        from = end;
    }
    let any = members.iter().fold(0, |any, member| any | (value(member) ^ from));
    (most, most == any.count_ones())
}

/// Positions by descending connection, then smallest id, then fingerprint.
pub(super) fn by_connection(
    members: &[ClusterMember],
    connections: impl Fn(u32) -> u64,
) -> Vec<u32> {
    let mut order: Vec<u32> = (0..members.len() as u32).collect();
    order.sort_by_key(|&at| {
        let member = &members[at as usize];
        let id = member.smallest_id();
        (Reverse(connections(at)), id.is_none(), id)
    });
    order
}
