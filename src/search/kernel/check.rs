//! Compares the kernels of this processor with a walk gap by gap, for tests and for the fuzz target
//! of the kernels.

use super::*;
use crate::base::limits::CHUNK_LEN;
use crate::base::section::{BlockIndex, Rank};
use crate::bytes::varint;
use crate::format::codec::varint::LONG_BLOCK_MIN;
use crate::format::prefix_index::BlockSpan;

/// Checks the kernels on arbitrary bytes, which are split into a needle, positions of blocks, and
/// the file with the blocks.
#[cfg(fuzzing)]
pub(crate) fn check_bytes(bytes: &[u8]) {
    let u64_of = |bytes: &[u8]| bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
    let Some((start, rest)) = bytes.split_at_checked(18) else { return };
    let (mask, inner, k) = (u64_of(&start[..8]), u64_of(&start[8..16]), u32::from(start[16] % 65));
    let Some((places, file)) = rest.split_at_checked(6 * usize::from(start[17] % 8)) else {
        return;
    };
    let mut probes: Vec<BlockProbe> = Vec::new();
    for place in places.chunks_exact(6) {
        let at = (u64_of(&place[..2]) as usize).min(file.len());
        let len = (u64_of(&place[2..4]) as usize % 1024).min(file.len() - at);
        let ends = file[at..at + len].iter().filter(|&&byte| byte < 0x80).count() as u64;
        if len > 0 {
            // If this byte is 1, the prefix index counts one value too many.
            let lie = u64::from(place[5] == 1);
            probes.push(probe(at, len, ends + lie, u32::from(place[4] % 5)));
        }
    }
    // The test needle has heads of 52 bits below the block number.
    check(file, &probes, needle(inner & ((1 << 52) - 1), mask, k));
}

/// Finds near heads gap by gap, starting after the head `inner`. Also returns the rank after the
/// last value. Returns `None` for gaps that a kernel must not read.
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

/// Like [`slow`], but for a whole block.
fn slow_probe(file: &[u8], probe: &BlockProbe, needle: Needle) -> Option<Vec<NearHead>> {
    let BlockProbe { block, span, remaining } = *probe;
    if span.value_count() > LONG_BLOCK_MIN {
        return None;
    }
    let bytes = file.get(span.heads_start as usize..span.heads_end as usize)?;
    let (found, rank) = slow(bytes, block, (0, span.rank_start), remaining, needle)?;
    (rank == span.rank_end).then_some(found)
}

pub(super) fn needle(inner: u64, mask: u64, k: u32) -> Needle {
    Needle { head: 5 << 52 | inner, inner_bits: 52, inner, mask, k }
}

/// Whether each chunk has 64 bytes before the end of the file; chunks start where gaps start.
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

/// Compares kernels with walks: for each probe separately, then for all probes in one call.
pub(super) fn check(file: &[u8], probes: &[BlockProbe], needle: Needle) {
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

/// The near heads of a probe, and whether the kernel left the probe to the caller.
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
        // A kernel may miss a broken rule in a block without near heads, or above the range of the
        // needle.
        None => {
            assert!(is_left || heads.is_empty() || probe.remaining == 0, "{kernel:?} {probe:?}");
        }
    }
    (heads, is_left)
}

pub(super) fn search(
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

/// Compares a search in several calls, from different start heads, with a walk gap by gap.
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
        // A walk gap by gap from where the kernel stopped finds the remaining heads.
        let whole = &file[span.heads_start as usize..span.heads_end as usize];
        let read = slow(whole, block, (before, span.rank_start), remaining, needle);
        match read {
            Some((expected, rank)) => {
                if came == Progress::Done {
                    // Without remaining errors the search may end before the end of the block.
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
            // Chunks below the range of the needle are not checked, so a broken rule may go
            // unnoticed.
            None => assert!(came == Progress::Unsupported || remaining == 0, "{kernel:?}"),
        }
    }
}

pub(super) fn probe(start: usize, len: usize, value_count: u64, remaining: u32) -> BlockProbe {
    let (heads_start, heads_end) = (start as u64, (start + len) as u64);
    let span = BlockSpan { heads_start, heads_end, rank_start: 1000, rank_end: 1000 + value_count };
    BlockProbe { block: BlockIndex(heads_start), span, remaining }
}
