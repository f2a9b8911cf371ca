//! Which pages of a segment this process has verified.

use std::sync::atomic::{AtomicU64, Ordering};

/// One bit a page, set once its checksum is verified.
///
/// The bits are allocated as zeros, which the system makes when they are first written: opening
/// costs the same for any file. Two threads may verify one page at the same time, with the same
/// result.
#[derive(Debug)]
pub(crate) struct CheckedPages {
    words: Box<[AtomicU64]>,
}

impl CheckedPages {
    /// The bits of a file of `page_count` pages, none verified yet.
    pub(crate) fn new(page_count: u64) -> Self {
        // A file longer than the address space was not mapped.
        let word_count = usize::try_from(page_count.div_ceil(64)).unwrap_or(0);
        CheckedPages { words: bytemuck::zeroed_slice_box(word_count) }
    }

    /// Whether a page is verified.
    #[inline(always)]
    pub(crate) fn contains(&self, page: usize) -> bool {
        // The bit only says that the page was compared with its checksum; the bytes come from the
        // file itself, so there is nothing to order with it.
        let word = self.words.get(page / 64).map_or(0, |word| word.load(Ordering::Relaxed));
        word >> (page % 64) & 1 == 1
    }

    /// Marks a page as verified and returns whether it was not before.
    pub(crate) fn insert(&self, page: usize) -> bool {
        let bit = 1 << (page % 64);
        let word = self.words.get(page / 64);
        word.is_some_and(|word| word.fetch_or(bit, Ordering::Relaxed) & bit == 0)
    }
}
