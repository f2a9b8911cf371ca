//! The oracle: expected results, found by exhaustive comparison. It does not use the library, whose
//! unit tests include this file by its path.
#![allow(dead_code, reason = "each test uses its own part")]

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::Hash;
use std::ops::Range;

/// The number of bits in which two fingerprints differ.
pub fn distance(one: u64, other: u64) -> u32 {
    (one ^ other).count_ones()
}

/// Each item once, in the order of the first occurrences.
pub fn once<T: Clone + Eq + Hash>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = HashSet::new();
    items.into_iter().filter(|item| seen.insert(item.clone())).collect()
}

/// The values within `k` bits of the needle, in answer order: distance, value, position.
pub fn scan(
    values: impl IntoIterator<Item = impl Borrow<u64>>,
    needle: u64,
    k: u32,
) -> Vec<(u32, u64, usize)> {
    let values = values.into_iter().map(|value| *value.borrow()).enumerate();
    let found = values.map(|(at, value)| (distance(value, needle), value, at));
    let mut near: Vec<(u32, u64, usize)> = found.filter(|found| found.0 <= k).collect();
    near.sort_unstable();
    near
}

/// All pairs of positions with near values, the lesser value first. The order is the order of
/// document pairs: by the values, then by the positions.
pub fn pairs_of_positions(
    values: impl IntoIterator<Item = impl Borrow<u64>>,
    k: u32,
) -> Vec<((u64, u64), (usize, usize))> {
    let mut values: Vec<(u64, usize)> =
        values.into_iter().map(|value| *value.borrow()).zip(0..).collect();
    values.sort_unstable();
    let mut pairs = Vec::new();
    for (place, &(one, at)) in values.iter().enumerate() {
        let near = values[place + 1..].iter().filter(|&&(other, _)| distance(one, other) <= k);
        pairs.extend(near.map(|&(other, other_at)| ((one, other), (at, other_at))));
    }
    pairs.sort_unstable();
    pairs
}

/// All pairs of near values, each pair once, the lesser value first.
pub fn pairs(values: impl IntoIterator<Item = impl Borrow<u64>>, k: u32) -> Vec<(u64, u64)> {
    let distinct: BTreeSet<u64> = values.into_iter().map(|value| *value.borrow()).collect();
    pairs_of_positions(distinct, k).into_iter().map(|(values, _)| values).collect()
}

/// All pairs of near values from two sets, each pair once.
pub fn pairs_across(left: &[u64], right: &[u64], k: u32) -> Vec<(u64, u64)> {
    let near = |&one: &u64| scan(right, one, k);
    let pairs =
        left.iter().flat_map(|one| near(one).into_iter().map(|(_, other, _)| (*one, other)));
    pairs.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The connected components of the nearness graph. Each is in ascending order; components are
/// sorted by their first member.
pub fn components(count: usize, near: impl Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
    let mut left: BTreeSet<usize> = (0..count).collect();
    let mut components = Vec::new();
    while let Some(first) = left.pop_first() {
        let mut reached = vec![first];
        let mut next = 0;
        while let Some(&at) = reached.get(next) {
            reached.extend(left.extract_if(.., |&other| near(at, other)));
            next += 1;
        }
        reached.sort_unstable();
        components.push(reached);
    }
    components
}

/// Visits the items in order and keeps each item that is not near a held or kept item. Returns the
/// dropped items, each with the first held or kept item near it.
pub fn dropped(
    held: Range<usize>,
    order: impl IntoIterator<Item = usize>,
    near: impl Fn(usize, usize) -> bool,
) -> BTreeMap<usize, usize> {
    let (mut kept, mut dropped): (Vec<usize>, _) = (held.collect(), BTreeMap::new());
    for at in order {
        match kept.iter().find(|&&other| near(other, at)) {
            Some(&other) => {
                dropped.insert(at, other);
            }
            None => kept.push(at),
        }
    }
    dropped
}

/// The Jaccard similarity of two feature sets; 1 if both are empty.
pub fn similarity(one: &BTreeSet<u64>, other: &BTreeSet<u64>) -> f64 {
    let all = one.union(other).count();
    if all == 0 { 1.0 } else { one.intersection(other).count() as f64 / all as f64 }
}

/// The near pairs of document positions with a similarity of at least `threshold`, with the
/// similarity.
pub fn confirmed_pairs(
    values: &[u64],
    k: u32,
    threshold: f64,
    similarity: impl Fn(usize, usize) -> f64,
) -> BTreeMap<(usize, usize), f64> {
    let near = pairs_of_positions(values, k).into_iter();
    near.map(|(_, (one, other))| (one.min(other), one.max(other)))
        .map(|(one, other)| ((one, other), similarity(one, other)))
        .filter(|&(_, is)| is >= threshold)
        .collect()
}
