//! Finds the nearest other fingerprint of each fingerprint of a sample.
//!
//! Each fingerprint takes a search, which may become a scan. The larger the store, the fewer
//! searches are made, so that even scans compare about [`COMPARED`] values in all.

use crate::base::error::Result;
use crate::plan::Sample;
use crate::search::Hit;
use crate::store::Store;

/// Approximate number of comparisons of all searches together, if each is a scan.
const COMPARED: u64 = 1 << 30;
/// Minimum number of searches, even if they exceed [`COMPARED`].
const SEARCHED_MIN: u64 = 64;
/// Maximum number of searches: with this many, shares of fingerprints are exact to one percent.
const SEARCHED_MAX: u64 = 1 << 12;

/// The number of fingerprints of a sample whose nearest other fingerprint is searched for, if the
/// store has `fingerprint_count` fingerprints.
pub(crate) fn searched_count(sample: &Sample, fingerprint_count: u64) -> usize {
    let searched = (COMPARED / fingerprint_count.max(1)).clamp(SEARCHED_MIN, SEARCHED_MAX);
    searched.min(sample.count() as u64) as usize
}

/// Calls `each` with fingerprints of a sample of a store, each with the nearest other fingerprint,
/// if there is one within `distance_max` bits. Returns the number of searches.
pub(crate) fn for_each_nearest_other(
    store: &Store,
    sample: &Sample,
    fingerprint_count: u64,
    distance_max: u32,
    mut each: impl FnMut(&Hit<'_>, Option<&Hit<'_>>) -> Result<()>,
) -> Result<usize> {
    let mut searcher = store.searcher();
    let searched = searched_count(sample, fingerprint_count);
    for needle in sample.fingerprints().take(searched) {
        // The first hit is the fingerprint itself, the second the nearest other one.
        let answer = searcher.nearest(needle, 2, distance_max)?;
        let mut hits = answer.hits();
        if let Some(own) = hits.next() {
            each(&own, hits.next().as_ref())?;
        }
    }
    Ok(searched)
}
