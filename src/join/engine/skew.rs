//! Skewed partitions: values that agree on a block and do not fit into memory together.
//!
//! A join divides its values into partitions by a block of bits. A partition that is too large is
//! joined separately: this inner join divides its values by the other bits that vary in them. A
//! partition of the inner join can be skewed, too, so partitions nest.

use super::hashing::partition_of;

/// The values of an inner join: one partition by a block, inside it one partition by another block,
/// and so on. For a join of all values, the list of partitions is empty.
#[derive(Clone, Debug, Default)]
pub(in crate::join) struct SkewedPartition {
    partitions: Vec<Partition>,
    /// Bits on which a pair must agree. Other pairs are found in other partitions.
    pub(in crate::join) agree: u64,
    /// Blocks in each of which a pair must differ. Other pairs are found with an earlier block.
    pub(in crate::join) differ: Vec<u64>,
}

/// One of `2^bits` partitions of values by the bits of a block.
#[derive(Clone, Copy, Debug)]
pub(in crate::join) struct Partition {
    pub(in crate::join) block: u64,
    pub(in crate::join) bits: u32,
    pub(in crate::join) number: usize,
}

impl SkewedPartition {
    /// Whether the join is not restricted to a partition.
    pub(in crate::join) fn is_all(&self) -> bool {
        self.partitions.is_empty()
    }

    pub(in crate::join) fn contains(&self, value: u64) -> bool {
        self.partitions.iter().all(|p| partition_of(value, p.block, 0, p.bits) == p.number)
    }

    /// A partition inside this one. Its pairs must agree on its block and differ in each of the
    /// `earlier` blocks.
    pub(in crate::join) fn within(&self, partition: Partition, earlier: &[u64]) -> SkewedPartition {
        let mut inner = self.clone();
        inner.partitions.push(partition);
        inner.agree |= partition.block;
        inner.differ.extend_from_slice(earlier);
        inner
    }
}
