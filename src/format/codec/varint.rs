//! The varint codec: each head is stored as a LEB128 varint, the gap from the head before it.
//!
//! Each byte of a varint contains seven bits of the gap, lowest bits first; if its high bit is set,
//! the gap continues in the next byte. If the first head of a block counts from 1000, the bytes
//!
//! ```text
//! 05   00   83 02   7f        gaps 5, 0, 3 + 2 * 128 = 259, 127
//! ```
//!
//! decode to the heads 1005, 1005, 1264, 1391. A block of more than [`LONG_BLOCK_MIN`] values
//! starts with restart points, one for each [`RESTART_INTERVAL`] values after the first
//! [`RESTART_INTERVAL`]. A restart point contains the head before a gap and the offset of the gap,
//! so that a search does not decode all of a long block.

use crate::base::error::Fault;
use crate::bytes::fields::{put_u64, u64_at};
use crate::bytes::varint;

/// The tag of this codec in table descriptors (R-8).
pub(super) const TAG: u8 = 1;

/// A block with more values than this starts with restart points (R-16).
pub(crate) const LONG_BLOCK_MIN: u64 = 256;
/// The number of values between restart points.
pub(crate) const RESTART_INTERVAL: u64 = 128;
/// The length of a restart point in bytes: a head, and the offset of the gap after it.
pub(crate) const RESTART_LEN: u64 = 16;

/// The high bits of eight bytes; a set bit means that the varint continues in the next byte.
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The length of all restart points of a block in bytes.
fn restarts_len(value_count: u64) -> u64 {
    if value_count > LONG_BLOCK_MIN {
        (value_count.div_ceil(RESTART_INTERVAL) - 1) * RESTART_LEN
    } else {
        0
    }
}

/// The heads of one block, encoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    restarts: &'a [u8],
    gaps: &'a [u8],
    value_count: u64,
    /// The lowest possible head of the block, from which the first gap counts.
    first_head: u64,
}

