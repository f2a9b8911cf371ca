//! Clusters: a kept document with its near-duplicates, which are dropped or spared (kept, too).

use std::collections::HashMap;
use std::hash::Hash;

use super::dropped::{Dropped, DroppedList, KeptDocument};
use super::number::Number;
use super::ranking::Ranking;
use fpstore_base::{Fingerprint, Id};

/// The leader of a cluster: the document of which all others of the cluster are near-duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Leader<'a> {
    New(Number),
    Stored(Fingerprint, Option<&'a Id>),
}

impl<'a> Leader<'a> {
    /// The document because of which `dropped` was dropped.
    pub(super) fn of(dropped: &'a Dropped) -> Self {
        match &dropped.other {
            KeptDocument::New(number) => Leader::New(*number),
            KeptDocument::Stored(id, _) => Leader::Stored(dropped.other_fingerprint, id.as_ref()),
        }
    }

    /// The leader of the cluster of a dropped or spared document. If it was dropped because of a
    /// spared document (with the same address), this is the leader of the spared document.
    pub(super) fn of_cluster(dropped: &'a Dropped, spared: &'a DroppedList) -> Self {
        match &dropped.other {
            KeptDocument::New(number) => {
                spared.get(*number).map_or(Leader::New(*number), Leader::of)
            }
            KeptDocument::Stored(..) => Leader::of(dropped),
        }
    }
}

/// Removes documents from `dropped` and returns them, so that up to `per_cluster` documents of each
/// cluster are kept: the leader, then the documents with the best ranks. Documents near a stored
/// one remain dropped, because the store already contains one document of their cluster.
pub(super) fn spare(
    dropped: &mut Vec<Dropped>,
    per_cluster: u32,
    ranking: &Ranking,
) -> Vec<Dropped> {
    let mut left: HashMap<Number, u32> = HashMap::new();
    dropped.sort_unstable_by_key(|one| ranking.rank_of(one.number));
    let is_spared = |one: &mut Dropped| match one.other {
        KeptDocument::New(leader) => {
            let left = left.entry(leader).or_insert(per_cluster.saturating_sub(1));
            let is_spared = *left > 0;
            *left = left.saturating_sub(1);
            is_spared
        }
        KeptDocument::Stored(..) => false,
    };
    dropped.extract_if(.., is_spared).collect()
}

/// The number of documents of each cluster.
pub(super) struct ClusterSizes<'a> {
    of_leaders: HashMap<Leader<'a>, u64>,
    spared: &'a DroppedList,
}

impl<'a> ClusterSizes<'a> {
    /// Counts the dropped and the spared documents of each cluster.
    pub(super) fn new(dropped: &'a DroppedList, spared: &'a DroppedList) -> Self {
        let mut of_leaders = HashMap::new();
        for one in dropped.iter().chain(spared.iter()) {
            *of_leaders.entry(Leader::of_cluster(one, spared)).or_insert(1) += 1;
        }
        ClusterSizes { of_leaders, spared }
    }

    /// The sizes of all clusters of two or more documents.
    pub(super) fn each(&self) -> impl Iterator<Item = u64> {
        self.of_leaders.values().copied()
    }

    /// The size of the cluster of a kept document; 1 if no other document is near it.
    pub(super) fn of_kept(&self, number: Number) -> u64 {
        let leader = self.spared.get(number).map_or(Leader::New(number), Leader::of);
        self.of_leaders.get(&leader).copied().unwrap_or(1)
    }

    /// The size of the cluster of a dropped document.
    pub(super) fn of_dropped(&self, dropped: &'a Dropped) -> u64 {
        self.of_leaders.get(&Leader::of_cluster(dropped, self.spared)).copied().unwrap_or(1)
    }
}
