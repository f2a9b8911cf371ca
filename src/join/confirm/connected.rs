//! The connected components of candidate pairs: pairs of near fingerprints whose outlines do not rule
//! out similar features.
//!
//! Input: nodes and their outlines; output: disjoint sets of nodes. A set may be larger than a
//! component, never smaller: dense nodes are united without enumerating their pairs.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::nodes::Nodes;
use super::outline::Outlines;
use crate::base::error::Result;
use crate::join::grouping::disjoint_sets::DisjointSets;
use crate::join::options::JoinOptions;
use crate::join::pairs::connect_near;
use fpstore_base::Fingerprint;
use fpstore_base::watch::Phase;

/// Above this number of nodes with one fingerprint, they are connected without their pairs.
const DENSE_COUNT: usize = if cfg!(test) { 4 } else { 32 };

/// The components of pairs that connect all near nodes whose outlines admit similarity, and possibly
/// others.
pub(super) fn connected(
    nodes: &Nodes,
    outlines: &Outlines,
    options: &JoinOptions,
) -> Result<DisjointSets> {
    let watch = options.watch(Phase::Join, None);
    let all = Mutex::new(DisjointSets::new(nodes.len() as u32));
    let locked = || all.lock().unwrap_or_else(PoisonError::into_inner);
    // Outlines are ignored here: two similar nodes must not fall into two groups because the
    // first node is similar to neither of them.
    let chain = |mut chained: Range<u32>, first: u32| {
        let mut all = locked();
        chained.by_ref().filter(|node| *node != first).for_each(|node| all.union(first, node));
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
                    locked().union(first, second);
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
    })?;
    Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
}
