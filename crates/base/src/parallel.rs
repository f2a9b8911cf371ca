//! Parallel work in order: one producer, several workers, and results in the order of the items.
//!
//! The producer runs on its own thread and pushes items. Each worker takes the next item and
//! computes its result. The caller receives the results, an [`Iterator`], on the calling thread, in
//! the order in which the items were pushed. Readers of inputs, of documents and join passes use
//! this.
//!
//! At most `items` items with a total weight of at most `bytes` bytes are in flight: pushed, but
//! their results not yet consumed. If the caller drops the results, the producer's next push tells
//! it to stop, and no worker begins another item. A panic of the producer or of a worker is passed
//! on to the caller.
//!
//! ```text
//! push(item) -> [ work queue ] -> worker ----> result
//!       \                           one-slot channel  \
//!        `----> [ order queue: the receiving ends ] ---> next() -> caller
//! ```

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::Duration;

use crate::thread_count;

/// The default number of items in flight for each worker.
const ITEMS_PER_THREAD: usize = 4;

/// The settings of parallel work: the number of threads, and the items and bytes in flight.
///
/// ```
/// use fpstore_base::parallel::Parallel;
///
/// let words = ["one", "three", "seven"];
/// let lengths: Vec<usize> = std::thread::scope(|scope| {
///     let results = Parallel::new(2).bytes(1 << 20).run_in(
///         scope,
///         |feed| {
///             for word in words {
///                 if !feed.push(word, word.len()) {
///                     break;
///                 }
///             }
///         },
///         || |word: &str| word.len(),
///     );
///     results.collect()
/// });
/// assert_eq!(lengths, [3, 5, 5]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Parallel {
    threads: usize,
    items: usize,
    bytes: usize,
}

impl Parallel {
    /// Settings for `threads` workers; 0 means one for each core. Four items of any weight may be
    /// in flight for each worker.
    pub fn new(threads: usize) -> Self {
        let threads = thread_count(threads);
        Parallel { threads, items: threads * ITEMS_PER_THREAD, bytes: usize::MAX }
    }

    /// Sets the maximum number of items in flight, at least 1.
    #[must_use]
    pub fn items(mut self, items: usize) -> Self {
        self.items = items.max(1);
        self
    }

    /// Sets the maximum total weight of the items in flight, in bytes. A single item of any weight
    /// is always allowed.
    #[must_use]
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    /// Starts the work on threads of `scope`; they may borrow values that live longer than `scope`.
    ///
    /// `produce` pushes the items; `make_worker` is called once on each worker thread. At its end
    /// the scope waits for the producer, so a producer must not wait for an input for ever.
    pub fn run_in<'scope, T, R, W>(
        self,
        scope: &'scope Scope<'scope, '_>,
        produce: impl FnOnce(&mut Feed<T, R>) + Send + 'scope,
        make_worker: impl Fn() -> W + Send + Sync + 'scope,
    ) -> Results<R>
    where
        T: Send + 'scope,
        R: Send + 'scope,
        W: FnMut(T) -> R,
    {
        self.start(produce, make_worker, |job| {
            thread::Builder::new().spawn_scoped(scope, job).map(drop)
        })
    }

    /// Starts the work on detached threads.
    ///
    /// Like [`Parallel::run_in`], but nothing can be borrowed, and the producer may wait for an
    /// input for ever: its thread then lives until the process ends.
    pub fn run<T, R, W>(
        self,
        produce: impl FnOnce(&mut Feed<T, R>) + Send + 'static,
        make_worker: impl Fn() -> W + Send + Sync + 'static,
    ) -> Results<R>
    where
        T: Send + 'static,
        R: Send + 'static,
        W: FnMut(T) -> R,
    {
        self.start(produce, make_worker, |job| thread::Builder::new().spawn(job).map(drop))
    }

    fn start<'a, T, R, W>(
        self,
        produce: impl FnOnce(&mut Feed<T, R>) + Send + 'a,
        make_worker: impl Fn() -> W + Send + Sync + 'a,
        spawn: impl Fn(Box<dyn FnOnce() + Send + 'a>) -> io::Result<()>,
    ) -> Results<R>
    where
        T: Send + 'a,
        R: Send + 'a,
        W: FnMut(T) -> R,
    {
        let gate = Arc::new(Gate::new(self.items, self.bytes));
        let (work, jobs) = channel();
        let (order, results) = channel();
        let jobs = Arc::new(Mutex::new(jobs));
        let make_worker = Arc::new(make_worker);
        let mut feed = Feed { gate: gate.clone(), work, order };
        let produced = spawn(Box::new(move || {
            let produced = catch_unwind(AssertUnwindSafe(|| produce(&mut feed)));
            if let Err(panic) = produced {
                let (slot, result) = sync_channel(1);
                let _ = slot.send(Err(panic));
                let _ = feed.order.send((result, 0));
            }
        }));
        produced.expect("the system lets a process have two threads");
        for number in 0..self.threads {
            let (gate, jobs) = (gate.clone(), jobs.clone());
            let make_worker = make_worker.clone();
            let started = spawn(Box::new(move || work_on(&gate, &jobs, &*make_worker)));
            // If the system fails to start some of very many threads, the others do the work.
            if started.is_err() && number > 0 {
                break;
            }
            started.expect("the system lets a process have three threads");
        }
        Results { gate, results, pending: None, held: None }
    }
}

