//! An open segment: its header, and its bytes, which are verified page by page.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::base::error::{Error, Fault, Result};
use crate::bytes::checksum::PAGE_LEN;
use crate::bytes::fields::u32_at;
use crate::bytes::prefetch::prefetch;
use crate::format::directory::{SectionPlace, page_checksum};
use crate::format::header::Header;
use crate::segment::access::Access;
use crate::segment::map::SegmentBytes;
use crate::segment::table::Table;
use fpstore_base::Recipe;

/// A first access to a page counts as a read from a disk if it takes longer than this. With the
/// checksum, an access takes about a microsecond from memory and tens of microseconds or more from
/// the fastest disks.
const FROM_DISK: Duration = Duration::from_micros(20);
/// Readahead stops after this many fast accesses in a row.
pub(super) const COLD_FOR: u32 = 512;

/// An open segment, made by [`open`](super::open()).
#[derive(Debug)]
pub(crate) struct Segment {
    pub(super) data: SegmentBytes,
    pub(super) path: PathBuf,
    pub(super) header: Header,
    pub(super) recipe: Recipe,
    pub(super) tables: Vec<Table>,
    pub(super) checksums: SectionPlace,
    pub(super) checked: CheckedPages,
    /// The number of fast accesses until all pages are assumed to be in memory; see `is_cold`.
    pub(super) coldness: AtomicU32,
}

impl Segment {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    pub(crate) fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// How the bytes got into memory: `Map` or `Memory`.
    pub(crate) fn access(&self) -> Access {
        if self.data.is_read() { Access::Memory } else { Access::Map }
    }

    /// The bytes of the whole file, verified or not.
    pub(crate) fn file(&self) -> &[u8] {
        self.data.bytes()
    }

    /// The error for a fault at `offset` bytes into a section, with its position in the file.
    #[cold]
    pub(crate) fn corrupt(&self, place: &SectionPlace, offset: u64, fault: Fault) -> Error {
        Error::corrupt(&self.path, place.section, place.offset.saturating_add(offset), fault)
    }

    /// The bytes `offset .. offset + len` of a section. Verifies the checksums of their pages,
    /// unless they are already verified.
    #[inline(always)]
    pub(crate) fn bytes(&self, place: &SectionPlace, offset: u64, len: u64) -> Result<&[u8]> {
        self.bytes_counted(place, offset, len, None)
    }

    /// Like [`Segment::bytes`], but adds the number of newly verified pages to `counter`.
    #[inline(always)]
    pub(super) fn bytes_counted(
        &self,
        place: &SectionPlace,
        offset: u64,
        len: u64,
        counter: Option<&Cell<u64>>,
    ) -> Result<&[u8]> {
        let fits = offset.checked_add(len).is_some_and(|end| end <= place.len);
        if !fits {
            let found = place.len.saturating_sub(offset);
            return Err(self.corrupt(place, offset, Fault::Truncated { needed: len, found }));
        }
        if len == 0 {
            return Ok(&[]);
        }
        // The directory was checked to be inside the file, so the offsets fit in the address space.
        let start = (place.offset + offset) as usize;
        let end = start + len as usize;
        let (first, last) = (start / PAGE_LEN, (end - 1) / PAGE_LEN);
        if first != last || !self.checked.contains(first) {
            for page in first..=last {
                if !self.checked.contains(page) {
                    self.check_page(place, page)?;
                    counter.inspect(|counter| counter.set(counter.get() + 1));
                }
            }
        }
        let found = self.data.bytes().get(start..end);
        found.ok_or_else(|| self.corrupt(place, offset, Fault::Truncated { needed: len, found: 0 }))
    }

    #[inline(always)]
    pub(crate) fn checked(&self) -> &CheckedPages {
        &self.checked
    }

    /// The bytes of a section, verified or not; empty if the file is too short.
    pub(crate) fn section(&self, place: &SectionPlace) -> &[u8] {
        let rest = self.bytes_from(place);
        usize::try_from(place.len).ok().and_then(|len| rest.get(..len)).unwrap_or_default()
    }

    /// The bytes from the start of a section to the end of the file, verified or not.
    pub(crate) fn bytes_from(&self, place: &SectionPlace) -> &[u8] {
        let start = usize::try_from(place.offset).ok();
        start.and_then(|start| self.file().get(start..)).unwrap_or_default()
    }

