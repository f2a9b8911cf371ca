//! Near heads of many short blocks in one call: a prefilter for all blocks, then `refine` or a full
//! decode for each surviving block.

use super::chunk::{Chunk, Cursor, LowNeedle, valid_mask};
use super::near::{BlockProbe, NearHead, Needle, Progress};
use super::vector::{Task, Vector};
use crate::base::limits::CHUNK_LEN;
use crate::format::codec::varint::LONG_BLOCK_MIN;

/// A block that the prefilter could not rule out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Survivor {
    /// The position of the probe of the block.
    number: usize,
    /// Mask of the bytes of the first chunk with the high bit set, including bytes after the block.
    high_bits: u64,
    /// Mask of the bytes of the block that end a gap and may be near; zero if the first chunk does
    /// not contain the whole block.
    candidates: u64,
}

/// Adds the near heads of all probes to `found`, and the positions of unreadable probes to
/// `fallback`.
pub(super) struct FindNear<'a> {
    pub(super) heads: &'a [u8],
    pub(super) probes: &'a [BlockProbe],
    pub(super) needle: Needle,
    pub(super) found: &'a mut NearHeads,
    pub(super) fallback: &'a mut Vec<usize>,
}

impl Task for FindNear<'_> {
    type Output = ();

    /// The prefilter has no branch on the sums: the bytes of a block often arrive late from memory,
    /// and a mispredicted branch would discard the work on the next blocks.
    #[inline(always)]
    fn run<V: Vector>(self, vector: V) {
        let FindNear { heads, probes, needle, found, fallback } = self;
        let NearHeads { heads: found, survivors } = found;
        if survivors.len() < probes.len() {
            survivors.resize(probes.len(), Survivor::default());
        }
        let low_needle = LowNeedle::new(vector, needle);
        let mut count = 0;
        for (number, probe) in probes.iter().enumerate() {
            let (survivor, survives) = prefilter(vector, heads, number, probe, low_needle);
            if let Some(slot) = survivors.get_mut(count) {
                *slot = survivor;
            }
            count += usize::from(survives);
        }
        for survivor in survivors.iter().take(count) {
            let Some(probe) = probes.get(survivor.number) else { break };
            let found_before = found.len();
            let is_in_one_chunk = probe.span.heads_len() <= CHUNK_LEN as u64;
            let done = if is_in_one_chunk && survivor.candidates != 0 {
                refine(vector, heads, probe, survivor, needle, found)
            } else {
                search(vector, heads, probe, needle, found)
            };
            if !done {
                found.truncate(found_before);
                fallback.push(survivor.number);
            }
        }
    }
}

/// Compares the lowest byte of the needle with the lowest byte of every sum of the first chunk of a
/// block.
#[inline(always)]
fn prefilter<V: Vector>(
    vector: V,
    heads: &[u8],
    number: usize,
    probe: &BlockProbe,
    low_needle: LowNeedle<V>,
) -> (Survivor, bool) {
    let mut survivor = Survivor { number, ..Survivor::default() };
    let len = probe.span.heads_len();
    let rest = heads.get(probe.span.heads_start as usize..);
    // At the end of the file, less than a chunk may remain; then `search` returns `false`.
    let Some(bytes) = rest.and_then(|rest| rest.first_chunk()) else { return (survivor, true) };
    let bytes = vector.load(bytes);
    survivor.high_bits = vector.high_bits(bytes);
    // Broken rules are not detected here; `refine` detects them in blocks with candidates.
    let candidates = low_needle.candidates(vector, bytes, 0, probe.remaining);
    survivor.candidates = candidates & !survivor.high_bits & valid_mask(len);
    (survivor, (survivor.candidates != 0) | (len > CHUNK_LEN as u64))
}

/// Adds the near heads of a block that fits in one chunk; `false` if the block breaks a rule or has
/// gaps that are too long.
#[inline(always)]
fn refine<V: Vector>(
    vector: V,
    heads: &[u8],
    probe: &BlockProbe,
    survivor: &Survivor,
    needle: Needle,
    found: &mut Vec<NearHead>,
) -> bool {
    let BlockProbe { block, span, remaining } = *probe;
    let rest = heads.get(span.heads_start as usize..);
    let Some(bytes) = rest.and_then(|rest| rest.first_chunk()) else { return false };
    let valid = valid_mask(span.heads_len());
    let continuations = survivor.high_bits & valid;
    let terminators = valid & !continuations;
    let overlong = continuations << 1 & vector.zero_bytes(vector.load(bytes)) & terminators;
    let unended = continuations & !(valid >> 1);
    let miscounted = u64::from(terminators.count_ones()) ^ span.value_count();
    if overlong | unended | miscounted != 0 {
        return false;
    }
    let (inner, rank) = (0, span.rank_start);
    let chunk = Chunk { vector, bytes, continuations, terminators, inner, rank, block, remaining };
    chunk.refine(survivor.candidates, needle, found)
}

/// Adds the near heads of a block of several chunks; `false` if the block breaks a rule or has
/// restart points.
#[inline(always)]
fn search<V: Vector>(
    vector: V,
    heads: &[u8],
    probe: &BlockProbe,
    needle: Needle,
    found: &mut Vec<NearHead>,
) -> bool {
    let BlockProbe { block, span, remaining } = *probe;
    if span.value_count() > LONG_BLOCK_MIN {
        return false;
    }
    let mut cursor = Cursor {
        block,
        start: span.heads_start,
        end: span.heads_end,
        inner: 0,
        rank: span.rank_start,
        rank_end: span.rank_end,
        remaining,
    };
    cursor.search(vector, heads, needle, found, usize::MAX) == Progress::Done
}

/// The near heads found by a kernel, and buffers for its later calls.
#[derive(Debug, Default)]
pub(crate) struct NearHeads {
    pub(crate) heads: Vec<NearHead>,
    survivors: Vec<Survivor>,
}
