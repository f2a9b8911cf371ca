//! All kernels of this processor, compared with an implementation that reads gap by gap.

use proptest::prelude::*;

use super::check::{check, needle, probe, search};
use super::*;
use crate::base::section::{BlockIndex, Rank};
use crate::bytes::mask::low_bits;
use crate::bytes::varint;

fn gap() -> impl Strategy<Value = u64> {
    prop_oneof![
        60 => 0..128_u64, 6 => 128..2000_u64, 2 => Just(0), 2 => 0..60_000_u64, 1 => 0..10_000_000_u64,
        1 => 0..1_u64 << 36, 1 => 0..1_u64 << 44,
    ]
}

proptest! {
    #[test]
    fn kernels_find_what_a_walk_finds(
        blocks in prop::collection::vec((prop::collection::vec(gap(), 1..150), 0..4_u32), 1..9),
        mask: u64, pick: u16, k in prop_oneof![Just(64_u32), 0..9_u32], after: [u8; 32], lie in 0..30_u8,
    ) {
        let (mut file, mut probes, mut sums) = (Vec::new(), Vec::new(), vec![0]);
        for (gaps, remaining) in &blocks {
            let (start, mut sum) = (file.len(), 0_u64);
            for gap in gaps {
                varint::write(*gap, &mut file);
                sum += gap;
                sums.push(sum);
            }
            let value_count = gaps.len() as u64 + u64::from(lie == 0);
            probes.push(probe(start, file.len() - start, value_count, *remaining));
        }
        file.extend_from_slice(&after);
        file.extend_from_slice(&after);
        for mask in [mask, u64::MAX, u64::MAX << 3, u64::MAX << 12, 0] {
            for inner in [u64::from(pick), sums[usize::from(pick) % sums.len()]] {
                check(&file, &probes, needle(inner, mask, k));
            }
        }
    }

    #[test]
    fn kernels_take_any_bytes(file in prop::collection::vec(any::<u8>(), 0..300), probes in prop::collection::vec((0..300_usize, 1..140_usize, 0..4_u32), 1..5), inner: u16, mask: u16) {
        let mut probes: Vec<BlockProbe> = probes.into_iter().map(|(start, len, remaining)| {
            let start = start.min(file.len());
            let len = len.min(file.len() - start);
            let ends = file[start..].iter().take(len).filter(|&&byte| byte < 0x80).count();
            probe(start, len, ends as u64, remaining)
        }).collect();
        probes.retain(|probe| probe.span.heads_len() > 0);
        let mask = u64::MAX << 16 | u64::from(mask);
        check(&file, &probes, needle(inner.into(), mask, 64));
    }
}

#[test]
fn a_search_ends_above_the_range_of_the_needle() {
    for kernel in Kernel::all() {
        let file = [1_u8; 512];
        let start = Cursor {
            block: BlockIndex(5),
            start: 0,
            end: 400,
            inner: 0,
            rank: 0,
            rank_end: 400,
            remaining: 0,
        };
        let (mut cursor, mut found) = (start, Vec::new());
        let needle = needle(70, u64::MAX, 0);
        let came = search(kernel, &file, &mut cursor, needle, &mut found, 10);
        assert_eq!(came, Progress::Done);
        assert_eq!(found, [NearHead { rank: Rank(69), head: 5 << 52 | 70 }]);
        assert_eq!(cursor.start, 128, "{kernel:?}");
    }
}

proptest! {
    #[test]
    fn near_words_are_those_within_some_bits(
        wanted: u64, flips in prop::collection::vec(0..64_u32, 8), ones in any::<[u64; 8]>(), k in 0..=64_u32,
    ) {
        // Words at any distance from the needle, and words at distances around `k`.
        let mut words = ones;
        for (word, flips) in words.iter_mut().zip(flips) {
            if *word % 4 > 0 {
                let count = (k + flips % 3).saturating_sub(1).min(64);
                *word = wanted ^ low_bits(count).rotate_left(flips);
            }
        }
        let near = words.map(|word| (word ^ wanted).count_ones() <= k);
        let expected = (0..8).filter(|&at| near[at]).fold(0, |mask, at| mask | 1 << at);
        for kernel in Kernel::all() {
            assert_eq!(kernel.run(NearWords { words, wanted, k }), expected, "{kernel:?}");
        }
    }
}

struct NearWords {
    words: [u64; 8],
    wanted: u64,
    k: u32,
}

impl Task for NearWords {
    type Output = u32;

    #[inline(always)]
    fn run<V: Vector>(self, vector: V) -> u32 {
        vector.near_words(&self.words, self.wanted, self.k)
    }
}
