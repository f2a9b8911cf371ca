//! A query, prepared for one table: its permuted needle, and the bits in which a probe forgives
//! errors.
//!
//! A head of a table has these parts, the first bits left; `p` bits lie under the mask of the
//! table:
//!
//! ```text
//! |<---- block_bits ---->|<------- inner_bits ------->|<- tail_bits ->|
//! |  leading  |   free   |  inner_masked  | inner_free |     tail      |
//! |<-------------- p masked bits -------->|
//! ```
//!
//! There are no free bits if `p` is at least `block_bits`, and no inner masked bits if it is at
//! most that.

use crate::bits::mask::low_bits;
use crate::bits::permutation::Permuted;
use crate::search::kernel::Needle;
use crate::segment::TableReader;
use fpstore_base::Fingerprint;

/// A query, prepared for one table.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableQuery {
    /// The number of the query among those that are searched together.
    pub(super) number: u32,
    pub(super) needle: Fingerprint,
    /// The position of the table in the segment.
    pub(super) table: usize,
    /// Errors that are forgiven under the mask.
    pub(super) radius: u32,
    pub(super) permuted: Permuted,
    needle_head: u64,
    /// Masked bits among those that name a block.
    pub(super) leading: u32,
    /// The other bits among those that name a block.
    pub(super) free_leading: u32,
    /// Bits of a head below those that name its block.
    inner_bits: u32,
    /// Masked bits among them, and the number of bits below those.
    pub(super) inner_masked: u32,
    inner_free: u32,
    /// The masked ones among the inner bits of the needle.
    inner: u64,
}

impl TableQuery {
    /// Prepares query `number` for the table at position `table`.
    pub(super) fn new(
        number: u32,
        needle: Fingerprint,
        table: usize,
        reader: TableReader<'_>,
        radius: u32,
    ) -> Self {
        let block_bits = reader.descriptor.block_bits;
        let prefix_bits = reader.permutation.prefix_bits();
        let head_bits = reader.descriptor.head_bits();
        let inner_bits = reader.descriptor.inner_bits();
        let masked_in_head = prefix_bits.min(head_bits);
        let inner_free = head_bits - masked_in_head.max(block_bits);
        let permuted = reader.permutation.apply(needle);
        let needle_head = reader.head_of(permuted);
        let leading = prefix_bits.min(block_bits);
        TableQuery {
            number,
            needle,
            table,
            radius,
            permuted,
            needle_head,
            leading,
            free_leading: block_bits - leading,
            inner_bits,
            inner_masked: masked_in_head.saturating_sub(block_bits),
            inner_free,
            inner: needle_head & low_bits(inner_bits) & !low_bits(inner_free),
        }
    }

    /// The needle of the kernels, with `flips` among its inner masked bits.
    #[inline(always)]
    pub(super) fn kernel_needle(&self, flips: u64, k: u32) -> Needle {
        // The bits above the inner ones are compared too; they are zero in both.
        let mask = u64::MAX.checked_shl(self.inner_free).unwrap_or(0);
        let inner = self.inner ^ flips << self.inner_free;
        Needle { head: self.needle_head, inner_bits: self.inner_bits, inner, mask, k }
    }
}
