//! A writer that is held for one turn at a time.
//!
//! Long-running programs share a store in this way: the streams of the program, and
//! [`CheckedWriter`](crate::writer::CheckedWriter). This module limits the length of a turn. It
//! never commits: pushed records that are not committed are lost at the end of the turn.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::base::error::Result;
use crate::store::Store;
use crate::writing::writer::{Writer, WriterOptions};

/// The maximum time for which other writers wait for the lock.
const TURN_MAX: Duration = Duration::from_secs(1);
/// The pause after such a wait, with the lock free. Waiting writers retry in shorter intervals.
const TURN_PAUSE: Duration = Duration::from_millis(120);

/// A writer that releases the writer lock between its turns, so that other processes can write.
///
/// A turn begins with [`SharedWriter::writer`] and ends with [`SharedWriter::end_turn`]. During a
/// turn no other writer changes the records of the store. Pushed records that are not committed in
/// a turn are lost with it.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("pages.fps");
/// # fpstore::Builder::new(&path)?.finish()?;
/// use fpstore::writer::SharedWriter;
/// use fpstore::{Writer, WriterOptions};
///
/// let mut shared = SharedWriter::new(&path, WriterOptions::default());
/// shared.writer()?.push(7.into(), "a.html")?;
/// shared.writer()?.commit()?;
/// shared.end_turn();
/// assert!(Writer::open(&path).is_ok(), "the lock is free");
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct SharedWriter {
    path: PathBuf,
    options: WriterOptions,
    /// The open writer, which holds the lock; `None` between turns.
    writer: Option<Box<Writer>>,
    /// The last time when other writers had the chance to take the lock.
    busy_since: Instant,
    /// The time when the last turn ended.
    ended: Instant,
}

impl SharedWriter {
    /// Writes to the store in the directory `path`. Nothing is opened before the first turn.
    pub fn new(path: impl Into<PathBuf>, options: WriterOptions) -> Self {
        let now = Instant::now();
        SharedWriter { path: path.into(), options, writer: None, busy_since: now, ended: now }
    }

    /// Whether a turn is in progress.
    pub fn is_held(&self) -> bool {
        self.writer.is_some()
    }

    /// The writer of this turn. If no turn is in progress, begins one after at most
    /// [`WriterOptions::wait`], with the newest snapshot of the store.
    ///
    /// # Errors
    ///
    /// The same as [`Writer::with_options`].
    pub fn writer(&mut self) -> Result<&mut Writer> {
        let writer = self.take_writer()?;
        Ok(self.writer.insert(writer))
    }

    fn take_writer(&mut self) -> Result<Box<Writer>> {
        if let Some(writer) = self.writer.take() {
            return Ok(writer);
        }
        let writer = Writer::with_options(&self.path, self.options.clone())?;
        if self.ended.elapsed() >= TURN_PAUSE {
            self.busy_since = Instant::now();
        }
        Ok(Box::new(writer))
    }

    /// Sets the label of the segments of this turn and of later ones.
    ///
    /// # Errors
    ///
    /// The errors of [`Writer::set_label`], and of [`SharedWriter::writer`] if this call begins a
    /// turn.
    pub fn set_label(&mut self, label: &str) -> Result<()> {
        let before = std::mem::replace(&mut self.options.label, label.into());
        // A turn that begins now checks the new label, and not the old one, which the store may
        // reject since another process wrote to it.
        let set = match &mut self.writer {
            Some(writer) => writer.set_label(label),
            None => self.writer().map(drop),
        };
        if set.is_err() {
            self.options.label = before;
        }
        set
    }

    /// Whether other writers may have waited for a second.
    pub(super) fn is_overdue(&self) -> bool {
        self.busy_since.elapsed() >= TURN_MAX
    }

    /// Ends the turn. If other writers may have waited for a second, sleeps for 120 ms, so that
    /// one of them gets the lock.
    pub fn end_turn(&mut self) {
        self.drop_turn();
        if self.is_overdue() {
            std::thread::sleep(TURN_PAUSE);
        }
    }

    /// Ends the turn without a pause.
    pub(super) fn drop_turn(&mut self) {
        self.writer = None;
        self.ended = Instant::now();
    }

    /// Commits the records pushed in this turn, and merges segments like [`Writer::finish`].
    ///
    /// # Errors
    ///
    /// The errors of [`Writer::with_options`] and [`Writer::finish`].
    pub fn finish(mut self) -> Result<Store> {
        self.take_writer()?.finish()
    }
}
