//! Codecs of heads: encoding the heads of one block as bytes, and decoding them.
//!
//! Code outside this folder uses a codec through [`HeadCodec`], [`Block`], [`Heads`] and
//! [`BlockEncoder`]. A new codec is a file here, a variant of these four, and optionally a kernel
//! in `search/kernel`; without a kernel the search walks its [`Heads`] one by one. The prefix
//! index, ranks and tails do not depend on the codec.

pub(crate) mod varint;

pub(crate) use varint::{Block, BlockEncoder, Heads};

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

    /// The number of bytes of a gap of `bits` bits. Used by the layout of tables and the cost
    /// model.
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
            HeadCodec::Varint => Block::new(bytes, value_count, first_head),
        }
    }

    /// An encoder of blocks; the first block begins at `first_head`.
    pub(crate) fn encoder(self, first_head: u64) -> BlockEncoder {
        match self {
            HeadCodec::Varint => BlockEncoder::new(first_head),
        }
    }
}
