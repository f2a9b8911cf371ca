//! Finds leaders: in the order of the documents, each document that is similar to no earlier leader
//! becomes a leader. Every other document is represented by the first similar leader.
//!
//! A document is compared only with earlier leaders, never with represented documents. A dense
//! cluster has few leaders, so it costs its size times a small number, not the square of its size.
//!
//! Example with distance 1: of 0b1, 0b11 and 0b111, the first becomes a leader and represents the
//! second. The third has distance 2 from it, and becomes a leader although the second is near it.
//!
//! # Source
//!
//! Hartigan, "Clustering Algorithms", 1975, chapter 3. The leaders are the lexicographically first
//! maximal independent set of the graph of similar documents; processing the documents block by
//! block follows Blelloch, Fineman and Shun, "Greedy Sequential Maximal Independent Set and
//! Matching are Parallel on Average", SPAA 2012.

use std::sync::{Mutex, PoisonError};

use super::leader_pairs::{near_across, near_within};
use crate::base::error::Result;
use crate::base::side_by_side::side_by_side;
use fpstore_base::watch::Watch;

/// Among up to this many documents, leaders are found by a scan, without a join.
const BLOCK_COUNT: usize = if cfg!(test) { 8 } else { 1 << 10 };
/// Maximum number of documents compared with leaders at a time; limits the near pairs in memory.
const BLOCK_MAX: usize = if cfg!(test) { 64 } else { 1 << 20 };
/// Minimum number of documents for a thread.
const PART_COUNT: usize = if cfg!(test) { 2 } else { 64 };
/// Number of documents between two checks of the observer.
const REPORT_COUNT: usize = 16;

/// Decides whether a document is similar to a leader with a near fingerprint. Each thread has a
/// judge of its own.
pub(in crate::join) trait Judge: Send {
    /// A result of comparing a document with its leader, such as their similarity.
    type Bond: Copy + Default + Send + Sync;

    /// Compares the documents at two positions. Returns their bond; `None` if they are not similar.
    fn judge(&mut self, document: u32, leader: u32) -> Result<Option<Self::Bond>>;
}

/// Accepts all documents with near fingerprints as similar.
pub(in crate::join) struct AcceptAll;

impl Judge for AcceptAll {
    type Bond = ();

    fn judge(&mut self, _: u32, _: u32) -> Result<Option<()>> {
        Ok(Some(()))
    }
}

/// The position of the leader of a document (the position of the document itself if it is a
/// leader), and the bond of document and leader.
pub(in crate::join) type LeaderAndBond<B> = (u32, B);

/// Finds for each document the first leader that is similar to it. `values` are the fingerprints of
/// the documents, in the order in which documents may become leaders; values may repeat. `judges`
/// has one judge for each thread.
///
/// The result does not depend on the number of threads.
pub(in crate::join) fn lead<J: Judge>(
    values: &[u64],
    k: u32,
    judges: &mut [J],
    watch: &Watch,
) -> Result<Vec<LeaderAndBond<J::Bond>>> {
    let led = (0..values.len() as u32).map(|at| (at, J::Bond::default())).collect();
    let mut leading = Leading { values, k, judges, watch, led };
    let all: Vec<u32> = (0..values.len() as u32).collect();
    leading.lead(&all)?;
    Ok(leading.led)
}

/// Leaders in the order of the documents.
#[derive(Default)]
struct Leaders {
    positions: Vec<u32>,
    values: Vec<u64>,
}

impl Leaders {
    /// The first leader that is similar to a document, and the bond of the two.
    fn first_of<J: Judge>(
        &self,
        (document, value): (u32, u64),
        k: u32,
        judge: &mut J,
    ) -> Result<Option<LeaderAndBond<J::Bond>>> {
        for (chunk, others) in self.values.chunks(16).enumerate() {
            // Compares a whole chunk without branches.
            let mut near = 0_u32;
            for (at, other) in others.iter().enumerate() {
                near |= u32::from((value ^ other).count_ones() <= k) << at;
            }
            while near != 0 {
                let leader = self.positions[16 * chunk + near.trailing_zeros() as usize];
                if let Some(bond) = judge.judge(document, leader)? {
                    return Ok(Some((leader, bond)));
                }
                near &= near - 1;
            }
        }
        Ok(None)
    }
}

