//! Reading pages into memory in advance, so that no query waits for them.

use std::ops::Range;

use crate::base::error::Result;
use crate::base::section::Section;
use crate::base::side_by_side::side_by_side;
use crate::bytes::checksum::PAGE_LEN;
use crate::format::directory::{SectionPlace, page_parts};
use crate::search::snapshot::Snapshot;
use crate::segment::access::{Access, free_memory};
use crate::segment::{ReadAhead, Segment};
use fpstore_base::thread_count;

fpstore_base::choices! {
    /// Which pages to read and verify before queries.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Warm {
        /// All pages, including tails and ids.
        All = "all": "The whole store",
        /// The prefix indexes and heads, which every probe reads: about 9 bits per fingerprint and
        /// table.
        Hot = "hot": "Prefix indexes and heads, for a store that is larger than the memory",
        /// No pages: a query reads the pages that it needs.
        None = "none": "Nothing; every query then runs on another thread",
    }
}

/// Which of the pages selected by [`Warm`] are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pages {
    /// All pages: the system may have evicted verified pages from memory.
    All,
    /// Pages of sections that are not fully verified. A new snapshot shares most segments with the
    /// preceding one, whose pages queries have already read.
    New,
}

/// The result of [`Store::warm`](crate::Store::warm), in pages of 4 096 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warmed {
    /// The number of pages that were read and verified.
    pub pages: u64,
    /// The number of selected pages that were not read, because the memory has no room for them.
    pub left_out: u64,
}

/// Reads part of a snapshot, as far as the memory has room, and makes the plans for all distances
/// up to the tuned distance.
pub(super) fn warm_all(snapshot: &Snapshot, what: Warm, which: Pages) -> Result<Warmed> {
    let room = match free_memory() {
        0 => u64::MAX,
        free => free / PAGE_LEN as u64,
    };
    warm_within(snapshot, what, which, room)
}

/// Like [`warm_all`], but with room for `room` pages.
fn warm_within(snapshot: &Snapshot, what: Warm, which: Pages, room: u64) -> Result<Warmed> {
    // The pages that every query reads come first, in case the memory has no room for all.
    let parts: &[Warm] = match what {
        Warm::None => return Ok(Warmed::default()),
        Warm::Hot => &[Warm::Hot],
        Warm::All => &[Warm::Hot, Warm::All],
    };
    let mut warming = Warming { which, threads: thread_count(0), room, done: Warmed::default() };
    for &part in parts {
        for open in snapshot.segments() {
            warming.read(&open.segment, part)?;
        }
    }
    for open in snapshot.segments() {
        for k in 0..=open.segment.header().tuned_k {
            open.plan(k);
        }
    }
    Ok(warming.done)
}

/// The limits and the progress of one call of [`warm_all`].
struct Warming {
    which: Pages,
    threads: usize,
    /// The number of pages for which the memory has room.
    room: u64,
    done: Warmed,
}

impl Warming {
    /// Reads the prefix indexes and heads of a segment, or for [`Warm::All`] all other sections.
    fn read(&mut self, segment: &Segment, part: Warm) -> Result<()> {
        let wanted = |section: Section| match section {
            Section::PrefixIndex(_) | Section::OverflowEntries(_) | Section::Heads(_) => {
                part == Warm::Hot
            }
            // Checksums have no checksums of their own; they are read to verify the other pages.
            Section::Checksums | Section::Header | Section::Manifest | Section::Deletions => false,
            _ => part == Warm::All,
        };
        for place in segment.header().places.iter().filter(|place| wanted(place.section)) {
            let mut pages = place.pages();
            // Without a memory map the segment is in memory already.
            if segment.access() == Access::Map {
                let count = self.room.min(pages.len() as u64);
                self.room -= count;
                self.done.left_out += pages.len() as u64 - count;
                pages.end = pages.start + count as usize;
            }
            if pages.is_empty() || self.which == Pages::New && is_verified(segment, pages.clone()) {
                continue;
            }
            segment.advise_huge_pages(place);
            let checked = check_in_order(segment, place, pages.clone(), self.threads);
            segment.advise_queries(place);
            checked?;
            self.done.pages += pages.len() as u64;
        }
        Ok(())
    }
}

/// Verifies those sections of a table that have at most `queries` pages: the queries will read most
/// of these pages, and reading them sequentially is faster than in the order of the queries. Called
/// just before the queries of the table, since the memory may hold one table only.
///
/// Damage is not an error here: the queries that read the damaged pages report it.
pub(crate) fn warm_for_batch(segment: &Segment, table: usize, queries: usize, threads: usize) {
    let of_table =
        |place: &&SectionPlace| place.section.table().is_some_and(|at| usize::from(at.0) == table);
    for place in segment.header().places.iter().filter(of_table) {
        let pages = place.pages();
        if queries >= pages.len()
            && !is_verified(segment, pages)
            && check_in_order(segment, place, place.pages(), threads).is_err()
        {
            return;
        }
    }
}

fn is_verified(segment: &Segment, mut pages: Range<usize>) -> bool {
    pages.all(|page| segment.checked().contains(page))
}

/// Verifies pages of a section, and reads ahead.
fn check_in_order(
    segment: &Segment,
    place: &SectionPlace,
    pages: Range<usize>,
    threads: usize,
) -> Result<()> {
    let check = |pages: &Range<usize>| {
        let in_section = |page: usize| (page * PAGE_LEN) as u64 - place.offset;
        let bytes = in_section(pages.start)..in_section(pages.end);
        let mut ahead = ReadAhead::new(segment, place, bytes);
        pages.clone().try_for_each(|page| {
            ahead.advance(in_section(page));
            segment.check_page(place, page)
        })
    };
    side_by_side(&page_parts(pages, threads), check).map(drop)
}

#[cfg(all(test, feature = "write"))]
mod tests {
    use super::*;
    use crate::{Builder, Fingerprint};

    #[test]
    fn warming_stops_at_the_memory_and_reads_hot_pages_first() {
        let folder = tempfile::tempdir().unwrap();
        let mut builder = Builder::new(folder.path().join("store.fps")).unwrap();
        for value in 0..20_000_u64 {
            builder
                .push(Fingerprint::new(value.wrapping_mul(0x9e37_79b9_7f4a_7c15)), value)
                .unwrap();
        }
        let snapshot = builder.finish().unwrap().snapshot();
        let warm = |what, which, room| warm_within(&snapshot, what, which, room).unwrap();
        let all = warm(Warm::All, Pages::All, u64::MAX).pages;
        let hot = warm(Warm::Hot, Pages::All, u64::MAX).pages;
        assert!(hot > 5 && all > 2 * hot);
        for room in [0, 1, hot - 1, hot, hot + 1, all - 1, all, all + 1] {
            let pages = room.min(all);
            let expected = Warmed { pages, left_out: all - pages };
            assert_eq!(warm(Warm::All, Pages::All, room), expected, "{room}");
            let pages = room.min(hot);
            let expected = Warmed { pages, left_out: hot - pages };
            assert_eq!(warm(Warm::Hot, Pages::All, room), expected, "{room}");
            // Verified pages are not read again, but they occupy the memory.
            let expected = Warmed { pages: 0, left_out: all - room.min(all) };
            assert_eq!(warm(Warm::All, Pages::New, room), expected, "{room}");
        }
    }
}
