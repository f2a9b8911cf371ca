//! Check and add: a record is added if no stored or pending record is within `k` bits of it.
//!
//! The streams of the program, the writer thread of the server and Python call [`CheckedWriter`].
//! It decides which records are new; it never commits by itself, and it starts no thread. `pending`
//! holds the pending records, `near_index` finds the nearest of them, `ahead` compares records with
//! the store before the writer's turn.

mod ahead;
mod apart;
mod judged;
mod near_index;
mod pending;
#[cfg(test)]
mod tests;

use std::ops::RangeBounds;
use std::path::PathBuf;

use fpstore_base::Fingerprint;

use crate::base::error::{Error, Result};
use crate::search::{Hit, Limits, Searcher};
use crate::store::Store;
use crate::writing::writer::{
    Committed, Deleted, IdChange, NewRecord, SharedWriter, Writer, WriterOptions,
};
pub use ahead::{Ahead, ComparisonProgress};
use apart::Apart;
use pending::Pending;

/// The result of [`CheckedWriter::check_and_add`].
#[derive(Clone, Copy, Debug)]
pub enum Verdict<'a> {
    /// No stored or pending record is within `k` bits: the record was added, and is pending.
    Added,
    /// The stored fingerprint nearest to the record, of equally near ones the smallest. Nothing was
    /// added.
    Stored(Hit<'a>),
    /// A pending record is nearer than all stored fingerprints; of equally near ones it is the
    /// first. Nothing was added.
    Pending {
        /// The pending record.
        record: &'a NewRecord,
        /// The distance of the pending record from the checked record, in bits.
        distance: u32,
    },
    /// A limit cut the search, so the result is unknown. Nothing was added.
    Cut,
}

/// A writer that adds a record only if nothing within `k` bits is stored or pending.
///
/// # Durability
///
/// A record with the verdict [`Verdict::Added`] is *pending*: it is in memory only, and the checks
/// of later records find it. [`CheckedWriter::commit`] makes all pending records durable and
/// visible, in one step: when it returns without an error, they are on the disk. When it fails, all
/// of them are still pending, in their order, and the next commit tries again. A failed commit may
/// still have taken effect, if the last sync reported the error; before the next step the writer
/// checks which pending records are stored after all, and adds no record twice. Pending records are
/// lost with the writer and with the process.
///
/// # Turns
///
/// The first check begins a turn at the writer lock, as in [`SharedWriter`]. Nobody else adds
/// records during a turn, so of two records near each other exactly one is new.
/// [`CheckedWriter::give_way`] ends the turn if nothing is pending; the next check begins another
/// turn, and sees records that others have written.
///
/// # Cost
///
/// A check costs a search for the nearest stored fingerprint, and some lookups among the pending
/// records; for a small `k` and random fingerprints, the number of lookups does not depend on the
/// number of pending records. Pending records are kept in memory, with an overhead of 20 to 70
/// bytes each.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("pages.fps");
/// # fpstore::Builder::new(&path)?.finish()?;
/// use fpstore::{Id, WriterOptions};
/// use fpstore::writer::{CheckedWriter, NewRecord, Verdict};
///
/// let mut writer = CheckedWriter::new(&path, WriterOptions::default());
/// for (number, value) in [0xc0f1, 0xc0f3, 0x7777_0000].into_iter().enumerate() {
///     let record = NewRecord::new(value.into(), Id::U64(number as u64));
///     match writer.check_and_add(&record, 3)? {
///         Verdict::Pending { distance, .. } => assert_eq!((number, distance), (1, 1)),
///         verdict => assert!(matches!(verdict, Verdict::Added)),
///     }
/// }
/// assert_eq!(writer.commit()?.report.record_count, 2);
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "nothing is durable before commit"]
pub struct CheckedWriter {
    shared: SharedWriter,
    /// Searches the snapshot of the last turn.
    searcher: Option<Searcher>,
    pending: Pending,
    /// Whether a commit has failed that may still have taken effect.
    is_in_doubt: bool,
}

impl CheckedWriter {
    /// Writes to the store in the directory `path`. Nothing is opened before the first turn.
    pub fn new(path: impl Into<PathBuf>, options: WriterOptions) -> Self {
        let shared = SharedWriter::new(path, options);
        CheckedWriter { shared, searcher: None, pending: Pending::default(), is_in_doubt: false }
    }

    /// The writer of this turn, for other changes. Begins a turn if none is in progress.
    ///
    /// Checks find records pushed to this writer only after they are committed.
    ///
    /// # Errors
    ///
    /// The errors of [`Writer::with_options`]; after a failed commit also those of
    /// [`Searcher::search`].
    pub fn writer(&mut self) -> Result<&mut Writer> {
        Ok(self.turn()?.0)
    }