    /// Prefetches the cache line with the byte at `offset` of a section.
    #[inline]
    pub(crate) fn prefetch(&self, place: &SectionPlace, offset: u64) {
        prefetch(self.data.bytes(), place.offset.wrapping_add(offset) as usize);
    }

    /// The checksums section, whose digest is in the header.
    pub(crate) fn page_checksums(&self) -> &[u8] {
        self.section(&self.checksums)
    }

    /// Whether pages seem to come from a disk: the segment was just opened, or a recent first
    /// access to a page was slow. Then a readahead of many pages before waiting for one saves time;
    /// for pages in memory it would cost time.
    ///
    /// Call this before each pass that accesses pages: calls and fast accesses count down, and
    /// after some hundred of them the segment is no longer cold.
    #[inline]
    pub(crate) fn is_cold(&self) -> bool {
        let left = self.coldness.load(Ordering::Relaxed);
        if left > 0 {
            self.coldness.store(left - 1, Ordering::Relaxed);
        }
        left > 0
    }

    /// Counts a first access to a page as fast or as a read from a disk, by its duration.
    fn note_touch(&self, took: Duration) {
        let left = self.coldness.load(Ordering::Relaxed);
        let left = if took >= FROM_DISK { COLD_FOR } else { left.saturating_sub(1) };
        self.coldness.store(left, Ordering::Relaxed);
    }

    /// Compares a page of a section with its checksum; pages are counted from the start of the
    /// file.
    #[cold]
    pub(crate) fn check_page(&self, place: &SectionPlace, page: usize) -> Result<()> {
        let file = self.data.bytes();
        let start = page * PAGE_LEN;
        let in_section = (start as u64).saturating_sub(place.offset);
        let truncated = || {
            self.corrupt(place, in_section, Fault::Truncated { needed: PAGE_LEN as u64, found: 0 })
        };
        let bytes = file.get(start..start + PAGE_LEN).ok_or_else(truncated)?;
        let number = page - self.header.header_len as usize / PAGE_LEN;
        let stored = self.checksums.offset as usize + number * 4;
        let expected = u32_at(file, stored).ok_or_else(truncated)?;
        let start = Instant::now();
        let found = page_checksum(place.section, in_section / PAGE_LEN as u64, bytes);
        self.note_touch(start.elapsed());
        if found != expected {
            return Err(self.corrupt(place, in_section, Fault::Checksum { found, expected }));
        }
        if self.checked.insert(page)
            && let Some(table) = place.section.table().and_then(|at| self.tables.get(at.0 as usize))
        {
            table.note_verified(place.section);
        }
        Ok(())
    }
}

/// One bit for each page, set once the checksum of the page is verified.
///
/// The system provides the zero bits only when they are first written, so opening takes the same
/// time for any file. Two threads may verify the same page at the same time, with the same result.
#[derive(Debug)]
pub(crate) struct CheckedPages {
    words: Box<[AtomicU64]>,
}

impl CheckedPages {
    /// The bits for a file of `page_count` pages, none of them verified.
    pub(crate) fn new(page_count: u64) -> Self {
        // A file longer than the address space cannot be mapped.
        let word_count = usize::try_from(page_count.div_ceil(64)).unwrap_or(0);
        CheckedPages { words: bytemuck::zeroed_slice_box(word_count) }
    }

    /// Whether a page is verified.
    #[inline(always)]
    pub(crate) fn contains(&self, page: usize) -> bool {
        // The bit only says that the page was compared with its checksum; the bytes come from the
        // file itself, so no memory ordering is needed.
        let word = self.words.get(page / 64).map_or(0, |word| word.load(Ordering::Relaxed));
        word >> (page % 64) & 1 == 1
    }

    /// Marks a page as verified and returns whether it was unverified before.
    pub(crate) fn insert(&self, page: usize) -> bool {
        let bit = 1 << (page % 64);
        let word = self.words.get(page / 64);
        word.is_some_and(|word| word.fetch_or(bit, Ordering::Relaxed) & bit == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_verified_pages_are_marked() {
        let pages = CheckedPages::new(100_000);
        let checked = [0, 63, 64, 32_767, 32_768, 99_999];
        assert!(checked.iter().all(|&page| pages.insert(page) && !pages.insert(page)));
        for page in 0..100_000 {
            assert_eq!(pages.contains(page), checked.contains(&page), "page {page}");
        }
        assert!(!pages.insert(1 << 40) && !pages.contains(1 << 40));
    }
}
