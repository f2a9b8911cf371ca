//! Which of new fingerprints go by which: the groups that near pairs connect, and their leaders.

use std::sync::{Mutex, PoisonError};

use super::disjoint_sets::{DisjointSets, PositionIndex};
use super::leaders::{Near, lead};
use super::reading::{JoinMemory, ReadValues};
use crate::base::error::Result;
use crate::join::engine::one_join::Join;
use crate::join::engine::values::JoinValues;
use crate::join::options::JoinOptions;
use crate::join::pairs::document_pairs::DocumentLookup;
use crate::store::Store;
use fpstore_base::watch::Phase;
use fpstore_base::{Fingerprint, Id};

/// Groups with fewer fingerprints are led by one thread.
const GROUP_MIN: usize = if cfg!(test) { 16 } else { 1 << 12 };

/// The leader of each fingerprint. Fingerprints are named by their positions in ascending order.
#[derive(Debug)]
pub(in crate::join) struct Within {
    leader_of: Vec<u32>,
    /// Those of which a document is dropped, by leader, then distance from it, then fingerprint.
    listed: Vec<u32>,
}

impl Within {
    /// Finds the leaders among fingerprints of the store `new`: in the order of smallest ids, each one
    /// that is near no leader. Takes 16 bytes of memory for each fingerprint, beside the join.
    pub(in crate::join) fn among(
        new: &Store,
        options: &JoinOptions,
        JoinMemory(memory): JoinMemory,
        ReadValues { values, copied }: &ReadValues,
    ) -> Result<Self> {
        let threads = memory.threads.max(1);
        let positions = PositionIndex::new(values);
        let sets = Mutex::new(DisjointSets::new(values.len() as u32));
        let sets_of = || sets.lock().unwrap_or_else(PoisonError::into_inner);
        let connect = |group: &[u64]| {
            let mut sets = sets_of();
            let mut positions = group.iter().map(|&value| positions.of(values, value));
            let Some(first) = positions.next() else { return Ok(()) };
            positions.for_each(|position| sets.union(first, position));
            Ok(())
        };
        let side = JoinValues::owned(values.clone());
        Join::new(vec![side], options, memory).connecting(&connect).run(&mut |found| {
            let mut sets = sets_of();
            for (one, other) in found.drain(..) {
                sets.union(positions.of(values, one), positions.of(values, other));
            }
            Ok(())
        })?;
        let members = sets.into_inner().unwrap_or_else(PoisonError::into_inner).members(&[]);
        drop(positions);
        let watch = options.watch(Phase::Cluster, Some(members.len() as u64));
        let mut leader_of: Vec<u32> = (0..values.len() as u32).collect();
        let mut lookup = DocumentLookup::new(new);
        let mut judges: Vec<Near> = std::iter::repeat_with(|| Near).take(threads).collect();
        for group in members.chunk_by(|a, b| a.0 == b.0) {
            let mut order: Vec<(bool, Option<Id>, u32)> = Vec::with_capacity(group.len());
            for &(_, at) in group {
                watch.look()?;
                lookup.look_up(Fingerprint::new(values[at as usize]))?;
                let id =
                    lookup.found.iter().filter_map(|document| document.id.as_ref()).min().cloned();
                // Documents without ids come last, in the order of their fingerprints.
                order.push((id.is_none(), id, at));
            }
            order.sort_unstable();
            let own: Vec<u64> = order.iter().map(|member| values[member.2 as usize]).collect();
            let judges = if own.len() < GROUP_MIN { &mut judges[..1] } else { &mut judges };
            let led = lead(&own, options.k, judges, &watch)?;
            for (member, (leader, ())) in order.iter().zip(led) {
                leader_of[member.2 as usize] = order[leader as usize].2;
            }
        }
        let mut listed: Vec<u32> = (0..values.len() as u32)
            .filter(|&at| leader_of[at as usize] != at || copied.binary_search(&at).is_ok())
            .collect();
        listed.sort_unstable_by_key(|&at| {
            let leader = leader_of[at as usize];
            (leader, (values[leader as usize] ^ values[at as usize]).count_ones(), at)
        });
        Ok(Within { leader_of, listed })
    }

    /// The leader of a fingerprint; the fingerprint itself if it is one.
    pub(in crate::join) fn leader_of(&self, position: u32) -> u32 {
        self.leader_of[position as usize]
    }

    /// The fingerprints of which a document is dropped, by leader, then distance from it, then
    /// fingerprint; each leader with several documents comes before those that it leads.
    pub(in crate::join) fn listed(&self) -> &[u32] {
        &self.listed
    }
}
