//! Groups of fingerprints in memory.
//!
//! [`Groups`] is made from a list of fingerprints, and merges the groups of near fingerprints, or
//! of pairs given by the caller. It is for data frames, where each row needs the group of its
//! fingerprint; [`clusters`](crate::join::clusters()) is for stores,
//! [`Components`](crate::join::Components) for pairs found by many processes.

use super::disjoint_sets::{DisjointSets, PositionIndex};
use crate::base::error::{Error, Result};
use crate::join::options::JoinOptions;
use crate::join::pairs::near_pairs;
use fpstore_base::Fingerprint;

/// Distinct fingerprints in groups. At first, each fingerprint is a group of its own.
///
/// Takes 13 bytes of memory for each distinct fingerprint; [`Groups::join_near`] also takes the
/// memory of a join.
///
/// # Examples
///
/// ```
/// use fpstore::Fingerprint;
/// use fpstore::join::{Groups, JoinOptions};
///
/// let rows = [0, 255, 7, 0].map(Fingerprint::new);
/// let mut groups = Groups::new(rows.iter().copied())?;
/// groups.join_near(&JoinOptions::new(3))?;
/// let least = rows.map(|row| groups.least_of(row));
/// assert_eq!(least, [0, 255, 0, 0].map(|value| Some(Fingerprint::new(value))));
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Debug)]
pub struct Groups {
    fingerprints: Vec<Fingerprint>,
    positions: PositionIndex,
    sets: DisjointSets,
}

impl Groups {
    /// Makes a group of each distinct fingerprint. Fingerprints may be in any order, and with
    /// repeats. The iterator is cloned: it is read twice.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] for more than 2^32 - 2 distinct fingerprints.
    pub fn new(fingerprints: impl Iterator<Item = Fingerprint> + Clone) -> Result<Self> {
        let mut distinct = Vec::with_capacity(fingerprints.clone().count());
        distinct.extend(fingerprints);
        distinct.sort_unstable();
        distinct.dedup();
        let count = u32::try_from(distinct.len()).ok().filter(|&count| count < u32::MAX);
        let count = count.ok_or_else(|| Error::TooLarge {
            reason: "groups can be computed for at most 2^32 - 2 fingerprints".into(),
        })?;
        let positions = PositionIndex::new(&distinct);
        Ok(Groups { fingerprints: distinct, positions, sets: DisjointSets::new(count) })
    }

    /// Merges the groups of fingerprints that are near one another.
    ///
    /// # Errors
    ///
    /// The errors of [`near_pairs`].
    pub fn join_near(&mut self, options: &JoinOptions) -> Result<()> {
        let Groups { fingerprints, positions, sets } = self;
        near_pairs(fingerprints.as_slice(), options, |pairs| {
            for pair in pairs {
                let of = |end| positions.of(fingerprints, end);
                sets.union(of(pair.first), of(pair.second));
            }
            Ok(())
        })
    }

    /// Merges the groups of two fingerprints. Does nothing if one of them is not in
    /// [`Groups::fingerprints`].
    pub fn join(&mut self, one: Fingerprint, other: Fingerprint) {
        if let (Some(one), Some(other)) = (self.position(one), self.position(other)) {
            self.sets.union(one, other);
        }
    }

    /// The distinct fingerprints, ascending.
    pub fn fingerprints(&self) -> &[Fingerprint] {
        &self.fingerprints
    }

    /// The group of a fingerprint, given as the position of the smallest member of the group in
    /// [`Groups::fingerprints`]; `None` if the fingerprint is not in that list.
    pub fn group_of(&mut self, fingerprint: Fingerprint) -> Option<usize> {
        let position = self.position(fingerprint)?;
        Some(self.sets.find(position) as usize)
    }

    /// The smallest fingerprint in the group of `fingerprint`; `None` if it is not in
    /// [`Groups::fingerprints`].
    pub fn least_of(&mut self, fingerprint: Fingerprint) -> Option<Fingerprint> {
        self.group_of(fingerprint).map(|group| self.fingerprints[group])
    }

    fn position(&self, fingerprint: Fingerprint) -> Option<u32> {
        let position = self.positions.of(&self.fingerprints, fingerprint);
        (self.fingerprints.get(position as usize) == Some(&fingerprint)).then_some(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::tests::oracle;
    use crate::join::tests::random::Random;

    #[test]
    fn groups_are_the_components_of_near_pairs() {
        let mut random = Random::new(61);
        let values: Vec<Fingerprint> =
            (0..500).map(|_| Fingerprint::new(random.below(1 << 12).wrapping_mul(0x11))).collect();
        let mut groups = Groups::new(values.iter().copied()).unwrap();
        groups.join_near(&JoinOptions::new(1)).unwrap();
        let near = |one: usize, other: usize| values[one].distance(values[other]) < 2;
        for group in oracle::components(values.len(), near) {
            let least = group.iter().map(|&at| values[at]).min();
            assert!(group.iter().all(|&at| groups.least_of(values[at]) == least));
        }
        assert_eq!(groups.least_of(Fingerprint::new(u64::MAX)), None);
    }
}
