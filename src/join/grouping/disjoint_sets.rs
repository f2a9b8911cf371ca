//! Disjoint sets of positions, to compute the connected components of near pairs.
//!
//! The name of a set is its smallest position, so the order of clusters does not depend on the
//! order of the pairs. With union by rank, as in petgraph's `UnionFind`, names would depend on that
//! order, and a position would take 5 bytes instead of 4.

/// Disjoint sets of positions. The smallest position of a set is its name.
///
/// # Source
///
/// Tarjan and van Leeuwen, "Worst-Case Analysis of Set Union Algorithms", JACM 31 (1984): path
/// halving.
#[derive(Debug, Default)]
pub struct DisjointSets {
    parents: Vec<u32>,
}

impl DisjointSets {
    /// Makes a set of each position below `count`.
    pub fn new(count: u32) -> Self {
        DisjointSets { parents: (0..count).collect() }
    }

    /// Adds the next position, in a set of its own.
    pub(in crate::join) fn push(&mut self) {
        self.parents.push(self.parents.len() as u32);
    }

    /// The name of the set of a position.
    pub fn find(&mut self, mut at: u32) -> u32 {
        loop {
            let parent = self.parents[at as usize];
            let grandparent = self.parents[parent as usize];
            if parent == grandparent {
                return parent;
            }
            self.parents[at as usize] = grandparent;
            at = grandparent;
        }
    }

    /// Merges the sets of two positions.
    pub fn union(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find(one), self.find(other));
        self.parents[one.max(other) as usize] = one.min(other);
    }

    /// All positions in sets of two or more positions, and the positions in `also`, which must
    /// ascend. Returns pairs of the name of a set and a position in it, ascending.
    pub(in crate::join) fn members(mut self, also: &[u32]) -> Vec<(u32, u32)> {
        let count = self.parents.len() as u32;
        let mut members = Vec::new();
        for at in 0..count {
            let name = self.find(at);
            if name != at {
                members.push((name, at));
            }
        }
        drop(self);
        members.sort_unstable();
        // Adds the position that is the name of each set, and the positions in `also` that form a
        // set of their own.
        let mut names: Vec<u32> = members.chunk_by(|a, b| a.0 == b.0).map(|set| set[0].0).collect();
        let mut others: Vec<u32> = members.iter().map(|member| member.1).collect();
        others.sort_unstable();
        names.extend(also.iter().filter(|at| others.binary_search(at).is_err()));
        drop(others);
        names.sort_unstable();
        names.dedup();
        members.extend(names.into_iter().map(|name| (name, name)));
        members.sort_unstable();
        members
    }
}

/// Minimum number of members in a batch, except in the last one.
const BATCH_COUNT: usize = if cfg!(test) { 5 } else { 1 << 10 };

/// Calls `each` with batches of members, as returned by [`DisjointSets::members`]; a set is never
/// split between batches.
pub fn for_each_batch<'a, E>(
    members: &'a [(u32, u32)],
    each: &mut dyn FnMut(&'a [(u32, u32)]) -> Result<(), E>,
) -> Result<(), E> {
    let mut rest = members;
    while !rest.is_empty() {
        let mut count = 0;
        for set in rest.chunk_by(|a, b| a.0 == b.0) {
            count += set.len();
            if count >= BATCH_COUNT {
                break;
            }
        }
        let (batch, after) = rest.split_at(count);
        rest = after;
        each(batch)?;
    }
    Ok(())
}

/// An index that finds the position of a value in a sorted list, by its leading bits.
#[derive(Debug)]
pub struct PositionIndex {
    shift: u32,
    starts: Vec<u32>,
}

impl PositionIndex {
    /// Binary logarithm of the mean number of values in a bucket.
    const BUCKET_LOG: u32 = 3;

    pub fn new<T: Copy + Into<u64>>(values: &[T]) -> Self {
        let bits =
            (values.len() as u64 + 1).ilog2().saturating_sub(PositionIndex::BUCKET_LOG).max(1);
        let shift = 64 - bits;
        let mut starts = vec![0; (1 << bits) + 1];
        for &value in values {
            starts[(value.into() >> shift) as usize + 1] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        PositionIndex { shift, starts }
    }

    /// The position of a value in `values`, or of the next larger value if it is missing. `values`
    /// must be the list of which the index was made.
    pub fn of<T: Copy + Ord + Into<u64>>(&self, values: &[T], value: T) -> u32 {
        let bucket = (value.into() >> self.shift) as usize;
        let (start, end) = (self.starts[bucket], self.starts[bucket + 1]);
        let bucket = &values[start as usize..end as usize];
        start + bucket.partition_point(|other| *other < value) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_named_by_their_smallest_position() {
        let mut sets = DisjointSets::new(10);
        for (one, other) in [(9, 3), (3, 7), (2, 5), (5, 2), (4, 4)] {
            sets.union(one, other);
        }
        let expected = [(2, 2), (2, 5), (3, 3), (3, 7), (3, 9), (6, 6)];
        assert_eq!(sets.members(&[5, 6]), expected);
        assert!(DisjointSets::new(0).members(&[]).is_empty());
    }

    #[test]
    fn positions_are_found() {
        let mut values: Vec<u64> = (0..1000_u64).map(|i| (i * i * i) << (i % 40)).collect();
        values.extend([0, u64::MAX]);
        values.sort_unstable();
        values.dedup();
        let positions = PositionIndex::new(&values);
        for (at, &value) in (0..).zip(&values) {
            assert_eq!(positions.of(&values, value), at);
        }
    }
}
