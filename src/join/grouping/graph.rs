//! The graph of near pairs inside one connected component.

use super::ClusterMember;
use crate::base::error::Result;
use crate::join::engine::finder::{PairFinder, ValuePair};
use crate::join::engine::sides::SidesMut;
use fpstore_base::watch::Watch;

/// Lists of neighbours are kept for up to this many pairs for each member. A graph with more pairs
/// has few stars, so the neighbours of their centres are found by comparing each centre with all
/// members.
const PAIRS_PER_MEMBER: u64 = 32;

/// The graph: its nodes are the members of a component, its edges the near pairs.
pub(in crate::join) struct NearGraph<'a> {
    members: &'a [ClusterMember],
    k: u32,
    /// For each member, the number of documents near it, including its own documents.
    pub(in crate::join) degrees: Vec<u64>,
    /// The neighbours of each member; `None` if there are too many pairs.
    lists: Option<NeighbourLists>,
}

/// The neighbours of all members in one array, and the end of the neighbours of each member.
struct NeighbourLists {
    ends: Vec<usize>,
    neighbours: Vec<u32>,
}

impl<'a> NearGraph<'a> {
    /// Finds the near pairs of the members. The watch can interrupt the search.
    pub(in crate::join) fn new(
        members: &'a [ClusterMember],
        k: u32,
        watch: &Watch,
    ) -> Result<Self> {
        let values: Vec<u64> = members.iter().map(|member| member.fingerprint.value()).collect();
        let position = |value: u64| values.partition_point(|other| *other < value);
        let mut degrees: Vec<u64> = members.iter().map(ClusterMember::document_count).collect();
        let weights = degrees.clone();
        let mut counts = vec![0_usize; members.len()];
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        let mut pair_count = 0;
        let pairs_max = 1024 + PAIRS_PER_MEMBER * members.len() as u64;
        let mut emit = |found: &mut Vec<ValuePair>| {
            watch.look()?;
            pair_count += found.len() as u64;
            for (one, other) in found.drain(..) {
                let (one, other) = (position(one), position(other));
                degrees[one] += weights[other];
                degrees[other] += weights[one];
                counts[one] += 1;
                counts[other] += 1;
                if pair_count <= pairs_max {
                    pairs.push((one as u32, other as u32));
                }
            }
            Ok(())
        };
        let mut own = values.clone();
        PairFinder::new(k).find(SidesMut::Within(&mut own), &mut emit)?;
        drop(own);
        if pair_count > pairs_max {
            return Ok(NearGraph { members, k, degrees, lists: None });
        }
        let mut next = 0;
        for count in &mut counts {
            next += std::mem::replace(count, next);
        }
        let mut neighbours = vec![0; next];
        for (one, other) in pairs {
            for (from, to) in [(one, other), (other, one)] {
                neighbours[counts[from as usize]] = to;
                counts[from as usize] += 1;
            }
        }
        let lists = NeighbourLists { ends: counts, neighbours };
        Ok(NearGraph { members, k, degrees, lists: Some(lists) })
    }

    /// Calls `each` with the position of each neighbour of the member at `center`.
    pub(in crate::join) fn for_each_neighbour(&self, center: u32, mut each: impl FnMut(u32)) {
        match &self.lists {
            Some(NeighbourLists { ends, neighbours }) => {
                let start = center.checked_sub(1).map_or(0, |before| ends[before as usize]);
                neighbours[start..ends[center as usize]].iter().for_each(|&near| each(near));
            }
            None => {
                let fingerprint = self.members[center as usize].fingerprint;
                for (at, member) in (0..).zip(self.members) {
                    if at != center && member.fingerprint.distance(fingerprint) <= self.k {
                        each(at);
                    }
                }
            }
        }
    }
}