/// A result, or the panic of the thread that should have computed it.
type Outcome<R> = Result<R, Box<dyn Any + Send>>;
/// An item and the channel for its result.
type Job<T, R> = (T, SyncSender<Outcome<R>>);
/// The receiver of the result of an item, and the weight of the item.
type Pending<R> = (Receiver<Outcome<R>>, usize);

fn work_on<T, R, W: FnMut(T) -> R>(
    gate: &Gate,
    jobs: &Mutex<Receiver<Job<T, R>>>,
    make_worker: &impl Fn() -> W,
) {
    let mut worker = None;
    loop {
        let received = lock(jobs).recv();
        let Ok((item, slot)) = received else { return };
        if gate.is_closed() {
            return;
        }
        let made = catch_unwind(AssertUnwindSafe(|| worker.get_or_insert_with(make_worker)(item)));
        let is_panic = made.is_err();
        let _ = slot.send(made);
        if is_panic {
            return;
        }
    }
}

/// The queue into which the producer pushes its items.
#[derive(Debug)]
pub struct Feed<T, R> {
    gate: Arc<Gate>,
    work: Sender<Job<T, R>>,
    order: Sender<Pending<R>>,
}

impl<T, R> Feed<T, R> {
    /// Pushes an item that weighs `bytes` bytes, after waiting until it fits in the limits. Returns
    /// `false` if the caller dropped the results; then the producer should end.
    #[must_use]
    pub fn push(&mut self, item: T, bytes: usize) -> bool {
        let (slot, result) = sync_channel(1);
        self.gate.enter(bytes)
            && self.order.send((result, bytes)).is_ok()
            && self.work.send((item, slot)).is_ok()
    }
}

/// The results, in the order of the items. A result counts as in flight until the caller asks for
/// the next one.
///
/// # Panics
///
/// If the producer, or the worker of a result, has panicked, asking for the result panics, too.
#[derive(Debug)]
pub struct Results<R> {
    gate: Arc<Gate>,
    results: Receiver<Pending<R>>,
    /// The result that was not ready in the last call of [`Results::next_within`].
    pending: Option<Pending<R>>,
    /// The weight of the item whose result the caller received last.
    held: Option<usize>,
}

/// The next result was not ready in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotReady;

impl<R> Results<R> {
    /// The next result, or `None` after the last one. Returns [`NotReady`] if the result is not
    /// ready within `patience`; a later call returns it.
    ///
    /// # Errors
    ///
    /// [`NotReady`], after which the caller can call this again.
    pub fn next_within(&mut self, patience: Duration) -> Result<Option<R>, NotReady> {
        self.leave();
        let (slot, bytes) = match self.pending.take() {
            Some(pending) => pending,
            None => match self.results.recv_timeout(patience) {
                Ok(pending) => pending,
                Err(RecvTimeoutError::Timeout) => return Err(NotReady),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            },
        };
        match slot.recv_timeout(patience) {
            Ok(outcome) => Ok(Some(self.take(outcome, bytes))),
            Err(RecvTimeoutError::Timeout) => {
                self.pending = Some((slot, bytes));
                Err(NotReady)
            }
            Err(RecvTimeoutError::Disconnected) => lost(),
        }
    }

    fn take(&mut self, outcome: Outcome<R>, bytes: usize) -> R {
        self.held = Some(bytes);
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn leave(&mut self) {
        if let Some(bytes) = self.held.take() {
            self.gate.leave(bytes);
        }
    }
}

/// A result is lost only if all workers panicked, and then the caller has already received a panic.
fn lost() -> ! {
    unreachable!("a worker sends a result or a panic for each item")
}

impl<R> Iterator for Results<R> {
    type Item = R;

    fn next(&mut self) -> Option<R> {
        self.leave();
        let (slot, bytes) = self.pending.take().or_else(|| self.results.recv().ok())?;
        let outcome = slot.recv().unwrap_or_else(|_| lost());
        Some(self.take(outcome, bytes))
    }
}

impl<R> Drop for Results<R> {
    fn drop(&mut self) {
        self.gate.close();
    }
}

/// Counts the items in flight, and blocks the producer while they exceed a limit.
#[derive(Debug)]
struct Gate {
    items_max: usize,
    bytes_max: usize,
    inside: Mutex<Inside>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Inside {
    items: usize,
    bytes: usize,
    is_closed: bool,
}

impl Gate {
    fn new(items_max: usize, bytes_max: usize) -> Self {
        Gate { items_max, bytes_max, inside: Mutex::default(), changed: Condvar::new() }
    }

