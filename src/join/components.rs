//! Connected components: which fingerprints are joined by chains of near pairs.

/// Sets of positions that are merged again and again; each is named by its least position.
///
/// Four bytes a position, half of what union by rank takes and what a crate offers; that the name is the
/// least position gives clusters an order that does not depend on that of the pairs.
///
/// # Source
///
/// Tarjan and van Leeuwen, "Worst-Case Analysis of Set Union Algorithms", JACM 31 (1984): path halving.
#[derive(Debug)]
pub(super) struct Components {
    parents: Vec<u32>,
}

impl Components {
    /// So many positions, each by itself.
    pub(super) fn new(count: u32) -> Self {
        Components { parents: (0..count).collect() }
    }

    /// The name of the set of a position.
    pub(super) fn find(&mut self, mut at: u32) -> u32 {
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

    pub(super) fn union(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find(one), self.find(other));
        self.parents[one.max(other) as usize] = one.min(other);
    }

    /// All positions of sets of more than one, and those in `also`, which ascends; each after the name of
    /// its set, by ascending name, then position.
    pub(super) fn members(mut self, also: &[u32]) -> Vec<(u32, u32)> {
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
        // The names themselves: one for each set, and those that stand alone.
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

/// The positions of sorted values, found by their leading bits.
#[derive(Debug)]
pub(super) struct Positions {
    shift: u32,
    starts: Vec<u32>,
}

impl Positions {
    /// Values of a bucket, on average.
    const BUCKET_LOG: u32 = 3;

    pub(super) fn new(values: &[u64]) -> Self {
        let bits = (values.len() as u64 + 1).ilog2().saturating_sub(Positions::BUCKET_LOG).max(1);
        let shift = 64 - bits;
        let mut starts = vec![0; (1 << bits) + 1];
        for value in values {
            starts[(value >> shift) as usize + 1] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        Positions { shift, starts }
    }

    /// Where the value is, which must be there.
    pub(super) fn of(&self, values: &[u64], value: u64) -> u32 {
        let bucket = (value >> self.shift) as usize;
        let (start, end) = (self.starts[bucket], self.starts[bucket + 1]);
        let among = &values[start as usize..end as usize];
        start + among.partition_point(|other| *other < value) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_named_by_their_least_position() {
        let mut components = Components::new(10);
        for (one, other) in [(9, 3), (3, 7), (2, 5), (5, 2), (4, 4)] {
            components.union(one, other);
        }
        let expected = [(2, 2), (2, 5), (3, 3), (3, 7), (3, 9), (6, 6)];
        assert_eq!(components.members(&[5, 6]), expected);
        assert!(Components::new(0).members(&[]).is_empty());
    }

    #[test]
    fn positions_are_found() {
        let mut values: Vec<u64> = (0..1000_u64).map(|i| (i * i * i) << (i % 40)).collect();
        values.extend([0, u64::MAX]);
        values.sort_unstable();
        values.dedup();
        let positions = Positions::new(&values);
        for (at, &value) in (0..).zip(&values) {
            assert_eq!(positions.of(&values, value), at);
        }
    }
}
