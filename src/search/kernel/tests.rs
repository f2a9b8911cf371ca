//! All kernels of the processor, compared with a walk gap by gap.

use proptest::prelude::*;

use super::chunk::CHUNK_LEN;
use super::*;
use crate::format::codec::varint::LONG_BLOCK_MIN;
use crate::varint;

/// The near heads of gaps after `inner`, and the rank after the last value; `None` where a kernel
/// must not read them.
fn slow(
    bytes: &[u8],
    block: BlockIndex,
    (mut inner, mut rank): (u64, u64),
    remaining: u32,
    needle: Needle,
) -> Option<(Vec<NearHead>, u64)> {
    let (mut rest, mut found) = (bytes, Vec::new());
    while !rest.is_empty() {
        let (gap, len) = varint::read(rest).ok()?;
        if len > 8 {
            return None;
        }
        inner += gap;
        rest = &rest[len..];
        let head = needle.head_in(block, inner);
        if needle.is_near(inner, head, remaining) {
            found.push(NearHead { rank: Rank(rank), head });
        }
        rank += 1;
    }
    Some((found, rank))
}

/// As [`slow`], for a block.
fn slow_probe(file: &[u8], probe: &BlockProbe, needle: Needle) -> Option<Vec<NearHead>> {
    let BlockProbe { block, span, remaining } = *probe;
    if span.value_count() > LONG_BLOCK_MIN {
        return None;
    }
    let bytes = file.get(span.heads_start as usize..span.heads_end as usize)?;
    let (found, rank) = slow(bytes, block, (0, span.rank_start), remaining, needle)?;
    (rank == span.rank_end).then_some(found)
}

fn needle(inner: u64, mask: u64, k: u32) -> Needle {
    Needle { head: 5 << 52 | inner, inner_bits: 52, inner, mask, k }
}

/// Whether all chunks of these bytes lie in the file: chunks start where gaps do.
fn has_room(file: &[u8], start: usize, end: usize) -> bool {
    let mut at = start;
    loop {
        if at + CHUNK_LEN > file.len() {
            return false;
        }
        let chunk = &file[at..(at + CHUNK_LEN).min(end)];
        let Some(last) = chunk.iter().rposition(|&byte| byte < 0x80) else { return true };
        at += last + 1;
        if at >= end || chunk.len() < CHUNK_LEN {
            return true;
        }
    }
}

/// Compares each probe by itself with a walk, then all at once.
fn check(file: &[u8], probes: &[BlockProbe], needle: Needle) {
    for kernel in Kernel::all() {
        let (mut heads, mut left) = (Vec::new(), Vec::new());
        for (number, probe) in probes.iter().enumerate() {
            let (alone, is_left) = check_probe(kernel, file, probe, needle);
            heads.extend(alone);
            left.extend(is_left.then_some(number));
            check_cursor(kernel, file, probe, needle);
        }
        let (together, mut fallback) = find(kernel, file, probes, needle);
        fallback.sort_unstable();
        assert_eq!((together, fallback), (heads, left), "{kernel:?}");
    }
}

fn find(
    kernel: Kernel,
    file: &[u8],
    probes: &[BlockProbe],
    needle: Needle,
) -> (Vec<NearHead>, Vec<usize>) {
    let (mut found, mut fallback) = (NearHeads::default(), vec![99]);
    kernel.find_near(HeadCodec::Varint, file, probes, needle, &mut found, &mut fallback);
    (found.heads, fallback)
}

/// The near heads of a probe, and whether the kernel left it to its caller.
fn check_probe(
    kernel: Kernel,
    file: &[u8],
    probe: &BlockProbe,
    needle: Needle,
) -> (Vec<NearHead>, bool) {
    let (heads, left) = find(kernel, file, std::slice::from_ref(probe), needle);
    let BlockSpan { heads_start, heads_end, .. } = probe.span;
    let has_room = has_room(file, heads_start as usize, heads_end as usize);
    let is_left = !left.is_empty();
    assert!(!is_left || heads.is_empty(), "{kernel:?} left {probe:?} and found something");
    match slow_probe(file, probe, needle).filter(|_| has_room) {
        Some(expected) => assert_eq!((&heads, is_left), (&expected, false), "{kernel:?}"),
        // A broken rule may be overlooked where nothing is near, or above the range of the needle.
        None => {
            assert!(is_left || heads.is_empty() || probe.remaining == 0, "{kernel:?} {probe:?}");
        }
    }
    (heads, is_left)
}

fn search(
    kernel: Kernel,
    heads: &[u8],
    cursor: &mut Cursor,
    needle: Needle,
    found: &mut Vec<NearHead>,
    enough: usize,
) -> Progress {
    let search = Search { heads, cursor, needle, found, enough };
    kernel.run(search)
}

/// The same bytes with a cursor that starts after some head, in steps.
fn check_cursor(kernel: Kernel, file: &[u8], probe: &BlockProbe, needle: Needle) {
    let BlockProbe { block, span, remaining } = *probe;
    for (before, enough) in [(0, usize::MAX), (1000, 1), (1 << 40, 3)] {
        let mut cursor = Cursor {
            block,
            start: span.heads_start,
            end: span.heads_end,
            inner: before,
            rank: span.rank_start,
            rank_end: span.rank_end,
            remaining,
        };
        let mut found = Vec::new();
        let came = loop {
            match search(kernel, file, &mut cursor, needle, &mut found, enough) {
                Progress::More => {}
                came => break came,
            }
        };
        // A walk from where it stopped finds the rest.
        let whole = &file[span.heads_start as usize..span.heads_end as usize];
        let read = slow(whole, block, (before, span.rank_start), remaining, needle);
        match read {
            Some((expected, rank)) => {
                if came == Progress::Done {
                    // Without remaining errors the search may end before the block does.
                    assert!(remaining == 0 || span.rank_end == rank, "{kernel:?}");
                    assert_eq!(found, expected, "{kernel:?}");
                } else {
                    let rest = &file[cursor.start as usize..span.heads_end as usize];
                    let from = (cursor.inner, cursor.rank);
                    let (more, end) = slow(rest, block, from, remaining, needle).unwrap();
                    found.extend(more);
                    assert_eq!((found, end), (expected, rank), "{kernel:?}");
                }
            }
            // Bytes below the range of the needle are not checked.
            None => assert!(came == Progress::Unsupported || remaining == 0, "{kernel:?}"),
        }
    }
}

fn probe(start: usize, len: usize, value_count: u64, remaining: u32) -> BlockProbe {
    let (heads_start, heads_end) = (start as u64, (start + len) as u64);
    let span = BlockSpan { heads_start, heads_end, rank_start: 1000, rank_end: 1000 + value_count };
    BlockProbe { block: BlockIndex(heads_start), span, remaining }
}

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
