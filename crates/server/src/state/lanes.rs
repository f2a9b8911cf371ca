//! Where work runs that takes long: what is quick has a lane of its own, so that it never waits for
//! what is slow.
//!
//! Quick work takes a thread for blocking work, once one is free. Slow work is done in slices by a
//! few threads of its own, each slice in its turn, so that of many slow askers none waits for the
//! end of another one. The system runs these threads after all others, where it can.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::limits::millis;
use super::live_store::LiveStore;
use crate::protocol::failure::Failure;
use fpstore_client::wire::limits::QUEUE_TIMEOUT;

/// How long slow work goes on while other slow work waits.
const SLICE: Duration = Duration::from_millis(10);
/// How much less than others the threads of slow work count for the scheduler of the system.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Both lanes.
pub(crate) struct Lanes {
    /// One permit for each piece of quick work that runs at a time.
    quick: Arc<Semaphore>,
    slow: Arc<Queue>,
    queue_timeout: Duration,
}

/// A slice of slow work, until about this time. Returns whether there is nothing left to do.
type Slice = Box<dyn FnMut(Instant) -> bool + Send>;

/// Slow work that waits for its next slice.
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
    /// Makes lanes of `threads` threads each, and starts those of slow work. They end with the value.
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

    /// Does quick work on a thread for blocking work, once one is free.
    pub(crate) async fn quick<T: Send + 'static>(
        &self,
        live: &LiveStore,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let free = Arc::clone(&self.quick).acquire_owned();
        let Ok(Ok(permit)) = timeout(self.queue_timeout, free).await else {
            return Err(self.busy(live, "all threads search"));
        };
        let work = move || {
            let done = work();
            drop(permit);
            done
        };
        spawn_blocking(work).await.map_err(|_| Failure::broken())
    }

    /// Does slow work: calls `slice` with the time when it should give way, until it returns a
    /// result. The work ends early if nobody waits for the result any more.
    pub(crate) async fn slow<T: Send + 'static>(
        &self,
        live: &LiveStore,
        mut slice: impl FnMut(Instant) -> Option<T> + Send + 'static,
    ) -> Result<T, Failure> {
        let (begin, begun) = oneshot::channel();
        let (reply, answer) = oneshot::channel();
        let (mut begin, mut reply) = (Some(begin), Some(reply));
        self.slow.push(Box::new(move |end| {
            // Whoever was told that the server is busy has gone.
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
            Err(_) => Err(self.busy(live, "all threads for costly questions search")),
        }
    }

    /// Does slow work that cannot be cut into slices.
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

    /// The next work, once there is some; `None` at the end.
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

    /// Does slices until the server ends.
    fn work(&self) {
        step_back();
        while let Some(mut slice) = self.next() {
            // What breaks down loses its own answer alone.
            let done = catch_unwind(AssertUnwindSafe(|| slice(Instant::now() + SLICE)));
            if let Ok(false) = done {
                self.push(slice);
            }
        }
    }
}

/// Lets the system run all other threads first. What it does not allow is not needed.
pub(super) fn step_back() {
    // Of Linux alone it is known that this is the priority of a thread.
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
            // The others are before it in each round.
            let is_last = left.fetch_add(1, SeqCst) == 2;
            ended.state().is_ended |= is_last;
            is_last
        }));
        queue.work();
        assert_eq!(*order.lock().unwrap(), ["a", "b", "c", "a", "b", "c", "a", "c"]);
    }
}