    /// Begins a turn if none is in progress. The returned searcher has the newest snapshot.
    fn turn(&mut self) -> Result<(&mut Writer, &mut Searcher, &mut Pending)> {
        let is_new = !self.shared.is_held();
        let writer = self.shared.writer()?;
        let store = writer.store();
        let searcher = self.searcher.get_or_insert_with(|| store.searcher());
        if is_new || searcher.generation() != store.generation() {
            searcher.follow(store);
        }
        if self.is_in_doubt {
            forget_stored(&mut self.pending, writer, searcher)?;
            self.is_in_doubt = false;
        }
        Ok((writer, searcher, &mut self.pending))
    }

    /// Sets the label of segments made from now on, including the segment of pending records.
    ///
    /// # Errors
    ///
    /// The same as [`SharedWriter::set_label`].
    pub fn set_label(&mut self, label: &str) -> Result<()> {
        self.shared.set_label(label)
    }

    /// Whether a turn is in progress, so that other writers cannot write.
    pub fn is_held(&self) -> bool {
        self.shared.is_held()
    }

    /// Ends the turn if nothing is pending, and if the caller `is_idle` or other writers may have
    /// waited for a second. See [`SharedWriter::end_turn`].
    pub fn give_way(&mut self, is_idle: bool) {
        let may_end = self.is_held() && self.pending.records().is_empty();
        if may_end && (is_idle || self.shared.is_overdue()) {
            self.shared.end_turn();
        }
    }

    /// Releases the lock, and opens the store again on next use, like after an error of
    /// [`CheckedWriter::writer`]. Pending records are kept, but are not compared with records that
    /// other writers add meanwhile.
    pub fn end_turn(&mut self) {
        self.shared.end_turn();
    }

    /// Adds a record, unless a record within `k` bits is stored or pending: then returns the
    /// nearest record. Of a stored and a pending record that are equally near, it returns the
    /// stored one.
    ///
    /// # Errors
    ///
    /// * The errors of [`Writer::with_options`], if this call begins a turn.
    /// * [`Error::InvalidDistance`](crate::Error::InvalidDistance) and
    ///   [`Error::Corrupt`](crate::Error::Corrupt) in the same cases as [`Searcher::search`].
    /// * The errors of [`Writer::push_record`] for a record that the store cannot keep.
    /// * [`Error::TooLarge`](crate::Error::TooLarge) if 2^32 - 1 records are pending.
    ///
    /// After these errors the record is not added.
    pub fn check_and_add(&mut self, record: &NewRecord, k: u32) -> Result<Verdict<'_>> {
        self.check_and_add_with(record, k, &Limits::default())
    }

    /// Like [`CheckedWriter::check_and_add`], but with limits, such as a deadline. If they cut the
    /// search, the verdict is [`Verdict::Cut`].
    ///
    /// # Errors
    ///
    /// The same as [`CheckedWriter::check_and_add`].
    fn check_and_add_with(
        &mut self,
        record: &NewRecord,
        k: u32,
        limits: &Limits,
    ) -> Result<Verdict<'_>> {
        let (writer, searcher, pending) = self.turn()?;
        let answer = searcher.nearest_with(record.fingerprint, 1, k, limits)?;
        if answer.outcome().cut {
            return Ok(Verdict::Cut);
        }
        let stored = answer.hits().next();
        judge(writer, pending, record, k, stored, None)
    }

    /// Like [`CheckedWriter::check_and_add`], but takes `nearest`, the nearest stored fingerprint
    /// within `k` bits in the snapshot of this turn. The hit of [`Verdict::Stored`] has distance 0,
    /// because `nearest` is searched.
    fn add_compared(
        &mut self,
        record: &NewRecord,
        k: u32,
        nearest: Option<Fingerprint>,
        apart: Option<&Apart<'_>>,
    ) -> Result<Verdict<'_>> {
        let (writer, searcher, pending) = self.turn()?;
        let Some(nearest) = nearest else {
            return judge(writer, pending, record, k, None, apart);
        };
        // Of equally near records, the stored one is returned, because it is older.
        let distance = nearest.distance(record.fingerprint);
        let nearer = distance.checked_sub(1);
        if let Some((at, distance)) = nearer.and_then(|k| pending.nearest(record, k, apart)) {
            return Ok(Verdict::Pending { record: &pending.records()[at], distance });
        }
        let hit = searcher.search(nearest, 0)?.hits().next();
        Ok(hit.map_or(Verdict::Cut, Verdict::Stored))
    }

    /// The pending records, in the order in which they were added.
    pub fn pending(&self) -> &[NewRecord] {
        self.pending.records()
    }

    /// Removes pending records by their positions, as if they had not been added. The following
    /// records move up.
    pub fn forget(&mut self, range: impl RangeBounds<usize>) {
        self.pending.forget(range);
    }

    /// Makes all pending records durable and visible, in one step; see
    /// [Durability](CheckedWriter#durability). The report counts the records of this commit, not
    /// records that a failed commit had added after all.
    ///
    /// Records pushed to [`CheckedWriter::writer`] are committed in the same step.
    ///
    /// # Errors
    ///
    /// The errors of [`Writer::with_options`] and [`Writer::commit`]. All pending records are then
    /// still pending, except after [`Error::InEffect`], because then they are added; records pushed
    /// to the writer are lost.
    pub fn commit(&mut self) -> Result<Committed> {
        self.commit_with(&mut []).map(|(committed, _)| committed)
    }

    /// Like [`CheckedWriter::commit`], but makes these changes in the same step, like
    /// [`Writer::change_ids`].
    ///
    /// # Errors
    ///
    /// The same as [`CheckedWriter::commit`] and [`Writer::change_ids`].
    /// [`Error::InvalidOptions`] if a change [concerns](IdChange::concerns) a pending record.
    pub fn commit_with(&mut self, changes: &mut [IdChange]) -> Result<(Committed, Vec<Deleted>)> {
        if changes.iter().any(|change| change.concerns(self.pending())) {
            let reason = "a change of a pending record needs a step of its own".into();
            return Err(Error::InvalidOptions { reason });
        }
        let (writer, _, pending) = self.turn()?;
        let mut records = pending.records().iter();
        let committed = records
            .try_for_each(|record| writer.push_record(record))
            .and_then(|()| writer.change_ids(changes));
        match committed {
            Ok(_) => *pending = Pending::default(),
            Err(Error::InEffect { .. }) => {
                *pending = Pending::default();
                self.shared.drop_turn();
            }
            // The writer may contain some of the records, or the commit took effect: end the turn.
            Err(_) => {
                self.shared.drop_turn();
                self.is_in_doubt = true;
            }
        }
        committed
    }

    /// Commits the pending records, and merges segments like [`Writer::finish`].
    ///
    /// # Errors
    ///
    /// The errors of [`CheckedWriter::commit`] and [`Writer::finish`].
    pub fn finish(mut self) -> Result<Store> {
        self.commit()?;
        self.shared.finish()
    }
}

