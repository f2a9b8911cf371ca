//! Selects the largest groups for a page, with bounded memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fpstore_base::{Fingerprint, Id};

use fpstore::join::SampledPair;
use fpstore::rows::ClusterRow;

/// The largest number of documents of a group that a page shows.
pub(super) const DOCUMENTS_MAX: usize = 200;
/// The approximate length in bytes of a document on the page, without its id and its text.
const DOCUMENT_LEN: u64 = 80;

/// A document of a group.
#[derive(Clone, Debug)]
pub(super) struct GroupDocument {
    /// The id of the document, if it has one.
    pub(super) id: Option<String>,
    pub(super) fingerprint: Fingerprint,
    /// The distance from the representative of the group, in bits.
    pub(super) distance: u32,
    /// The similarity to the representative of the group, if features were compared.
    pub(super) similarity: Option<f64>,
}

/// Facts about a group that the page shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupFacts {
    /// The unique number of the group.
    pub(super) number: u64,
    /// The number of documents in the group.
    pub(super) size: u64,
    /// The largest distance between two documents of the group, or a lower bound for it.
    pub(super) diameter: u32,
    pub(super) diameter_is_exact: bool,
}

/// A group with its first documents, the representative first.
#[derive(Debug)]
pub(super) struct ShownGroup {
    pub(super) facts: GroupFacts,
    pub(super) documents: Vec<GroupDocument>,
}

impl ShownGroup {
    fn len(&self) -> u64 {
        let lens = self.documents.iter().map(|it| it.id.as_ref().map_or(0, String::len) as u64);
        lens.map(|len| len + DOCUMENT_LEN).sum()
    }

    fn rank(&self) -> Rank {
        self.facts.rank()
    }
}

/// The rank of a group: its size, then its number reversed. The group with the greatest rank comes
/// first on the page.
type Rank = (u64, Reverse<u64>);

impl GroupFacts {
    fn rank(&self) -> Rank {
        (self.size, Reverse(self.number))
    }
}

/// A group that is ordered by its rank, for the heap.
#[derive(Debug)]
struct Ranked(ShownGroup);

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.0.rank() == other.0.rank()
    }
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.rank().cmp(&other.0.rank())
    }
}

/// Collects groups in any order, and keeps the largest groups that fit on a page.
#[derive(Debug)]
pub struct LargestGroups {
    /// The kept groups, in a heap with the smallest group on top.
    kept: BinaryHeap<Reverse<Ranked>>,
    len: u64,
    pub(super) len_max: u64,
    count_max: usize,
    /// The rank of the largest group that was not kept. Smaller groups are not kept either, even if
    /// they would fit, so that the page shows the largest groups without gaps.
    floor: Option<Rank>,
    /// The number of all groups that were taken, kept or not.
    pub(super) group_count: u64,
    pub(super) document_count: u64,
}

impl LargestGroups {
    /// Keeps as many groups as fit on a page of `len_max` bytes, texts not counted.
    pub fn within(len_max: u64) -> Self {
        LargestGroups {
            kept: BinaryHeap::new(),
            len: 0,
            len_max,
            count_max: usize::MAX,
            floor: None,
            group_count: 0,
            document_count: 0,
        }
    }

    /// Keeps at most `count` groups.
    #[must_use]
    pub fn at_most(mut self, count: usize) -> Self {
        self.count_max = count;
        self
    }

    /// Takes a cluster.
    pub fn take_cluster(&mut self, cluster: &ClusterRow) {
        let ClusterRow { cluster: number, size, diameter, diameter_is_exact, members, .. } =
            cluster;
        let facts = GroupFacts {
            number: *number,
            size: *size,
            diameter: *diameter,
            diameter_is_exact: *diameter_is_exact,
        };
        let documents = members.iter().flat_map(|member| {
            let none = member.ids.is_empty().then_some(&None);
            member.ids.iter().chain(none).map(|id| GroupDocument {
                id: id.clone(),
                fingerprint: member.fingerprint.fingerprint,
                distance: member.distance,
                similarity: member.similarity,
            })
        });
        self.take(facts, documents);
    }

