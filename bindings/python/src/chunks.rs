//! Work on many items by several threads, in chunks.
//!
//! Input: a number of items and the length of a chunk. Each thread repeatedly takes the next chunk,
//! computes its result and stores it. Output: the results in the order of the chunks. For example,
//! 100 items in chunks of 64 give the results of `0..64` and `64..100`, on at most two threads.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use fpstore::{Error, Phase};
use fpstore_base::watch::Watch;

use crate::errors::Failure;
use crate::work::Shared;

/// The chunks not yet taken, and the results so far.
pub(crate) struct Chunks<R> {
    next: AtomicUsize,
    count: usize,
    len: usize,
    watch: Watch,
    results: Mutex<Vec<(usize, R)>>,
}

impl<R: Send> Chunks<R> {
    /// Takes the next chunk, a range of item numbers. Returns `None` after the last chunk.
    pub(crate) fn take(&self) -> Option<Range<usize>> {
        let start = self.next.fetch_add(self.len, Ordering::Relaxed);
        (start < self.count).then(|| start..self.count.min(start + self.len))
    }

    /// Stores the result of a chunk and reports the progress. Fails if the call was interrupted.
    pub(crate) fn put(&self, chunk: Range<usize>, result: R) -> Result<(), Failure> {
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        results.push((chunk.start, result));
        drop(results);
        self.watch.tick(chunk.len() as u64).map_err(Error::from)?;
        Ok(self.watch.report().map_err(Error::from)?)
    }

    /// Calls `work` on `threads` threads, including the current thread. `work` takes chunks of
    /// `len` items until all `count` items are taken. Returns the results in order.
    pub(crate) fn run(
        (count, len): (usize, usize),
        threads: usize,
        (phase, shared): (Phase, &Arc<Shared>),
        work: impl Fn(&Self) -> Result<(), Failure> + Sync,
    ) -> Result<impl Iterator<Item = R>, Failure> {
        let watch = Watch::new(Some(shared.observer()), phase, Some(count as u64));
        let chunks =
            Chunks { next: AtomicUsize::new(0), count, len, watch, results: Mutex::default() };
        let threads = threads.min(count.div_ceil(len)).max(1);
        std::thread::scope(|scope| {
            let work = || work(&chunks);
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut result = work();
            for other in others {
                let panicked = || Failure::Panic("a worker thread ended early".into());
                result = result.and(other.join().unwrap_or_else(|_| Err(panicked())));
            }
            result
        })?;
        let mut results = chunks.results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_unstable_by_key(|(start, _)| *start);
        Ok(results.into_iter().map(|(_, result)| result))
    }
}