/// The verdict on a record, given its nearest stored fingerprint within `k` bits. A new record is
/// added to `pending`. Pending records labelled different from the record (`apart`) are ignored.
fn judge<'a>(
    writer: &Writer,
    pending: &'a mut Pending,
    record: &NewRecord,
    k: u32,
    stored: Option<Hit<'a>>,
    apart: Option<&Apart<'_>>,
) -> Result<Verdict<'a>> {
    // Of equally near records, the stored one is returned, because it is older.
    let k = stored.map_or(Some(k), |hit| hit.distance().checked_sub(1));
    if let Some((at, distance)) = k.and_then(|k| pending.nearest(record, k, apart)) {
        return Ok(Verdict::Pending { record: &pending.records()[at], distance });
    }
    if let Some(hit) = stored {
        return Ok(Verdict::Stored(hit));
    }
    writer.check_record(record)?;
    pending.push(record.clone())?;
    Ok(Verdict::Added)
}

/// Removes the pending records that are stored with the same fingerprint and id.
fn forget_stored(pending: &mut Pending, writer: &Writer, searcher: &mut Searcher) -> Result<()> {
    let mut stored = Vec::with_capacity(pending.records().len());
    for record in pending.records() {
        stored.push(is_stored(record, writer, searcher)?);
    }
    let mut stored = stored.into_iter();
    pending.retain(|_| stored.next() == Some(false));
    Ok(())
}

fn is_stored(record: &NewRecord, writer: &Writer, searcher: &mut Searcher) -> Result<bool> {
    let answer = searcher.search(record.fingerprint, 0)?;
    let Some(hit) = answer.hits().next() else { return Ok(false) };
    let Some(wanted) = writer.check_record(record)? else { return Ok(true) };
    // A store contains a number as a text if other ids are texts.
    let wanted = wanted.to_string();
    for id in hit.stored_ids() {
        if id?.to_string() == wanted {
            return Ok(true);
        }
    }
    Ok(false)
}