struct Leading<'a, J: Judge> {
    values: &'a [u64],
    k: u32,
    judges: &'a mut [J],
    watch: &'a Watch,
    led: Vec<LeaderAndBond<J::Bond>>,
}

impl<J: Judge> Leading<'_, J> {
    /// Finds the leaders among `documents`, which must ascend and be similar to no leader so far.
    fn lead(&mut self, documents: &[u32]) -> Result<Leaders> {
        let mut leaders = Leaders::default();
        let mut rest = documents;
        while !rest.is_empty() {
            // A block has at least as many documents as there are leaders, so that each leader is
            // read once for many documents.
            let count = leaders.positions.len().clamp(BLOCK_COUNT, BLOCK_MAX).min(rest.len());
            let (block, after) = rest.split_at(count);
            rest = after;
            let left = self.against(block, &leaders)?;
            let own = self.among(&left)?;
            leaders.positions.extend(own.positions);
            leaders.values.extend(own.values);
        }
        Ok(leaders)
    }

    /// Compares the documents of `block` with leaders. Returns the documents without a leader.
    fn against(&mut self, block: &[u32], leaders: &Leaders) -> Result<Vec<u32>> {
        if leaders.positions.is_empty() {
            return Ok(block.to_vec());
        }
        let own: Vec<u64> = block.iter().map(|&at| self.values[at as usize]).collect();
        let near = near_across(&own, &leaders.values, self.k, self.watch)?;
        let size = block.len().div_ceil(self.judges.len()).max(PART_COUNT);
        let parts: Vec<_> = block
            .chunks(size)
            .zip(self.judges.iter_mut())
            .enumerate()
            .map(|(part, (documents, judge))| (part * size, documents, Mutex::new(judge)))
            .collect();
        let (k, watch) = (self.k, self.watch);
        let of_part = |(start, documents, judge): &(usize, &[u32], Mutex<&mut J>)| {
            let judge = &mut **judge.lock().unwrap_or_else(PoisonError::into_inner);
            let mut found = Vec::with_capacity(documents.len());
            for (at, &document) in (*start..).zip(*documents) {
                if at % REPORT_COUNT == 0 {
                    watch.report()?;
                }
                found.push(match &near {
                    None => leaders.first_of((document, own[at]), k, judge)?,
                    Some(near) => {
                        let some = near.of(at as u32).map(|at| leaders.positions[at as usize]);
                        first_of(document, some, judge)?
                    }
                });
            }
            Ok(found)
        };
        let found = side_by_side(&parts, of_part)?;
        drop(parts);
        let mut left = Vec::new();
        for (&document, found) in block.iter().zip(found.into_iter().flatten()) {
            match found {
                Some(led) => self.led[document as usize] = led,
                None => left.push(document),
            }
        }
        self.watch.tick((block.len() - left.len()) as u64)?;
        Ok(left)
    }

    /// Finds the leaders among these documents, none of which an earlier leader represents.
    fn among(&mut self, documents: &[u32]) -> Result<Leaders> {
        let mut leaders = Leaders::default();
        let near = if documents.len() <= BLOCK_COUNT {
            None
        } else {
            let own: Vec<u64> = documents.iter().map(|&at| self.values[at as usize]).collect();
            let near = near_within(&own, self.k, self.watch)?;
            if near.is_none() {
                // Many pairs are near, so leaders are few: comparing with them is cheap.
                return self.lead(documents);
            }
            near
        };
        for (at, &document) in documents.iter().enumerate() {
            if at % REPORT_COUNT == 0 {
                self.watch.report()?;
            }
            let value = self.values[document as usize];
            let judge = &mut self.judges[0];
            let found = match &near {
                None => leaders.first_of((document, value), self.k, judge)?,
                Some(near) => {
                    let earlier = near.of(at as u32).map(|at| documents[at as usize]);
                    let is_leader = |at: &u32| self.led[*at as usize].0 == *at;
                    first_of(document, earlier.filter(is_leader), judge)?
                }
            };
            match found {
                Some(led) => self.led[document as usize] = led,
                None => {
                    leaders.positions.push(document);
                    leaders.values.push(value);
                }
            }
        }
        self.watch.tick(documents.len() as u64)?;
        Ok(leaders)
    }
}