impl<'a> Block<'a> {
    /// The block encoded in `bytes`.
    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8], value_count: u64, first_head: u64) -> Result<Self, Fault> {
        if value_count > LONG_BLOCK_MIN {
            return Block::new_long(bytes, value_count, first_head);
        }
        Ok(Block { restarts: &[], gaps: bytes, value_count, first_head })
    }

    #[cold]
    fn new_long(bytes: &'a [u8], value_count: u64, first_head: u64) -> Result<Self, Fault> {
        let needed = restarts_len(value_count);
        let split = usize::try_from(needed).ok().and_then(|at| bytes.split_at_checked(at));
        let (restarts, gaps) =
            split.ok_or(Fault::Truncated { needed, found: bytes.len() as u64 })?;
        Ok(Block { restarts, gaps, value_count, first_head })
    }

    /// All heads of the block.
    #[inline]
    pub(crate) fn heads(&self) -> Heads<'a> {
        Heads { gaps: self.gaps, head: self.first_head, position: 0, value_count: self.value_count }
    }

    /// The heads from a position at or before the first head that is at least `low`.
    #[inline(always)]
    pub(crate) fn heads_from(&self, low: u64) -> Result<Heads<'a>, Fault> {
        if self.restarts.is_empty() { Ok(self.heads()) } else { self.restart_before(low) }
    }

    /// The heads from the last restart point before which all heads are below `low`.
    #[cold]
    fn restart_before(&self, low: u64) -> Result<Heads<'a>, Fault> {
        let count = self.restarts.len() as u64 / RESTART_LEN;
        let (mut below, mut rest) = (0, count);
        while below < rest {
            let middle = below + (rest - below) / 2;
            let (base, _) = self.restart(middle)?;
            if base < low {
                below = middle + 1;
            } else {
                rest = middle;
            }
        }
        match below.checked_sub(1) {
            Some(number) => self.heads_at_restart(number),
            None => Ok(self.heads()),
        }
    }

    fn heads_at_restart(&self, number: u64) -> Result<Heads<'a>, Fault> {
        let (head, offset) = self.restart(number)?;
        let gaps = usize::try_from(offset).ok().and_then(|at| self.gaps.get(at..));
        let found = self.gaps.len() as u64;
        let gaps = gaps.ok_or(Fault::Truncated { needed: offset, found })?;
        let position = (number + 1) * RESTART_INTERVAL;
        Ok(Heads { gaps, head, position, value_count: self.value_count })
    }

    /// Restart point `number`: the head before it, and the offset of the gap after it.
    fn restart(&self, number: u64) -> Result<(u64, u64), Fault> {
        let at = (number * RESTART_LEN) as usize;
        match (u64_at(self.restarts, at), u64_at(self.restarts, at + 8)) {
            (Some(base), Some(offset)) => Ok((base, offset)),
            _ => Err(Fault::Truncated { needed: RESTART_LEN, found: 0 }),
        }
    }

    /// Checks every rule of a block: varints in their shortest form (R-13), no head above
    /// `last_head` (R-14), correct restart points (R-16), and no byte after the last gap (R-15).
    pub(crate) fn check(&self, last_head: u64) -> Result<(), Fault> {
        let mut heads = self.heads();
        let gaps_len = self.gaps.len();
        loop {
            let position = heads.position;
            if position > 0
                && position.is_multiple_of(RESTART_INTERVAL)
                && position < self.value_count
                && !self.restarts.is_empty()
            {
                let expected = (heads.head, (gaps_len - heads.gaps.len()) as u64);
                let found = self.restart(position / RESTART_INTERVAL - 1)?;
                if found != expected {
                    let detail = format!("restart point is {found:x?}, expected {expected:x?}");
                    return Err(Fault::rule(16, detail));
                }
            }
            match heads.next()? {
                Some((_, head)) if head > last_head => {
                    return Err(Fault::rule(14, "a head of another block"));
                }
                Some(_) => {}
                None if heads.ended_well() => return Ok(()),
                None => return Err(Fault::rule(15, "a block has bytes after its last head")),
            }
        }
    }
}

/// The position of a [`Heads`] cursor in its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CursorPlace {
    /// The number of heads that were read.
    pub(crate) position: u64,
    /// The last head that was read; at the start, the lowest possible head of the block.
    pub(crate) head: u64,
    /// The number of bytes of the gaps that were not read yet.
    pub(crate) left_len: usize,
}

/// A cursor over the heads of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heads<'a> {
    gaps: &'a [u8],
    /// The last head that was read; at the start, the lowest possible head of the block.
    head: u64,
    /// The number of heads that were read.
    position: u64,
    value_count: u64,
}

