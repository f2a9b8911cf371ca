//! Computes the keys of a table with syndromes, in ascending order, from its values in ascending
//! order.
//!
//! Values that differ only in their hashed bits are adjacent, but their syndromes are in any order.
//! So the syndromes of each such group are sorted before they are passed on. Most groups consist of
//! one value; a large group takes memory only for the number of values with each syndrome.

use crate::bytes::mask::low_bits;
use crate::format::descriptor::TableDescriptor;

/// For a group of more values, only the number of values with each syndrome is kept, not a list.
const KEPT_MAX: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct KeySorter {
    descriptor: TableDescriptor,
    /// All bits but the syndrome; the pending keys have these in common.
    stem: u64,
    /// The syndromes of the pending group, in any order.
    syndromes: Vec<u32>,
    /// For a large group, the number of values with each syndrome.
    counts: Vec<u64>,
}

impl KeySorter {
    pub(super) fn new(descriptor: TableDescriptor) -> Self {
        KeySorter { descriptor, stem: 0, syndromes: Vec::new(), counts: Vec::new() }
    }

    /// Takes the next value. Passes the keys of the previous group to `out` once it is complete.
    #[inline]
    pub(super) fn push<E>(
        &mut self,
        value: u64,
        out: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let bits = self.descriptor.syndrome_bits;
        let key = self.descriptor.key_of(value);
        if key >> bits != self.stem {
            self.finish(out)?;
            self.stem = key >> bits;
        } else if self.syndromes.len() == KEPT_MAX {
            self.count();
        }
        self.syndromes.push((key & low_bits(bits)) as u32);
        Ok(())
    }

    /// Passes all pending keys to `out`.
    pub(super) fn finish<E>(&mut self, mut out: impl FnMut(u64) -> Result<(), E>) -> Result<(), E> {
        let stem = self.stem << self.descriptor.syndrome_bits;
        if self.counts.is_empty() {
            self.syndromes.sort_unstable();
            for syndrome in self.syndromes.drain(..) {
                out(stem | u64::from(syndrome))?;
            }
            return Ok(());
        }
        self.count();
        for (syndrome, count) in (0..).zip(std::mem::take(&mut self.counts)) {
            for _ in 0..count {
                out(stem | syndrome)?;
            }
        }
        Ok(())
    }

    /// Moves the listed syndromes into the counts.
    fn count(&mut self) {
        self.counts.resize(1 << self.descriptor.syndrome_bits, 0);
        for syndrome in self.syndromes.drain(..) {
            self.counts[syndrome as usize] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::codec::HeadCodec;
    use crate::format::descriptor::TableMask;
    use proptest::prelude::*;

    fn descriptor(tail_bits: u32, syndrome_bits: u32) -> TableDescriptor {
        let (mask, codec) = (TableMask(0xffff_ffff), HeadCodec::Varint);
        TableDescriptor { mask, codec, tail_bits, block_bits: 0, syndrome_bits }
    }

    fn sorted(descriptor: TableDescriptor, values: &[u64]) -> Vec<u64> {
        let mut sorter = KeySorter::new(descriptor);
        let mut keys = Vec::new();
        let mut out = |key| {
            keys.push(key);
            Ok::<(), ()>(())
        };
        values.iter().for_each(|&value| sorter.push(value, &mut out).unwrap());
        sorter.finish(&mut out).unwrap();
        keys
    }

    proptest! {
        #[test]
        fn keys_come_sorted_and_each_as_often_as_its_values(
            mut values in prop::collection::vec((0..3_u64, any::<u32>()), 0..100),
            tail_bits in 13..40_u32,
        ) {
            values.sort_unstable();
            let values: Vec<u64> =
                values.iter().map(|&(high, low)| high << 32 | u64::from(low)).collect();
            let descriptor = descriptor(tail_bits, 12);
            let mut expected: Vec<u64> =
                values.iter().map(|&value| descriptor.key_of(value)).collect();
            expected.sort_unstable();
            prop_assert_eq!(sorted(descriptor, &values), expected);
        }
    }

    #[test]
    fn a_group_of_any_size_is_sorted() {
        let values: Vec<u64> = (0..200_000).map(|value| (7 << 32) | (value * 21_000)).collect();
        let descriptor = descriptor(36, 12);
        let mut expected: Vec<u64> = values.iter().map(|&v| descriptor.key_of(v)).collect();
        expected.sort_unstable();
        let mut values = values;
        values.push(8 << 32);
        expected.push(descriptor.key_of(8 << 32));
        assert_eq!(sorted(descriptor, &values), expected);
    }
}
