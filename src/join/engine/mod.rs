//! The engine of joins: finds the near pairs of one set of values with itself, or of two sets with
//! each other.
//!
//! The joins of `pairs`, `shares` and `batch` use it. It processes values, not documents.
//!
//! For each first block of a [`Blocking`], the values are divided by this block into partitions
//! that fit the cache of a core, and each thread finds the pairs of one partition after the other.
//! If the partitions do not fit into the memory budget together, they are processed in several
//! passes, each of which reads the values again. A partition that alone does not fit into memory
//! becomes a join of its own (`SkewedPartition`).

pub(in crate::join) mod blocking;
pub(in crate::join) mod callback;
mod chains;
mod costs;
pub(in crate::join) mod cut;
pub(in crate::join) mod density;
mod descent;
pub(in crate::join) mod distinct;
mod each;
pub(in crate::join) mod finder;
mod group_table;
mod groups;
pub(in crate::join) mod hash_table;
mod hashing;
mod line_table;
pub(in crate::join) mod one_join;
mod ordered;
mod ordered_pass;
pub(in crate::join) mod partition_pass;
pub(in crate::join) mod sides;
pub(in crate::join) mod skew;
pub(in crate::join) mod values;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::base::error::Result;
use crate::join::options::Share;
use blocking::{Blocking, OfFirst};
use density::{CONNECTED_DEGREE, Connect, is_cluster, is_dense};
use finder::{PARTITION_BITS_MAX, VALUES_PER_PARTITION, ValuePair, partition_bits};
use fpstore_base::watch::Phase;
use one_join::{Join, SharedEmit, UNEVEN};
use partition_pass::{PartitionCounts, PartitionPass};
use sides::SidesMut;
use skew::Partition;
use values::{JoinValues, Piece};

/// Without a blocking: number of values that a thread compares with all other values at a time.
const RANGE_COUNT: usize = 1 << 10;
/// Approximate number of values of a side from which pairs are sampled to choose a blocking.
const SAMPLED_COUNT: u64 = 1 << 12;
/// Number of sampled pairs.
const SAMPLE_COUNT: usize = 1 << 14;
/// A partition with at most this many values is never treated as skewed.
const SKEWED_MIN: usize = if cfg!(test) { 64 } else { 4 * VALUES_PER_PARTITION };