    /// Waits until an item of `bytes` bytes fits in the limits. Returns `false` if the gate is
    /// closed.
    fn enter(&self, bytes: usize) -> bool {
        let is_full = |inside: &mut Inside| {
            let too_heavy = inside.bytes.saturating_add(bytes) > self.bytes_max;
            !inside.is_closed && (inside.items >= self.items_max || inside.items > 0 && too_heavy)
        };
        let waited = self.changed.wait_while(lock(&self.inside), is_full);
        let mut inside = waited.unwrap_or_else(PoisonError::into_inner);
        inside.items += 1;
        inside.bytes = inside.bytes.saturating_add(bytes);
        !inside.is_closed
    }

    fn leave(&self, bytes: usize) {
        let mut inside = lock(&self.inside);
        inside.items = inside.items.saturating_sub(1);
        inside.bytes = inside.bytes.saturating_sub(bytes);
        self.changed.notify_one();
    }

    fn close(&self) {
        lock(&self.inside).is_closed = true;
        self.changed.notify_one();
    }

    fn is_closed(&self) -> bool {
        lock(&self.inside).is_closed
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn feed_all(count: usize, bytes: usize) -> impl FnOnce(&mut Feed<usize, usize>) + Send {
        move |feed| {
            let _ = (0..count).all(|item| feed.push(item, bytes));
        }
    }

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for threads in [1, 2, 7] {
            let worker = || {
                |item: usize| {
                    if item.is_multiple_of(5) {
                        thread::sleep(Duration::from_micros(300));
                    }
                    item * 2
                }
            };
            let results: Vec<_> = Parallel::new(threads).run(feed_all(500, 1), worker).collect();
            assert!(results.iter().copied().eq((0..500).map(|item| item * 2)));
        }
    }

    /// The items in flight keep to the limits; an item heavier than the limit is in flight alone.
    #[test]
    fn no_more_is_in_flight_than_the_bounds_allow() {
        for (bounds, most) in [
            (Parallel::new(3).items(4), 4),
            (Parallel::new(3).bytes(30), 3),
            (Parallel::new(3).bytes(5), 1),
        ] {
            let in_flight = AtomicUsize::new(0);
            let peak = AtomicUsize::new(0);
            thread::scope(|scope| {
                let mut results = bounds.run_in(scope, feed_all(200, 10), || {
                    |item| {
                        let now = in_flight.fetch_add(1, Ordering::SeqCst) + 1;
                        peak.fetch_max(now, Ordering::SeqCst);
                        item
                    }
                });
                while results.next().is_some() {
                    in_flight.fetch_sub(1, Ordering::SeqCst);
                }
            });
            assert!(peak.into_inner() <= most, "{bounds:?}");
        }
    }

    #[test]
    fn dropping_the_results_stops_the_producer() {
        let pushed = AtomicUsize::new(0);
        thread::scope(|scope| {
            let endless = |feed: &mut Feed<(), ()>| {
                while feed.push((), 0) {
                    pushed.fetch_add(1, Ordering::SeqCst);
                }
            };
            let mut results = Parallel::new(2).items(8).run_in(scope, endless, || |()| ());
            assert!(results.next().is_some());
        });
        assert!(pushed.into_inner() <= 9);
    }

    #[test]
    fn a_panic_of_a_worker_or_the_producer_reaches_the_caller_in_its_turn() {
        let panics_at =
            |at: usize| move |item: usize| if item == at { panic!("at {at}") } else { item };
        for threads in [1, 3] {
            let mut taken = 0;
            let results = Parallel::new(threads).run(feed_all(100, 1), move || panics_at(20));
            let caught = catch_unwind(AssertUnwindSafe(|| results.for_each(|_| taken += 1)));
            assert_eq!(*caught.unwrap_err().downcast::<String>().unwrap(), "at 20");
            assert_eq!(taken, 20);
        }
        let producer = |feed: &mut Feed<usize, usize>| {
            assert!(feed.push(1, 1));
            panic!("no more");
        };
        let mut results = Parallel::new(2).run(producer, || |item| item);
        assert_eq!(results.next(), Some(1));
        let caught = catch_unwind(AssertUnwindSafe(|| results.next()));
        assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "no more");
    }

    #[test]
    fn a_caller_in_a_hurry_can_ask_again() {
        let (go, wait) = channel();
        let producer = move |feed: &mut Feed<u8, u8>| {
            let _ = wait.recv();
            let _ = feed.push(7, 1);
        };
        let mut results = Parallel::new(1).run(producer, || |item| item);
        assert_eq!(results.next_within(Duration::from_millis(1)), Err(NotReady));
        go.send(()).unwrap();
        assert_eq!(results.next_within(Duration::from_secs(60)), Ok(Some(7)));
        assert_eq!(results.next_within(Duration::from_secs(60)), Ok(None));
    }
}
