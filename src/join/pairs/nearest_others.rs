//! The nearest other fingerprint of each of a sample.

use crate::base::error::Result;
use crate::plan::Sample;
use crate::search::Hit;
use crate::store::Store;

/// About the fingerprints that are compared in all.
const COMPARED: u64 = 1 << 30;
/// The fingerprints that are asked about, whatever `COMPARED` says.
const ASKED_MIN: u64 = 64;
/// The most that are asked about: shares are right to one percent.
const ASKED_MAX: u64 = 1 << 12;

/// How many fingerprints of a sample are asked about, where there are `fingerprint_count` in all.
pub(crate) fn asked_count(sample: &Sample, fingerprint_count: u64) -> usize {
    let asked = (COMPARED / fingerprint_count.max(1)).clamp(ASKED_MIN, ASKED_MAX);
    asked.min(sample.count() as u64) as usize
}

/// Calls `each` with fingerprints of a sample of a store and the nearest other one, if there is one
/// within `distance_max` bits. Returns how many were asked about.
pub(crate) fn for_each_nearest_other(
    store: &Store,
    sample: &Sample,
    fingerprint_count: u64,
    distance_max: u32,
    mut each: impl FnMut(&Hit<'_>, Option<&Hit<'_>>) -> Result<()>,
) -> Result<usize> {
    let mut searcher = store.searcher();
    let asked = asked_count(sample, fingerprint_count);
    for needle in sample.fingerprints().take(asked) {
        // The fingerprint itself comes first.
        let answer = searcher.nearest(needle, 2, distance_max)?;
        let mut hits = answer.hits();
        if let Some(own) = hits.next() {
            each(&own, hits.next().as_ref())?;
        }
    }
    Ok(asked)
}
