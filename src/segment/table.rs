//! A table of a segment: the positions of its sections, and how its values are split.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::error::Result;
use crate::base::section::{BlockIndex, Section, TableIndex};
use crate::bytes::checksum::PAGE_LEN;
use crate::bytes::mask::low_bits;
use crate::bytes::permutation::{Permutation, Permuted};
use crate::format::descriptor::TableDescriptor;
use crate::format::directory::SectionPlace;

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) index: TableIndex,
    pub(crate) descriptor: TableDescriptor,
    pub(crate) permutation: Permutation,
    pub(crate) entries: SectionPlace,
    pub(crate) overflow_entries: SectionPlace,
    pub(crate) tails: SectionPlace,
    pub(crate) heads: SectionPlace,
    /// The number of bits stored in the tails section for each value.
    pub(crate) stored_bits: u32,
    /// How values are split, if the table stores syndromes.
    pub(super) syndromes: Option<SyndromeLayout>,
    /// The number of pages of index entries and heads that are not verified yet.
    unverified: AtomicU64,
}

/// How the values of a table with syndromes are split; computed once when the segment is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SyndromeLayout {
    /// The number of bits of a syndrome.
    pub(crate) syndrome_bits: u32,
    /// The number of low bits of a value that the syndrome replaces; all bits above are known.
    pub(crate) hashed_bits: u32,
    /// The number of known bits that are stored above the syndrome.
    pub(crate) known_in_tail: u32,
    /// The bits of a value that are under the mask.
    pub(crate) masked: u64,
    /// The bits of a value that are outside the mask and known.
    pub(crate) unmasked: u64,
}

impl SyndromeLayout {
    fn of(descriptor: &TableDescriptor) -> Option<Self> {
        let (syndrome_bits, hashed_bits) = (descriptor.syndrome_bits, descriptor.hashed_bits());
        let outside = low_bits(64 - descriptor.prefix_bits());
        (!descriptor.is_whole()).then_some(SyndromeLayout {
            syndrome_bits,
            hashed_bits,
            known_in_tail: descriptor.stored_bits() - syndrome_bits,
            masked: !outside,
            unmasked: outside & !low_bits(hashed_bits),
        })
    }
}

impl Table {
    pub(super) fn new(
        index: TableIndex,
        descriptor: TableDescriptor,
        place: impl Fn(Section) -> Result<SectionPlace>,
    ) -> Result<Self> {
        let (entries, heads) = (place(Section::PrefixIndex(index))?, place(Section::Heads(index))?);
        let pages = |place: &SectionPlace| place.len.div_ceil(PAGE_LEN as u64);
        Ok(Table {
            index,
            descriptor,
            permutation: Permutation::new(descriptor.mask.0),
            overflow_entries: place(Section::OverflowEntries(index))?,
            tails: place(Section::Tails(index))?,
            stored_bits: descriptor.stored_bits(),
            syndromes: SyndromeLayout::of(&descriptor),
            unverified: AtomicU64::new(pages(&entries) + pages(&heads)),
            entries,
            heads,
        })
    }

    /// Counts one more page of the section as verified.
    pub(super) fn note_verified(&self, section: Section) {
        if matches!(section, Section::PrefixIndex(_) | Section::Heads(_)) {
            self.unverified.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether all pages of index entries and heads are verified.
    #[inline]
    pub(super) fn is_verified(&self) -> bool {
        // No memory ordering is needed: the bytes of the pages come from the file itself.
        self.unverified.load(Ordering::Relaxed) == 0
    }

    /// The number of the block that contains a value.
    #[inline]
    pub(crate) fn block_of(&self, value: Permuted) -> BlockIndex {
        BlockIndex(self.descriptor.block_of(value.0))
    }

    /// The head of a value, shifted down by the tail bits.
    #[inline]
    pub(crate) fn head_of(&self, value: Permuted) -> u64 {
        value.0 >> self.descriptor.tail_bits
    }

    /// The lowest head that a value of the block can have.
    #[inline]
    pub(crate) fn first_head(&self, block: BlockIndex) -> u64 {
        self.descriptor.first_head(block.0)
    }

    /// The highest head that a value of the block can have.
    pub(crate) fn last_head(&self, block: BlockIndex) -> u64 {
        let inner = u64::MAX.checked_shr(64 - self.descriptor.inner_bits()).unwrap_or(0);
        self.first_head(block) | inner
    }
}
