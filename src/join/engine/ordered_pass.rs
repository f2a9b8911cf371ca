//! Joins values by a block of leading bits of a table. Each partition is a range of the table,
//! which a thread reads and joins: values need not be counted, divided or kept in memory.

use super::blocking::{Blocking, OfFirst};
use super::cut::leads_with;
use super::finder::{Division, VALUES_PER_PARTITION};
use super::one_join::{Join, SharedEmit, UNEVEN};
use super::ordered::Ordered;
use crate::base::error::Result;

/// Mean number of values in a partition.
const MEAN_COUNT: u64 = if cfg!(test) { 64 } else { VALUES_PER_PARTITION as u64 };

/// A pass over all sides, in the order of a table that leads with the first block.
pub(super) struct OrderedPass<'a> {
    join: &'a Join<'a>,
    of_first: &'a OfFirst<'a>,
    sides: Vec<Ordered<'a>>,
    /// The number of leading bits of the block that determine the partition.
    bits: u32,
    /// An upper bound of the number of values of each partition.
    counts: Vec<u64>,
    division: Division,
}

impl Join<'_> {
    /// The masks of tables in whose order all sides can be read. Empty for a skewed partition, and
    /// for a share of a join, because the stores of the other processes may have other tables.
    pub(super) fn orders(&self) -> Vec<u64> {
        let [first, others @ ..] = &self.sides[..] else { return Vec::new() };
        if self.share.count > 1 || !self.partition.is_all() {
            return Vec::new();
        }
        let mut orders = first.orders();
        orders.retain(|&mask| others.iter().all(|side| side.ordered(mask).is_some()));
        orders
    }

    /// Finds the near pairs of those first blocks that are leading bits of a mask in `orders`, if
    /// their partitions are even. Returns the positions of the other first blocks.
    pub(super) fn join_in_order(
        &self,
        blocking: &Blocking,
        orders: &[u64],
        emit: &SharedEmit<'_>,
    ) -> Result<Vec<usize>> {
        let mut others = Vec::new();
        for first in 0..blocking.firsts().len() {
            let of_first = OfFirst::new(blocking, first);
            match OrderedPass::new(self, &of_first, orders)? {
                Some(pass) => pass.run(emit)?,
                None => others.push(first),
            }
        }
        Ok(others)
    }
}

impl<'a> OrderedPass<'a> {
    /// `None` if no order leads with the block, or if a partition is uneven or too large for the
    /// memory: such values are joined by partition passes.
    fn new(join: &'a Join<'a>, of_first: &'a OfFirst<'a>, orders: &[u64]) -> Result<Option<Self>> {
        let block = of_first.block();
        let Some(&mask) = orders.iter().find(|&&mask| leads_with(mask, block)) else {
            return Ok(None);
        };
        let sides: Option<Vec<_>> = join.sides.iter().map(|side| side.ordered(mask)).collect();
        let Some(sides) = sides else { return Ok(None) };
        let total: u64 = join.sides.iter().map(|side| side.count_max()).sum();
        let partitions = (total / MEAN_COUNT).max(2).ilog2();
        let bits = partitions.min(block.count_ones());
        let mut counts = vec![0; 1 << bits];
        for side in &sides {
            let of_side = side.counts(bits)?;
            counts.iter_mut().zip(of_side).for_each(|(sum, count)| *sum += count);
        }
        let most = (UNEVEN * (total >> bits)).max(MEAN_COUNT).min(join.copied_max() as u64);
        if counts.iter().any(|&count| count > most) {
            return Ok(None);
        }
        let in_order = sides.len() == 1 && !sides[0].may_repeat();
        let agreed = Some(of_first.agreed()).filter(|&of| in_order && leads_with(mask, of));
        let division =
            Division::Ordered { bits, is_whole_block: bits == block.count_ones(), agreed };
        Ok(Some(OrderedPass { join, of_first, sides, bits, counts, division }))
    }

    /// Each thread reads and joins one partition after the other.
    fn run(&self, emit: &SharedEmit<'_>) -> Result<()> {
        self.sides.iter().for_each(|side| side.advise(true));
        let OrderedPass { join, of_first, sides, bits, counts, division } = self;
        join.join_each(of_first, *division, counts.len(), emit, |prefix, side, values| {
            sides[side].read(*bits, prefix as u64, |run| {
                values.extend_from_slice(run);
                Ok(())
            })?;
            debug_assert!(values.len() as u64 <= counts[prefix]);
            Ok(sides[side].may_repeat())
        })?;
        self.sides.iter().for_each(|side| side.advise(false));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::JoinOptions;
    use crate::join::engine::cut::even_blocks;
    use crate::join::engine::values::JoinValues;
    use crate::join::tests::random::Random;
    use crate::{Builder, Fingerprint, Scheme, Store, Writer};

    fn store_of(path: &std::path::Path, scheme: &str, values: &[u64]) -> Store {
        let options = crate::BuildOptions::default().scheme(Scheme::named(scheme, 3).unwrap());
        let mut builder = Builder::with_options(path, options).unwrap();
        for &value in values {
            builder.push_bare(Fingerprint::new(value)).unwrap();
        }
        builder.finish().unwrap()
    }

    /// The positions of the blocks (five in all) that are joined in the order of a table.
    fn led(values: JoinValues<'_>, memory: u64) -> Vec<usize> {
        let options = JoinOptions::new(3).threads(2).memory(memory);
        let join = Join::new(vec![values], &options, options.budget().unwrap());
        let orders = join.orders();
        let blocking = Blocking::of_blocks(even_blocks(u64::MAX, 5), 2).led_by(&orders);
        (0..blocking.firsts().len())
            .filter(|&first| {
                OrderedPass::new(&join, &OfFirst::new(&blocking, first), &orders).unwrap().is_some()
            })
            .collect()
    }

    #[test]
    fn values_are_joined_in_the_orders_that_are_at_hand() {
        let folder = tempfile::tempdir().unwrap();
        let mut random = Random::new(77);
        let values: Vec<u64> = (0..20_000).map(|_| random.next()).collect();
        let halves = store_of(&folder.path().join("halves"), "2", &values);
        let four = store_of(&folder.path().join("four"), "blocks-4", &values);
        for memory in [1 << 30, 1 << 16] {
            for (store, expected) in [(&halves, &[0, 2][..]), (&four, &[0, 1, 2, 3])] {
                let values = JoinValues::open(store.into(), memory / 2, 1).unwrap();
                assert_eq!(led(values, memory), expected, "{memory}");
            }
        }
        let mut sorted: Vec<_> = values.iter().copied().map(Fingerprint::new).collect();
        let fingerprints =
            |of: &[Fingerprint]| led(JoinValues::open(of.into(), 0, 1).unwrap(), 1 << 30);
        assert_eq!(fingerprints(&sorted), [0]);
        sorted.sort_unstable();
        assert_eq!(fingerprints(&sorted), [0]);

        // Deletions refer to ranks in the first table, so only the order of this table can be used.
        let mut writer = Writer::open(folder.path().join("halves")).unwrap();
        writer.delete_fingerprints(&[sorted[5]]).unwrap();
        let halves = writer.finish().unwrap();
        assert_eq!(led(JoinValues::open((&halves).into(), 0, 1).unwrap(), 1 << 30), [0]);

        // The leading 20 bits of these values are 0, so all of them agree on the first block.
        let skewed: Vec<u64> = values.iter().map(|value| value >> 20).collect();
        let skewed = store_of(&folder.path().join("skewed"), "2", &skewed);
        assert_eq!(led(JoinValues::open((&skewed).into(), 0, 1).unwrap(), 1 << 30), [2]);
    }
}
