//! The record buffer: collects records in any order and sorts them into a segment build.

use std::path::Path;

use crate::base::error::{Error, Result};
use crate::base::id_policy::IdPolicy;
use crate::format::header::FINGERPRINT_COUNT_MAX;
use crate::writing::builder::segment_build::PhaseTimer;
use crate::writing::builder::{SchemeChoice, SegmentBuild};
use crate::writing::input::{self, InputOptions, InputSummary};
use crate::writing::sort::{RecordBatch, RecordSorter, SortResources};
use fpstore_base::watch::{Observer, Phase, Watch};
use fpstore_base::{Fingerprint, IdRef, Width};

/// Records of a future segment, in input order. Records that do not fit in memory are in scratch
/// files.
#[derive(Debug)]
pub(crate) struct RecordBuffer {
    ids: IdPolicy,
    sketch_len: u32,
    /// The width of the fingerprints of pushed records. Records from existing segments are not
    /// checked.
    width: Width,
    resources: SortResources,
    sorter: RecordSorter,
    watch: Watch,
    timer: PhaseTimer,
}

impl RecordBuffer {
    /// An empty buffer for records whose ids have sketches of `sketch_len` bytes, at most 255.
    pub(crate) fn new(
        ids: IdPolicy,
        sketch_len: u32,
        resources: &SortResources,
        observer: Option<Observer>,
    ) -> Self {
        let texts_only = ids == IdPolicy::Text;
        let sorter = RecordSorter::with_sketches(resources.clone(), texts_only, sketch_len);
        let watch = Watch::new(observer, Phase::Read, None);
        let timer = PhaseTimer::default();
        let (width, resources) = (Width::FULL, resources.clone());
        RecordBuffer { ids, sketch_len, width, resources, sorter, watch, timer }
    }

    /// Sets the width of the fingerprints of pushed records.
    pub(crate) fn of_width(self, width: Width) -> Self {
        RecordBuffer { width, ..self }
    }

    /// Announces `count` records, so that progress reports contain a total.
    pub(crate) fn expect(&mut self, count: u64) {
        self.watch = self.watch.next(Phase::Read, Some(count));
    }

    /// Takes a record with a sketch. In a store without sketches, `sketch` is empty.
    pub(crate) fn push(
        &mut self,
        fingerprint: Fingerprint,
        id: IdRef<'_>,
        sketch: &[u8],
    ) -> Result<()> {
        self.check_width(fingerprint)?;
        match self.check(id, sketch)? {
            Some(id) => {
                self.timer.start();
                self.sorter.push_sketched(fingerprint.value(), id, sketch)?;
                Ok(self.watch.tick(1)?)
            }
            None => self.push_bare(fingerprint),
        }
    }

    /// The id in its stored form, or `None` if it is discarded. Rejects a record that cannot be
    /// stored.
    pub(crate) fn check<'a>(&self, id: IdRef<'a>, sketch: &[u8]) -> Result<Option<IdRef<'a>>> {
        self.check_sketch(sketch)?;
        self.ids.admit(id)
    }

    /// Rejects a fingerprint with more bits than the width.
    #[inline]
    pub(crate) fn check_width(&self, fingerprint: Fingerprint) -> Result<()> {
        if self.width.fits(fingerprint) {
            return Ok(());
        }
        Err(Error::TooWide { fingerprint, width: self.width })
    }

    /// Takes a record of an existing segment. Its id keeps its kind; a longer sketch is shortened.
    pub(crate) fn push_stored(
        &mut self,
        fingerprint: Fingerprint,
        id: IdRef<'_>,
        sketch: &[u8],
    ) -> Result<()> {
        let sketch = sketch.get(..self.sketch_len as usize).unwrap_or(sketch);
        self.sorter.push_sketched(fingerprint.value(), id, sketch)
    }

    /// The number of bytes of the sketch of each id.
    pub(crate) fn sketch_len(&self) -> usize {
        self.sketch_len as usize
    }

    /// Takes records of existing segments. Their sketches must have the length set for this buffer.
    pub(crate) fn push_stored_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        self.sorter.push_batch(batch)
    }

    /// Rejects a record with a sketch of the wrong length.
    #[inline]
    fn check_sketch(&self, sketch: &[u8]) -> Result<()> {
        if sketch.len() == self.sketch_len as usize { Ok(()) } else { self.refuse(sketch) }
    }

    #[cold]
    fn refuse(&self, sketch: &[u8]) -> Result<()> {
        let reason = match (self.sketch_len, sketch.len()) {
            (0, _) => "the store keeps no sketches, but a record has one".into(),
            (expected, 0) => format!(
                "the store keeps a sketch of {expected} bytes of each document, but a record has \
                 no sketch: add documents (--docs)"
            ),
            (expected, found) => {
                format!("a record has a sketch of {found} bytes, expected {expected}")
            }
        };
        Err(Error::InvalidOptions { reason })
    }

    /// Takes a record without an id.
    pub(crate) fn push_bare(&mut self, fingerprint: Fingerprint) -> Result<()> {
        self.check_width(fingerprint)?;
        self.timer.start();
        self.sorter.push_bare(fingerprint.value())?;
        Ok(self.watch.tick(1)?)
    }

    /// Takes all records of an input, and calls `inspect` with each batch of these records.
    pub(crate) fn read(
        &mut self,
        path: &Path,
        options: &InputOptions,
        mut inspect: impl FnMut(&RecordBatch),
    ) -> Result<InputSummary> {
        self.check_sketch(&[])?;
        self.timer.start();
        let options = &options.width(self.width);
        let (sorter, watch) = (&mut self.sorter, &self.watch);
        input::read_batches(path, options, self.ids, self.resources.threads, |batch| match batch {
            Some(batch) => {
                inspect(batch);
                sorter.push_batch(batch)?;
                Ok(watch.tick(batch.count())?)
            }
            None => Ok(watch.report()?),
        })
    }

    /// The number of records taken so far.
    pub(crate) fn count(&self) -> u64 {
        self.sorter.count()
    }

    /// Sorts the records and chooses the tables. `scheme` returns the choice for the given number
    /// of distinct fingerprints.
    pub(crate) fn sort(
        self,
        scheme: impl FnOnce(u64) -> Result<SchemeChoice>,
    ) -> Result<SegmentBuild> {
        let RecordBuffer { resources, sorter, watch, mut timer, .. } = self;
        let record_count = sorter.count();
        timer.end(Phase::Read);
        let watch = watch.next(Phase::Sort, Some(record_count));
        watch.report()?;
        let mut records = sorter.finish()?;
        let distinct = records.distinct(|count| Ok(watch.tick(count)?))?;
        if distinct.count > FINGERPRINT_COUNT_MAX {
            let reason = format!("{} fingerprints, at most 2^40 fit a segment", distinct.count);
            return Err(Error::TooLarge { reason });
        }
        timer.end(Phase::Sort);
        watch.next(Phase::Plan, None).report()?;
        let scheme = scheme(distinct.count)?.for_values(&distinct, resources.threads)?;
        timer.end(Phase::Plan);
        Ok(SegmentBuild { resources, record_count, records, distinct, scheme, watch, timer })
    }
}