    /// Takes each pair to judge as a group. Pairs with a tab in an id are left out, because tabs
    /// separate the ids in a file of labels.
    pub fn take_pairs(&mut self, pairs: &[SampledPair]) {
        let can_be_named = |pair: &&SampledPair| {
            ![&pair.first_id, &pair.second_id].iter().any(|id| id.to_string().contains('\t'))
        };
        for (number, pair) in (1..).zip(pairs.iter().filter(can_be_named)) {
            let diameter = pair.pair.distance();
            let facts = GroupFacts { number, size: 2, diameter, diameter_is_exact: true };
            let document = |id: &Id, fingerprint, distance| GroupDocument {
                id: Some(id.to_string()),
                fingerprint,
                distance,
                similarity: None,
            };
            let first = document(&pair.first_id, pair.pair.first, 0);
            self.take(facts, [first, document(&pair.second_id, pair.pair.second, diameter)]);
        }
    }

    /// Takes a group and its documents, the representative first. At most [`DOCUMENTS_MAX`]
    /// documents are kept.
    fn take(&mut self, facts: GroupFacts, documents: impl IntoIterator<Item = GroupDocument>) {
        self.group_count += 1;
        self.document_count += facts.size;
        if Some(facts.rank()) < self.floor {
            return;
        }
        let documents = documents.into_iter().take(DOCUMENTS_MAX).collect();
        let shown = ShownGroup { facts, documents };
        self.len += shown.len();
        self.kept.push(Reverse(Ranked(shown)));
        while self.len > self.len_max || self.kept.len() > self.count_max {
            let Some(Reverse(Ranked(left))) = self.kept.pop() else { return };
            self.len -= left.len();
            self.floor = self.floor.max(Some(left.rank()));
        }
    }

    /// The kept groups, the largest first; groups of the same size in ascending order of their
    /// number.
    pub(super) fn into_list(self) -> Vec<ShownGroup> {
        let mut list: Vec<Ranked> = self.kept.into_iter().map(|Reverse(group)| group).collect();
        list.sort_by(|one, other| other.cmp(one));
        list.into_iter().map(|Ranked(group)| group).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(largest: &mut LargestGroups, number: u64, size: u64) {
        let facts = GroupFacts { number, size, diameter: 0, diameter_is_exact: true };
        let documents = (0..size).map(|id| GroupDocument {
            id: Some(id.to_string()),
            fingerprint: Fingerprint::new(number),
            distance: 0,
            similarity: None,
        });
        largest.take(facts, documents);
    }

    #[test]
    fn the_largest_are_kept_without_gaps_in_any_order() {
        let sizes = [2, 7, 3, 3, 9, 2, 4, 2, 3, 8, 300];
        let mut all: Vec<(u64, u64)> = (1..).zip(sizes).collect();
        for turn in 0..all.len() {
            all.rotate_left(turn);
            for len_max in [0, 300, 1000, 3000, 20_000, 1 << 20] {
                let mut largest = LargestGroups::within(len_max);
                all.iter().for_each(|&(number, size)| take(&mut largest, number, size));
                assert_eq!(largest.group_count, 11);
                assert_eq!(largest.document_count, sizes.iter().sum::<u64>());
                let mut expected = all.clone();
                expected.sort_by_key(|&(number, size)| (Reverse(size), number));
                let kept = largest.into_list();
                let facts = kept.iter().map(|group| group.facts);
                let kept: Vec<_> = facts.map(|group| (group.number, group.size)).collect();
                assert_eq!(kept, expected[..kept.len()], "{len_max}");
                assert!(len_max < 1 << 20 || kept.len() == 11);
            }
        }
    }

    #[test]
    fn no_more_groups_are_kept_than_were_asked_for() {
        let mut largest = LargestGroups::within(1 << 20).at_most(2);
        (1..=5).for_each(|number| take(&mut largest, number, 2 + number % 3));
        let numbers = |list: Vec<ShownGroup>| list.iter().map(|it| it.facts.number).collect();
        assert_eq!((largest.group_count, largest.document_count), (5, 16));
        let kept: Vec<u64> = numbers(largest.into_list());
        assert_eq!(kept, [2, 5]);
    }

    #[test]
    fn a_large_group_is_shown_in_part() {
        let mut largest = LargestGroups::within(1 << 20);
        take(&mut largest, 1, 1000);
        let list = largest.into_list();
        assert_eq!((list[0].facts.size, list[0].documents.len()), (1000, DOCUMENTS_MAX));
    }
}