impl Join<'_> {
    /// Finds all near pairs, in any order, each once.
    pub(in crate::join) fn run(
        mut self,
        emit: &mut (dyn FnMut(&mut Vec<ValuePair>) -> Result<()> + Send),
    ) -> Result<()> {
        let emit = Mutex::new(emit);
        let counts: Vec<u64> = self.sides.iter().map(JoinValues::count_max).collect();
        if pair_count(&counts) < 1.0 {
            return Ok(());
        }
        if let Some(connect) = self.connect
            && is_cluster(&self.sample(&counts)?, self.k)
        {
            return self.connect_all(connect);
        }
        let (count, pairs) = (counts.iter().sum(), pair_count(&counts));
        let varying = self.varying()? & !self.partition.agree;
        let Some(blocking) = Blocking::choose(varying, count, pairs, self.k) else {
            self.watch_units(count);
            return self.compare_all(&emit);
        };
        let orders = self.orders();
        let blocking = blocking.led_by(&orders);
        let steps: u64 = (0..blocking.firsts().len()).map(|first| blocking.steps(first)).sum();
        self.watch_units(count * steps);
        let firsts = self.join_in_order(&blocking, &orders, &emit)?;
        self.join_partitions(&blocking, &firsts, &counts, &emit)
    }

    /// Starts the progress of this share: its total is the part of `count` units of work that
    /// belongs to the share.
    fn watch_units(&mut self, count: u64) {
        self.watch = self.watch.next(Phase::Join, Some(count / u64::from(self.share.count)));
    }

    /// The differences (XOR) of a sample of pairs. The sample depends only on the values.
    fn sample(&self, counts: &[u64]) -> Result<Vec<u64>> {
        let mut sides = Vec::new();
        for (side, &count) in counts.iter().enumerate() {
            let step = (count / SAMPLED_COUNT).max(1);
            let (mut at, mut some) = (0, Vec::new());
            self.read(Piece::whole(side), |run| {
                for &value in run {
                    if at % step == 0 {
                        some.push(value);
                    }
                    at += 1;
                }
                Ok(())
            })?;
            sides.push(some);
        }
        Ok(match &mut sides[..] {
            [probe, build] => SidesMut::Across { probe, build }.sample(SAMPLE_COUNT),
            [values, ..] => SidesMut::Within(values).sample(SAMPLE_COUNT),
            [] => Vec::new(),
        })
    }

    /// Passes all values to `connect`, as one connected set.
    fn connect_all(&self, connect: Connect<'_>) -> Result<()> {
        let mut values = Vec::new();
        self.read(Piece::whole(0), |run| {
            // Each call begins with the very first value, which connects the runs.
            values.truncate(1);
            values.extend_from_slice(run);
            connect(&values)?;
            self.tick(run.len() as u64)
        })
    }

    /// Finds the near pairs whose first agreeing block in a blocking is at `first`. The caller
    /// starts the progress.
    pub(in crate::join) fn run_first(
        self,
        blocking: &Blocking,
        first: usize,
        emit: &SharedEmit<'_>,
    ) -> Result<()> {
        let counts: Vec<u64> = self.sides.iter().map(JoinValues::count_max).collect();
        if pair_count(&counts) < 1.0 {
            return self.tick(counts.iter().sum::<u64>() * blocking.steps(first));
        }
        self.join_partitions(blocking, &[first], &counts, emit)
    }

    /// Finds the near pairs of the combinations with these first blocks, partition by partition.
    fn join_partitions(
        &self,
        blocking: &Blocking,
        firsts: &[usize],
        counts: &[u64],
        emit: &SharedEmit<'_>,
    ) -> Result<()> {
        let count = usize::try_from(counts.iter().sum::<u64>()).unwrap_or(usize::MAX);
        // With this number of partitions, a mean partition takes a sixteenth of the memory, so only
        // skewed partitions do not fit.
        let budgets = (count / self.values_max()).saturating_mul(16).max(1);
        // There must be at least one partition for each share. The division into shares must not
        // depend on memory, since processes with different memory share one join.
        let share_bits = partition_bits(count).max(self.share.count.next_power_of_two().ilog2());
        let bits = share_bits.max(budgets.ilog2().min(PARTITION_BITS_MAX));
        if firsts.is_empty() {
            return Ok(());
        }
        let blocks: Vec<u64> = firsts.iter().map(|&first| blocking.blocks[first]).collect();
        let counts = self.count_partitions(&blocks, bits)?;
        let mut buffer = Vec::new();
        for (&first, counts) in firsts.iter().zip(&counts) {
            let of_first = OfFirst::new(blocking, first);
            for partitions in self.passes(counts, bits, share_bits) {
                if partitions.len() == 1 && self.is_skewed(counts, partitions.start, bits) {
                    let partition =
                        Partition { block: of_first.block(), bits, number: partitions.start };
                    let earlier = &blocking.firsts()[..first];
                    let joined = self.join_skewed(partition, earlier, counts, emit)?;
                    self.tick(joined * blocking.steps(first))?;
                    continue;
                }
                let pass = PartitionPass { join: self, of_first: &of_first, bits, partitions };
                pass.run(counts, &mut buffer, emit)?;
            }
        }
        Ok(())
    }

    /// Whether the values of a partition, or the copies of them that threads make, do not fit into
    /// memory: many values agree on the block, or there is very little memory.
    fn is_skewed(&self, counts: &PartitionCounts, partition: usize, bits: u32) -> bool {
        let count = counts.of_partition(partition);
        let mean = counts.total() >> bits;
        let uneven = count > UNEVEN as usize * mean && count > self.copied_max();
        count > SKEWED_MIN && (uneven || count > self.values_max())
    }

    /// Joins the values of a partition separately, with a blocking of the other bits that vary in
    /// it. Returns the number of values of the partition.
    fn join_skewed(
        &self,
        partition: Partition,
        earlier: &[u64],
        counts: &PartitionCounts,
        emit: &SharedEmit<'_>,
    ) -> Result<u64> {
        let inner = Join {
            sides: self.sides.clone(),
            share: Share::WHOLE,
            watch: self.watch.clone(),
            partition: self.partition.within(partition, earlier),
            ..*self
        };
        let count = |side| counts.of_side(side, partition.number) as u64;
        let counts: Vec<u64> = (0..self.sides.len()).map(count).collect();
        if pair_count(&counts) >= 1.0 {
            let (count, pairs) = (counts.iter().sum(), pair_count(&counts));
            let sample = inner.sample(&counts)?;
            if let Some(connect) = self.connect
                && is_dense(&sample, count, CONNECTED_DEGREE, self.k)
            {
                inner.connect_all(connect)?;
                return Ok(count);
            }
            // The blocking is chosen from a sample of pairs, because values that agree on a block
            // are rarely evenly distributed.
            let varying = inner.varying()? & !inner.partition.agree;
            match Blocking::choose_measured(varying, count, pairs, self.k, &sample) {
                Some(blocking) => {
                    let firsts: Vec<usize> = (0..blocking.firsts().len()).collect();
                    inner.join_partitions(&blocking, &firsts, &counts, emit)?;
                }
                None => inner.compare_all(emit)?,
            }
        }
        Ok(counts.iter().sum())
    }

    /// Finds the near pairs by comparing all pairs.
    fn compare_all(&self, emit: &SharedEmit<'_>) -> Result<()> {
        let probe = self.in_memory(0)?;
        let build = (self.sides.len() > 1).then(|| self.in_memory(1)).transpose()?;
        let ranges = probe.len().div_ceil(RANGE_COUNT);
        let next = AtomicUsize::new(0);
        self.on_all_threads(emit, |finder, emit| {
            while let Some(number) = Some(next.fetch_add(1, Ordering::Relaxed))
                && number < ranges
            {
                if number as u32 % self.share.count != self.share.number {
                    continue;
                }
                let start = number * RANGE_COUNT;
                let range = start..probe.len().min(start + RANGE_COUNT);
                self.tick(range.len() as u64)?;
                match &build {
                    None => finder.find_in_range(&probe, range, emit)?,
                    Some(build) => finder.find_across(&probe[range], build, emit)?,
                }
            }
            Ok(())
        })
    }
}

/// The number of all pairs: of the values of a single side, or of a value of one side and a value
/// of the other.
fn pair_count(counts: &[u64]) -> f64 {
    match counts {
        [one] => *one as f64 * (*one as f64 - 1.0) / 2.0,
        _ => counts.iter().map(|&count| count as f64).product(),
    }
}
