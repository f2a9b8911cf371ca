//! Two lanes for long work: quick work never waits for slow work.
//!
//! Quick work runs on a free thread for blocking work. Slow work is done in slices by a few
//! dedicated threads: the slices of different requests alternate, so that no slow request waits for
//! the end of another. These threads have a lower scheduling priority, where the system supports
//! it.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fpstore_base::Id;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::limits::millis;
use super::live_store::LiveStore;
use crate::protocol::failure::Failure;
use fpstore::writer::IdPlaces;
use fpstore_client::limits::QUEUE_TIMEOUT;

/// The length of a slice of slow work.
const SLICE: Duration = Duration::from_millis(10);
/// The niceness of the threads for slow work.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// The lane of quick work and the lane of slow work.
pub(crate) struct Lanes {
    /// One permit for each concurrent piece of quick work.
    quick: Arc<Semaphore>,
    slow: Arc<Queue>,
    queue_timeout: Duration,
}

/// The ids of a request, and the channel for their places in the store.
pub(super) type IdRequest = (Vec<Id>, oneshot::Sender<Result<Arc<IdPlaces>, Failure>>);

/// The requests that wait for a pass over all ids.
#[derive(Default)]
pub(crate) struct IdPass {
    waiting: Mutex<Vec<IdRequest>>,
    pub(super) turn: tokio::sync::Mutex<()>,
}

impl IdPass {
    pub(super) fn waiting(&self) -> MutexGuard<'_, Vec<IdRequest>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does a slice of slow work, until about the given time. Returns whether the work is finished.
type Slice = Box<dyn FnMut(Instant) -> bool + Send>;

/// The queue of slow work that waits for its next slice.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    has_come: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Slice>,
    is_ended: bool,
}

impl Lanes {
    /// Makes lanes of `threads` threads each, and starts the threads for slow work, which end when
    /// the value is dropped.
    pub(crate) fn start(threads: usize, queue_timeout: Duration) -> std::io::Result<Self> {
        let slow = Arc::new(Queue::default());
        let lanes = Lanes {
            quick: Arc::new(Semaphore::new(threads)),
            slow: Arc::clone(&slow),
            queue_timeout,
        };
        for _ in 0..threads.max(1) {
            let slow = Arc::clone(&slow);
            std::thread::Builder::new().name("slow".into()).spawn(move || slow.work())?;
        }
        Ok(lanes)
    }

    /// Runs quick work on a thread for blocking work, once a permit is free.
    pub(crate) async fn quick<T: Send + 'static>(
        &self,
        live: &LiveStore,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let free = Arc::clone(&self.quick).acquire_owned();
        let Ok(Ok(permit)) = timeout(self.queue_timeout, free).await else {
            return Err(self.busy(live, "all search threads are busy"));
        };
        let work = move || {
            let done = work();
            drop(permit);
            done
        };
        blocking(work).await
    }

    /// Runs slow work: calls `slice` with the end time of each slice, until it returns a result.
    /// The work ends early once the request was dropped.
    pub(crate) async fn slow<T: Send + 'static>(
        &self,
        live: &LiveStore,
        mut slice: impl FnMut(Instant) -> Option<T> + Send + 'static,
    ) -> Result<T, Failure> {
        let (begin, begun) = oneshot::channel();
        let (reply, answer) = oneshot::channel();
        let (mut begin, mut reply) = (Some(begin), Some(reply));
        self.slow.push(Box::new(move |end| {
            // The request was refused as busy while its work was queued.
            let is_refused = begin.take().is_some_and(|begin| begin.send(()).is_err());
            if is_refused || reply.as_ref().is_none_or(oneshot::Sender::is_closed) {
                return true;
            }
            let Some(done) = slice(end) else { return false };
            let _ = reply.take().map(|reply| reply.send(done));
            true
        }));
        match timeout(self.queue_timeout, begun).await {
            Ok(Ok(())) => answer.await.map_err(|_| Failure::broken()),
            Ok(Err(_)) => Err(Failure::broken()),
            Err(_) => Err(self.busy(live, "all threads for costly queries are busy")),
        }
    }

    /// Runs slow work that cannot be divided into slices.
    pub(crate) async fn slow_at_once<T: Send + 'static>(
        &self,
        live: &LiveStore,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let mut work = Some(work);
        self.slow(live, move |_| work.take().map(|work| work())).await
    }

    fn busy(&self, live: &LiveStore, why: &str) -> Failure {
        live.refused(format_args!(
            "{why}; none became free within --{} {}",
            QUEUE_TIMEOUT.flag(),
            millis(self.queue_timeout)
        ))
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        self.slow.state().is_ended = true;
        self.slow.has_come.notify_all();
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, slice: Slice) {
        self.state().waiting.push_back(slice);
        self.has_come.notify_one();
    }

    /// Waits for the next slice of work; `None` once the server ends.
    fn next(&self) -> Option<Slice> {
        let mut state = self.state();
        loop {
            if state.is_ended {
                return None;
            }
            if let Some(slice) = state.waiting.pop_front() {
                return Some(slice);
            }
            state = self.has_come.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Runs slices until the server ends.
    fn work(&self) {
        step_back();
        while let Some(mut slice) = self.next() {
            // A panic affects only its own request.
            let done = catch_unwind(AssertUnwindSafe(|| slice(Instant::now() + SLICE)));
            if let Ok(false) = done {
                self.push(slice);
            }
        }
    }
}

/// Runs `work` on a thread for blocking work.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    spawn_blocking(work).await.map_err(|_| Failure::broken())
}

/// Lowers the scheduling priority of this thread. A refusal of the system is ignored.
pub(super) fn step_back() {
    // Only on Linux this is known to set the priority of a single thread.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICENESS);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    #[test]
    fn slices_of_slow_work_take_turns_and_a_panic_ends_its_own_work_alone() {
        let queue = Arc::new(Queue::default());
        let order = Arc::new(Mutex::new(Vec::new()));
        for name in ["a", "b", "c"] {
            let (order, mut count) = (Arc::clone(&order), 0);
            queue.push(Box::new(move |_| {
                order.lock().unwrap().push(name);
                count += 1;
                assert!(name != "b" || count < 2, "this panic is part of the test");
                count == 3
            }));
        }
        let ended = Arc::clone(&queue);
        let left = AtomicUsize::new(0);
        queue.push(Box::new(move |_| {
            // The other jobs run before this job in each round.
            let is_last = left.fetch_add(1, SeqCst) == 2;
            ended.state().is_ended |= is_last;
            is_last
        }));
        queue.work();
        assert_eq!(*order.lock().unwrap(), ["a", "b", "c", "a", "b", "c", "a", "c"]);
    }
}
