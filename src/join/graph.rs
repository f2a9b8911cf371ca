//! Who is near whom within a component.

use super::members::ClusterMember;
use super::near::{Finder, Group, RawPair};
use crate::error::Result;

/// Near pairs for each member that are held; of more there are few stars, which are found by looking at all.
const PAIRS_PER_MEMBER: u64 = 32;

/// Who is near whom in a component.
pub(super) struct Near<'a> {
    members: &'a [ClusterMember],
    k: u32,
    /// How many documents are near each member, its own among them.
    pub(super) connections: Vec<u64>,
    /// The near ones of each, unless they are too many to be held.
    lists: Option<(Vec<usize>, Vec<u32>)>,
}

impl<'a> Near<'a> {
    pub(super) fn new(members: &'a [ClusterMember], k: u32) -> Result<Self> {
        let values: Vec<u64> = members.iter().map(|member| member.fingerprint.value()).collect();
        let position = |value: u64| values.partition_point(|other| *other < value);
        let mut connections: Vec<u64> = members.iter().map(ClusterMember::document_count).collect();
        let weights = connections.clone();
        let mut counts = vec![0_usize; members.len()];
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        let mut pair_count = 0;
        let pairs_max = 1024 + PAIRS_PER_MEMBER * members.len() as u64;
        let mut take = |found: &mut Vec<RawPair>| {
            pair_count += found.len() as u64;
            for (one, other) in found.drain(..) {
                let (one, other) = (position(one), position(other));
                connections[one] += weights[other];
                connections[other] += weights[one];
                counts[one] += 1;
                counts[other] += 1;
                if pair_count <= pairs_max {
                    pairs.push((one as u32, other as u32));
                }
            }
            Ok(())
        };
        let mut own = values.clone();
        Finder::new(k).find(Group::Within(&mut own), &mut take)?;
        drop(own);
        if pair_count > pairs_max {
            return Ok(Near { members, k, connections, lists: None });
        }
        let mut next = 0;
        for count in &mut counts {
            next += std::mem::replace(count, next);
        }
        let mut lists = vec![0; next];
        for (one, other) in pairs {
            for (from, to) in [(one, other), (other, one)] {
                lists[counts[from as usize]] = to;
                counts[from as usize] += 1;
            }
        }
        Ok(Near { members, k, connections, lists: Some((counts, lists)) })
    }

    /// All that are near the one at a position.
    pub(super) fn of(&self, center: u32, mut each: impl FnMut(u32)) {
        match &self.lists {
            Some((ends, lists)) => {
                let start = center.checked_sub(1).map_or(0, |before| ends[before as usize]);
                lists[start..ends[center as usize]].iter().for_each(|&near| each(near));
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
