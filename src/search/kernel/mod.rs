//! Kernels: the inner loops of a query, compiled for the instruction sets of the processor.
//!
//! [`Kernel`] is chosen at run time. It finds the heads of blocks near the head of the needle
//! ([`Kernel::find_near`], [`Kernel::search`]) and compares values by their tails
//! ([`Kernel::find_values`]). Probes use it. It reads verified bytes and reports the same heads as
//! a walk gap by gap. It leaves unreadable blocks to its caller: blocks that break a rule, so that
//! the portable walk reports the fault; blocks within 64 bytes of the end of the file; and blocks
//! with gaps of more than eight bytes. The algorithms are written once, over the operations of
//! [`vector::Vector`].
//!
//! # Finding near heads
//!
//! A block is a list of gaps, most of them one byte, and a head is the sum of all gaps up to and
//! including its own. Adding gaps one by one costs some instructions for each gap and one
//! mispredicted branch for each block. Instead 64 bytes, a *chunk*, are summed at once, modulo 256,
//! and the sums are compared with the lowest byte of the needle. By chance one in six blocks of 50
//! values has a *candidate*, a head whose lowest byte is equal; the other blocks need no more work.
//!
//! ```text
//! prefilter(chunk, needle):
//!     continuations = bytes with the high bit set           the gap continues in the next byte
//!     terminators   = bytes of the block without it         the last byte of a gap
//!     parts         = per byte, what it adds to the lowest byte of its gap:
//!                         first byte of a gap:  byte & 0x7f
//!                         second byte:          (byte & 1) << 7
//!                         later bytes:          0
//!     sums          = prefix sums of parts, modulo 256      log2(64) = 6 additions
//!     differences   = (sums ^ lowest byte of needle) & lowest byte of mask
//!     repeat `remaining` times:                             one error is forgiven each time
//!         differences &= differences - 1                    clears the lowest bit that is set
//!     candidates    = terminators where differences = 0
//!     if candidates = 0: the block has no near head
//!
//! refine(chunk, candidates, needle):                        up to 6 candidates
//!     for each candidate:
//!         head = sum of all gaps up to the candidate        in 64 bits
//!         rank = rank of the block + terminators before the candidate
//!         keep (rank, head) if head is near the needle
//!
//! full decode(chunk, needle):                               more candidates
//!     sums = prefix sums of all gaps, modulo 2^32
//!     keep those whose 32 bits are near, and whose exact sum is near too
//! ```
//!
//! A block of several chunks is searched chunk after chunk, starting with the sum of the chunks
//! before.
//!
//! # Example
//!
//! A block of 13 values in 16 bytes; heads are shown without the bits of the block number.
//!
//! ```text
//! byte            05  2c  11  83  02  40  07  1e  33  b2  01  00  28  92  01  61
//! continuations    .   .   .   x   .   .   .   .   .   x   .   .   .   x   .   .
//! terminators      x   x   x   .   x   x   x   x   x   .   x   x   x   .   x   x
//! gap              5  44  17     259  64   7  30  51     178   0  40     146  97
//! parts           05  2c  11  03  00  40  07  1e  33  32  80  00  28  12  80  61
//! sums mod 256    05  31  42  45  45  85  8c  aa  dd  0f  8f  8f  b7  c9  49  aa
//! exact sums     005 031 042     145 185 18c 1aa 1dd     28f 28f 2b7     349 3aa
//! ```
//!
//! The needle 145 has the lowest byte 45, equal to two of the sums. The first of these sums is not
//! at a terminator, so the only candidate is byte 4. Its exact sum is 145: a near head, of rank 3
//! in the block, since three terminators come before. The needle 18f has the candidates 10 and 11;
//! their exact sums are 28f, so nothing is near.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(any(test, fuzzing))]
pub(super) mod check;
mod chunk;
mod heads;
pub(in crate::search) mod lanes;
mod near;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon;
mod portable;
mod tails;
mod vector;

use crate::format::codec::varint::CursorPlace;
use crate::format::codec::{HeadCodec, Heads};
use chunk::Cursor;
use heads::FindNear;
use portable::Portable;

pub(crate) use heads::NearHeads;
pub(crate) use near::{BlockProbe, NearHead, Needle, Progress, VALUES_MAX};
pub(crate) use vector::{Task, Vector};

