//! Parallel loops over slices and iterators, and ranges that are cut into parts of equal length.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::base::error::Result;

/// One of `count` parts of a range, all of about equal length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    number: u64,
    count: u64,
}

impl Part {
    pub(crate) const WHOLE: Part = Part { number: 0, count: 1 };

    /// All `count` parts; at least one part.
    pub(crate) fn all(count: usize) -> Vec<Self> {
        let count = count.max(1) as u64;
        (0..count).map(|number| Part { number, count }).collect()
    }

    /// The range of this part, if `range` is cut into `count` parts.
    pub(crate) fn of(self, range: Range<u64>) -> Range<u64> {
        let len = u128::from(range.end.saturating_sub(range.start));
        let at =
            |number: u64| range.start + (len * u128::from(number) / u128::from(self.count)) as u64;
        at(self.number)..at(self.number + 1)
    }

    /// The range of this part, if `0..len` is cut into `count` parts.
    pub(crate) fn of_len(self, len: usize) -> Range<usize> {
        self.of_indices(0..len)
    }

    /// Like [`Part::of`], for a range of indices.
    pub(crate) fn of_indices(self, range: Range<usize>) -> Range<usize> {
        let part = self.of(range.start as u64..range.end as u64);
        part.start as usize..part.end as usize
    }
}

/// Calls `work` for all items at the same time, each on its own thread; one thread is the calling
/// thread. Results and errors: the same as of [`results_on_threads`].
pub(crate) fn side_by_side<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    results_on_threads(items.len(), items, work)
}

/// Calls `work` once for each job, on `threads` threads; one of them is the calling thread.
pub(crate) fn on_threads<J: Send>(
    threads: usize,
    jobs: impl Iterator<Item = J> + Send,
    work: impl Fn(J) + Sync,
) {
    if threads < 2 {
        jobs.for_each(work);
        return;
    }
    let jobs = Mutex::new(jobs);
    let run = || {
        let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some(job) = next() {
            work(job);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // If the system cannot start a thread, the threads started so far do the work.
            if thread::Builder::new().spawn_scoped(scope, run).is_err() {
                break;
            }
        }
        run();
    });
}

/// Calls `work` once for each item, on `threads` threads; one of them is the calling thread. The
/// results have the order of the items. Of several errors, the first in this order is returned;
/// after an error no further item is started.
pub(crate) fn results_on_threads<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let failed = AtomicBool::new(false);
    let mut results: Vec<Option<Result<R>>> = items.iter().map(|_| None).collect();
    on_threads(threads.min(items.len()), items.iter().zip(&mut results), |(item, result)| {
        if !failed.load(Ordering::Relaxed) {
            let done = work(item);
            failed.fetch_or(done.is_err(), Ordering::Relaxed);
            *result = Some(done);
        }
    });
    results.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::Error;

    #[test]
    fn results_are_in_order_and_an_error_ends_the_work() {
        for threads in [0, 1, 2, 5] {
            let items: Vec<u32> = (0..100).collect();
            let doubled = results_on_threads(threads, &items, |item| Ok(2 * item)).unwrap();
            assert!(doubled.iter().zip(&items).all(|(doubled, item)| *doubled == 2 * item));
            let begun = Mutex::new(Vec::new());
            let failed = results_on_threads(threads, &items, |&item| {
                begun.lock().unwrap().push(item);
                if item < 10 { Ok(()) } else { Err(Error::Interrupted) }
            });
            assert!(matches!(failed, Err(Error::Interrupted)));
            assert!(begun.into_inner().unwrap().len() <= 10 + threads.max(1));
        }
    }

    #[test]
    fn each_job_is_done_once_on_any_number_of_threads() {
        for threads in [0, 1, 2, 5] {
            let mut done = vec![0; 100];
            on_threads(threads, done.iter_mut(), |done| *done += 1);
            assert_eq!(done, vec![1; 100]);
        }
    }

    #[test]
    fn the_parts_of_a_range_are_the_range() {
        for range in [0..0, 0..1, 3..10, 7..7, 0..u64::MAX, 5..1_000_003] {
            for count in [0, 1, 2, 3, 64] {
                let mut at = range.start;
                for part in Part::all(count) {
                    let part = part.of(range.clone());
                    assert_eq!(part.start, at);
                    at = part.end;
                }
                assert_eq!(at, range.end);
            }
        }
        assert_eq!(Part::WHOLE.of_len(5), 0..5);
    }
}
