//! Connected components of near pairs found by several tasks, in one process or in several.
//!
//! A cluster of near-duplicates is a component of the graph of all pairs. The pairs of a divided
//! join are in many files; [`Components`] accepts pairs in any order and any number of times. Its
//! result is a forest: a link from the smallest fingerprint of each component to each other
//! fingerprint in it. A task can first make a forest of its own pairs: the links of all forests
//! have the same components as all pairs, and n mutually near documents take n links instead of
//! n^2/2 pairs.

use std::collections::HashMap;

use super::disjoint_sets::DisjointSets;
use crate::base::error::{Error, Result};
use crate::join::pairs::Pair;
use fpstore_base::Fingerprint;

/// Collects pairs of fingerprints and finds their connected components.
///
/// Takes about 30 bytes of memory for each fingerprint in a pair; pairs are not stored.
///
/// # Examples
///
/// ```
/// use fpstore::Fingerprint;
/// use fpstore::join::{Components, Pair};
///
/// let pair = |first: u64, second: u64| Pair { first: first.into(), second: second.into() };
/// let mut of_task = Components::default();
/// of_task.add(&[pair(7, 15), pair(3, 7), pair(3, 15)])?;
/// let mut all = Components::default();
/// all.add(&[pair(15, 31), pair(100, 101)])?;
/// all.add(&of_task.finish())?;
/// let links: Vec<(u64, u64)> =
///     all.finish().iter().map(|link| (link.first.value(), link.second.value())).collect();
/// assert_eq!(links, [(3, 7), (3, 15), (3, 31), (100, 101)]);
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Components {
    positions: HashMap<u64, u32>,
    values: Vec<u64>,
    sets: DisjointSets,
}

impl Components {
    /// Adds pairs. A pair may be added more than once, in either order.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] for more than 2^32 - 2 fingerprints.
    pub fn add(&mut self, pairs: &[Pair]) -> Result<()> {
        for pair in pairs {
            let (one, other) = (self.position(pair.first)?, self.position(pair.second)?);
            self.sets.union(one, other);
        }
        Ok(())
    }

    /// The number of distinct fingerprints in the pairs added so far.
    pub fn fingerprint_count(&self) -> usize {
        self.values.len()
    }

    /// The links of the components: for each component, pairs of its smallest fingerprint and each
    /// other fingerprint. Sorted by first, then by second fingerprint.
    pub fn finish(mut self) -> Vec<Pair> {
        // The name of a set is its smallest position, which is the position of the value that was
        // added first, not of the smallest value.
        let mut least: Vec<u64> = self.values.clone();
        for position in 0..self.values.len() as u32 {
            let name = self.sets.find(position) as usize;
            least[name] = least[name].min(self.values[position as usize]);
        }
        let mut links = Vec::new();
        for position in 0..self.values.len() as u32 {
            let first = least[self.sets.find(position) as usize];
            let second = self.values[position as usize];
            if first != second {
                let [first, second] = [first, second].map(Fingerprint::new);
                links.push(Pair { first, second });
            }
        }
        links.sort_unstable();
        links
    }

    fn position(&mut self, fingerprint: Fingerprint) -> Result<u32> {
        let value = fingerprint.value();
        if let Some(&position) = self.positions.get(&value) {
            return Ok(position);
        }
        let position = u32::try_from(self.values.len()).ok().filter(|&of| of < u32::MAX - 1);
        let position = position.ok_or_else(|| Error::TooLarge {
            reason: "components can be computed for at most 2^32 - 2 fingerprints".into(),
        })?;
        self.positions.insert(value, position);
        self.values.push(value);
        self.sets.push();
        Ok(position)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::join::tests::oracle;
    use crate::join::tests::random::Random;

    #[test]
    fn links_of_parts_give_the_components_of_all_pairs() {
        let mut random = Random::new(31);
        for round in 0..50 {
            let count = 1 + random.below(60);
            let pairs: Vec<Pair> = (0..count)
                .map(|_| {
                    let [first, second] =
                        [random.below(80), random.below(80)].map(|v| Fingerprint::new(v * 7919));
                    Pair { first, second }
                })
                .collect();
            let ends = pairs.iter().flat_map(|pair| [pair.first, pair.second]);
            let ends: Vec<Fingerprint> = ends.collect::<BTreeSet<_>>().into_iter().collect();
            let is_pair = |one: usize, other: usize| {
                let (one, other) = (ends[one], ends[other]);
                pairs.iter().any(|p| [(one, other), (other, one)].contains(&(p.first, p.second)))
            };
            let mut expected: Vec<Pair> = Vec::new();
            for set in oracle::components(ends.len(), is_pair) {
                let link = |&at: &usize| Pair { first: ends[set[0]], second: ends[at] };
                expected.extend(set[1..].iter().map(link));
            }
            expected.sort_unstable();
            let mut whole = Components::default();
            whole.add(&pairs).unwrap();
            assert_eq!(whole.fingerprint_count(), ends.len());
            assert_eq!(whole.finish(), expected, "round {round}");
            let mut all = Components::default();
            for part in pairs.chunks(7) {
                let mut of_part = Components::default();
                of_part.add(part).unwrap();
                all.add(&of_part.finish()).unwrap();
            }
            assert_eq!(all.finish(), expected, "round {round}, by parts");
        }
    }
}
