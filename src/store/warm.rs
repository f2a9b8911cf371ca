//! Reading pages into memory before the first query would have to wait for them.

use crate::base::error::Result;
use crate::base::section::Section;
use crate::bytes::checksum::PAGE_LEN;
use crate::search::snapshot::Snapshot;
use crate::segment::Segment;

/// Which pages to read and verify before queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warm {
    /// The prefix indexes and heads, which every probe reads: about 9 bits a fingerprint and table.
    Hot,
    /// All pages, tails and ids too.
    All,
    /// None: a query reads the pages that it needs.
    None,
}

fpstore_base::choices!(Warm {
    All = "all": "The whole store",
    Hot = "hot": "Prefix indexes and heads, for a store that is larger than the memory",
    None = "none": "Nothing; every query is handed to another thread",
});

/// Which of the pages that are wanted are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pages {
    /// All: those that were read before may have left the memory.
    All,
    /// Those of sections that are not verified as a whole. A new state shares most segments with the
    /// one before, which is in use.
    New,
}

/// Reads part of a state, and makes the plans for the distances that are asked most. Returns the
/// number of pages.
pub(super) fn warm_all(snapshot: &Snapshot, what: Warm, which: Pages) -> Result<u64> {
    let mut pages = 0;
    if what == Warm::None {
        return Ok(pages);
    }
    for open in snapshot.segments() {
        pages += warm_segment(&open.segment, what, which)?;
        for k in 0..=open.segment.header().tuned_k {
            open.plan(k);
        }
    }
    Ok(pages)
}

fn warm_segment(segment: &Segment, what: Warm, which: Pages) -> Result<u64> {
    let wanted = |section: Section| match section {
        Section::PrefixIndex(_) | Section::OverflowEntries(_) | Section::Heads(_) => true,
        // Checksums are not covered by checksums; they are read to verify the other pages.
        Section::Checksums | Section::Header | Section::Manifest | Section::Deletions => false,
        _ => what == Warm::All,
    };
    let mut pages = 0;
    for place in segment.header().places.iter().filter(|place| wanted(place.section)) {
        let first = place.offset as usize / PAGE_LEN;
        let count = (place.len as usize).div_ceil(PAGE_LEN);
        let mut verified = (first..first + count).map(|page| segment.checked().contains(page));
        if which == Pages::New && verified.all(|is_verified| is_verified) {
            continue;
        }
        segment.advise_huge_pages(place);
        let checked = (first..first + count).try_for_each(|page| segment.check_page(place, page));
        segment.advise_queries(place);
        checked?;
        pages += count as u64;
    }
    Ok(pages)
}
