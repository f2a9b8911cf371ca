//! The same work on several threads.

use std::thread;

use crate::base::error::Result;

/// Does the work for each item on a thread of its own, the last one on the calling thread.
pub(in crate::join) fn side_by_side<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let Some((last, others)) = items.split_last() else { return Ok(Vec::new()) };
    thread::scope(|scope| {
        let work = &work;
        let start = |item| thread::Builder::new().spawn_scoped(scope, move || work(item));
        let running: Vec<_> = others.iter().map_while(|item| start(item).ok()).collect();
        // The system may refuse some of very many threads.
        let refused = &others[running.len()..];
        let own: Result<Vec<R>> = refused.iter().chain([last]).map(work).collect();
        let mut done = Vec::with_capacity(items.len());
        for thread in running {
            done.push(thread.join().expect("joining does not panic")?);
        }
        done.extend(own?);
        Ok(done)
    })
}
