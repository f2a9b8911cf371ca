//! Similarity of two nodes of a list, by pivots, outlines and features, the cheapest first.

use super::candidates::Candidates;
use super::leader_sets::LeaderSets;
use super::likeness::Likeness;
use super::pivots::Pivots;
use crate::base::error::Result;
use fpstore_base::watch::Watch;

/// Decides whether two nodes of a list are similar. Each thread has its own.
pub(super) struct Alike<'a> {
    candidates: &'a Candidates,
    /// The list; a node is referred to by its position in it.
    nodes: &'a [u32],
    pivots: &'a Pivots,
    similarity: f64,
    sets: LeaderSets<'a>,
    watch: &'a Watch,
}

impl<'a> Alike<'a> {
    /// `pivots` are made of `nodes`.
    pub(super) fn new(
        candidates: &'a Candidates,
        (nodes, pivots): (&'a [u32], &'a Pivots),
        similarity: f64,
        watch: &'a Watch,
    ) -> Result<Self> {
        let memory = candidates.feature_memory()? / candidates.threads()? as u64;
        let sets =
            LeaderSets::new(&candidates.sets, nodes.len(), memory, Likeness::from(similarity));
        Ok(Alike { candidates, nodes, pivots, similarity, sets, watch })
    }

    /// Whether two nodes with near fingerprints are similar. Call it for one node and all others,
    /// then for the next node: the features of `one` are then read once.
    pub(super) fn are(&mut self, one: u32, other: u32) -> Result<bool> {
        if let Some(are_similar) = self.pivots.decide(one, other, self.similarity) {
            return Ok(are_similar);
        }
        let [own, others] = [one, other].map(|at| self.nodes[at as usize]);
        if !self.candidates.outlines.admit(&self.candidates.nodes, own, others) {
            return Ok(false);
        }
        self.watch.look()?;
        Ok(self.sets.alike((one, own), (other, others))?.is_some())
    }
}