impl Heads<'_> {
    /// The number of heads that were read.
    #[inline]
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The position of this cursor, for [`Heads::skip_to`].
    #[inline]
    pub(crate) fn place(&self) -> CursorPlace {
        CursorPlace { position: self.position, head: self.head, left_len: self.gaps.len() }
    }

    /// Moves the cursor forward to a later position in the same block.
    pub(crate) fn skip_to(&mut self, place: CursorPlace) {
        let read = self.gaps.len().saturating_sub(place.left_len);
        self.gaps = self.gaps.get(read..).unwrap_or_default();
        (self.position, self.head) = (place.position, place.head);
    }

    /// The next head, after its position in the block; `None` at the end.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Result<Option<(u64, u64)>, Fault> {
        if self.position == self.value_count {
            return Ok(None);
        }
        let (gap, len) = varint::read(self.gaps)?;
        self.gaps = self.gaps.get(len..).unwrap_or_default();
        self.head = self.head.checked_add(gap).ok_or_else(overflow)?;
        self.position += 1;
        Ok(Some((self.position - 1, self.head)))
    }

    /// Whether all heads were read and no byte remains (R-15).
    pub(crate) fn ended_well(&self) -> bool {
        self.position == self.value_count && self.gaps.is_empty()
    }

    /// Writes the next heads to `out`, as many as fit, and returns their number.
    pub(crate) fn fill(&mut self, out: &mut [u64]) -> Result<usize, Fault> {
        let room = (self.value_count - self.position).min(out.len() as u64) as usize;
        let mut slots = out.iter_mut();
        let mut left = room;
        while left > 0 {
            let word = u64_at(self.gaps, 0).unwrap_or(HIGH_BITS);
            // The word consists of eight gaps of one byte each, and their sum does not overflow.
            if left >= 8 && word & HIGH_BITS == 0 && self.head <= u64::MAX - 8 * 0x7f {
                for (gap, slot) in word.to_le_bytes().into_iter().zip(&mut slots) {
                    self.head += u64::from(gap);
                    *slot = self.head;
                }
                self.gaps = self.gaps.get(8..).unwrap_or_default();
                self.position += 8;
                left -= 8;
            } else if left >= SHORT_GAPS
                && let Some(gaps) = short_gaps(word)
                && self.head <= u64::MAX - SHORT_GAPS as u64 * 0x3fff
            {
                for (gap, slot) in gaps.each.into_iter().zip(&mut slots) {
                    self.head += gap;
                    *slot = self.head;
                }
                self.gaps = self.gaps.get(gaps.len..).unwrap_or_default();
                self.position += SHORT_GAPS as u64;
                left -= SHORT_GAPS;
            } else if let (Some((_, head)), Some(slot)) = (self.next()?, slots.next()) {
                *slot = head;
                left -= 1;
            }
        }
        Ok(room)
    }
}

/// The number of gaps of one or two bytes that are decoded at once: eight bytes contain at least
/// four such gaps.
const SHORT_GAPS: usize = 4;

/// The first gaps in a word of eight bytes, and the number of bytes they take.
struct ShortGaps {
    each: [u64; SHORT_GAPS],
    len: usize,
}

/// The first gaps in a word, if each of its gaps takes one or two bytes and is in its shortest
/// form. It is unpredictable which gaps take two bytes, so the computation has no branch.
#[inline(always)]
fn short_gaps(mut word: u64) -> Option<ShortGaps> {
    let continued = word & HIGH_BITS;
    if continued & continued << 8 != 0 {
        return None;
    }
    let (mut each, mut len, mut is_short) = ([0; SHORT_GAPS], 0, true);
    for gap in &mut each {
        let is_continued = word >> 7 & 1;
        let second = word >> 8 & 0x7f & is_continued.wrapping_neg();
        is_short &= (second == 0) == (is_continued == 0);
        *gap = word & 0x7f | second << 7;
        word >>= 8 + 8 * is_continued;
        len += 1 + is_continued as usize;
    }
    is_short.then_some(ShortGaps { each, len })
}

/// Encodes one block after the other. The bytes of a block are its restart points, complete only at
/// its end, and its gaps. A block can have any number of values, so the caller may move these bytes
/// to a file; the encoder itself keeps only one head.
#[derive(Debug)]
pub(crate) struct BlockEncoder {
    before: u64,
    value_count: u64,
}

impl BlockEncoder {
    pub(super) fn new(first_head: u64) -> Self {
        BlockEncoder { before: first_head, value_count: 0 }
    }

    /// The number of values in the current block.
    #[inline]
    pub(crate) fn value_count(&self) -> u64 {
        self.value_count
    }

    /// Whether [`BlockEncoder::checkpoint`] must be called before the next head.
    #[inline]
    pub(crate) fn needs_checkpoint(&self) -> bool {
        self.value_count.is_multiple_of(RESTART_INTERVAL) && self.value_count > 0
    }

    /// Appends a restart point to `restarts`; `gaps_len` is the length of the block's gaps so far.
    pub(crate) fn checkpoint(&self, gaps_len: u64, restarts: &mut Vec<u8>) {
        put_u64(restarts, self.before);
        put_u64(restarts, gaps_len);
    }

