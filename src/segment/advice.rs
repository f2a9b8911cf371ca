//! Advice to the system about the order in which the sections of a segment will be read.

use std::ops::Range;

use crate::bytes::checksum::PAGE_LEN;
use crate::format::directory::SectionPlace;
use crate::segment::read::Segment;

/// Pages are requested at least this many pages, 4 MiB, before their use.
const AHEAD_COUNT: usize = 1 << 10;
/// Sections from this length on get advice: twice the default readahead of Linux.
#[cfg(unix)]
const LONG_LEN: u64 = 256 << 10;

impl Segment {
    /// Advises the system that sections are about to be read sequentially, so that it reads ahead.
    pub(super) fn advise_sequential(&self, places: [&SectionPlace; 4]) {
        #[cfg(unix)]
        long(places).for_each(|place| self.advise(place, memmap2::Advice::Sequential));
        #[cfg(not(unix))]
        let _ = places;
    }

    /// Advises the system that single pages of these sections will be read, so that it reads no
    /// others.
    pub(super) fn advise_random(&self, places: [&SectionPlace; 4]) {
        #[cfg(unix)]
        long(places).for_each(|place| self.advise(place, memmap2::Advice::Random));
        #[cfg(not(unix))]
        let _ = places;
    }

    /// Advises the system that a section is about to be read sequentially and should be kept in
    /// memory, in huge pages if the file system supports them.
    pub(crate) fn advise_huge_pages(&self, place: &SectionPlace) {
        #[cfg(unix)]
        {
            // With `HugePage` Linux reads 2 MiB at a time into one huge page, if the file system
            // supports it; with `WillNeed` it would use small pages. Queries of 10^7 fingerprints
            // take a fifth less time in huge pages.
            #[cfg(target_os = "linux")]
            self.advise(place, memmap2::Advice::HugePage);
            #[cfg(not(target_os = "linux"))]
            self.advise(place, memmap2::Advice::WillNeed);
            self.advise(place, memmap2::Advice::Sequential);
        }
        #[cfg(not(unix))]
        let _ = place;
    }

    /// Advises the system that single pages of a section will be read from now on, by queries.
    pub(crate) fn advise_queries(&self, place: &SectionPlace) {
        #[cfg(unix)]
        self.advise(place, memmap2::Advice::Random);
        #[cfg(not(unix))]
        let _ = place;
    }

    #[cfg(unix)]
    fn advise(&self, place: &SectionPlace, advice: memmap2::Advice) {
        self.data.advise(advice, place.offset as usize, place.len as usize);
    }

    /// Starts reading `len` bytes of a section from the disk. Skips verified pages: they are, or
    /// were, in memory.
    pub(super) fn readahead(&self, place: &SectionPlace, offset: u64, len: u64) {
        if self.data.is_read() {
            return;
        }
        let start = place.offset.saturating_add(offset);
        let last = start.saturating_add(len.saturating_sub(1)) / PAGE_LEN as u64;
        let first = start / PAGE_LEN as u64;
        let verified =
            self.checked().contains(first as usize) && self.checked().contains(last as usize);
        if verified || last >= self.header().file_len / PAGE_LEN as u64 {
            return;
        }
        self.will_need(first as usize..last as usize + 1);
    }

    /// Starts reading these pages of the file from the disk.
    fn will_need(&self, pages: Range<usize>) {
        #[cfg(unix)]
        self.data.advise(memmap2::Advice::WillNeed, pages.start * PAGE_LEN, pages.len() * PAGE_LEN);
        #[cfg(not(unix))]
        let _ = pages;
    }
}

/// Readahead for a sequential pass over a range of pages: requests pages some megabytes before
/// their use. Otherwise the caller would wait for each page, because the system does not read ahead
/// in a memory map.
#[derive(Debug)]
pub(crate) struct ReadAhead<'a> {
    segment: &'a Segment,
    /// The offset of the section in the file.
    offset: u64,
    /// The pages not requested from the system yet.
    left: Range<usize>,
}

impl<'a> ReadAhead<'a> {
    /// Readahead for the pages of a range of bytes of a section.
    pub(crate) fn new(segment: &'a Segment, place: &SectionPlace, bytes: Range<u64>) -> Self {
        let offset = place.offset;
        let bytes = bytes.start.min(place.len)..bytes.end.min(place.len);
        let left = if segment.data.is_read() || bytes.is_empty() {
            0..0
        } else {
            page_at(offset, bytes.start)..page_at(offset, bytes.end - 1) + 1
        };
        ReadAhead { segment, offset, left }
    }

    /// Requests more pages if the already requested pages end less than `AHEAD_COUNT` pages after
    /// byte `at` of the section.
    #[inline]
    pub(crate) fn advance(&mut self, at: u64) {
        let page = page_at(self.offset, at);
        if page + AHEAD_COUNT >= self.left.start && !self.left.is_empty() {
            let next = self.next(page);
            self.segment.will_need(next);
        }
    }

    /// Returns the next pages to request when `page` is in use, and counts them as requested.
    fn next(&mut self, page: usize) -> Range<usize> {
        let start = self.left.start.max(page).min(self.left.end);
        let end = (start + 2 * AHEAD_COUNT).min(self.left.end);
        self.left.start = end;
        start..end
    }
}

/// The page of the file that contains byte `at` of a section that starts at `offset`.
fn page_at(offset: u64, at: u64) -> usize {
    (offset.saturating_add(at) / PAGE_LEN as u64) as usize
}

/// The sections for which advice is worth its cost. The system reads a short section at once
/// anyway, and in a query of many small segments, eight system calls for each would take most of
/// the time.
#[cfg(unix)]
fn long(places: [&SectionPlace; 4]) -> impl Iterator<Item = &SectionPlace> {
    places.into_iter().filter(|place| place.len >= LONG_LEN)
}

#[cfg(all(test, feature = "write"))]
mod tests {
    use super::*;
    use crate::Builder;

    #[test]
    fn pages_are_asked_for_once_and_before_their_use() {
        let folder = tempfile::tempdir().unwrap();
        let store = Builder::new(folder.path().join("store.fps")).unwrap().finish().unwrap();
        let snapshot = store.snapshot();
        let segment = &snapshot.segments()[0].segment;
        let ahead = |left: Range<usize>| ReadAhead { segment, offset: 0, left };
        let mut forward = ahead(7..5000);
        let mut next = 7;
        for page in 7..5000 {
            if page + AHEAD_COUNT >= forward.left.start && !forward.left.is_empty() {
                let asked = forward.next(page);
                assert_eq!(asked.start, next);
                next = asked.end;
            }
            assert!(next > page && next <= 5000.min(page + 3 * AHEAD_COUNT + 1), "{page}");
        }
        assert_eq!(next, 5000);
        // Pages that the pass has skipped are not requested.
        assert_eq!(ahead(7..9000).next(8000), 8000..9000);
        assert_eq!(ahead(7..9000).next(9500), 9000..9000);
        let place = segment.header().places[0];
        assert!(ReadAhead::new(segment, &place, 0..0).left.is_empty());
        assert_eq!(ReadAhead::new(segment, &place, 0..u64::MAX).left.len(), place.pages().len());
    }
}
