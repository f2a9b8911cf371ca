//! The oracle: expected results, found by comparing all values. It cannot use the library, because
//! the unit tests of the library include this file by its path.
#![allow(dead_code, reason = "each test uses its own part")]

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::Hash;
use std::ops::Range;

/// The number of bits in which two fingerprints differ.
pub fn distance(one: u64, other: u64) -> u32 {
    (one ^ other).count_ones()
}

/// The items without repetitions, in the order of first occurrence.
pub fn once<T: Clone + Eq + Hash>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = HashSet::new();
    items.into_iter().filter(|item| seen.insert(item.clone())).collect()
}

/// The values within `k` bits of the needle: distance, value and position, in the order of answers.
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

/// All pairs of positions whose values are within `k` bits, the lesser value first, sorted by
/// values, then by positions: the order of document pairs.
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

/// All pairs of distinct values within `k` bits, each pair once, the lesser value first.
pub fn pairs(values: impl IntoIterator<Item = impl Borrow<u64>>, k: u32) -> Vec<(u64, u64)> {
    let distinct: BTreeSet<u64> = values.into_iter().map(|value| *value.borrow()).collect();
    pairs_of_positions(distinct, k).into_iter().map(|(values, _)| values).collect()
}

/// All pairs of a value of `left` and a value of `right` within `k` bits, each pair once.
pub fn pairs_across(left: &[u64], right: &[u64], k: u32) -> Vec<(u64, u64)> {
    let near = |&one: &u64| scan(right, one, k);
    let pairs =
        left.iter().flat_map(|one| near(one).into_iter().map(|(_, other, _)| (*one, other)));
    pairs.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The connected components of the graph whose edges are the pairs for which `near` is true.
/// Members of a component ascend; components are sorted by their first members.
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

/// Visits items in `order` and keeps each item that is not near an item in `held` or an already
/// kept item. Returns the dropped items, each with the first held or kept item near it.
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

/// The Jaccard similarity of two sets of features; 1 if both are empty.
pub fn similarity(one: &BTreeSet<u64>, other: &BTreeSet<u64>) -> f64 {
    let all = one.union(other).count();
    if all == 0 { 1.0 } else { one.intersection(other).count() as f64 / all as f64 }
}

/// The pairs of document positions within `k` bits whose similarity is at least `threshold`, each
/// with its similarity.
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
