//! The sides of a join in memory: one set, or a probe side and a build side.

/// The values to be compared, for reading.
#[derive(Clone, Copy, Debug)]
pub(in crate::join) enum Sides<'a> {
    /// The values of one set with one another.
    Within(&'a [u64]),
    /// Each value of the probe side with each value of the build side.
    Across { probe: &'a [u64], build: &'a [u64] },
}

/// The values to be compared. A search changes their order.
#[derive(Debug)]
pub(in crate::join) enum SidesMut<'a> {
    /// Distinct values with one another.
    Within(&'a mut [u64]),
    /// Each value of the probe side with each value of the build side; each side is distinct.
    Across { probe: &'a mut [u64], build: &'a mut [u64] },
}

impl SidesMut<'_> {
    /// The same for reading.
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

    /// The number of pairs, near or not.
    pub(in crate::join) fn pair_count(&self) -> f64 {
        match self {
            SidesMut::Within(values) => values.len() as f64 * (values.len() as f64 - 1.0) / 2.0,
            SidesMut::Across { probe, build } => probe.len() as f64 * build.len() as f64,
        }
    }

    /// The bits in which not all values are equal.
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
