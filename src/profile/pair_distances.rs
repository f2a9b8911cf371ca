//! Counts all pairs of a list of values by their distance.

use std::ops::Range;

use fpstore_base::parallel::Parallel;
use fpstore_base::watch::{Observer, Phase, Watch};

use crate::base::error::Result;
use crate::bytes::distances::distances_from;

/// Number of values in a work item: a thread compares each of them with all later values.
const RANGE_LEN: usize = 64;

/// The number of pairs of values at each Hamming distance from 0 to 64: every value with every
/// later one, on all threads. Takes `n^2 / 2` comparisons.
///
/// # Errors
///
/// [`Error::Interrupted`](crate::Error::Interrupted) if the observer ends the work.
pub fn pair_distances(values: &[u64], observer: Option<Observer>) -> Result<[u64; 65]> {
    let watch = Watch::new(observer, Phase::Join, Some(values.len() as u64));
    // The first ranges take the longest, as their values have the most later values. Ranges are
    // small so that all threads are busy to the end.
    let ranges = (0..values.len()).step_by(RANGE_LEN);
    let ranges = ranges.map(|start| start..values.len().min(start + RANGE_LEN));
    let mut sums = [0; 65];
    std::thread::scope(|scope| {
        let results = Parallel::new(0).run_in(
            scope,
            |feed| {
                let _ = ranges.into_iter().all(|range| feed.push(range, 0));
            },
            || |range: Range<usize>| (range.len() as u64, distances_in(values, range)),
        );
        for (count, counts) in results {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            watch.tick(count).and_then(|()| watch.report())?;
        }
        Ok(sums)
    })
}

fn distances_in(values: &[u64], range: Range<usize>) -> [u64; 65] {
    // Equal distances often follow each other. They are counted in four histograms in turn, so that
    // an addition need not wait for the previous one.
    let mut counts = [[0_u64; 65]; 4];
    for first in range {
        distances_from(values[first], &values[first + 1..], |_, distances| {
            for quad in distances.chunks(4) {
                for (counts, &distance) in counts.iter_mut().zip(quad) {
                    counts[usize::from(distance)] += 1;
                }
            }
        });
    }
    std::array::from_fn(|distance| counts.iter().map(|counts| counts[distance]).sum())
}
