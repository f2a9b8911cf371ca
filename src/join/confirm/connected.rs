//! The connected components of candidate pairs: pairs of near fingerprints whose outlines do not rule
//! out similar features.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::nodes::Nodes;
use super::outline::Outlines;
use crate::base::error::Result;
use crate::join::grouping::disjoint_sets::DisjointSets;
use crate::join::options::JoinOptions;
use crate::join::pairs::{connect_near, near_pairs};
use fpstore_base::Fingerprint;
use fpstore_base::watch::Phase;

/// Above this number of nodes with one fingerprint, they are connected without their pairs.
const DENSE_COUNT: usize = if cfg!(test) { 4 } else { 32 };

/// The components of candidate pairs.
pub(super) struct Connected {
    pub(super) sets: DisjointSets,
}

impl Connected {
    pub(super) fn new(count: usize) -> Self {
        Connected { sets: DisjointSets::new(count as u32) }
    }

    /// Adds pairs that connect all near nodes whose outlines admit similarity, and possibly others.
    pub(super) fn connect(
        &mut self,
        nodes: &Nodes,
        outlines: &Outlines,
        options: &JoinOptions,
    ) -> Result<()> {
        let watch = options.watch(Phase::Join, None);
        let all = Mutex::new(self);
        let all = || all.lock().unwrap_or_else(PoisonError::into_inner);
        // Outlines are ignored here: two similar nodes must not fall into two groups because the
        // first node is similar to neither of them.
        let chain = |mut chained: Range<u32>, first: u32| {
            let mut all = all();
            chained
                .by_ref()
                .filter(|node| *node != first)
                .for_each(|node| all.sets.union(first, node));
        };
        let pairs = |one: Range<u32>, other: Range<u32>| {
            // Large lists are connected within themselves, so no pair needs to be checked.
            if one.len() > DENSE_COUNT || other.len() > DENSE_COUNT {
                let first = one.start;
                chain(one, first);
                return chain(other, first);
            }
            for first in one {
                for second in other.clone() {
                    if first < second && outlines.admit(nodes, first, second) {
                        all().sets.union(first, second);
                    }
                }
            }
        };
        for group in nodes.each_group().filter(|group| group.len() > 1) {
            watch.look()?;
            if group.len() > DENSE_COUNT {
                chain(group.clone(), group.start);
            } else {
                pairs(group.clone(), group);
            }
        }
        let connect = |values: &[u64]| {
            let mut groups = values.iter().map(|&value| nodes.with(Fingerprint::new(value)));
            let Some(first) = groups.next() else { return Ok(()) };
            chain(first.clone(), first.start);
            groups.for_each(|group| chain(group, first.start));
            Ok(())
        };
        connect_near(nodes.fingerprints(), options, &connect, |near| {
            near.iter().for_each(|pair| {
                let (one, other) = (nodes.with(pair.first), nodes.with(pair.second));
                pairs(one, other);
            });
            Ok(())
        })
    }
}

/// Calls `each` with each pair of nodes whose outlines admit similarity and whose fingerprints are
/// near and among `fingerprints`, which ascend. The smaller node comes first.
pub(super) fn each_pair(
    nodes: &Nodes,
    fingerprints: &[Fingerprint],
    outlines: &Outlines,
    options: &JoinOptions,
    mut each: impl FnMut(u32, u32) -> Result<()> + Send,
) -> Result<()> {
    let watch = options.watch(Phase::Join, None);
    let mut of = |one: Range<u32>, other: Range<u32>| -> Result<()> {
        for first in one {
            watch.look()?;
            for second in other.clone().filter(|&second| second > first) {
                if outlines.admit(nodes, first, second) {
                    each(first, second)?;
                }
            }
        }
        Ok(())
    };
    for &fingerprint in fingerprints {
        let group = nodes.with(fingerprint);
        if group.len() > 1 {
            of(group.clone(), group)?;
        }
    }
    near_pairs(fingerprints, options, |pairs| {
        pairs.iter().try_for_each(|pair| of(nodes.with(pair.first), nodes.with(pair.second)))
    })?;
    Ok(())
}
