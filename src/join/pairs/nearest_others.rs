//! The nearest other fingerprint of each fingerprint of a sample.
//!
//! Each is found by a search, which may become a scan. The number of searches falls with the size of
//! the store, so that all of them compare about [`COMPARED`] values.

use crate::base::error::Result;
use crate::plan::Sample;
use crate::search::Hit;
use crate::store::Store;

/// Approximate number of comparisons in all.
const COMPARED: u64 = 1 << 30;
/// Minimum number of fingerprints searched for, whatever `COMPARED` implies.
const SEARCHED_MIN: u64 = 64;
/// Maximum number of fingerprints searched for: shares are then exact to one percent.
const SEARCHED_MAX: u64 = 1 << 12;

/// The number of fingerprints of a sample that are searched for, if there are `fingerprint_count`
/// in all.
pub(crate) fn searched_count(sample: &Sample, fingerprint_count: u64) -> usize {
    let searched = (COMPARED / fingerprint_count.max(1)).clamp(SEARCHED_MIN, SEARCHED_MAX);
    searched.min(sample.count() as u64) as usize
}

/// Calls `each` with fingerprints of a sample of a store and the nearest other one, if there is one
/// within `distance_max` bits. Returns the number of searches.
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
        // The fingerprint itself comes first.
        let answer = searcher.nearest(needle, 2, distance_max)?;
        let mut hits = answer.hits();
        if let Some(own) = hits.next() {
            each(&own, hits.next().as_ref())?;
        }
    }
    Ok(searched)
}
