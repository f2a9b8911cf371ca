//! Writes the lines of a log on a separate thread.
//!
//! A log whose reader is stuck, or whose disk is slow, must not hold a request. So a request only
//! appends its line to a bounded buffer. Lines beyond the bound are lost and counted.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The largest number of bytes that wait to be written.
const WAITING_MAX: usize = 4 << 20;

/// Lines that a thread writes, in their order. Clones are handles of the same queue; the thread
/// ends with the last of them.
#[derive(Clone)]
pub struct LineQueue(Arc<Handle>);

struct Handle(Arc<Queue>);

struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    lost: AtomicU64,
    told: fn(&str),
}

#[derive(Default)]
struct State {
    waiting: Vec<u8>,
    is_writing: bool,
    is_ended: bool,
    /// Whether lines were lost since the last successful write.
    is_losing: bool,
}

impl LineQueue {
    /// Starts a thread that writes to `out`. `told` receives a message when lines begin to be lost.
    ///
    /// # Errors
    ///
    /// If the system refuses a thread.
    pub fn start(out: impl Write + Send + 'static, told: fn(&str)) -> io::Result<Self> {
        let (state, changed, lost) = (Mutex::default(), Condvar::new(), AtomicU64::new(0));
        let queue = Arc::new(Queue { state, changed, lost, told });
        let writing = Arc::clone(&queue);
        std::thread::Builder::new().name("log".into()).spawn(move || writing.write_to(out))?;
        Ok(LineQueue(Arc::new(Handle(queue))))
    }

    /// Appends a line, which ends with a newline, or counts it as lost. It never waits for the
    /// output.
    pub fn push(&self, line: &[u8]) {
        let queue = &self.0.0;
        let mut state = queue.state();
        if state.waiting.len() + line.len() > WAITING_MAX {
            queue.lose(state, 1, "lines are lost, because the reader of the log does not keep up");
            return;
        }
        state.waiting.extend_from_slice(line);
        drop(state);
        queue.changed.notify_all();
    }

    /// The number of lost lines.
    pub fn lost(&self) -> u64 {
        self.0.0.lost.load(Relaxed)
    }

    /// Waits until all lines are written, but not longer than `most`.
    pub fn flush(&self, most: Duration) {
        let queue = &self.0.0;
        let is_busy = |state: &mut State| state.is_writing || !state.waiting.is_empty();
        drop(queue.changed.wait_timeout_while(queue.state(), most, is_busy));
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.state().is_ended = true;
        self.0.changed.notify_all();
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts lost lines, and reports the first loss after a successful write.
    fn lose(&self, mut state: MutexGuard<'_, State>, count: u64, why: &str) {
        self.lost.fetch_add(count, Relaxed);
        let is_first = !std::mem::replace(&mut state.is_losing, true);
        drop(state);
        if is_first {
            (self.told)(why);
        }
    }

    fn write_to(&self, mut out: impl Write) {
        let mut lines = Vec::new();
        let is_idle = |state: &mut State| state.waiting.is_empty() && !state.is_ended;
        loop {
            let waited = self.changed.wait_while(self.state(), is_idle);
            let mut state = waited.unwrap_or_else(PoisonError::into_inner);
            if state.waiting.is_empty() {
                return;
            }
            std::mem::swap(&mut state.waiting, &mut lines);
            state.is_writing = true;
            drop(state);
            let written = out.write_all(&lines).and_then(|()| out.flush());
            let count = lines.iter().filter(|byte| **byte == b'\n').count();
            lines.clear();
            let mut state = self.state();
            match written {
                Ok(()) => state.is_losing &= !state.waiting.is_empty(),
                Err(error) => {
                    self.lose(state, count as u64, &format!("lines are lost: {error}"));
                    state = self.state();
                }
            }
            state.is_writing = false;
            drop(state);
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// An output that takes a line only when the test allows it, and fails on demand.
    struct Slow(Receiver<bool>, Sender<Vec<u8>>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.0.recv() {
                Ok(true) => {
                    let _ = self.1.send(bytes.into());
                    Ok(bytes.len())
                }
                _ => Err(io::Error::other("full")),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_beyond_the_bound_are_lost_counted_and_reported_once() {
        static TOLD: AtomicU64 = AtomicU64::new(0);
        let (allow, allowed) = channel();
        let (written, taken) = channel();
        let told = |_: &str| {
            TOLD.fetch_add(1, Relaxed);
        };
        let queue = LineQueue::start(Slow(allowed, written), told).unwrap();
        queue.push(b"first\n");
        let line = [&[b'x'; (1 << 16) - 1][..], b"\n"].concat();
        let is_taken = |queue: &LineQueue| queue.0.0.state().is_writing;
        while !is_taken(&queue) {
            std::thread::yield_now();
        }
        // The output accepts nothing yet, and no push waits for it.
        let fit = WAITING_MAX / line.len();
        (0..fit + 5).for_each(|_| queue.push(&line));
        assert_eq!((queue.lost(), TOLD.load(Relaxed)), (5, 1));
        allow.send(true).unwrap();
        assert_eq!(taken.recv().unwrap(), b"first\n");
        allow.send(false).unwrap();
        queue.flush(Duration::MAX);
        assert_eq!((queue.lost(), TOLD.load(Relaxed)), (5 + fit as u64, 1));
        allow.send(true).unwrap();
        queue.push(b"last\n");
        assert_eq!(taken.recv().unwrap(), b"last\n");
        queue.flush(Duration::MAX);
        allow.send(false).unwrap();
        queue.push(b"lost\n");
        queue.flush(Duration::MAX);
        assert_eq!(TOLD.load(Relaxed), 2, "a new fault is reported again");
    }
}
