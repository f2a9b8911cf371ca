//! Ordered parallel map: threads process batches, and the results arrive in the order of the
//! batches.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::base::error::{Error, Result};

/// Maximum number of batches for each thread that are in progress, or finished but not yet passed
/// on.
const AHEAD: usize = 4;

type Job<T, R> = (T, SyncSender<Result<R>>);

/// Maps every batch from `source` on worker threads and calls `each` with the results, in order.
/// `worker` makes the function and its state for each thread; `source` and `each` run on the
/// calling thread, in turn. At most four batches per thread are in memory.
///
/// # Errors
///
/// The first error of a worker, of `source` or of `each`; the results after it are dropped.
pub(crate) fn in_order<T: Send, R: Send, W: FnMut(T) -> Result<R>, E: From<Error>>(
    threads: usize,
    worker: impl Fn() -> W + Sync,
    source: impl FnOnce(&mut dyn FnMut(T) -> Result<(), E>) -> Result<(), E>,
    mut each: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    if threads < 2 {
        let mut work = worker();
        return source(&mut |batch| each(work(batch)?));
    }
    let (give, jobs) = channel::<Job<T, R>>();
    let jobs = Mutex::new(jobs);
    thread::scope(|scope| {
        // Dropped at the end of this closure, even after an error, so that the threads end.
        let give = give;
        let run = || {
            let mut work = worker();
            while let Some((batch, done)) = next(&jobs) {
                // Sending fails only if the receiver was dropped after an error.
                let _ = done.send(work(batch));
            }
        };
        let start = |_| thread::Builder::new().spawn_scoped(scope, run).ok();
        if (0..threads).map_while(start).count() == 0 {
            // The system could not start any thread, so the calling thread does the work.
            let mut work = worker();
            return source(&mut |batch| each(work(batch)?));
        }
        let mut under_way: VecDeque<Receiver<Result<R>>> = VecDeque::new();
        let mut take =
            |done: Receiver<Result<R>>| each(done.recv().expect("the work does not panic")?);
        source(&mut |batch| {
            let (done, result) = sync_channel(1);
            give.send((batch, done)).expect("the jobs have a receiver");
            under_way.push_back(result);
            let first = (under_way.len() > AHEAD * threads).then(|| under_way.pop_front());
            first.flatten().map_or(Ok(()), &mut take)
        })?;
        under_way.into_iter().try_for_each(take)
    })
}

/// Waits for the next batch; `None` after the last batch.
fn next<J>(jobs: &Mutex<Receiver<J>>) -> Option<J> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Doubles the numbers below `count` with [`in_order`]; small numbers take longest, and the
    /// number `fails_at` causes an error.
    fn doubled(threads: usize, count: u64, fails_at: Option<u64>) -> (Vec<u64>, Result<()>) {
        let mut seen = Vec::new();
        let under_way = AtomicUsize::new(0);
        let worker = || {
            |number: u64| {
                (0..(count - number) * 100).for_each(|at| {
                    std::hint::black_box(at);
                });
                if fails_at == Some(number) { Err(Error::Interrupted) } else { Ok(2 * number) }
            }
        };
        let source = |give: &mut dyn FnMut(u64) -> Result<()>| {
            (0..count).try_for_each(|number| {
                let most = under_way.fetch_add(1, Ordering::Relaxed);
                assert!(most <= AHEAD * threads);
                give(number)
            })
        };
        let done = in_order(threads, worker, source, |number| {
            under_way.fetch_sub(1, Ordering::Relaxed);
            seen.push(number);
            Ok(())
        });
        (seen, done)
    }

    #[test]
    fn results_come_in_the_order_of_the_batches_whatever_takes_longest() {
        for threads in [0, 1, 2, 3, 8] {
            for count in [0, 1, 2, 7, 100] {
                let (seen, done) = doubled(threads, count, None);
                done.unwrap();
                assert!(seen.into_iter().eq((0..count).map(|number| 2 * number)));
            }
        }
    }

    #[test]
    fn nothing_comes_after_a_batch_that_failed() {
        for threads in [1, 2, 5] {
            for at in [0, 1, 50, 99] {
                let (seen, done) = doubled(threads, 100, Some(at));
                assert!(matches!(done, Err(Error::Interrupted)));
                assert!(seen.into_iter().eq((0..at).map(|number| 2 * number)));
            }
        }
    }

    #[test]
    fn an_error_of_the_source_or_of_the_receiver_ends_the_work() {
        for threads in [1, 2, 5] {
            let source = |give: &mut dyn FnMut(u64) -> Result<()>| {
                (0..30).try_for_each(give)?;
                Err(Error::Interrupted)
            };
            let done = in_order(threads, || Ok, source, |_| Ok(()));
            assert!(matches!(done, Err(Error::Interrupted)));
            let source = |give: &mut dyn FnMut(u64) -> Result<()>| (0..).try_for_each(give);
            let take = |at| if at == 30 { Err(Error::Interrupted) } else { Ok(()) };
            let done = in_order(threads, || Ok, source, take);
            assert!(matches!(done, Err(Error::Interrupted)));
        }
    }
}
