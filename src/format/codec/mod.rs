//! Codecs: encode the heads of one block as bytes, and decode them.
//!
//! Code outside this folder uses a codec through [`HeadCodec`], [`Block`], [`Heads`] and
//! [`BlockEncoder`]. To add a codec, add a file here, a variant to each of these four, and
//! optionally a kernel in `search/kernel`; without a kernel the search reads its [`Heads`] one by
//! one. The prefix index, ranks and tails do not depend on the codec.

pub(crate) mod varint;

pub(crate) use varint::{Block, BlockEncoder, Heads};

use crate::base::error::Fault;

/// How the heads of a table are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadCodec {
    /// Gaps as varints, see [`varint`].
    Varint,
}

impl HeadCodec {
    /// The tags of all codecs that this release reads, for messages.
    pub(crate) const TAGS: &str = "1";

    /// The codec with this tag in a table descriptor, or `None` if there is none.
    pub(crate) fn from_tag(tag: u8) -> Option<Self> {
        match tag {
            varint::TAG => Some(HeadCodec::Varint),
            _ => None,
        }
    }

    /// The tag of this codec in table descriptors.
    pub(crate) fn tag(self) -> u8 {
        match self {
            HeadCodec::Varint => varint::TAG,
        }
    }

    /// The number of bytes of an encoded gap of `bits` bits, for the layout of tables and the cost
    /// model.
    pub(crate) fn gap_len(self, bits: u32) -> u32 {
        match self {
            HeadCodec::Varint => varint::gap_len(bits),
        }
    }

    /// The block encoded in `bytes`: `value_count` values, with `first_head` as the lowest possible
    /// head.
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

    /// An encoder of blocks; `first_head` is the lowest possible head of the first block.
    pub(crate) fn encoder(self, first_head: u64) -> BlockEncoder {
        match self {
            HeadCodec::Varint => BlockEncoder::new(first_head),
        }
    }
}
