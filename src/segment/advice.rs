//! Advice to the system on the access pattern of the sections of a segment.

use crate::bytes::checksum::PAGE_LEN;
use crate::format::directory::SectionPlace;
use crate::segment::read::Segment;

/// Twice the default readahead of Linux.
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

    /// Advises the system that single pages of sections will be read.
    pub(super) fn advise_random(&self, places: [&SectionPlace; 4]) {
        #[cfg(unix)]
        long(places).for_each(|place| self.advise(place, memmap2::Advice::Random));
        #[cfg(not(unix))]
        let _ = places;
    }

    /// Advises the system that a section is about to be read sequentially and should stay in
    /// memory, in huge pages if the file system supports them.
    pub(crate) fn advise_huge_pages(&self, place: &SectionPlace) {
        #[cfg(unix)]
        {
            // Linux then reads 2 MiB at a time into one page, on file systems that support it; with
            // `WillNeed` it would use small pages. Queries of 10^7 fingerprints take a fifth less
            // time in huge pages.
            #[cfg(target_os = "linux")]
            self.advise(place, memmap2::Advice::HugePage);
            #[cfg(not(target_os = "linux"))]
            self.advise(place, memmap2::Advice::WillNeed);
            self.advise(place, memmap2::Advice::Sequential);
        }
        #[cfg(not(unix))]
        let _ = place;
    }

    /// Advises the system that single pages of a section will be read from now on.
    pub(crate) fn advise_queries(&self, place: &SectionPlace) {
        #[cfg(unix)]
        self.advise(place, memmap2::Advice::Random);
        #[cfg(not(unix))]
        let _ = place;
    }

    #[cfg(unix)]
    fn advise(&self, place: &SectionPlace, advice: memmap2::Advice) {
        self.data().advise(advice, place.offset as usize, place.len as usize);
    }

    /// Starts reading the pages of some bytes from the disk, except for verified pages: those are,
    /// or were, in memory.
    pub(super) fn readahead(&self, place: &SectionPlace, offset: u64, len: u64) {
        if self.data().is_read() {
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
        #[cfg(unix)]
        self.data().advise(
            memmap2::Advice::WillNeed,
            first as usize * PAGE_LEN,
            (last - first + 1) as usize * PAGE_LEN,
        );
    }
}

/// The sections for which advice on their order pays. The system reads a short section at once
/// anyway, and a query visits every small segment, where eight system calls would take most of its
/// time.
#[cfg(unix)]
fn long(places: [&SectionPlace; 4]) -> impl Iterator<Item = &SectionPlace> {
    places.into_iter().filter(|place| place.len >= LONG_LEN)
}
