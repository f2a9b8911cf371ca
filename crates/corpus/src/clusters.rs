//! The documents of a cluster: one that stays, and those that are near it and go, or stay beside it.

use std::collections::HashMap;
use std::hash::Hash;

use super::dropped::{Dropped, DroppedList, Other};
use super::ranking::Number;
use super::ranking::Ranking;
use fpstore_base::{Fingerprint, Id};

/// The document that others are near.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Leader<'a> {
    New(Number),
    Stored(Fingerprint, Option<&'a Id>),
}

impl<'a> Leader<'a> {
    /// That of a document that is dropped.
    pub(super) fn of(dropped: &'a Dropped) -> Self {
        match &dropped.other {
            Other::New(number) => Leader::New(*number),
            Other::Stored(id, _) => Leader::Stored(dropped.other_fingerprint, id.as_ref()),
        }
    }

    /// That of the cluster of a document that is dropped or spared: one that goes by its address may go
    /// for one that stays beside its leader.
    pub(super) fn of_cluster(dropped: &'a Dropped, spared: &'a DroppedList) -> Self {
        match &dropped.other {
            Other::New(number) => spared.get(*number).map_or(Leader::New(*number), Leader::of),
            Other::Stored(..) => Leader::of(dropped),
        }
    }
}

/// Takes documents out of the list of those that are dropped, so that up to `per_cluster` of each
/// cluster stay: after the leader those of the best ranks. Returns them. What is near a stored
/// document is dropped in any case: the store has it.
pub(super) fn spare(
    dropped: &mut Vec<Dropped>,
    per_cluster: u32,
    ranking: &Ranking,
) -> Vec<Dropped> {
    let mut left: HashMap<Number, u32> = HashMap::new();
    dropped.sort_unstable_by_key(|one| ranking.rank_of(one.number));
    let is_spared = |one: &mut Dropped| match one.other {
        Other::New(leader) => {
            let left = left.entry(leader).or_insert(per_cluster.saturating_sub(1));
            let is_spared = *left > 0;
            *left = left.saturating_sub(1);
            is_spared
        }
        Other::Stored(..) => false,
    };
    dropped.extract_if(.., is_spared).collect()
}

/// How many documents the clusters have.
pub(super) struct ClusterSizes<'a> {
    of_leaders: HashMap<Leader<'a>, u64>,
    spared: &'a DroppedList,
}

impl<'a> ClusterSizes<'a> {
    /// Counts those that are dropped and those that stay beside a leader.
    pub(super) fn new(dropped: &'a DroppedList, spared: &'a DroppedList) -> Self {
        let mut of_leaders = HashMap::new();
        for one in dropped.iter().chain(spared.iter()) {
            *of_leaders.entry(Leader::of_cluster(one, spared)).or_insert(1) += 1;
        }
        ClusterSizes { of_leaders, spared }
    }

    /// The documents of each cluster of two or more.
    pub(super) fn each(&self) -> impl Iterator<Item = u64> {
        self.of_leaders.values().copied()
    }

    /// The documents of the cluster of a document that stays; 1 if it is near no other one.
    pub(super) fn of_kept(&self, number: Number) -> u64 {
        let leader = self.spared.get(number).map_or(Leader::New(number), Leader::of);
        self.of_leaders.get(&leader).copied().unwrap_or(1)
    }

    /// The documents of the cluster of a document that is dropped.
    pub(super) fn of_dropped(&self, dropped: &'a Dropped) -> u64 {
        self.of_leaders.get(&Leader::of_cluster(dropped, self.spared)).copied().unwrap_or(1)
    }
}