    /// Appends the gap before a head to `gaps`; the head must not be below the head before it.
    #[inline]
    pub(crate) fn push(&mut self, head: u64, gaps: &mut Vec<u8>) {
        varint::write(head - self.before, gaps);
        self.before = head;
        self.value_count += 1;
    }

    /// Ends the block, and begins the next block, whose lowest possible head is `next_first_head`.
    /// Returns whether the block is long, so that it starts with restart points; otherwise the
    /// caller drops them.
    pub(crate) fn finish(&mut self, next_first_head: u64) -> bool {
        let is_long = self.value_count > LONG_BLOCK_MIN;
        *self = BlockEncoder::new(next_first_head);
        is_long
    }
}

/// The number of bytes of an encoded gap of `bits` bits.
pub(super) fn gap_len(bits: u32) -> u32 {
    bits.div_ceil(7).max(1)
}

fn overflow() -> Fault {
    Fault::rule(14, "a gap leads past 2^64 - 1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn heads_of(gaps: &[u64], first_head: u64) -> Vec<u64> {
        gaps.iter()
            .scan(first_head, |head, gap| {
                *head += gap;
                Some(*head)
            })
            .collect()
    }

    fn all(mut heads: Heads<'_>) -> Vec<(u64, u64)> {
        std::iter::from_fn(|| heads.next().unwrap()).collect()
    }

    fn gaps() -> impl Strategy<Value = Vec<u64>> {
        let gap = prop_oneof![20 => 0..128_u64, 1 => 0..100_000_u64, 1 => Just(0)];
        let longer = prop_oneof![4 => 0..128_u64, 4 => 100..20_000_u64, 1 => 0..3_000_000_u64];
        prop_oneof![prop::collection::vec(gap, 0..700), prop::collection::vec(longer, 0..700)]
    }

    proptest! {
        #[test]
        fn blocks_come_back_whole_and_from_any_head(gaps in gaps(), first_head in 0..1_u64 << 50, pick: u64) {
            let heads = heads_of(&gaps, first_head);
            let (mut restarts, mut gaps, mut encoder) = (Vec::new(), Vec::new(), BlockEncoder::new(first_head));
            for &head in &heads {
                if encoder.needs_checkpoint() {
                    encoder.checkpoint(gaps.len() as u64, &mut restarts);
                }
                encoder.push(head, &mut gaps);
            }
            let bytes = if encoder.finish(0) { [restarts, gaps].concat() } else { gaps };
            let block = Block::new(&bytes, heads.len() as u64, first_head).unwrap();
            let expected: Vec<(u64, u64)> = (0..).zip(heads.iter().copied()).collect();
            prop_assert_eq!(&all(block.heads()), &expected);
            let mut filled = vec![0; heads.len()];
            let mut walk = block.heads();
            for part in filled.chunks_mut(100) {
                prop_assert_eq!(walk.fill(part), Ok(part.len()));
            }
            prop_assert_eq!(walk.fill(&mut [0]), Ok(0));
            prop_assert_eq!(&filled, &heads);
            prop_assert_eq!(block.check(*heads.last().unwrap_or(&first_head)), Ok(()));

            let last = heads.last().map_or(0, |head| head - first_head);
            let low = first_head + pick % (last + 2);
            let from: Vec<_> = all(block.heads_from(low).unwrap()).into_iter().filter(|v| v.1 >= low).collect();
            let wanted: Vec<_> = expected.into_iter().filter(|v| v.1 >= low).collect();
            prop_assert_eq!(from, wanted);
        }

        #[test]
        fn any_bytes_as_a_block_give_values_or_a_fault(bytes: Vec<u8>, value_count in 0..600_u64, low: u64) {
            if let Ok(block) = Block::new(&bytes, value_count, 1 << 40) {
                let _ = block.check(u64::MAX);
                let _ = block.heads().fill(&mut [0; 700]);
                if let Ok(mut heads) = block.heads_from(low) {
                    while let Ok(Some(_)) = heads.next() {}
                }
            }
        }
    }
}
