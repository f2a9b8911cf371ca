//! Estimates the layout and the length of a table that is not built yet.

use crate::bytes::checksum::PAGE_LEN;
use crate::bytes::packing::GUARD_LEN;
use crate::format::codec::varint::{LONG_BLOCK_MIN, RESTART_INTERVAL, RESTART_LEN};
use crate::format::descriptor::{TableDescriptor, TableMask};
use crate::format::prefix_index::{self, BLOCKS_PER_ENTRY, DIFFERENCE_MAX, OVERFLOW_ENTRY_LEN};
use crate::plan::cut;
use crate::plan::density::Density;
use crate::plan::probe::{SyndromeModel, TableModel, extra_len};

/// Groups of fewer sampled values are not scaled up: they may be in the sample by chance.
const CROWD_MIN: usize = 8;

/// The estimated table of a mask.
#[derive(Clone, Debug)]
pub(super) struct TableEstimate {
    pub(super) model: TableModel,
    /// Bytes of all heads.
    pub(super) heads_len: f64,
    /// Whether values are so unevenly distributed over blocks that the index has overflow entries.
    pub(super) crowded: bool,
    /// Bytes of all tails.
    pub(super) tails_len: f64,
    /// Bytes of the table in the file: whole pages and their checksums.
    pub(super) file_len: f64,
    /// Number of values in the largest prefix group.
    pub(super) largest_group: f64,
}

impl TableEstimate {
    /// The table of a mask with `prefix_bits` bits, for `value_count` random values.
    pub(super) fn uniform(prefix_bits: u32, value_count: u64) -> Self {
        let n = value_count as f64;
        let distinct = |bits: u32| cut::occupied(n, 2_f64.powi(bits as i32));
        let mut table = TableEstimate::cut(
            prefix_bits,
            value_count,
            distinct,
            |_| CrowdedLens::default(),
            Density::uniform(),
        );
        table.largest_group = largest_by_chance(n, prefix_bits);
        table
    }

    /// The table predicted from a sample. `distinct(L)` is the number of distinct prefixes of L
    /// bits in the collection. `groups(L)` are the sizes of the groups of sampled values that share
    /// L leading bits. Each sampled value represents `grown` values.
    pub(super) fn of_sample<G: Iterator<Item = usize>>(
        prefix_bits: u32,
        value_count: u64,
        distinct: impl Fn(u32) -> f64,
        groups: impl Fn(u32) -> G,
        grown: f64,
        density: Density,
    ) -> Self {
        let by_chance = density.sharing(prefix_bits, value_count as f64);
        let crowded_lens = |block_bits: u32| {
            let entry_bits = block_bits.saturating_sub(BLOCKS_PER_ENTRY.ilog2());
            let crowds = |bits: u32, least: u64| {
                let large = move |&count: &usize| count as f64 * grown > least as f64;
                groups(bits).filter(|&count| count >= CROWD_MIN).filter(large)
            };
            let in_long = crowds(block_bits, LONG_BLOCK_MIN).sum::<usize>() as f64 * grown;
            CrowdedLens {
                restarts_len: in_long / RESTART_INTERVAL as f64 * RESTART_LEN as f64,
                overflow_len: crowds(entry_bits, DIFFERENCE_MAX).count() as f64
                    * OVERFLOW_ENTRY_LEN as f64,
            }
        };
        let mut table =
            TableEstimate::cut(prefix_bits, value_count, distinct, crowded_lens, density);
        let largest = groups(prefix_bits).max().unwrap_or(0);
        let seen = if largest >= CROWD_MIN || grown <= 1.0 { largest as f64 * grown } else { 0.0 };
        let spread = 1.0 + by_chance + 4.0 * by_chance.sqrt();
        table.largest_group = seen.max(spread).min(value_count as f64);
        table
    }

    /// The same table with syndromes of `bits` bits, if they save space. `mask` is its mask.
    pub(super) fn with_syndromes(mut self, mask: u64, bits: u32) -> Self {
        let model = &mut self.model;
        let TableModel { block_bits, head_bits, value_count, .. } = *model;
        let (codec, tail_bits) = (cut::CODEC, 64 - head_bits);
        let mask = TableMask(mask);
        let table = TableDescriptor { mask, codec, tail_bits, block_bits, syndrome_bits: 0 };
        let table = table.with_syndromes(bits);
        let Some(syndromes) = SyndromeModel::of(&table) else { return self };
        model.syndromes = Some(syndromes);
        let pages = |len: f64| (len / PAGE_LEN as f64).ceil();
        let tails_len = tails_len(value_count, table.stored_bits());
        let saved = pages(self.tails_len) - pages(tails_len);
        self.file_len -= saved * (PAGE_LEN + 4) as f64;
        self.tails_len = tails_len;
        self
    }