/// The instruction set used by searches. Made by [`Kernel::all`], for this processor only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kernel(Instructions);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instructions {
    Portable(portable::Portable),
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Avx512<false>),
    #[cfg(target_arch = "x86_64")]
    CountingAvx512(avx512::Avx512<true>),
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    Neon(neon::Neon),
}

impl Kernel {
    /// The fastest kernel of this processor.
    pub(crate) fn detect() -> Self {
        Kernel::all().pop().unwrap_or(Kernel(Instructions::Portable(Portable)))
    }

    /// All kernels that this processor can run, the fastest last.
    pub(crate) fn all() -> Vec<Self> {
        #[allow(unused_mut, reason = "some processors have no other kernel")]
        let mut all = vec![Instructions::Portable(Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(avx2::Avx2::detect().map(Instructions::Avx2));
            all.extend(avx512::Avx512::detect().map(Instructions::Avx512));
            all.extend(avx512::Avx512::detect().map(Instructions::CountingAvx512));
        }
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        all.extend(neon::Neon::detect().map(Instructions::Neon));
        all.into_iter().map(Kernel).collect()
    }

    /// Whether [`Vector::near_words`] is hardly slower than comparing one word.
    pub(crate) fn compares_words(self) -> bool {
        self.run(ComparesWords)
    }

    /// Runs a task, compiled for the instructions of this kernel.
    pub(crate) fn run<T: Task>(self, task: T) -> T::Output {
        match self.0 {
            Instructions::Portable(vector) => task.run(vector),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2(vector) => vector.run(task),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512(vector) => vector.run(task),
            #[cfg(target_arch = "x86_64")]
            Instructions::CountingAvx512(vector) => vector.run(task),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Instructions::Neon(vector) => vector.run(task),
        }
    }

    /// Adds the near heads of all probes to `found`, and sets `fallback` to the positions of the
    /// probes that it could not read; blocks with restart points are among them. `heads` starts at
    /// the heads section.
    pub(crate) fn find_near(
        self,
        codec: HeadCodec,
        heads: &[u8],
        probes: &[BlockProbe],
        needle: Needle,
        found: &mut NearHeads,
        fallback: &mut Vec<usize>,
    ) {
        fallback.clear();
        match codec {
            HeadCodec::Varint => self.run(FindNear { heads, probes, needle, found, fallback }),
        }
    }

    /// Adds the near heads in the unread part of the block of `probe` to `found`, until `found` has
    /// `enough` heads. `cursor` is the read position; unless the search is done, `cursor` moves to
    /// where it stopped. `heads` starts at the heads section.
    pub(crate) fn search(
        self,
        heads: &[u8],
        cursor: &mut Heads<'_>,
        probe: &BlockProbe,
        needle: Needle,
        found: &mut Vec<NearHead>,
        enough: usize,
    ) -> Progress {
        let gaps = cursor;
        let (place, first_head) = (gaps.place(), needle.head_in(probe.block, 0));
        let mut cursor = Cursor {
            block: probe.block,
            start: probe.span.heads_end - place.left_len as u64,
            end: probe.span.heads_end,
            inner: place.head.wrapping_sub(first_head),
            rank: probe.span.rank_start + place.position,
            rank_end: probe.span.rank_end,
            remaining: probe.remaining,
        };
        let search = Search { heads, cursor: &mut cursor, needle, found, enough };
        let progress = self.run(search);
        if progress != Progress::Done {
            gaps.skip_to(CursorPlace {
                position: cursor.rank - probe.span.rank_start,
                head: first_head.wrapping_add(cursor.inner),
                left_len: (cursor.end - cursor.start) as usize,
            });
        }
        progress
    }
}

/// See [`Kernel::search`].
struct Search<'a> {
    heads: &'a [u8],
    cursor: &'a mut Cursor,
    needle: Needle,
    found: &'a mut Vec<NearHead>,
    enough: usize,
}

impl Task for Search<'_> {
    type Output = Progress;

    #[inline(always)]
    fn run<V: Vector>(self, vector: V) -> Progress {
        let Search { heads, cursor, needle, found, enough } = self;
        cursor.search(vector, heads, needle, found, enough)
    }
}

/// See [`Kernel::compares_words`].
struct ComparesWords;

impl Task for ComparesWords {
    type Output = bool;

    #[inline(always)]
    fn run<V: Vector>(self, _: V) -> bool {
        V::COMPARES_WORDS
    }
}

#[cfg(test)]
mod tests;
