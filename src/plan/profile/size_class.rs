//! Histograms of sizes in classes whose bounds double: 1, 2, 3-4, 5-8, 9-16, ...

/// A class of a histogram: the items whose size is from `low` to `high`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SizeClass {
    /// The least size in the class: 1, 2, 3, 5, 9, ...
    pub low: u64,
    /// The greatest size in the class: 1, 2, 4, 8, 16, ...
    pub high: u64,
    /// The number of items with a size in the class.
    pub count: u64,
    /// The sum of the sizes of these items.
    pub total: u64,
}

impl SizeClass {
    /// The name of the class: `1`, `2`, `3-4`, `5-8`.
    pub fn name(&self) -> String {
        if self.low == self.high {
            self.low.to_string()
        } else {
            format!("{}-{}", self.low, self.high)
        }
    }
}

/// Counts sizes by class.
#[derive(Clone, Debug)]
pub(crate) struct SizeCounts([(u64, u64); 65]);

impl SizeCounts {
    pub(crate) fn new() -> Self {
        SizeCounts([(0, 0); 65])
    }

    /// Counts an item of this size, which is at least 1.
    pub(crate) fn push(&mut self, size: u64) {
        let (count, total) = &mut self.0[class_of(size)];
        *count += 1;
        *total += size;
    }

    /// All classes up to the last non-empty one, including empty classes between them.
    pub(crate) fn classes(&self) -> Vec<SizeClass> {
        let used = self.0.iter().rposition(|&(count, _)| count > 0).map_or(0, |last| last + 1);
        let class = |(at, &(count, total)): (usize, &(u64, u64))| {
            let (low, high) = bounds(at);
            SizeClass { low, high, count, total }
        };
        self.0.iter().take(used).enumerate().map(class).collect()
    }
}

fn class_of(size: u64) -> usize {
    (64 - size.saturating_sub(1).leading_zeros()) as usize
}

fn bounds(class: usize) -> (u64, u64) {
    match class {
        0 => (1, 1),
        64 => ((1 << 63) + 1, u64::MAX),
        _ => ((1 << (class - 1)) + 1, 1 << class),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_lies_in_its_class() {
        for size in [1, 2, 3, 4, 5, 8, 9, 1000, 1024, 1025, (1 << 63) + 1, u64::MAX] {
            let (low, high) = bounds(class_of(size));
            assert!((low..=high).contains(&size), "{size}");
        }
        let mut counts = SizeCounts::new();
        [1, 1, 1, 3, 4].into_iter().for_each(|size| counts.push(size));
        let classes = counts.classes();
        let named: Vec<(String, u64, u64)> =
            classes.iter().map(|class| (class.name(), class.count, class.total)).collect();
        assert_eq!(named, [("1".into(), 3, 3), ("2".into(), 0, 0), ("3-4".into(), 2, 7)]);
    }
}