/// The first of these leaders that is similar to a document, and the bond of the two.
fn first_of<J: Judge>(
    document: u32,
    leaders: impl Iterator<Item = u32>,
    judge: &mut J,
) -> Result<Option<LeaderAndBond<J::Bond>>> {
    for leader in leaders {
        if let Some(bond) = judge.judge(document, leader)? {
            return Ok(Some((leader, bond)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Accepts or rejects a pair by its positions; a larger number rejects more pairs.
    struct Picky(u32);

    impl Judge for Picky {
        type Bond = u32;

        fn judge(&mut self, document: u32, leader: u32) -> Result<Option<u32>> {
            let is_alike = (document * 31 + leader * 17) % 8 >= self.0;
            Ok(is_alike.then_some(document + leader))
        }
    }

    fn oracle(values: &[u64], k: u32, pickiness: u32) -> Vec<LeaderAndBond<u32>> {
        let mut led: Vec<LeaderAndBond<u32>> = Vec::new();
        for (at, value) in (0..).zip(values) {
            let is_near = |other: u32| (value ^ values[other as usize]).count_ones() <= k;
            let mut leaders = (0..at).filter(|&other| led[other as usize].0 == other);
            let found = leaders.find_map(|other| {
                let bond = Picky(pickiness).judge(at, other).unwrap();
                bond.filter(|_| is_near(other)).map(|bond| (other, bond))
            });
            led.push(found.unwrap_or((at, 0)));
        }
        led
    }

    /// All values are equal but judged dissimilar, so every pair is compared.
    #[test]
    fn comparing_can_be_ended_at_any_time() {
        use std::ops::ControlFlow;
        use std::sync::Arc;
        use std::sync::atomic::{AtomicU64, Ordering};

        use crate::Error;
        use fpstore_base::watch::{Observer, Phase};

        struct Counting(Arc<AtomicU64>);
        impl Judge for Counting {
            type Bond = ();

            fn judge(&mut self, _: u32, _: u32) -> Result<Option<()>> {
                self.0.fetch_add(1, Ordering::Relaxed);
                Ok(None)
            }
        }

        let values = [7; 2000];
        // Maximum number of comparisons between two reports.
        let most = (REPORT_COUNT * values.len()) as u64;
        let mut reports = 0;
        while reports < 10_000 {
            let judged = Arc::new(AtomicU64::new(0));
            let (seen, left) = (judged.clone(), Arc::new(AtomicU64::new(reports)));
            let before = AtomicU64::new(0);
            let end = Observer::new(move |_| {
                let now = seen.load(Ordering::Relaxed);
                assert!(now - before.swap(now, Ordering::Relaxed) <= most);
                match left.fetch_sub(1, Ordering::Relaxed) {
                    0 => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            });
            let watch = Watch::new(Some(end), Phase::Cluster, None);
            let led = lead(&values, 3, &mut [Counting(judged.clone())], &watch);
            match led {
                Err(error) => assert!(matches!(error, Error::Interrupted)),
                Ok(led) => {
                    assert!(led.iter().zip(0..).all(|(led, at)| led.0 == at));
                    assert_eq!(judged.load(Ordering::Relaxed), 2000 * 1999 / 2);
                    break;
                }
            }
            reports += 7;
        }
        assert!(reports as usize >= values.len() / REPORT_COUNT, "{reports}");
    }

    /// Values near a few centres, with a random number of varying bits.
    fn values() -> impl Strategy<Value = Vec<u64>> {
        let centres = proptest::collection::vec(any::<u64>(), 1..6);
        let members =
            proptest::collection::vec((any::<prop::sample::Index>(), any::<u64>()), 0..400);
        (centres, members, 0_u32..64).prop_map(|(centres, members, free)| {
            let mask = 1_u64.checked_shl(free).map_or(u64::MAX, |bit| bit - 1);
            members
                .iter()
                .map(|(centre, noise)| centre.get(&centres) ^ (noise & noise >> 7 & mask))
                .collect()
        })
    }

    proptest! {
        #[test]
        fn each_goes_by_the_first_leader(
            values in values(), k in 0_u32..12, pickiness in 0_u32..8, threads in 1_usize..4
        ) {
            let mut judges: Vec<Picky> = (0..threads).map(|_| Picky(pickiness)).collect();
            let watch = Watch::new(None, fpstore_base::watch::Phase::Cluster, None);
            let found = lead(&values, k, &mut judges, &watch).unwrap();
            prop_assert_eq!(found, oracle(&values, k, pickiness));
        }
    }
}
