//! Adding: records are pushed, and a commit makes one segment of them.

use std::path::Path;
use std::sync::Arc;

use crate::base::error::{Error, Result};
use crate::format::deletions::DeletionSet;
use crate::search::snapshot::OpenSegment;
use crate::store::Store;
use crate::writing::builder::BuildReport;
use crate::writing::input::{InputEstimate, InputOptions, InputSummary, read_records};
use crate::writing::writer::delete::Mode;
use crate::writing::writer::handle::new_buffer;
use crate::writing::writer::id_change::IdChange;
use crate::writing::writer::new_record::NewRecord;
use crate::writing::writer::replace::Replacing;
use crate::writing::writer::scheme::check_room;
use crate::writing::writer::{Deleted, Writer};
use fpstore_base::{Fingerprint, IdRef};

/// The result of [`Writer::commit`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Committed {
    /// The counts and times of making the segment; empty if no records were pushed.
    pub report: BuildReport,
    /// The number of the new segment, which may have been merged with other segments since.
    pub segment: Option<u64>,
    /// The generation of the store after the commit.
    pub generation: u64,
    /// The older records that were removed because new records have the same ids; see
    /// [`WriterOptions::replace`](crate::WriterOptions::replace).
    pub replaced: Deleted,
    /// The error of merging after the commit, if merging failed. The records are added
    /// nevertheless.
    pub unmerged: Option<Arc<Error>>,
}

