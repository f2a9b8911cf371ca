//! Disjoint sets of positions, with pairs of positions that must never be in the same set.
//!
//! Example: if 1 and 3 must stay apart, a union of 1 and 2 succeeds; afterwards, a union of 2 and 3
//! has no effect.

use std::collections::{HashMap, HashSet};

use super::disjoint_sets::DisjointSets;

/// Disjoint sets with pairs of positions that must stay apart ("cannot link").
///
/// Two sets *repel* each other if a position of one must stay apart from a position of the other.
/// `repelled` maps the key of a set to the keys of the sets that it repels. If two sets merge, the
/// key of the set that repels more sets is kept, so that each entry moves a logarithmic number of
/// times.
#[derive(Debug, Default)]
pub(in crate::join) struct ConstrainedSets {
    sets: DisjointSets,
    /// The key of each set that repels other sets, by the name of the set.
    keys: HashMap<u32, u32>,
    repelled: HashMap<u32, HashSet<u32>>,
}

impl ConstrainedSets {
    /// Makes a set of each position below `count`. The positions of each pair in `apart` must stay
    /// in different sets.
    pub(in crate::join) fn new(count: u32, apart: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut sets =
            ConstrainedSets { sets: DisjointSets::new(count), ..ConstrainedSets::default() };
        for (one, other) in apart {
            for (from, to) in [(one, other), (other, one)] {
                sets.keys.insert(from, from);
                sets.repelled.entry(from).or_default().insert(to);
            }
        }
        sets
    }

    /// The name of the set of a position: its smallest position.
    pub(in crate::join) fn find(&mut self, at: u32) -> u32 {
        self.sets.find(at)
    }

    /// Whether two positions are in the same set, or in sets that repel each other. Both are
    /// permanent, so a union of the two has no effect now or later.
    pub(in crate::join) fn is_settled(&mut self, one: u32, other: u32) -> bool {
        let (one, other) = (self.find(one), self.find(other));
        one == other || self.repel(one, other)
    }

    /// Whether the sets with these names repel each other.
    fn repel(&self, one: u32, other: u32) -> bool {
        let keys = self.keys.get(&one).zip(self.keys.get(&other));
        keys.is_some_and(|(one, other)| self.repelled[one].contains(other))
    }

    /// Merges the sets of two positions unless they repel each other.
    pub(in crate::join) fn union(&mut self, one: u32, other: u32) {
        if self.is_settled(one, other) {
            return;
        }
        let names = [self.find(one), self.find(other)];
        self.sets.union(names[0], names[1]);
        let key = match names.map(|name| self.keys.remove(&name)) {
            [Some(one), Some(other)] => Some(self.merge(one, other)),
            [one, other] => one.or(other),
        };
        if let Some(key) = key {
            self.keys.insert(names[0].min(names[1]), key);
        }
    }

    /// Merges the entries of two keys, and returns the key that is kept.
    fn merge(&mut self, one: u32, other: u32) -> u32 {
        let is_larger = self.repelled[&one].len() >= self.repelled[&other].len();
        let (kept, gone) = if is_larger { (one, other) } else { (other, one) };
        for repelled in self.repelled.remove(&gone).unwrap_or_default() {
            let others = self.repelled.entry(repelled).or_default();
            others.remove(&gone);
            others.insert(kept);
            self.repelled.entry(kept).or_default().insert(repelled);
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::tests::random::Random;

    #[test]
    fn sets_never_hold_what_must_stay_apart() {
        let mut random = Random::new(311);
        for round in 0..200 {
            let count = 2 + random.below(30) as u32;
            let mut pair = || {
                let [one, other] = [(); 2].map(|()| random.below(count.into()) as u32);
                (one, if one == other { (one + 1) % count } else { other })
            };
            let apart: Vec<(u32, u32)> = (0..count / 2).map(|_| pair()).collect();
            let mut sets = ConstrainedSets::new(count, apart.iter().copied());
            let mut model: Vec<u32> = (0..count).collect();
            for _ in 0..3 * count {
                let (one, other) = pair();
                let (a, b) = (model[one as usize], model[other as usize]);
                let in_both = |&(x, y): &(u32, u32)| {
                    let found = [model[x as usize], model[y as usize]];
                    found == [a, b] || found == [b, a]
                };
                let repel = apart.iter().any(in_both);
                assert_eq!(sets.is_settled(one, other), a == b || repel, "round {round}");
                sets.union(one, other);
                if !repel {
                    let name = a.min(b);
                    model.iter_mut().filter(|set| [a, b].contains(set)).for_each(|set| *set = name);
                }
                let found: Vec<u32> = (0..count).map(|at| sets.find(at)).collect();
                assert_eq!(found, model, "round {round}");
            }
        }
    }
}
