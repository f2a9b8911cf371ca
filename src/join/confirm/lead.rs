//! Which documents go by an earlier one whose features are alike.

use super::candidates::Candidates;
use super::leader_sets::LeaderSets;
use super::likeness::Likeness;
use super::outline::Outlines;
use crate::base::error::Result;
use crate::join::engine::side_by_side::side_by_side;
use crate::join::grouping::leaders::{Judge, lead};
use fpstore_base::Fingerprint;
use fpstore_base::watch::{Phase, Watch};

/// The part of the memory that the features of leaders get, as a divisor.
const MEMORY_DIVISOR: u64 = 4;
/// Groups with fewer nodes are led by one thread, and threads share out the groups.
const GROUP_MIN: usize = if cfg!(test) { 8 } else { 256 };

/// A document that goes by an earlier one.
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

/// A node that is not alone: the group that it is in, its first document, its number.
type Entry = (u32, u32, u32);

/// Compares the nodes of one group.
struct FeatureJudge<'a> {
    group: &'a [Entry],
    outlines: &'a Outlines,
    sets: LeaderSets<'a>,
}

impl Judge for FeatureJudge<'_> {
    type Bond = f64;

    fn judge(&mut self, document: u32, leader: u32) -> Result<Option<f64>> {
        let [one, other] = [document, leader].map(|at| self.group[at as usize].2);
        if !self.outlines.admit(one, other) {
            return Ok(None);
        }
        self.sets.alike((document, one), (leader, other))
    }
}

impl Candidates {
    /// The documents that go by an earlier one, by ascending number: in the order of their numbers,
    /// each document that is alike to no leader becomes one; any other goes by the first leader that
    /// it is alike to. Two documents are alike if they are a candidate pair and their features are as
    /// `likeness` says, a similarity by itself or a [`Likeness`]; or if their fingerprints and features
    /// are equal.
    ///
    /// The candidates are best those of [`Documents::candidates_to_lead`]. Pairs of documents that
    /// are both no leaders are not compared, so many copies of a template cost what other documents
    /// cost. It can be called again, with a likeness that is no less strict than that of
    /// [`Documents::outlined`].
    ///
    /// [`Documents::outlined`]: super::Documents::outlined
    /// [`Documents::candidates_to_lead`]: super::Documents::candidates_to_lead
    ///
    /// # Errors
    ///
    /// As [`Candidates::confirm`], but for [`Error::TooManyPairs`](crate::Error::TooManyPairs); also
    /// [`Error::InvalidOptions`](crate::Error::InvalidOptions) if sketches should tell what one document
    /// contains.
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
        let likeness = likeness.into();
        self.check_complete(likeness.similarity)?;
        likeness.check(self.sets.kind())?;
        let Candidates { nodes, is_candidate, groups, options, .. } = self;
        let is_alone = |node: u32| !is_candidate[node as usize] && nodes.documents(node).len() < 2;
        let mut order: Vec<Entry> = (0..nodes.len() as u32)
            .filter(|&node| !is_alone(node))
            .map(|node| (groups[node as usize], nodes.documents(node)[0], node))
            .collect();
        order.sort_unstable();
        let resources = options.sort_resources()?;
        let threads = resources.threads.max(1);
        let memory = resources.memory / MEMORY_DIVISOR / threads as u64;
        let watch = options.watch(Phase::Cluster, Some(order.len() as u64));
        let groups = Groups { candidates: self, likeness, memory, watch: &watch };
        let is_small = |group: &[Entry]| group.len() < GROUP_MIN;
        let mut all = Vec::new();
        let list: Vec<&[Entry]> = order.chunk_by(|a, b| a.0 == b.0).collect();
        for run in list.chunk_by(|a, b| is_small(a) && is_small(b)) {
            if let [group] = run {
                groups.lead(group, if is_small(group) { 1 } else { threads }, &mut all)?;
                continue;
            }
            let parts: Vec<&[&[Entry]]> = run.chunks(run.len().div_ceil(threads)).collect();
            let of_parts = side_by_side(&parts, |part| {
                let mut led = Vec::new();
                part.iter().try_for_each(|group| groups.lead(group, 1, &mut led))?;
                Ok(led)
            })?;
            all.extend(of_parts.into_iter().flatten());
        }
        all.sort_unstable_by_key(|led| led.document);
        Ok(all)
    }
}

/// Leads one group after the other.
struct Groups<'a> {
    candidates: &'a Candidates,
    likeness: Likeness,
    /// Bytes of features for each thread.
    memory: u64,
    watch: &'a Watch,
}

impl Groups<'_> {
    /// Appends the documents of a group that go by an earlier one.
    fn lead(&self, group: &[Entry], threads: usize, all: &mut Vec<LedDocument>) -> Result<()> {
        let Candidates { nodes, outlines, sets, options, .. } = self.candidates;
        let values: Vec<u64> =
            group.iter().map(|entry| nodes.fingerprint(entry.2).value()).collect();
        let judge = |_| {
            let sets = LeaderSets::new(sets, group.len(), self.memory, self.likeness);
            FeatureJudge { group, outlines, sets }
        };
        let mut judges: Vec<FeatureJudge<'_>> = (0..threads).map(judge).collect();
        let led = lead(&values, options.k, &mut judges, self.watch)?;
        for (at, (entry, (leader, bond))) in (0..).zip(group.iter().zip(led)) {
            let (_, kept, leader_node) = group[leader as usize];
            let similarity = if leader == at { 1.0 } else { bond };
            let leader_fingerprint = nodes.fingerprint(leader_node);
            for &document in nodes.documents(entry.2).iter().filter(|number| **number != kept) {
                let leader = kept;
                all.push(LedDocument { document, leader, leader_fingerprint, similarity });
            }
        }
        Ok(())
    }
}
