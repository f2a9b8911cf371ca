//! The record buffer: records in any order, until they are sorted into a segment build.

use std::path::Path;

use crate::builder::report::PhaseTimer;
use crate::builder::{SchemeChoice, SegmentBuild};
use crate::error::{Error, Result};
use crate::format::header::FINGERPRINT_COUNT_MAX;
use crate::id_policy::IdPolicy;
use crate::input::{self, InputOptions, InputSummary};
use crate::sort::{RecordSorter, Resources};
use fpstore_base::watch::{Observer, Phase, Watch};
use fpstore_base::{Fingerprint, IdRef};

/// Records of one segment to be, in the order in which they came. What does not fit into memory is
/// in scratch files.
#[derive(Debug)]
pub(crate) struct RecordBuffer {
    ids: IdPolicy,
    resources: Resources,
    sorter: RecordSorter,
    watch: Watch,
    timer: PhaseTimer,
}

impl RecordBuffer {
    pub(crate) fn new(ids: IdPolicy, resources: &Resources, observer: Option<Observer>) -> Self {
        let sorter = RecordSorter::new(resources.clone(), ids == IdPolicy::Text);
        let watch = Watch::new(observer, Phase::Read, None);
        let timer = PhaseTimer::default();
        RecordBuffer { ids, resources: resources.clone(), sorter, watch, timer }
    }

    /// Announces `count` records, so that progress has a total.
    pub(crate) fn expect(&mut self, count: u64) {
        self.watch = self.watch.next(Phase::Read, Some(count));
    }

    pub(crate) fn push(&mut self, fingerprint: Fingerprint, id: IdRef<'_>) -> Result<()> {
        match self.ids.admit(id)? {
            Some(id) => {
                self.timer.start();
                self.sorter.push(fingerprint.value(), id)?;
                Ok(self.watch.tick(1)?)
            }
            None => self.push_bare(fingerprint),
        }
    }

    /// Takes a record of a segment: its id keeps its kind.
    pub(crate) fn push_stored(&mut self, fingerprint: Fingerprint, id: IdRef<'_>) -> Result<()> {
        self.sorter.push(fingerprint.value(), id)
    }

    pub(crate) fn push_bare(&mut self, fingerprint: Fingerprint) -> Result<()> {
        self.timer.start();
        self.sorter.push_bare(fingerprint.value())?;
        Ok(self.watch.tick(1)?)
    }

    /// Takes all records of an input, and calls `inspect` with each fingerprint, in any order.
    pub(crate) fn read(
        &mut self,
        path: &Path,
        options: &InputOptions,
        mut inspect: impl FnMut(Fingerprint),
    ) -> Result<InputSummary> {
        self.timer.start();
        let (sorter, watch) = (&mut self.sorter, &self.watch);
        input::read_batches(path, options, self.ids, self.resources.threads, |batch| match batch {
            Some(batch) => {
                batch.keys().for_each(|key| inspect(Fingerprint::new(key)));
                sorter.push_batch(batch)?;
                Ok(watch.tick(batch.count())?)
            }
            None => Ok(watch.report()?),
        })
    }

    /// Records taken so far.
    pub(crate) fn count(&self) -> u64 {
        self.sorter.count()
    }

    /// Sorts the records and chooses the tables; `scheme` gets the number of distinct fingerprints.
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
            let reason = format!("{} fingerprints, a segment holds 2^40 at most", distinct.count);
            return Err(Error::TooLarge { reason });
        }
        timer.end(Phase::Sort);
        watch.next(Phase::Plan, None).report()?;
        let scheme = scheme(distinct.count)?.for_values(&distinct)?;
        timer.end(Phase::Plan);
        Ok(SegmentBuild { resources, record_count, records, distinct, scheme, watch, timer })
    }
}
