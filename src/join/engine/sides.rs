//! The sides of a join in memory: one set of values, or a probe side and a build side.

use crate::bytes::scramble::scramble;

/// The values to be compared, as shared slices.
#[derive(Clone, Copy, Debug)]
pub(in crate::join) enum Sides<'a> {
    /// The values of one set, compared with one another.
    Within(&'a [u64]),
    /// Each value of the probe side, compared with each value of the build side.
    Across { probe: &'a [u64], build: &'a [u64] },
}

/// The values to be compared, as mutable slices: a search changes their order.
#[derive(Debug)]
pub(in crate::join) enum SidesMut<'a> {
    /// Distinct values, compared with one another.
    Within(&'a mut [u64]),
    /// Each value of the probe side, compared with each value of the build side; the values of a
    /// side are distinct.
    Across { probe: &'a mut [u64], build: &'a mut [u64] },
}

impl<'a> Sides<'a> {
    /// The values to insert into a hash table: the build side, or the only side.
    pub(super) fn build(&self) -> &'a [u64] {
        match self {
            Sides::Within(values) => values,
            Sides::Across { build, .. } => build,
        }
    }
}

impl<'a> SidesMut<'a> {
    /// With `side_count` 1 the first list as the only side; otherwise the first list as the probe
    /// side and the second as the build side.
    pub(super) fn of([one, other]: &'a mut [Vec<u64>; 2], side_count: usize) -> Self {
        match side_count {
            1 => SidesMut::Within(one),
            _ => SidesMut::Across { probe: one, build: other },
        }
    }

    /// The same values as shared slices.
    pub(in crate::join) fn shared(&self) -> Sides<'_> {
        match self {
            SidesMut::Within(values) => Sides::Within(values),
            SidesMut::Across { probe, build } => Sides::Across { probe, build },
        }
    }

    /// The number of values on all sides.
    pub(in crate::join) fn value_count(&self) -> usize {
        match self {
            SidesMut::Within(values) => values.len(),
            SidesMut::Across { probe, build } => probe.len() + build.len(),
        }
    }

    /// The number of all pairs, near or not.
    pub(in crate::join) fn pair_count(&self) -> f64 {
        match self {
            SidesMut::Within(values) => values.len() as f64 * (values.len() as f64 - 1.0) / 2.0,
            SidesMut::Across { probe, build } => probe.len() as f64 * build.len() as f64,
        }
    }

    /// Whether there is any pair, near or not.
    pub(in crate::join) fn has_pairs(&self) -> bool {
        match self {
            SidesMut::Within(values) => values.len() > 1,
            SidesMut::Across { probe, build } => !probe.is_empty() && !build.is_empty(),
        }
    }

    /// The differences (XOR) of about `count` pairs. The choice of pairs depends only on positions.
    pub(in crate::join) fn sample(&self, count: usize) -> Vec<u64> {
        if self.pair_count() < 1.0 {
            return Vec::new();
        }
        let mut state = 0;
        let mut any = |values: &[u64]| {
            state += 1;
            values[((u128::from(scramble(state)) * values.len() as u128) >> 64) as usize]
        };
        let diffs = (0..count).map(|_| match self {
            SidesMut::Within(values) => any(values) ^ any(values),
            SidesMut::Across { probe, build } => any(probe) ^ any(build),
        });
        match self {
            // Values are distinct, so a difference of 0 is a value paired with itself: skip it.
            SidesMut::Within(_) => diffs.filter(|diff| *diff != 0).collect(),
            SidesMut::Across { .. } => diffs.collect(),
        }
    }

    /// The bits that vary: those that are not equal in all values of both sides.
    pub(in crate::join) fn varying(&self) -> u64 {
        let mut any = 0;
        let mut all = u64::MAX;
        let mut add = |values: &[u64]| {
            for value in values {
                any |= value;
                all &= value;
            }
        };
        match self {
            SidesMut::Within(values) => add(values),
            SidesMut::Across { probe, build } => {
                add(probe);
                add(build);
            }
        }
        any & !all
    }
}
