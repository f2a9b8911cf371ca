//! Compares the contents (features or sketches) of documents: finds the pairs of similar nodes, or
//! the leaders among nodes.

use std::ops::{ControlFlow, Range};

use super::confirmed::{Confirmed, EdgeSorter};
use super::features::{FeatureFile, FeatureKind, InOrder};
use super::ids::DocumentIds;
use super::led_sets::{LedSet, lead_sets};
use super::led_sketches::lead_sketches;
use super::likeness::Likeness;
use super::nodes::Nodes;
use super::similar_pairs::similar_pairs;
use crate::base::error::Result;
use crate::base::side_by_side::side_by_side;
use crate::join::options::JoinOptions;
use crate::join::pairs::near_pairs;
use fpstore_base::Interrupted;
use fpstore_base::watch::{Observer, Phase};

/// Number of candidate pairs whose sketches are compared at a time, by all threads together.
const BATCH_COUNT: usize = if cfg!(test) { 16 } else { 1 << 15 };

/// All documents, with their features or sketches.
#[derive(Debug)]
pub struct Compared {
    pub(super) nodes: Nodes,
    pub(super) sets: FeatureFile,
    /// The ids of the documents, if the caller gave any.
    pub(super) ids: DocumentIds,
    pub(super) options: JoinOptions,
    pub(super) threshold: f64,
}

impl Compared {
    /// The pairs of documents whose similarity is at least the threshold. Documents with equal
    /// features have similarity 1.
    pub(super) fn pairs(self) -> Result<Confirmed> {
        let mut edges = EdgeSorter::new(&self.options)?;
        let options = EdgeSorter::beside(&self.options)?;
        let candidate_count = self.each_similar(&options, |one, other, similarity| {
            edges.push(&self.nodes, one, other, similarity)
        })?;
        let Compared { nodes, ids, options, .. } = self;
        edges.finish(nodes, ids, options, candidate_count)
    }

    /// Calls `each` with each pair of similar nodes, the smaller number first, and their
    /// similarity. Returns the number of compared pairs.
    pub(super) fn each_similar(
        &self,
        options: &JoinOptions,
        each: impl FnMut(u32, u32, f64) -> Result<()> + Send,
    ) -> Result<u64> {
        match self.sets.kind() {
            FeatureKind::Sets => {
                let nodes: Vec<u32> = (0..self.nodes.len() as u32).collect();
                let sets = InOrder { file: &self.sets, nodes: &nodes };
                similar_pairs(&sets, self.threshold, options, each)
            }
            FeatureKind::Sketches => self.each_with_sketches(options, each),
        }
    }

    /// [`Compared::each_similar`] for sketches: pairs of fingerprints within the distance of the
    /// options are candidates.
    fn each_with_sketches(
        &self,
        options: &JoinOptions,
        mut each: impl FnMut(u32, u32, f64) -> Result<()> + Send,
    ) -> Result<u64> {
        let threads = options.budget()?.threads.max(1);
        let watch = options.watch(Phase::Confirm, None);
        let (mut batch, mut compared): (Vec<(u32, u32)>, u64) = (Vec::new(), 0);
        let mut flush = |batch: &mut Vec<(u32, u32)>| -> Result<()> {
            // Sorted by first node, so that the sketch of each first node is read once.
            batch.sort_unstable();
            let parts: Vec<&[(u32, u32)]> =
                batch.chunks(batch.len().div_ceil(threads).max(1)).collect();
            let found = side_by_side(&parts, |part| self.sets.compare(part, &watch))?;
            watch.tick(batch.len() as u64)?;
            compared += batch.len() as u64;
            for (&(one, other), is) in batch.iter().zip(found.into_iter().flatten()) {
                if is >= self.threshold {
                    each(one, other, is)?;
                }
            }
            batch.clear();
            Ok(())
        };
        // `watch` counts comparisons for the caller: this observer can only end the join.
        let own = watch.clone();
        let observer = Observer::new(move |_| match own.report() {
            Ok(()) => ControlFlow::Continue(()),
            Err(Interrupted) => ControlFlow::Break(()),
        });
        let options = options.clone().max_pairs(None).observer(observer);
        each_near(&self.nodes, &options, |one, other| {
            batch.push((one, other));
            if batch.len() >= BATCH_COUNT { flush(&mut batch) } else { Ok(()) }
        })?;
        flush(&mut batch)?;
        Ok(compared)
    }

    /// Finds the leaders among the nodes, in the order `order`. Returns for each other node its
    /// position in `order` and the position of its leader; and the number of compared pairs.
    pub(super) fn lead(&self, order: &[u32]) -> Result<(Vec<LedSet>, u64)> {
        let Compared { nodes, sets, options, threshold, .. } = self;
        match sets.kind() {
            FeatureKind::Sets => {
                let sets = InOrder { file: sets, nodes: order };
                let (led, costs) = lead_sets(&sets, Likeness::from(*threshold), options, |_| ())?;
                Ok((led, costs.compared))
            }
            FeatureKind::Sketches => {
                let values: Vec<u64> =
                    order.iter().map(|&node| nodes.fingerprint(node).value()).collect();
                let read = |at: u32, sketch: &mut Vec<u8>| sets.read(order[at as usize], sketch);
                lead_sketches(&values, &read, *threshold, options, |_| ())
            }
        }
    }
}

/// Calls `each` with each pair of nodes whose fingerprints are within the distance of the options,
/// the smaller node first.
fn each_near(
    nodes: &Nodes,
    options: &JoinOptions,
    mut each: impl FnMut(u32, u32) -> Result<()> + Send,
) -> Result<()> {
    let watch = options.watch(Phase::Join, None);
    let mut of = |one: Range<u32>, other: Range<u32>| -> Result<()> {
        for first in one {
            watch.look()?;
            other.clone().filter(|&second| second > first).try_for_each(|it| each(first, it))?;
        }
        Ok(())
    };
    for group in nodes.each_group().filter(|group| group.len() > 1) {
        of(group.clone(), group)?;
    }
    near_pairs(nodes.fingerprints(), options, |pairs| {
        pairs.iter().try_for_each(|pair| of(nodes.with(pair.first), nodes.with(pair.second)))
    })?;
    Ok(())
}
