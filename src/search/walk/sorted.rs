//! Values sorted by their block in a table, and the runs of values that belong to each tile.

use std::ops::Range;

/// Values of a table sorted by block, with the positions that they had before sorting.
#[derive(Debug)]
pub(super) struct Sorted {
    pub(super) values: Vec<u64>,
    pub(super) ids: Vec<u32>,
    /// For each tile, the position of its first value in `values`; the last entry is the end.
    starts: Vec<u32>,
}

impl Sorted {
    /// Sorts `count` values by their leading `block_bits` bits, a number of 1 to 32. A tile
    /// contains `2^tile_bits` blocks.
    pub(super) fn new(
        count: usize,
        values: impl Iterator<Item = u64>,
        block_bits: u32,
        tile_bits: u32,
    ) -> Self {
        let mut starts = vec![0_u32; (1 << (block_bits - tile_bits)) + 1];
        let mut sorted: Vec<u64> = Vec::with_capacity(count);
        sorted.extend(values);
        // Two passes of a radix sort: by the low half of the block number, then by the high half.
        let block = |value: u64| (value >> (64 - block_bits)) as usize;
        let low_bits = block_bits / 2;
        let low = |value: u64| block(value) & ((1 << low_bits) - 1);
        let high = |value: u64| block(value) >> low_bits;
        let mut of_low = vec![0_u32; 1 << low_bits];
        let mut of_high = vec![0_u32; 1 << (block_bits - low_bits)];
        for &value in &sorted {
            of_low[low(value)] += 1;
            of_high[high(value)] += 1;
            starts[(block(value) >> tile_bits) + 1] += 1;
        }
        for counts in [&mut of_low, &mut of_high] {
            let mut sum = 0;
            for count in counts.iter_mut() {
                sum += std::mem::replace(count, sum);
            }
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut by_low = vec![(0_u64, 0_u32); sorted.len()];
        for (&value, id) in sorted.iter().zip(0..) {
            let at = &mut of_low[low(value)];
            by_low[*at as usize] = (value, id);
            *at += 1;
        }
        let mut ids = vec![0_u32; sorted.len()];
        for &(value, id) in &by_low {
            let at = &mut of_high[high(value)];
            (sorted[*at as usize], ids[*at as usize]) = (value, id);
            *at += 1;
        }
        Sorted { values: sorted, ids, starts }
    }

    /// The positions in `values` of the values of a tile.
    pub(super) fn of_tile(&self, tile: u64) -> Range<usize> {
        let tile = tile as usize;
        self.starts[tile] as usize..self.starts[tile + 1] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_are_sorted_by_block_and_keep_their_order_within_one(
            values in prop::collection::vec(prop_oneof![any::<u64>(), Just(0), Just(u64::MAX), (0..9_u64).prop_map(|high| high << 60)], 0..200),
            (block_bits, tile_bits) in (1..13_u32).prop_flat_map(|bits| (Just(bits), 0..=bits)),
        ) {
            let sorted = Sorted::new(values.len(), values.iter().copied(), block_bits, tile_bits);
            let mut expected: Vec<(u64, u32)> = values.iter().copied().zip(0..).collect();
            expected.sort_by_key(|(value, _)| value >> (64 - block_bits));
            let found: Vec<(u64, u32)> = sorted.values.iter().copied().zip(sorted.ids.iter().copied()).collect();
            prop_assert_eq!(found, expected);
            let mut next = 0;
            for tile in 0..1 << (block_bits - tile_bits) {
                let items = sorted.of_tile(tile);
                prop_assert_eq!(items.start, next);
                next = items.end;
                prop_assert!(sorted.values[items].iter().all(|value| value >> (64 - block_bits) >> tile_bits == tile));
            }
            prop_assert_eq!(next, values.len());
        }
    }
}
