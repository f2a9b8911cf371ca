//! Adding: records are pushed, and a commit makes one segment of them.

use std::path::Path;

use crate::builder::{BuildReport, RecordBuffer};
use crate::error::{Error, Result};
use crate::input::InputEstimate;
use crate::input::{InputOptions, InputSummary, read_records};
use crate::store::Store;
use crate::writer::replace::Replacing;
use crate::writer::scheme::{check_room, scheme_for};
use crate::writer::{Deleted, Writer};
use fpstore_base::{Fingerprint, IdRef};

/// The result of [`Writer::commit`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Committed {
    /// Counts and times; empty without records.
    pub report: BuildReport,
    /// The number of the new segment.
    pub segment: Option<u64>,
    /// The number of manifests that the store has had.
    pub generation: u64,
    /// What records with the same ids were removed; see
    /// [`WriterOptions::replace`](crate::WriterOptions::replace).
    pub replaced: Deleted,
}

impl Writer {
    /// Takes a fingerprint with an id, as [`Builder::push`](crate::Builder::push). It is in the
    /// store once [`Writer::commit`] returns.
    ///
    /// # Errors
    ///
    /// As [`Builder::push`](crate::Builder::push).
    pub fn push<'a>(&mut self, fingerprint: Fingerprint, id: impl Into<IdRef<'a>>) -> Result<()> {
        self.push_sketched(fingerprint, id, &[])
    }

    /// Takes a fingerprint with an id and a sketch of its document, as
    /// [`Builder::push_sketched`](crate::Builder::push_sketched). All records of a store with
    /// sketches need one.
    ///
    /// # Errors
    ///
    /// As [`Builder::push_sketched`](crate::Builder::push_sketched).
    pub fn push_sketched<'a>(
        &mut self,
        fingerprint: Fingerprint,
        id: impl Into<IdRef<'a>>,
        sketch: &[u8],
    ) -> Result<()> {
        match &mut self.replacing {
            Some(replacing) => replacing.push(fingerprint, id.into(), sketch),
            None => self.pending.push(fingerprint, id.into(), sketch),
        }
    }

    /// Takes a fingerprint without an id.
    ///
    /// # Errors
    ///
    /// As [`Builder::push_bare`](crate::Builder::push_bare), and [`Error::InvalidId`] if records
    /// [replace](crate::WriterOptions::replace) others, which they do by their ids.
    pub fn push_bare(&mut self, fingerprint: Fingerprint) -> Result<()> {
        if self.replacing.is_some() {
            let reason = "a record without an id replaces none".into();
            return Err(Error::InvalidId { reason });
        }
        self.pending.push_bare(fingerprint)
    }

    /// Takes all records of an input, as
    /// [`Builder::read_and_inspect`](crate::Builder::read_and_inspect).
    ///
    /// # Errors
    ///
    /// As [`Builder::read`](crate::Builder::read).
    pub fn read_and_inspect(
        &mut self,
        path: &Path,
        options: &InputOptions,
        mut inspect: impl FnMut(Fingerprint),
    ) -> Result<InputSummary> {
        if self.replacing.is_none() {
            return self.pending.read(path, options, inspect);
        }
        read_records(path, options, |record| {
            inspect(record.fingerprint);
            match record.id {
                Some(id) => self.push(record.fingerprint, id),
                None => self.push_bare(record.fingerprint),
            }
        })
    }

    /// Announces an estimate of the input, as [`Builder::expect`](crate::Builder::expect).
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

    /// Records pushed since the last commit.
    pub fn pending_count(&self) -> u64 {
        self.pending.count() + self.replacing.as_ref().map_or(0, Replacing::len)
    }

    /// Adds the pushed records as one segment: once this returns, they are durable and visible to
    /// readers that open the store, or refresh it. Without records nothing changes.
    ///
    /// Merges segments first if [`WriterOptions::compact`](crate::WriterOptions::compact) is set
    /// and the size-tiered rule picks some.
    ///
    /// # Errors
    ///
    /// * [`Error::TooLarge`] past a limit of the format.
    /// * [`Error::Io`] if the system refuses,
    ///   [`Error::Interrupted`] if the observer ends the work.
    ///
    /// The store is then as before; only if the last rename or sync reported the error, the segment
    /// may be there. The pushed records are dropped, unless the error came from merging.
    pub fn commit(&mut self) -> Result<Committed> {
        let ids = self.replacing.take().map(|replacing| {
            let ids = replacing.push_to(&mut self.pending);
            self.replacing = Some(Replacing::default());
            ids
        });
        let ids = ids.transpose()?;
        if self.pending.count() == 0 {
            let generation = self.store.generation();
            return Ok(Committed { generation, ..Committed::default() });
        }
        if self.options.compact {
            self.compact_by_tier()?;
        }
        let observer = self.options.observer.clone();
        let sketch_len = self.store.sketch_len().into();
        let next = RecordBuffer::new(self.options.ids, sketch_len, &self.resources, observer);
        let pending = std::mem::replace(&mut self.pending, next);
        let mut build = pending.sort(|count| scheme_for(count, &self.options, &self.store))?;
        let mut file = self.directory.new_segment()?;
        build.write(&mut file, &self.recipe)?;
        let label = self.options.label.clone();
        let segment = self.finish_segment(file, &label)?;
        let mut transaction = self.directory.begin()?;
        let (mut segments, replaced) = match ids {
            Some(ids) => self.without_ids(&mut transaction, ids)?,
            None => (transaction.segments().to_vec(), Deleted::default()),
        };
        let entry = transaction.add_segment(segment, None)?;
        let number = entry.number;
        segments.push(entry);
        if let Some(run) = self.options.run.take() {
            transaction.add_run(&run);
        }
        let generation = self.commit_segments(transaction, segments)?;
        let segment = Some(number);
        Ok(Committed { report: build.into_report(), segment, generation, replaced })
    }

    /// Commits the pushed records, and merges segments if
    /// [`WriterOptions::compact`](crate::WriterOptions::compact) is set: those that the size-tiered
    /// rule picks, and then as many of the youngest as takes at most half of the bytes that this
    /// writer has written. Returns the store.
    ///
    /// # Errors
    ///
    /// As [`Writer::commit`].
    pub fn finish(mut self) -> Result<Store> {
        self.commit()?;
        if self.options.compact {
            self.compact_by_tier()?;
            self.merge_youngest()?;
        }
        Ok(self.store.clone())
    }
}
