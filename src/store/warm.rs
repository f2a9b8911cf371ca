//! Reading pages into memory before the first query has to wait for them.

use std::ops::Range;

use crate::base::error::Result;
use crate::base::section::Section;
use crate::base::side_by_side::side_by_side;
use crate::format::directory::SectionPlace;
use crate::search::snapshot::Snapshot;
use crate::segment::Segment;
use fpstore_base::thread_count;

/// Which pages to read and verify before queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warm {
    /// The prefix indexes and heads, which every probe reads: about 9 bits per fingerprint and
    /// table.
    Hot,
    /// All pages, including tails and ids.
    All,
    /// No pages: a query reads the pages that it needs.
    None,
}

fpstore_base::choices!(Warm {
    All = "all": "The whole store",
    Hot = "hot": "Prefix indexes and heads, for a store that is larger than the memory",
    None = "none": "Nothing; every query is handed to another thread",
});

/// Which of the selected pages are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pages {
    /// All pages: verified pages may have left the memory since.
    All,
    /// Pages of sections that are not fully verified. A new state shares most segments with the
    /// preceding state, which is in use.
    New,
}

/// Reads part of a state, and makes the plans for the most common distances. Returns the number of
/// pages.
pub(super) fn warm_all(snapshot: &Snapshot, what: Warm, which: Pages) -> Result<u64> {
    let mut pages = 0;
    let threads = thread_count(0);
    if what == Warm::None {
        return Ok(pages);
    }
    for open in snapshot.segments() {
        pages += warm_segment(&open.segment, what, which, threads)?;
        for k in 0..=open.segment.header().tuned_k {
            open.plan(k);
        }
    }
    Ok(pages)
}

fn warm_segment(segment: &Segment, what: Warm, which: Pages, threads: usize) -> Result<u64> {
    let wanted = |section: Section| match section {
        Section::PrefixIndex(_) | Section::OverflowEntries(_) | Section::Heads(_) => true,
        // Checksums have no checksums of their own; they are read to verify the other pages.
        Section::Checksums | Section::Header | Section::Manifest | Section::Deletions => false,
        _ => what == Warm::All,
    };
    let mut pages = 0;
    for place in segment.header().places.iter().filter(|place| wanted(place.section)) {
        let of_place = place.pages();
        if which == Pages::New && is_verified(segment, of_place.clone()) {
            continue;
        }
        segment.advise_huge_pages(place);
        let checked = check_in_order(segment, place, threads);
        segment.advise_queries(place);
        checked?;
        pages += of_place.len() as u64;
    }
    Ok(pages)
}

/// Verifies the sections of a table that have at most as many pages as there are queries: these
/// will read most of them. Sequential reading takes less time than reading in the order of queries.
///
/// Damage is not an error here: the queries that meet it report it.
pub(crate) fn warm_for_batch(segment: &Segment, table: usize, queries: usize, threads: usize) {
    let of_table =
        |place: &&SectionPlace| place.section.table().is_some_and(|at| usize::from(at.0) == table);
    for place in segment.header().places.iter().filter(of_table) {
        let pages = place.pages();
        if queries >= pages.len()
            && !is_verified(segment, pages)
            && check_in_order(segment, place, threads).is_err()
        {
            return;
        }
    }
}

fn is_verified(segment: &Segment, mut pages: Range<usize>) -> bool {
    pages.all(|page| segment.checked().contains(page))
}

/// Verifies all pages of a section.
fn check_in_order(segment: &Segment, place: &SectionPlace, threads: usize) -> Result<()> {
    let check =
        |pages: &Range<usize>| pages.clone().try_for_each(|page| segment.check_page(place, page));
    side_by_side(&place.page_parts(threads), check).map(drop)
}
