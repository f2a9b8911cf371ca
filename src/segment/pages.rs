//! Which pages of a segment were checked since it was opened.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Words of a chunk: 512 * 64 pages of 4 KiB are 128 MiB of file.
const CHUNK_WORDS: usize = 512;
const CHUNK_PAGES: usize = CHUNK_WORDS * 64;

/// One bit a page, set once its checksum was found right.
///
/// Chunks come to life when a page of theirs is first checked, so that opening costs the same
/// for any file. Two threads may check one page at the same time; both find the same.
#[derive(Debug)]
pub(crate) struct CheckedPages {
    chunks: Box<[OnceLock<Box<[AtomicU64; CHUNK_WORDS]>>]>,
    /// Every page was checked, so there is no need to ask for each.
    all: AtomicBool,
}

impl CheckedPages {
    /// For a file of so many pages, none checked yet.
    pub(crate) fn new(page_count: u64) -> Self {
        let chunk_count = page_count.div_ceil(CHUNK_PAGES as u64);
        let chunks = (0..chunk_count).map(|_| OnceLock::new()).collect();
        CheckedPages { chunks, all: AtomicBool::new(false) }
    }

    /// Whether the page was checked.
    #[inline]
    pub(crate) fn contains(&self, page: usize) -> bool {
        if self.all.load(Ordering::Relaxed) {
            return true;
        }
        let chunk = self.chunks.get(page / CHUNK_PAGES).and_then(OnceLock::get);
        // The bit only says that someone compared the page with its checksum; the bytes come
        // from the file itself, so there is nothing to order with it.
        chunk
            .and_then(|words| words.get(page % CHUNK_PAGES / 64))
            .is_some_and(|word| word.load(Ordering::Relaxed) >> (page % 64) & 1 == 1)
    }

    /// Remembers that every page of the file was checked.
    pub(crate) fn insert_all(&self) {
        self.all.store(true, Ordering::Relaxed);
    }

    /// Remembers that the page was checked.
    pub(crate) fn insert(&self, page: usize) {
        let Some(chunk) = self.chunks.get(page / CHUNK_PAGES) else { return };
        let words = chunk.get_or_init(|| Box::new([const { AtomicU64::new(0) }; CHUNK_WORDS]));
        if let Some(word) = words.get(page % CHUNK_PAGES / 64) {
            word.fetch_or(1 << (page % 64), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_that_were_checked_are_remembered() {
        let pages = CheckedPages::new(100_000);
        let checked = [0, 63, 64, 32_767, 32_768, 99_999];
        checked.iter().for_each(|&page| pages.insert(page));
        for page in 0..100_000 {
            assert_eq!(pages.contains(page), checked.contains(&page), "page {page}");
        }
        pages.insert(1 << 40);
        assert!(!pages.contains(1 << 40));
    }
}
