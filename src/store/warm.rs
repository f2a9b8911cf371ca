//! Reading ahead of the first query what it would otherwise wait for.

use crate::checksum::PAGE_LEN;
use crate::error::Result;
use crate::section::Section;
use crate::segment::Mapped;
use crate::store::Store;

/// What to read and check ahead of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warm {
    /// The prefix indexes and heads: what every probe reads, about 9 bits a fingerprint and
    /// table.
    Hot,
    /// Everything, tails and ids too.
    All,
}

impl Store {
    /// Reads part of the store and verifies its checksums now rather than on first touch, and
    /// says how many pages that were.
    ///
    /// What is read stays in memory as long as the system has room for it. What was not there yet comes in
    /// large pages, where the system has such for files (Linux with ext4, XFS or Btrfs), and queries take less time in those:
    /// call this before anything else reads the store.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) for the first damaged page.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// let store = fpstore::Store::open("pages.fps")?;
    /// let pages = store.warm(fpstore::Warm::Hot)?;
    /// println!("{pages} pages are in memory and sound");
    /// # Ok::<(), fpstore::Error>(())
    /// ```
    pub fn warm(&self, what: Warm) -> Result<u64> {
        let mut pages = 0;
        let snapshot = self.snapshot();
        for open in snapshot.segments() {
            pages += warm_segment(&open.segment, what)?;
        }
        Ok(pages)
    }
}

fn warm_segment(segment: &Mapped, what: Warm) -> Result<u64> {
    let wanted = |section: Section| match section {
        Section::PrefixIndex(_) | Section::WideLines(_) | Section::Heads(_) => true,
        // Checksums have none themselves; they are read as the others are checked.
        Section::Checksums | Section::Header | Section::Manifest | Section::Deletions => false,
        _ => what == Warm::All,
    };
    let mut pages = 0;
    for place in segment.header().places.iter().filter(|place| wanted(place.section)) {
        let first = place.offset as usize / PAGE_LEN;
        let count = (place.len as usize).div_ceil(PAGE_LEN);
        segment.expect_to_keep(place);
        let checked = (first..first + count).try_for_each(|page| segment.check_page(place, page));
        segment.expect_queries(place);
        checked?;
        pages += count as u64;
    }
    Ok(pages)
}