impl Writer {
    /// Takes a fingerprint with an id, like [`Builder::push`](crate::Builder::push). The record is
    /// in the store once [`Writer::commit`] returns.
    ///
    /// # Errors
    ///
    /// The same as [`Builder::push`](crate::Builder::push).
    pub fn push<'a>(&mut self, fingerprint: Fingerprint, id: impl Into<IdRef<'a>>) -> Result<()> {
        self.push_sketched(fingerprint, id, &[])
    }

    /// Takes a fingerprint with an id and a sketch of its document, like
    /// [`Builder::push_sketched`](crate::Builder::push_sketched). In a store with sketches, every
    /// record needs a sketch.
    ///
    /// # Errors
    ///
    /// The same as [`Builder::push_sketched`](crate::Builder::push_sketched).
    pub fn push_sketched<'a>(
        &mut self,
        fingerprint: Fingerprint,
        id: impl Into<IdRef<'a>>,
        sketch: &[u8],
    ) -> Result<()> {
        self.pending.check_width(fingerprint)?;
        match &mut self.replacing {
            Some(replacing) => replacing.push(fingerprint, id.into(), sketch),
            None => self.pending.push(fingerprint, id.into(), sketch),
        }
    }

    /// Takes a fingerprint without an id.
    ///
    /// # Errors
    ///
    /// The errors of [`Builder::push_bare`](crate::Builder::push_bare), and [`Error::InvalidId`] if
    /// records [replace](crate::WriterOptions::replace) older records by their ids.
    pub fn push_bare(&mut self, fingerprint: Fingerprint) -> Result<()> {
        self.check_bare()?;
        self.pending.push_bare(fingerprint)
    }

    fn check_bare(&self) -> Result<()> {
        if self.replacing.is_some() { Err(no_id()) } else { Ok(()) }
    }

    /// Takes a record: calls [`Writer::push_sketched`], or [`Writer::push_bare`] if it has no id.
    ///
    /// # Errors
    ///
    /// The errors of these two methods.
    pub fn push_record(&mut self, record: &NewRecord) -> Result<()> {
        match &record.id {
            Some(id) => self.push_sketched(record.fingerprint, id.as_ref(), &record.sketch),
            None => self.push_bare(record.fingerprint),
        }
    }

    /// The id of a record in its stored form, or `None` if the record has no id. Rejects a record
    /// that cannot be pushed.
    pub(super) fn check_record<'a>(&self, record: &'a NewRecord) -> Result<Option<IdRef<'a>>> {
        self.pending.check_width(record.fingerprint)?;
        match &record.id {
            Some(id) => self.pending.check(id.as_ref(), &record.sketch),
            None => self.check_bare().map(|()| None),
        }
    }

    /// Takes all records of an input, and calls `inspect` with each record until `inspect` returns
    /// `false`.
    ///
    /// # Errors
    ///
    /// The same as [`Builder::read`](crate::Builder::read).
    pub fn read_and_inspect(
        &mut self,
        path: &Path,
        options: &InputOptions,
        mut inspect: impl FnMut(Fingerprint, Option<IdRef<'_>>) -> bool,
    ) -> Result<InputSummary> {
        let mut goes_on = true;
        if self.replacing.is_none() {
            return self.pending.read(path, options, |batch| {
                let mut inspect = |(key, id)| inspect(Fingerprint::new(key), id);
                goes_on = goes_on && batch.records().all(&mut inspect);
            });
        }
        read_records(path, &options.width(self.recipe.width()), |record| {
            goes_on = goes_on && inspect(record.fingerprint, record.id);
            match record.id {
                Some(id) => self.push(record.fingerprint, id),
                None => self.push_bare(record.fingerprint),
            }
        })
    }

    /// Announces an estimate of the input, like [`Builder::expect`](crate::Builder::expect).
    ///
    /// # Errors
    ///
    /// [`Error::NoSpace`] if a disk is too full.
    pub fn expect(&mut self, input: &InputEstimate, check_space: bool) -> Result<()> {
        self.pending.expect(input.record_count);
        if check_space {
            check_room(input, &self.options, &self.resources, &self.store)
        } else {
            Ok(())
        }
    }

    /// The number of records pushed since the last commit.
    pub fn pending_count(&self) -> u64 {
        self.pending.count() + self.replacing.as_ref().map_or(0, Replacing::len)
    }

    /// Adds the pushed records as one segment. When this returns, they are durable and visible to
    /// readers that open or refresh the store. Without records nothing changes.
    ///
    /// Then merges segments if [`WriterOptions::compact`](crate::WriterOptions::compact) is set and
    /// the size-tiered rule picks some. Old damage or a full disk must not prevent new records, so
    /// an error of merging is not an error of the commit; it is in [`Committed::unmerged`].
    ///
    /// # Errors
    ///
    /// * [`Error::TooLarge`] if a limit of the format is exceeded.
    /// * [`Error::Io`] if a file operation fails,
    ///   [`Error::Interrupted`] if the observer ends the work.
    ///
    /// After these errors the store is unchanged, and the pushed records are dropped, including
    /// replacements: push them again to retry. The run is recorded by the commit that succeeds.
    ///
    /// * [`Error::InEffect`] if a file operation failed after the commit took effect.
    pub fn commit(&mut self) -> Result<Committed> {
        self.change_ids(&mut []).map(|(committed, _)| committed)
    }

    /// Like [`Writer::commit`], but does not merge segments.
    ///
    /// # Errors
    ///
    /// The same as [`Writer::commit`].
    pub fn commit_alone(&mut self) -> Result<Committed> {
        self.commit_with(Replacing::default(), &mut []).map(|(committed, _)| committed)
    }

    /// Makes several changes of documents in one step, with the same result as one after the other.
    /// Previously pushed records are added in the same step, and no change deletes them. Returns
    /// what each change deleted. Then merges segments like [`Writer::commit`].
    ///
    /// Reads the ids of the whole store once for each change, unless they were
    /// [read ahead](IdChange::look_ahead).
    ///
    /// # Errors
    ///
    /// * [`Error::InvalidId`] if a replacement has no id.
    /// * [`Error::InvalidOptions`] if the changes need more than one step; see
    ///   [`IdChange::step_len`].
    /// * The errors of [`Writer::push_record`], before any change, and of [`Writer::commit`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("pages.fps");
    /// # let mut builder = fpstore::Builder::new(&path)?;
    /// # builder.push(7.into(), "a.html")?;
    /// # builder.push(8.into(), "b.html")?;
    /// # builder.finish()?;
    /// use fpstore::writer::{IdChange, NewRecord};
    /// use fpstore::{Id, IdRef};
    ///
    /// let moved = NewRecord::new(9.into(), Id::Text("b.html".into()));
    /// let mut changes =
    ///     [IdChange::delete([IdRef::Text("a.html")]), IdChange::replace(vec![moved])];
    /// let mut writer = fpstore::Writer::open(&path)?;
    /// let (committed, deleted) = writer.change_ids(&mut changes)?;
    /// assert_eq!((deleted[0].found, deleted[1].found), (1, 1));
    /// assert_eq!(committed.generation, 2);
    /// # Ok(()) }
    /// ```
    pub fn change_ids(&mut self, changes: &mut [IdChange]) -> Result<(Committed, Vec<Deleted>)> {
        if IdChange::step_len(changes.iter()) < changes.len() {
            let reason = "a change of a replaced document needs a step of its own".into();
            return Err(Error::InvalidOptions { reason });
        }
        let mut replacing = Replacing::default();
        for record in changes.iter().flat_map(IdChange::records) {
            self.check_record(record)?;
            let Some(id) = &record.id else { return Err(no_id()) };
            replacing.push(record.fingerprint, id.as_ref(), &record.sketch)?;
        }
        let (mut committed, deleted) = self.commit_with(replacing, changes)?;
        if self.options.compact && committed.segment.is_some() {
            committed.unmerged = self.merge_due().err().map(Arc::new);
        }
        Ok((committed, deleted))
    }

    /// Commits the pushed records, the records of `added`, and the changes in one step.
    fn commit_with(
        &mut self,
        added: Replacing,
        changes: &mut [IdChange],
    ) -> Result<(Committed, Vec<Deleted>)> {
        let replacing = self.replacing.as_mut().map(std::mem::take);
        let ids = replacing.map(|replacing| replacing.push_to(&mut self.pending)).transpose();
        let added = added.push_to(&mut self.pending);
        let next = new_buffer(&self.options, &self.resources, &self.store, &self.recipe);
        let pending = std::mem::replace(&mut self.pending, next);
        added?;
        let mut of_pushed = ids?.map(IdChange::from);
        let mut committed =
            Committed { generation: self.store.generation(), ..Committed::default() };
        let segment = match pending.count() {
            0 if changes.is_empty() => return Ok((committed, Vec::new())),
            0 => None,
            _ => {
                let label = self.options.label.clone();
                let (segment, report) = self.write_segment(pending, &label)?;
                committed.report = report;
                Some(segment)
            }
        };
        let mut transaction = self.directory.begin()?;
        let (mut segments, mut is_changed) = (transaction.segments().to_vec(), segment.is_some());
        let mut deleted = Vec::new();
        if of_pushed.is_some() || !changes.is_empty() {
            let watch = self.watch_ids();
            let choose = |segments: &[OpenSegment], sets: &mut [DeletionSet<'_>]| {
                let mut apply = |change: &mut IdChange| change.apply(segments, sets, &watch);
                committed.replaced =
                    of_pushed.as_mut().map(&mut apply).transpose()?.unwrap_or_default();
                changes.iter_mut().map(apply).collect::<Result<Vec<_>>>()
            };
            let deletes;
            (segments, deleted, deletes) =
                self.with_deletions(&mut transaction, Mode::Delete, choose)?;
            is_changed |= deletes;
        }
        if let Some(segment) = segment {
            let entry = transaction.add_segment(segment, None)?;
            committed.segment = Some(entry.number);
            segments.push(entry);
            if let Some(run) = &self.options.run {
                transaction.add_run(run);
            }
        }
        if is_changed {
            let generation = self.commit_segments(transaction, segments);
            if committed.segment.is_some()
                && matches!(generation, Ok(_) | Err(Error::InEffect { .. }))
            {
                self.options.run = None;
            }
            committed.generation = generation?;
        } else {
            // The store was refreshed.
            committed.generation = self.store.generation();
        }
        Ok((committed, deleted))
    }

    /// Replaces documents in one step: the ids of `records` are deleted from all older records, and
    /// the records are added. If several records have one id, the last one is taken. Previously
    /// pushed records are committed in the same step. Reads the ids of the whole store, so replace
    /// many documents at once.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidId`] if a record has no id. The errors of [`Writer::push_record`], before
    /// any change, and of [`Writer::commit`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("pages.fps");
    /// # let mut builder = fpstore::Builder::new(&path)?;
    /// # builder.push(7.into(), "a.html")?;
    /// # builder.finish()?;
    /// use fpstore::writer::NewRecord;
    /// use fpstore::{Id, IdRef};
    ///
    /// let mut writer = fpstore::Writer::open(&path)?;
    /// let changed = NewRecord::new(8.into(), Id::Text("a.html".into()));
    /// let committed = writer.replace(&[changed])?;
    /// assert_eq!(committed.replaced.found, 1);
    /// let found = writer.store().find_ids(&[IdRef::Text("a.html")], None)?;
    /// assert_eq!(found[0][0].fingerprint, 8.into());
    /// # Ok(()) }
    /// ```
    pub fn replace(&mut self, records: &[NewRecord]) -> Result<Committed> {
        let mut changes = [IdChange::replace(records.to_vec())];
        let (committed, deleted) = self.change_ids(&mut changes)?;
        Ok(Committed { replaced: deleted.into_iter().next().unwrap_or_default(), ..committed })
    }

    /// Commits the pushed records, and records the run even without records. Then merges segments
    /// if [`WriterOptions::compact`](crate::WriterOptions::compact) is set: first the segments that
    /// the size-tiered rule picks, then the youngest segments, with at most half as many bytes as
    /// this writer has written. Returns the store.
    ///
    /// # Errors
    ///
    /// The errors of [`Writer::commit`], and [`Error::Unmerged`] if the records are added but
    /// merging fails.
    pub fn finish(mut self) -> Result<Store> {
        self.commit_alone()?;
        self.remember_run()?;
        if self.options.compact {
            let merged = self.merge_due().and_then(|()| self.merge_youngest());
            merged.map_err(|source| Error::Unmerged { source: Box::new(source) })?;
        }
        Ok(self.store.clone())
    }

    /// Records the run if no commit did: a run without records is complete, too.
    fn remember_run(&mut self) -> Result<()> {
        let Some(run) = self.options.run.take() else { return Ok(()) };
        let mut transaction = self.directory.begin()?;
        let segments = transaction.segments().to_vec();
        transaction.add_run(&run);
        self.commit_segments(transaction, segments).map(drop)
    }
}

fn no_id() -> Error {
    Error::InvalidId { reason: "a record without an id cannot replace others".into() }
}
