//! Hamming distances from one value to many values, with the vector instructions of this processor.

use super::for_this_processor::for_this_processor;

/// The number of distances that each call of the callback gets.
const CHUNK_COUNT: usize = 256;

/// Calls `take` with the distances from `value` to each of `others`, in their order and in chunks,
/// each chunk with the position of its first distance.
pub(crate) fn distances_from(value: u64, others: &[u64], mut take: impl FnMut(usize, &[u8])) {
    let mut distances = [0; CHUNK_COUNT];
    for (number, others) in others.chunks(CHUNK_COUNT).enumerate() {
        let distances = &mut distances[..others.len()];
        fill(value, others, distances);
        take(number * CHUNK_COUNT, distances);
    }
}

for_this_processor! {
    fn fill(value: u64, others: &[u64], distances: &mut [u8]) {
        for (distance, other) in distances.iter_mut().zip(others) {
            *distance = (value ^ other).count_ones() as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn distances_are_those_of_each_pair(
            value in any::<u64>(),
            others in prop::collection::vec(any::<u64>(), 0..3 * CHUNK_COUNT),
        ) {
            let others: Vec<u64> = others.into_iter().chain([value, !value, 0, u64::MAX]).collect();
            let mut found = Vec::new();
            distances_from(value, &others, |start, distances| {
                assert_eq!(start, found.len());
                found.extend_from_slice(distances);
            });
            let expected = others.iter().map(|other| (value ^ other).count_ones());
            prop_assert!(found.into_iter().map(u32::from).eq(expected));
        }
    }
}
