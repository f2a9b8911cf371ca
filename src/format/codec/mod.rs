//! Codecs of heads: encoding the heads of one block as bytes, and decoding them.
//!
//! Code outside this folder uses a codec through [`HeadCodec`], [`Block`], [`Heads`] and
//! [`BlockEncoder`]. A new codec is a file here, a variant of these four, and optionally a kernel
//! in `search/kernel`; without a kernel the search walks its [`Heads`] one by one. The prefix
//! index, ranks and tails do not depend on the codec.

pub(crate) mod varint;

use crate::base::error::Fault;

/// How the heads of a table are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadCodec {
    /// Gaps as varints, see [`varint`].
    Varint,
}

impl HeadCodec {
    /// The tags that this release reads, for messages.
    pub(crate) const TAGS: &str = "1";

    /// The codec with this tag in a table descriptor.
    pub(crate) fn from_tag(tag: u8) -> Option<Self> {
        match tag {
            varint::TAG => Some(HeadCodec::Varint),
            _ => None,
        }
    }

    /// The tag in a table descriptor.
    pub(crate) fn tag(self) -> u8 {
        match self {
            HeadCodec::Varint => varint::TAG,
        }
    }

    /// The bytes of the gap between two heads that are `bits` bits apart. Used by the layout of
    /// tables and by the cost model.
    pub(crate) fn gap_len(self, bits: u32) -> u32 {
        match self {
            HeadCodec::Varint => varint::gap_len(bits),
        }
    }

    /// The block in `bytes`, of `value_count` values from `first_head` on.
    #[inline(always)]
    pub(crate) fn block(
        self,
        bytes: &[u8],
        value_count: u64,
        first_head: u64,
    ) -> Result<Block<'_>, Fault> {
        match self {
            HeadCodec::Varint => {
                varint::Block::new(bytes, value_count, first_head).map(Block::Varint)
            }
        }
    }

    /// An encoder of blocks, of which the first begins at `first_head`.
    pub(crate) fn encoder(self, first_head: u64) -> BlockEncoder {
        match self {
            HeadCodec::Varint => BlockEncoder::Varint(varint::BlockEncoder::new(first_head)),
        }
    }
}

/// The heads of one block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Block<'a> {
    Varint(varint::Block<'a>),
}

impl<'a> Block<'a> {
    /// All heads of the block.
    #[inline]
    pub(crate) fn heads(&self) -> Heads<'a> {
        match self {
            Block::Varint(block) => Heads::Varint(block.heads()),
        }
    }

    /// The heads of the block, starting at or before the first head that is at least `low`.
    #[inline(always)]
    pub(crate) fn heads_from(&self, low: u64) -> Result<Heads<'a>, Fault> {
        match self {
            Block::Varint(block) => block.heads_from(low).map(Heads::Varint),
        }
    }

    /// Checks every rule of the block: its coding, heads up to `last_head`, and no byte
    /// after the last head.
    pub(crate) fn check(&self, last_head: u64) -> Result<(), Fault> {
        match self {
            Block::Varint(block) => block.check(last_head),
        }
    }
}

/// A cursor over the heads of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Heads<'a> {
    Varint(varint::Heads<'a>),
}

impl Heads<'_> {
    /// The number of heads read.
    #[inline]
    pub(crate) fn position(&self) -> u64 {
        match self {
            Heads::Varint(heads) => heads.place().position,
        }
    }

    /// Writes as many of the next heads to `out` as fit, and returns their number.
    pub(crate) fn fill(&mut self, out: &mut [u64]) -> Result<usize, Fault> {
        match self {
            Heads::Varint(heads) => heads.fill(out),
        }
    }

    /// Whether all heads were read and no byte remains.
    pub(crate) fn ended_well(&self) -> bool {
        match self {
            Heads::Varint(heads) => heads.ended_well(),
        }
    }
}

/// Encodes one block after the other. The bytes of a block are a front, which is known only at its
/// end, and a body. A block can have any number of values, and only its front and body are spilled
/// to a file; so an encoder may hold back only a bounded number of heads.
#[derive(Debug)]
pub(crate) enum BlockEncoder {
    Varint(varint::BlockEncoder),
}

impl BlockEncoder {
    /// The values of the block so far.
    #[inline]
    pub(crate) fn value_count(&self) -> u64 {
        match self {
            BlockEncoder::Varint(encoder) => encoder.value_count(),
        }
    }

    /// Whether [`BlockEncoder::checkpoint`] must be called before the next head. A codec that
    /// needs no restart points returns `false`.
    #[inline]
    pub(crate) fn needs_checkpoint(&self) -> bool {
        match self {
            BlockEncoder::Varint(encoder) => encoder.needs_checkpoint(),
        }
    }

    /// Appends to the front of the block, whose body has `body_len` bytes so far.
    pub(crate) fn checkpoint(&self, body_len: u64, front: &mut Vec<u8>) {
        match self {
            BlockEncoder::Varint(encoder) => encoder.checkpoint(body_len, front),
        }
    }

    /// Appends a head, not below the preceding head, to the body of the block.
    #[inline]
    pub(crate) fn push(&mut self, head: u64, body: &mut Vec<u8>) {
        match self {
            BlockEncoder::Varint(encoder) => encoder.push(head, body),
        }
    }

    /// Ends the block, appends to `body` the heads held back by the encoder, and begins the next
    /// block at `next_first_head`. Returns whether the block starts with its front; if not, the
    /// front is dropped.
    pub(crate) fn finish(&mut self, next_first_head: u64, _body: &mut Vec<u8>) -> bool {
        match self {
            BlockEncoder::Varint(encoder) => encoder.finish(next_first_head),
        }
    }
}
