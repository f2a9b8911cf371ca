//! Leader clustering by features: each document similar to an earlier leader is represented by it.

use super::candidates::Candidates;
use super::in_groups::{Entry, in_groups};
use super::leader_sets::LeaderSets;
use super::likeness::Likeness;
use crate::base::error::Result;
use crate::join::grouping::leaders::{Judge, lead};
use fpstore_base::Fingerprint;
use fpstore_base::watch::Phase;

/// Divisor of the memory: the features of leaders get this part.
const MEMORY_DIVISOR: u64 = 4;

/// A document represented by an earlier one, its leader.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LedDocument {
    /// The number of the document.
    pub document: u32,
    /// The number of its leader, which is smaller.
    pub leader: u32,
    /// The fingerprint of the leader.
    pub leader_fingerprint: Fingerprint,
    /// The Jaccard similarity of the features of the two; an estimate from sketches.
    pub similarity: f64,
}

/// A node that is not alone, and its leader, which is the node itself if it is a leader.
#[derive(Clone, Copy, Debug)]
pub(super) struct LedNode {
    pub(super) node: u32,
    pub(super) leader: u32,
    pub(super) similarity: f64,
}

/// Compares the nodes of one group.
pub(super) struct FeatureJudge<'a> {
    candidates: &'a Candidates,
    group: &'a [Entry],
    sets: LeaderSets<'a>,
}

impl<'a> FeatureJudge<'a> {
    /// The features of leaders may take `memory` bytes.
    pub(super) fn new(
        candidates: &'a Candidates,
        group: &'a [Entry],
        memory: u64,
        likeness: Likeness,
    ) -> Self {
        let sets = LeaderSets::new(&candidates.sets, group.len(), memory, likeness);
        FeatureJudge { candidates, group, sets }
    }
}

impl Judge for FeatureJudge<'_> {
    type Bond = f64;

    fn judge(&mut self, document: u32, leader: u32) -> Result<Option<f64>> {
        let [one, other] = [document, leader].map(|at| self.group[at as usize].2);
        let Candidates { nodes, outlines, .. } = self.candidates;
        if !outlines.admit(nodes, one, other) {
            return Ok(None);
        }
        self.sets.alike((document, one), (leader, other))
    }
}

impl Candidates {
    /// The documents represented by an earlier one, by ascending number. In the order of their
    /// numbers, a document that is similar to no leader becomes a leader; any other is represented
    /// by the first leader that it is similar to. Two documents are similar if they are a candidate
    /// pair and their features satisfy `likeness`, which is a similarity or a [`Likeness`]; or if
    /// their fingerprints and features are equal.
    ///
    /// The candidates should come from [`Documents::candidates_to_lead`]. Two documents that are
    /// both represented by leaders are not compared, so many copies of a template cost no more than
    /// other documents. The method can be called again, with a likeness no less strict than the
    /// threshold of [`Documents::outlined`].
    ///
    /// [`Documents::outlined`]: super::Documents::outlined
    /// [`Documents::candidates_to_lead`]: super::Documents::candidates_to_lead
    ///
    /// # Errors
    ///
    /// * [`Error::InvalidOptions`](crate::Error::InvalidOptions) if the similarity is not above 0
    ///   and at most 1, if it is below the threshold of [`Documents::outlined`], if needed features
    ///   are missing, or if `likeness` requires a contained part and the documents have sketches.
    /// * Otherwise as [`near_pairs`](crate::join::near_pairs), except for
    ///   [`Error::TooManyPairs`](crate::Error::TooManyPairs).
    ///
    /// # Examples
    ///
    /// ```
    /// use fpstore::join::JoinOptions;
    /// use fpstore::join::confirm::Documents;
    ///
    /// let texts: [(u64, &[u64]); 3] = [(0b1, &[1, 2, 3]), (0b11, &[1, 2, 4]), (0b111, &[1, 2, 9])];
    /// let mut documents = Documents::new();
    /// texts.iter().for_each(|(value, features)| documents.push((*value).into(), features));
    /// let mut candidates = documents.candidates_to_lead(&JoinOptions::new(3))?;
    /// for (number, (_, features)) in (0..).zip(&texts) {
    ///     if candidates.needs(number) {
    ///         candidates.take(number, features)?;
    ///     }
    /// }
    /// let led = candidates.lead(0.5)?;
    /// let pairs: Vec<(u32, u32)> = led.iter().map(|led| (led.document, led.leader)).collect();
    /// assert_eq!(pairs, [(1, 0), (2, 0)]);
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn lead(&self, likeness: impl Into<Likeness>) -> Result<Vec<LedDocument>> {
        let nodes = &self.nodes;
        let mut all = self.lead_nodes(likeness.into(), |led, documents| {
            let leader = nodes.documents(led.leader)[0];
            let leader_fingerprint = nodes.fingerprint(led.leader);
            let similarity = led.similarity;
            let own = nodes.documents(led.node).iter().filter(|number| **number != leader);
            documents.extend(own.map(|&document| LedDocument {
                document,
                leader,
                leader_fingerprint,
                similarity,
            }));
        })?;
        all.sort_unstable_by_key(|led| led.document);
        Ok(all)
    }

    /// Passes each node that is not alone and its leader to `each`, and collects all results that
    /// `each` adds, in any order.
    pub(super) fn lead_nodes<T: Send>(
        &self,
        likeness: Likeness,
        each: impl Fn(LedNode, &mut Vec<T>) + Sync,
    ) -> Result<Vec<T>> {
        self.check_complete(likeness.similarity)?;
        likeness.check(self.sets.kind())?;
        let entries = self.entries();
        let Candidates { nodes, options, .. } = self;
        let watch = &options.watch(Phase::Cluster, Some(entries.len() as u64));
        let threads = self.threads()?;
        let memory = self.feature_memory()? / threads as u64;
        in_groups(&entries, threads, |group, threads, found| {
            let values: Vec<u64> =
                group.iter().map(|entry| nodes.fingerprint(entry.2).value()).collect();
            let judge = |_| FeatureJudge::new(self, group, memory, likeness);
            let mut judges: Vec<FeatureJudge<'_>> = (0..threads).map(judge).collect();
            let led = lead(&values, options.k, &mut judges, watch)?;
            for (at, (entry, (leader, bond))) in (0..).zip(group.iter().zip(led)) {
                let similarity = if leader == at { 1.0 } else { bond };
                let leader = group[leader as usize].2;
                each(LedNode { node: entry.2, leader, similarity }, found);
            }
            Ok(())
        })
    }

    /// Bytes of memory for features.
    pub(super) fn feature_memory(&self) -> Result<u64> {
        Ok(self.options.sort_resources()?.memory / MEMORY_DIVISOR)
    }

    pub(super) fn threads(&self) -> Result<usize> {
        Ok(self.options.sort_resources()?.threads.max(1))
    }
}
