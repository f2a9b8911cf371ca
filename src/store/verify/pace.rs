//! The pace of a verification: the bytes read so far, the rate limit, and the observer.

use crate::base::error::Result;
use crate::base::side_by_side::{Part, results_on_threads};
use crate::search::snapshot::OpenSegment;
use crate::segment::{Segment, TableReader};
use fpstore_base::watch::{Observer, Phase, Throttle, Watch};
use fpstore_base::{setters, thread_count};

/// The options of [`verify`](crate::verify()).
///
/// # Examples
///
/// ```no_run
/// // On the machine of a service: a minute for each GB, and no sample queries.
/// let options = fpstore::VerifyOptions::default().max_rate(64 << 20).samples(0);
/// assert!(fpstore::verify("pages.fps", &options)?.is_sound());
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    pub(super) samples: u64,
    pub(super) max_rate: Option<u64>,
    pub(super) observer: Option<Observer>,
}

impl Default for VerifyOptions {
    /// 100 sample queries, without a rate limit.
    fn default() -> Self {
        VerifyOptions { samples: 100, max_rate: None, observer: None }
    }
}

impl VerifyOptions {
    setters!(max_rate, observer);

    setters! {
        /// Sets the number of sample queries whose answers are compared with a scan. Needs one pass
        /// over the store, and another pass for each 256 queries.
        samples: u64,
    }
}

/// The number of needles that one scan of the store compares.
pub(super) const NEEDLES_PER_PASS: usize = 256;
/// The number of values or hits of a pass whose bytes are counted in one step.
const STEP: u64 = 1 << 12;
/// The number of parts per thread: several, so that all threads end at about the same time.
const PARTS_FOR_A_THREAD: u64 = 4;

/// Counts the bytes that are read, and waits if a rate limit is set.
pub(super) struct Pace {
    throttle: Option<Throttle>,
    watch: Watch,
}

impl Pace {
    /// The pace of reading files of `file_len` bytes. Each file is read once to check that it is
    /// readable, again for checksums, again for its indexes, and again for its values and ids. The
    /// samples are chosen in one more pass, and compared with all values in further passes.
    pub(super) fn new(options: &VerifyOptions, file_len: u64) -> Result<Self> {
        let (throttle, observer) = Throttle::at_most(options.max_rate, options.observer.clone());
        let passes = match options.samples {
            0 => 4,
            count => 5 + count.div_ceil(NEEDLES_PER_PASS as u64),
        };
        let watch = Watch::new(observer, Phase::Verify, Some(passes.saturating_mul(file_len)));
        // With a report, even a pause before the first bytes are counted shows progress and can be
        // ended.
        watch.report()?;
        Ok(Pace { throttle, watch })
    }

    /// Counts `len` more bytes as read.
    pub(super) fn spend(&self, len: u64) -> Result<()> {
        if let Some(throttle) = &self.throttle {
            throttle.spend(len);
        }
        Ok(self.watch.tick(len)?)
    }

    /// The number of verifying threads: one if a rate is set, because the machine then has other
    /// work.
    pub(super) fn threads(&self) -> usize {
        if self.throttle.is_some() { 1 } else { thread_count(0) }
    }

    /// Runs `work` for each item on the verifying threads. The results are in the order of the
    /// items.
    pub(super) fn on_threads<T: Sync, R: Send>(
        &self,
        items: &[T],
        work: impl Fn(&T) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        results_on_threads(self.threads(), items, work)
    }

    /// Divides `len` units into parts of at least about `part_len` units and runs `work` for each
    /// part. The results are in the order of the parts.
    pub(super) fn in_parts<R: Send>(
        &self,
        len: u64,
        part_len: u64,
        work: impl Fn(Part) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let most = match self.threads() {
            1 => 1,
            threads => threads as u64 * PARTS_FOR_A_THREAD,
        };
        let parts = Part::all((len / part_len).min(most) as usize);
        self.on_threads(&parts, |&part| work(part))
    }

    /// Counts the bytes of a pass over `count` values or records that take `len` bytes together.
    fn pass(&self, count: u64, len: u64) -> Pass<'_> {
        Pass { pace: self, count, len, pending: 0 }
    }

    /// Counts the bytes of a pass over the values of a table.
    pub(super) fn values(&self, segment: &Segment, table: TableReader<'_>) -> Pass<'_> {
        self.pass(segment.header().fingerprint_count, table.heads.len + table.tails.len)
    }

    /// Counts the bytes of a pass over the fingerprints of all segments with their ids.
    pub(super) fn scan(&self, segments: &[OpenSegment]) -> Pass<'_> {
        let sum = |of: fn(&Segment) -> u64| segments.iter().map(|open| of(&open.segment)).sum();
        self.pass(sum(|segment| segment.header().fingerprint_count), sum(scanned_len))
    }
}

/// The number of bytes of a segment that a pass over fingerprints and ids reads.
fn scanned_len(segment: &Segment) -> u64 {
    let ids = segment.id_places().map_or(0, |(groups, records)| groups.len + records.len);
    segment.first_table().map_or(0, |table| table.heads.len + table.tails.len) + ids
}

/// Counts the bytes of a pass over values. Each value counts as the average number of bytes per
/// value.
pub(super) struct Pass<'a> {
    pace: &'a Pace,
    count: u64,
    len: u64,
    /// The number of values whose bytes are not counted yet.
    pending: u64,
}

impl Pass<'_> {
    /// Counts `values` more values.
    pub(super) fn step(&mut self, values: u64) -> Result<()> {
        self.pending += values;
        if self.pending < STEP { Ok(()) } else { self.end() }
    }

    /// Counts the bytes of the values that are not counted yet.
    pub(super) fn end(&mut self) -> Result<()> {
        let pending = u128::from(std::mem::take(&mut self.pending));
        let len = u128::from(self.len) * pending / u128::from(self.count.max(1));
        self.pace.spend(len as u64)
    }
}
