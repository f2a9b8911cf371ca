//! Finds the leader of each new fingerprint: the kept new fingerprint that replaces it.
//!
//! A join finds the connected components of near pairs. In each component,
//! [`leaders`](super::leaders) finds the leaders in the order of smallest ids.

use std::sync::{Mutex, PoisonError};

use super::disjoint_sets::{DisjointSets, PositionIndex, for_each_batch};
use super::leaders::{AcceptAll, lead};
use super::reading::{JoinMemory, ReadValues};
use crate::base::error::{Error, Result};
use crate::base::in_order::in_order;
use crate::join::engine::one_join::Join;
use crate::join::engine::values::JoinValues;
use crate::join::options::JoinOptions;
use crate::join::pairs::document_lookup::DocumentLookup;
use crate::store::Store;
use fpstore_base::Fingerprint;
use fpstore_base::watch::Phase;

/// The leaders of groups (components) with fewer fingerprints than this are found by one thread.
const GROUP_MIN: usize = if cfg!(test) { 16 } else { 1 << 12 };

/// The results of one thread for a batch of groups.
#[derive(Default)]
struct Batch {
    /// Pairs of a fingerprint and its leader.
    led: Vec<(u32, u32)>,
    /// Large groups, whose leaders all threads find together; each in the order of smallest ids.
    large: Vec<Vec<u32>>,
}

/// The members of a group in the order of their smallest ids; members without ids come last, in the
/// order of their fingerprints.
fn order_of<I: Ord>(
    group: &[(u32, u32)],
    mut smallest_id: impl FnMut(u32) -> Result<Option<I>>,
) -> Result<Vec<u32>> {
    let mut order = Vec::with_capacity(group.len());
    for &(_, at) in group {
        let id = smallest_id(at)?;
        order.push((id.is_none(), id, at));
    }
    order.sort_unstable();
    Ok(order.into_iter().map(|(.., at)| at).collect())
}

/// The leader of each new fingerprint. Fingerprints are given as positions in ascending order.
#[derive(Debug)]
pub(in crate::join) struct NewLeaders {
    leader_of: Vec<u32>,
    /// The fingerprints with at least one dropped document, sorted by leader, then by distance from
    /// the leader, then by fingerprint. A leader is listed if it has several documents, before the
    /// fingerprints that it leads.
    pub(super) listed: Vec<u32>,
}

impl NewLeaders {
    /// Finds the leaders among fingerprints of the store `new`: in the order of smallest ids, each
    /// fingerprint that is near no earlier leader. Takes 16 bytes of memory for each fingerprint in
    /// addition to the memory of the join.
    pub(in crate::join) fn among(
        new: &Store,
        options: &JoinOptions,
        JoinMemory(memory): JoinMemory,
        ReadValues { values, copied, numbers }: &ReadValues,
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
        let led_by = |order: &[u32], judges: &mut [AcceptAll]| -> Result<Vec<(u32, u32)>> {
            let own: Vec<u64> = order.iter().map(|&at| values[at as usize]).collect();
            let led = lead(&own, options.k, judges, &watch)?;
            Ok(order
                .iter()
                .zip(led)
                .map(|(&at, (leader, ()))| (at, order[leader as usize]))
                .collect())
        };
        let worker = || {
            let mut lookup = DocumentLookup::new(new);
            let (numbers, watch, led_by) = (numbers.as_deref(), &watch, &led_by);
            move |groups: &[(u32, u32)]| {
                let mut batch = Batch::default();
                for group in groups.chunk_by(|a, b| a.0 == b.0) {
                    watch.look()?;
                    let order = match numbers {
                        Some(numbers) => order_of(group, |at| Ok(Some(numbers[at as usize])))?,
                        None => order_of(group, |at| {
                            watch.look()?;
                            lookup.look_up(Fingerprint::new(values[at as usize]))?;
                            let ids = lookup.found.iter().filter_map(|found| found.id.as_ref());
                            Ok(ids.min().cloned())
                        })?,
                    };
                    match order.len() < GROUP_MIN {
                        true => batch.led.extend(led_by(&order, &mut [AcceptAll])?),
                        false => batch.large.push(order),
                    }
                }
                Ok(batch)
            }
        };
        let mut judges: Vec<AcceptAll> = (0..threads).map(|_| AcceptAll).collect();
        in_order(
            threads,
            worker,
            |give| for_each_batch(&members, give),
            |batch: Batch| {
                for order in &batch.large {
                    let led = led_by(order, &mut judges)?;
                    led.iter().for_each(|&(at, leader)| leader_of[at as usize] = leader);
                }
                batch.led.iter().for_each(|&(at, leader)| leader_of[at as usize] = leader);
                Ok::<(), Error>(())
            },
        )?;
        let mut listed: Vec<u32> = (0..values.len() as u32)
            .filter(|&at| leader_of[at as usize] != at || copied.binary_search(&at).is_ok())
            .collect();
        listed.sort_unstable_by_key(|&at| {
            let leader = leader_of[at as usize];
            (leader, (values[leader as usize] ^ values[at as usize]).count_ones(), at)
        });
        Ok(NewLeaders { leader_of, listed })
    }

    /// The leader of a fingerprint; the fingerprint itself if it is a leader.
    pub(in crate::join) fn leader_of(&self, position: u32) -> u32 {
        self.leader_of[position as usize]
    }
}
