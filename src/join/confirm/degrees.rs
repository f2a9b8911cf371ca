//! The degree of each node, and connected components over similar pairs. The degree is the number
//! of documents that a node is similar to.
//!
//! In dense groups each node is compared with each other one by its fingerprint, which takes about
//! a nanosecond, and [`Pivots`] decide most near pairs. One join finds the pairs of all other
//! groups.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::alike::Alike;
use super::candidates::Candidates;
use super::in_groups::{Entry, in_groups};
use super::pivots::Pivots;
use crate::base::error::Result;
use crate::base::side_by_side::side_by_side;
use crate::bytes::scramble::scramble;
use crate::join::engine::density::is_dense;
use crate::join::grouping::disjoint_sets::DisjointSets;
use crate::join::grouping::leaders::scan;
use fpstore_base::Fingerprint;
use fpstore_base::watch::{Phase, Watch};

/// In groups of up to this many nodes, each node is compared with each other one.
const SMALL_COUNT: usize = if cfg!(test) { 4 } else { 64 };
/// Expected near nodes of a node in a larger group, from a sample of pairs, from which on each is
/// compared with each other one.
const DENSE_DEGREE: f64 = 16.0;
/// The number of pairs in this sample.
const SAMPLE_COUNT: u64 = 2048;
/// Nodes that a thread takes at a time.
const ROW_COUNT: usize = if cfg!(test) { 2 } else { 64 };

/// The degrees and components of all nodes.
pub(super) struct Degrees {
    /// The number of documents similar to each node, including its own documents.
    pub(super) of_nodes: Vec<u64>,
    /// The nodes, connected by similar pairs.
    pub(super) components: DisjointSets,
}

impl Candidates {
    /// The degrees of all nodes, by their features, which have been taken.
    pub(super) fn degrees(&self, similarity: f64) -> Result<Degrees> {
        let nodes = &self.nodes;
        let node_count = nodes.len() as u32;
        let weights = (0..node_count).map(|node| nodes.documents(node).len() as u64);
        let entries = self.entries();
        let counting = Counting {
            candidates: self,
            similarity,
            degrees: weights.map(AtomicU64::new).collect(),
            components: Mutex::new(DisjointSets::new(node_count)),
            watch: &self.options.watch(Phase::Confirm, Some(entries.len() as u64)),
        };
        let take = |group: &[Entry], threads, sparse: &mut _| counting.take(group, threads, sparse);
        let mut sparse: Vec<u32> = in_groups(&entries, self.threads()?, take)?;
        drop(entries);
        sparse.sort_unstable();
        counting.join(&sparse)?;
        let Counting { degrees, components, .. } = counting;
        let of_nodes = degrees.into_iter().map(AtomicU64::into_inner).collect();
        let components = components.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Degrees { of_nodes, components })
    }
}

struct Counting<'a> {
    candidates: &'a Candidates,
    similarity: f64,
    degrees: Vec<AtomicU64>,
    components: Mutex<DisjointSets>,
    /// Counts nodes.
    watch: &'a Watch,
}

impl Counting<'_> {
    /// Finds the pairs of a dense group; adds the nodes of a sparse group to `sparse`.
    fn take(&self, group: &[Entry], threads: usize, sparse: &mut Vec<u32>) -> Result<()> {
        let candidates = self.candidates;
        let nodes: Vec<u32> = group.iter().map(|entry| entry.2).collect();
        let fingerprint = |&node: &u32| candidates.nodes.fingerprint(node).value();
        let values: Vec<u64> = nodes.iter().map(fingerprint).collect();
        let (count, k) = (values.len() as u64, candidates.options.k);
        if nodes.len() > SMALL_COUNT && !is_dense(&sample(&values), count, DENSE_DEGREE, k) {
            sparse.extend(nodes);
            return Ok(());
        }
        let weight = |&node: &u32| candidates.nodes.documents(node).len() as u64;
        let weights: Vec<u64> = nodes.iter().map(weight).collect();
        let memory = candidates.feature_memory()?;
        let pivots = Pivots::new(candidates, &nodes, memory, self.watch)?;
        let parts: Vec<usize> = (0..threads).collect();
        side_by_side(&parts, |part| {
            let known = (nodes.as_slice(), &pivots);
            let mut alike = Alike::new(candidates, known, self.similarity, self.watch)?;
            // Threads share nothing until they finish.
            let mut own = DisjointSets::new(nodes.len() as u32);
            let mut degrees = vec![0; nodes.len()];
            // Later rows are longer, so each thread gets rows of all lengths.
            for start in (part * ROW_COUNT..nodes.len()).step_by(ROW_COUNT * threads) {
                for at in start..(start + ROW_COUNT).min(nodes.len()) {
                    self.watch.tick(1)?;
                    scan(values[at], &values[..at], k, |other| {
                        if alike.are(at as u32, other as u32)? {
                            degrees[at] += weights[other];
                            degrees[other] += weights[at];
                            own.union(at as u32, other as u32);
                        }
                        Ok(None::<()>)
                    })?;
                }
            }
            let mut components = self.components.lock().unwrap_or_else(PoisonError::into_inner);
            for (node, at) in nodes.iter().zip(0..) {
                self.degrees[*node as usize].fetch_add(degrees[at as usize], Ordering::Relaxed);
                components.union(*node, nodes[own.find(at) as usize]);
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Finds the pairs among these ascending nodes, few of which are near.
    fn join(&self, sparse: &[u32]) -> Result<()> {
        let Candidates { nodes, options, .. } = self.candidates;
        let mut fingerprints: Vec<Fingerprint> =
            sparse.iter().map(|&node| nodes.fingerprint(node)).collect();
        fingerprints.dedup();
        // A fingerprint may also have nodes of dense groups, whose pairs are already found.
        let mut is_sparse = vec![false; nodes.len()];
        sparse.iter().for_each(|&node| is_sparse[node as usize] = true);
        // The number of pairs is unknown.
        let watch = self.watch.next(Phase::Confirm, None);
        let are_sparse =
            |one: u32, other: u32| is_sparse[one as usize] && is_sparse[other as usize];
        let with = (options, &watch);
        self.candidates.each_alike(
            &fingerprints,
            are_sparse,
            self.similarity,
            with,
            |one, other, _| {
                for (node, other) in [(one, other), (other, one)] {
                    let weight = nodes.documents(other).len() as u64;
                    self.degrees[node as usize].fetch_add(weight, Ordering::Relaxed);
                }
                let mut components = self.components.lock().unwrap_or_else(PoisonError::into_inner);
                components.union(one, other);
                Ok(())
            },
        )
    }
}

/// The differences of some pairs of values; a pair may repeat.
fn sample(values: &[u64]) -> Vec<u64> {
    let place = |state: u64| ((u128::from(scramble(state)) * values.len() as u128) >> 64) as usize;
    let places = (0..SAMPLE_COUNT).map(|pair| [place(2 * pair), place(2 * pair + 1)]);
    let pairs = places.filter(|[one, other]| one != other);
    pairs.map(|[one, other]| values[one] ^ values[other]).collect()
}
