//! Differences between each node and a common pivot set.
//!
//! Documents of a template differ in few features from the set that most of them have, here their
//! *pivot*. The number of common features of two documents follows from these differences. The
//! sizes of two sets add up to the number of features in which they differ plus twice the number of
//! common features; and the sets differ exactly in the features that are in one difference and not
//! in the other. So two documents of a template are compared by a tenth of their features, or by
//! the sizes alone, and the answer is exact.

use super::candidates::Candidates;
use super::features::FeatureKind;
use super::similarity::{common_at_least, jaccard, least_common};
use crate::base::error::Result;
use fpstore_base::watch::Watch;

/// Minimum number of nodes for a pivot.
const NODES_MIN: usize = if cfg!(test) { 4 } else { 64 };
/// The largest number of pivots.
const PIVOTS_MAX: u32 = 16;
/// Approximate number of nodes that a pivot is made of.
const SAMPLE_COUNT: usize = 64;
/// The similarity that these nodes need to the first of them.
const SAMPLED_SIMILARITY: f64 = 0.3;
/// More than the rounding error of a similarity.
const ROUNDED: f64 = 1e-9;
/// Divisor of the number of features of a node: it may differ from its pivot in this part.
const DIFFERENCE_DIVISOR: usize = 2;

/// The differences of nodes from their pivots.
#[derive(Debug, Default)]
pub(super) struct Pivots {
    /// By the position of a node in the list; `None` if the node differs too much from all pivots.
    differences: Vec<Option<Difference>>,
}

/// The difference between a node and its pivot.
#[derive(Debug)]
struct Difference {
    pivot: u32,
    /// The number of features of the node.
    len: usize,
    /// The features in exactly one of the node and the pivot, ascending.
    features: Box<[u64]>,
}

impl Pivots {
    /// The pivots of these nodes, with `memory` bytes for all differences. There are no pivots for
    /// sketches, which are short, or for few nodes.
    pub(super) fn new(
        candidates: &Candidates,
        nodes: &[u32],
        mut memory: u64,
        watch: &Watch,
    ) -> Result<Self> {
        if candidates.sets.kind() == FeatureKind::Sketches || nodes.len() < NODES_MIN {
            return Ok(Pivots::default());
        }
        let mut differences: Vec<Option<Difference>> = Vec::new();
        differences.resize_with(nodes.len(), || None);
        let mut rest: Vec<u32> = (0..nodes.len() as u32).collect();
        let mut features: Vec<u64> = Vec::new();
        for number in 0..PIVOTS_MAX {
            if rest.len() < NODES_MIN {
                break;
            }
            let of_pivot = pivot(candidates, nodes, &rest)?;
            let mut left = Vec::new();
            for at in rest {
                watch.look()?;
                candidates.sets.read(nodes[at as usize], &mut features)?;
                let own = Difference::new(number, &features, &of_pivot);
                let size = size_of_val(&*own.features) as u64;
                if DIFFERENCE_DIVISOR * own.features.len() <= features.len() && size <= memory {
                    memory -= size;
                    differences[at as usize] = Some(own);
                } else {
                    left.push(at);
                }
            }
            // The next pivot is for the nodes that differ too much from this one.
            rest = left;
        }
        Ok(Pivots { differences })
    }

    /// Whether the similarity of two nodes is at least `similarity`; `None` if they have no common
    /// pivot.
    pub(super) fn decide(&self, one: u32, other: u32, similarity: f64) -> Option<bool> {
        let of = |at: u32| self.differences.get(at as usize)?.as_ref();
        let (one, other) = (of(one)?, of(other)?);
        (one.pivot == other.pivot).then(|| one.is_similar(other, similarity))
    }
}

/// The features that most nodes of a sample have. `rest` has positions of nodes; the sample is made
/// of nodes similar to the first of them.
fn pivot(candidates: &Candidates, nodes: &[u32], rest: &[u32]) -> Result<Vec<u64>> {
    let mut first: Vec<u64> = Vec::new();
    let (mut all, mut count) = (Vec::new(), 0);
    let mut features = Vec::new();
    for &at in rest.iter().step_by(rest.len().div_ceil(SAMPLE_COUNT)) {
        candidates.sets.read(nodes[at as usize], &mut features)?;
        if count == 0 {
            first.clone_from(&features);
        }
        if jaccard(&first, &features) >= SAMPLED_SIMILARITY {
            all.extend_from_slice(&features);
            count += 1;
        }
    }
    all.sort_unstable();
    let of_most = all.chunk_by(|a, b| a == b).filter(|same| 2 * same.len() > count);
    Ok(of_most.map(|same| same[0]).collect())
}

impl Difference {
    /// Both sets ascend.
    fn new(number: u32, features: &[u64], pivot: &[u64]) -> Self {
        let (mut own, mut others) = (features.iter().peekable(), pivot.iter().peekable());
        let mut unequal = Vec::new();
        loop {
            match (own.peek(), others.peek()) {
                (Some(a), Some(b)) if a == b => {
                    own.next();
                    others.next();
                }
                (Some(a), Some(b)) if a > b => unequal.extend(others.next()),
                (Some(_), _) => unequal.extend(own.next()),
                (None, _) => break,
            }
        }
        unequal.extend(others);
        Difference { pivot: number, len: features.len(), features: unequal.into() }
    }

    /// Whether two sets with these differences from one pivot have the similarity.
    fn is_similar(&self, other: &Difference, similarity: f64) -> bool {
        let all = self.len + other.len;
        let (a, b) = (self.features.len(), other.features.len());
        // The sets differ in at most the sum of both differences, which mostly suffices.
        let surely = all.saturating_sub(a + b) as f64 / (all + a + b) as f64;
        if surely > similarity + ROUNDED {
            return true;
        }
        let least = least_common(self.len, other.len, similarity);
        // The sets are similar if they differ in at most this many features.
        let Some(most) = all.checked_sub(2 * least) else { return false };
        if a + b <= most {
            return true;
        }
        // The number of features that both differences must have in common.
        let same = (a + b - most).div_ceil(2);
        same <= a.min(b) && common_at_least(&self.features, &other.features, same).is_some()
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::btree_set;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn differences_tell_what_sets_do(
            sets in [(); 3].map(|()| btree_set(0_u64..60, 0..50)),
            least in prop_oneof![0.01_f64..=1.0, Just(1.0), Just(0.5)],
        ) {
            let [pivot, one, other] = sets.map(|set| set.into_iter().collect::<Vec<u64>>());
            let difference = |set: &[u64]| Difference::new(0, set, &pivot);
            let of_one = difference(&one);
            let expected: Vec<u64> = (0..60)
                .filter(|at| one.contains(at) != pivot.contains(at))
                .collect();
            prop_assert_eq!(&*of_one.features, expected);
            let similar = of_one.is_similar(&difference(&other), least);
            prop_assert_eq!(similar, jaccard(&one, &other) >= least);
        }
    }
}
