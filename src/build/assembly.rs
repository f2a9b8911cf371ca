//! From records in any order to a segment: taking them, sorting them, choosing tables, writing.

use std::path::Path;

use crate::build::input::{self, InputOptions, InputSummary};
use crate::build::report::Clock;
use crate::build::tables::Contents;
use crate::build::{IdPolicy, SchemeChoice, SegmentFile};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::header::FINGERPRINT_COUNT_MAX;
use crate::id::IdRef;
use crate::recipe::Recipe;
use crate::scheme::Scheme;
use crate::sort::{RecordSorter, Resources, SortedRecords, SortedValues};
use crate::watch::{Observer, Phase, Watch};

/// Records as they come.
#[derive(Debug)]
pub(crate) struct Gathering {
    ids: IdPolicy,
    resources: Resources,
    sorter: RecordSorter,
    watch: Watch,
}

impl Gathering {
    pub(crate) fn new(ids: IdPolicy, resources: &Resources, observer: Option<Observer>) -> Self {
        let sorter = RecordSorter::new(resources.clone(), ids == IdPolicy::Text);
        let watch = Watch::new(observer, Phase::Read, None);
        Gathering { ids, resources: resources.clone(), sorter, watch }
    }

    /// Says how many records will come, so that progress has a total.
    pub(crate) fn expect(&mut self, count: u64) {
        self.watch = self.watch.next(Phase::Read, Some(count));
    }

    pub(crate) fn push(&mut self, fingerprint: Fingerprint, id: IdRef<'_>) -> Result<()> {
        match self.ids.admit(id)? {
            Some(id) => self.sorter.push(fingerprint.value(), id)?,
            None => self.sorter.push_bare(fingerprint.value())?,
        }
        self.watch.tick(1)
    }

    /// Takes a record that was stored: its id stays of its kind.
    pub(crate) fn push_stored(&mut self, fingerprint: Fingerprint, id: IdRef<'_>) -> Result<()> {
        self.sorter.push(fingerprint.value(), id)
    }

    pub(crate) fn push_bare(&mut self, fingerprint: Fingerprint) -> Result<()> {
        self.sorter.push_bare(fingerprint.value())?;
        self.watch.tick(1)
    }

    /// Takes all records of an input, and shows each fingerprint to `show`.
    pub(crate) fn read(
        &mut self,
        path: &Path,
        options: &InputOptions,
        mut show: impl FnMut(Fingerprint),
    ) -> Result<InputSummary> {
        let (sorter, watch) = (&mut self.sorter, &self.watch);
        input::read_batches(path, options, self.ids, self.resources.threads, |batch| match batch {
            Some(batch) => {
                batch.keys().for_each(|key| show(Fingerprint::new(key)));
                sorter.push_batch(batch)?;
                watch.tick(batch.count())
            }
            None => watch.report(),
        })
    }

    /// Records taken so far.
    pub(crate) fn count(&self) -> u64 {
        self.sorter.count()
    }

    /// Sorts what has come and chooses the tables; `scheme` gets the count of distinct fingerprints.
    pub(crate) fn assemble(
        self,
        scheme: impl FnOnce(u64) -> Result<SchemeChoice>,
        clock: &mut Clock,
    ) -> Result<Assembly> {
        let record_count = self.sorter.count();
        clock.ended(Phase::Read);
        let watch = self.watch.next(Phase::Sort, Some(record_count));
        watch.report()?;
        let mut records = self.sorter.finish()?;
        let distinct = records.distinct(|count| watch.tick(count))?;
        if distinct.count > FINGERPRINT_COUNT_MAX {
            let reason = format!("{} fingerprints, a segment holds 2^40 at most", distinct.count);
            return Err(Error::TooLarge { reason });
        }
        let scheme = scheme(distinct.count)?.for_values(&distinct)?;
        clock.ended(Phase::Sort);
        Ok(Assembly { resources: self.resources, records, distinct, scheme, watch })
    }
}

/// Sorted records and the tables that they will have.
#[derive(Debug)]
pub(crate) struct Assembly {
    resources: Resources,
    records: SortedRecords,
    distinct: SortedValues,
    scheme: Scheme,
    watch: Watch,
}

impl Assembly {
    /// Distinct fingerprints.
    pub(crate) fn fingerprint_count(&self) -> u64 {
        self.distinct.count
    }

    /// Writes the segment.
    pub(crate) fn write(
        &self,
        file: &mut SegmentFile,
        recipe: &Recipe,
        clock: &mut Clock,
    ) -> Result<()> {
        let contents = Contents {
            recipe,
            scheme: &self.scheme,
            resources: &self.resources,
            records: &self.records,
            distinct: &self.distinct,
        };
        contents.write(file, clock, &self.watch)?;
        self.watch.next(Phase::Publish, None).report()
    }
}