    fn cut(
        prefix_bits: u32,
        value_count: u64,
        distinct: impl Fn(u32) -> f64,
        crowded_lens: impl Fn(u32) -> CrowdedLens,
        density: Density,
    ) -> Self {
        let n = value_count as f64;
        let gaps_of_bits = cut::gaps_of_bits(n, distinct);
        let tail_bits = cut::tail_bits(&gaps_of_bits);
        let block_bits = cut::block_bits(value_count, tail_bits);
        let crowded = crowded_lens(block_bits);
        let gaps_len = (0..)
            .zip(&gaps_of_bits)
            .map(|(bits, &count): (u32, _)| f64::from(cut::head_len(bits, tail_bits)) * count);
        let heads_len = gaps_len.clone().sum::<f64>() + crowded.restarts_len;
        let lines_len = prefix_index::section_len(block_bits) as f64;
        let tails_len = tails_len(value_count, tail_bits);
        let sections = [lines_len, tails_len, heads_len, crowded.overflow_len];
        let pages: f64 = sections.iter().map(|len| (len / PAGE_LEN as f64).ceil()).sum();
        let head_bits = 64 - tail_bits;
        let extra_len = extra_len(gaps_len.clone().sum(), value_count);
        let hot_len = lines_len + heads_len + crowded.overflow_len;
        TableEstimate {
            model: TableModel {
                prefix_bits,
                block_bits,
                head_bits,
                value_count,
                hot_len,
                extra_len,
                density,
                syndromes: None,
            },
            heads_len,
            crowded: crowded.overflow_len > 0.0,
            tails_len,
            file_len: pages * (PAGE_LEN + 4) as f64,
            largest_group: 0.0,
        }
    }
}

/// The length in bytes of `value_count` tails of `bits` bits.
fn tails_len(value_count: u64, bits: u32) -> f64 {
    match bits {
        0 => 0.0,
        bits => (value_count as f64 * f64::from(bits) / 8.0).ceil() + GUARD_LEN as f64,
    }
}

/// The bytes of restart points and overflow entries, which only blocks with many values have.
#[derive(Clone, Copy, Debug, Default)]
struct CrowdedLens {
    restarts_len: f64,
    overflow_len: f64,
}

/// The size of the largest group of random values that share their leading `bits` bits: the
/// greatest size that at least one group is expected to have.
fn largest_by_chance(value_count: f64, bits: u32) -> f64 {
    let cells = 2_f64.powi(bits as i32);
    let mean = value_count / cells;
    if mean > 300.0 {
        // Normal approximation of the maximum of `cells` Poisson numbers.
        return mean + (2.0 * mean * cells.ln()).sqrt();
    }
    // The expected number of cells with exactly `size` values; searched from the mean up.
    let mut expected = cells * (-mean).exp();
    let mut size = 0.0;
    while (size < mean || expected >= 0.5) && size < value_count {
        size += 1.0;
        expected *= mean / size;
    }
    f64::max(size - 1.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_values_take_little_more_than_they_must() {
        for n in [10_000, 1_000_000, 1_000_000_000] {
            let table = TableEstimate::uniform(32, n);
            let bits = table.file_len * 8.0 / n as f64;
            let limit = 64.0 - (n as f64).log2() + std::f64::consts::LOG2_E;
            let pages = 4.0 * 4100.0 * 8.0 / n as f64;
            assert!(bits < limit + 3.5 + pages && bits > limit, "n={n}: {bits}, limit {limit}");
            let least = if n < 10_000_000 { 26 } else { 32 };
            assert_eq!(table.model.block_bits, (n / least).ilog2());
        }
    }

    #[test]
    fn the_largest_group_of_random_values_is_a_few_more_than_the_mean() {
        assert_eq!(largest_by_chance(1e6, 64), 1.0);
        let two = largest_by_chance(1e6, 32);
        assert!((2.0..=3.0).contains(&two), "{two}");
        let many = largest_by_chance(1e6, 10);
        assert!(many > 1040.0 && many < 1150.0, "{many}");
        let fair = largest_by_chance(1e6, 16);
        assert!(fair > 28.0 && fair < 45.0, "{fair}");
    }
}
