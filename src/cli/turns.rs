//! A writer that streams hold for a batch at a time, so that other processes get their turns.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fpstore::writer::Committed;
use fpstore::{Error, Store, Writer, WriterOptions};

use super::monitor::Monitor;

/// The longest time that a busy stream keeps other processes from their turn.
const TURN_MAX: Duration = Duration::from_secs(1);
/// The pause between two attempts to take the lock.
const ATTEMPT_PAUSE: Duration = Duration::from_millis(50);
/// How long a busy stream then leaves the lock alone. Others try to take it more often than this.
const TURN_PAUSE: Duration = Duration::from_millis(120);

/// The turns of a stream at the writer lock of a store.
pub(super) struct Turns {
    path: PathBuf,
    options: WriterOptions,
    /// The writer, while it is the turn of this stream.
    writer: Option<Writer>,
    /// The last time at which other processes could have had a turn.
    busy_since: Instant,
}

impl Turns {
    pub(super) fn new(path: &Path, options: WriterOptions) -> Self {
        Turns { path: path.into(), options, writer: None, busy_since: Instant::now() }
    }

    /// Whether it is the turn of this stream.
    pub(super) fn is_held(&self) -> bool {
        self.writer.is_some()
    }

    /// The writer, once it is the turn of this stream: its store is then the newest, and nobody
    /// else adds records before [`Turns::end`].
    pub(super) fn writer(&mut self, monitor: &Monitor) -> Result<&mut Writer, Error> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.acquire(monitor)?,
        };
        Ok(self.writer.insert(writer))
    }

    fn acquire(&self, monitor: &Monitor) -> Result<Writer, Error> {
        loop {
            match Writer::with_options(&self.path, self.options.clone()) {
                Err(Error::Locked { .. }) => monitor.check()?,
                writer => return writer,
            }
            std::thread::sleep(ATTEMPT_PAUSE);
        }
    }

    /// The store as it is in this turn.
    pub(super) fn store(&self) -> Option<&Store> {
        self.writer.as_ref().map(Writer::store)
    }

    /// Commits the records of this turn.
    pub(super) fn commit(&mut self) -> Result<Committed, Error> {
        self.writer.as_mut().map_or_else(|| Ok(Committed::default()), Writer::commit)
    }

    /// Whether other processes have waited long enough.
    pub(super) fn is_long(&self) -> bool {
        self.busy_since.elapsed() >= TURN_MAX
    }

    /// Ends the turn. Records that are not committed are lost.
    pub(super) fn end(&mut self) {
        self.writer = None;
        if self.is_long() {
            std::thread::sleep(TURN_PAUSE);
            self.rest();
        }
    }

    /// Notes that nothing is to be done, so that other processes can have their turns.
    pub(super) fn rest(&mut self) {
        if !self.is_held() {
            self.busy_since = Instant::now();
        }
    }

    /// The end of a stream that has written: merges what is due.
    pub(super) fn finish(mut self, monitor: &Monitor) -> Result<(), Error> {
        self.writer(monitor)?;
        self.writer.map_or(Ok(()), |writer| writer.finish().map(drop))
    }
}
