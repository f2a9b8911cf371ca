//! Compaction: segments become one, without what was deleted.

use std::ops::Range;

use crate::bits::permutation::Permuted;
use crate::build::{Clock, Gathering, IdPolicy, InputEstimate};
use crate::error::{Error, Result};
use crate::life::Writer;
use crate::life::delete::id_fault;
use crate::life::tier::{self, Candidate};
use crate::section::Rank;
use crate::store::OpenSegment;
use crate::watch::{Phase, Throttle, Watch};

/// What to compact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compaction {
    /// What the size-tiered rule says, for neighbours of one label: tiers are powers of ten of records, and the
    /// segments of a tier are merged once they hold 3, 6 or 10 of its units, so that their number stays
    /// logarithmic; segments of which more than half is deleted are written anew, and empty ones go.
    #[default]
    Tier,
    /// Neighbours of one label become one segment each. Labels stay, so that each can expire.
    All,
    /// All segments become one. Its label is the greatest, so that nothing expires before it is due; it has none
    /// if any segment has none.
    One,
}

/// What a compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// Segments that were merged, over all merges.
    pub merged: u64,
    /// Segments that came of them.
    pub made: u64,
    /// Bytes of the segments that were merged.
    pub read_len: u64,
    /// Bytes of the segments that came of them.
    pub written_len: u64,
    /// Fingerprints that were deleted and now are gone.
    pub dropped_fingerprints: u64,
    /// Ids that were deleted and now are gone.
    pub dropped_ids: u64,
}

impl Writer {
    /// Merges segments, and leaves behind what was deleted. The ids of a fingerprint keep their order; where one
    /// segment has numbers as ids and another texts, the merged one has texts.
    ///
    /// Keeps to the memory of the writer. Each merge is published by itself, and readers see the same before and
    /// after. What is pushed and not committed is not touched.
    ///
    /// # Errors
    ///
    /// * [`Error::Corrupt`] if the store is damaged.
    /// * [`Error::NoSpace`] if a disk is too full for the next merge.
    /// * [`Error::Io`] if the system refuses, [`Error::Interrupted`] if the observer says so.
    ///
    /// Merges that were done stay; the one under way leaves nothing behind.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("pages.fps");
    /// # fpstore::Builder::new(&path)?.finish()?;
    /// # fpstore::Builder::append(&path, fpstore::BuildOptions::default())?.finish()?;
    /// use fpstore::{Compaction, Writer};
    ///
    /// let done = Writer::open(&path)?.compact(&Compaction::All)?;
    /// assert_eq!((done.merged, done.made), (2, 1));
    /// # Ok(()) }
    /// ```
    pub fn compact(&mut self, what: &Compaction) -> Result<Compacted> {
        let mut done = Compacted::default();
        match what {
            Compaction::Tier => self.merge_while(&mut done, tier::due)?,
            Compaction::All => self.merge_while(&mut done, tier::mergeable)?,
            Compaction::One => {
                let segments = &self.folder.manifest().segments;
                let range = 0..segments.len();
                let is_bare = |segment: &Candidate| segment.label.is_empty();
                let candidates = self.candidates();
                let label = match candidates.iter().any(is_bare) {
                    true => String::new(),
                    false => {
                        candidates.iter().map(|of| &of.label).max().cloned().unwrap_or_default()
                    }
                };
                if range.len() > 1 || candidates.iter().any(|segment| segment.gone > 0) {
                    self.merge(range, &label, &mut done)?;
                }
            }
        }
        Ok(done)
    }

    /// Merges what is due by the size-tiered rule, if there is room: adding must go on where merging cannot.
    pub(super) fn compact_due(&mut self) -> Result<()> {
        match self.merge_while(&mut Compacted::default(), tier::due) {
            Err(Error::NoSpace { .. }) => Ok(()),
            merged => merged,
        }
    }

    /// Merges as many of the youngest segments as takes no more than half of what was written.
    pub(super) fn settle(&mut self) -> Result<()> {
        match tier::settled(&self.candidates(), self.written_len / 2) {
            Some(range) => {
                let label = self.folder.manifest().segments[range.start].label.clone();
                match self.merge(range, &label, &mut Compacted::default()) {
                    Err(Error::NoSpace { .. }) => Ok(()),
                    merged => merged,
                }
            }
            None => Ok(()),
        }
    }

    fn candidates(&self) -> Vec<Candidate> {
        let candidate = |open: &OpenSegment| Candidate {
            label: open.entry.label.clone(),
            len: open.entry.file_len,
            count: open.entry.fingerprint_count,
            gone: open.entry.fingerprint_count - open.live_count(),
            ids: open.live_id_count(),
        };
        self.store.snapshot().segments().iter().map(candidate).collect()
    }

    fn merge_while(
        &mut self,
        done: &mut Compacted,
        next: impl Fn(&[Candidate]) -> Option<Range<usize>>,
    ) -> Result<()> {
        while let Some(range) = next(&self.candidates()) {
            let label = self.folder.manifest().segments[range.start].label.clone();
            self.merge(range, &label, done)?;
        }
        Ok(())
    }

    /// Makes one segment of neighbours, or none if all of them is deleted.
    fn merge(&mut self, range: Range<usize>, label: &str, done: &mut Compacted) -> Result<()> {
        let snapshot = self.store.snapshot();
        let parts = &snapshot.segments()[range.clone()];
        if !self.options.skip_space_check {
            self.check_room(parts)?;
        }
        let observer = self.options.observer.clone();
        let mut gathering = Gathering::new(IdPolicy::Auto, &self.resources, observer.clone());
        let total = parts.iter().map(OpenSegment::live_count).sum();
        let watch = Watch::new(observer, Phase::Read, Some(total));
        let throttle = self.options.max_rate.map(Throttle::new);
        for open in parts {
            gather(open, &mut gathering, &watch, throttle.as_ref())?;
            done.merged += 1;
            done.read_len += open.entry.file_len;
            if let Some(deleted) = &open.deleted {
                done.dropped_fingerprints += deleted.fingerprint_count();
                done.dropped_ids += deleted.id_count();
            }
        }
        let mut segments = self.folder.manifest().segments.clone();
        let mut fresh = Vec::new();
        let mut made = None;
        // One segment stays, or no one would know the recipe.
        if gathering.count() > 0 || segments.len() == range.len() {
            let assembly =
                gathering.assemble(|count| self.scheme_for(count), &mut Clock::start())?;
            let recipe = self.recipe().clone();
            let (entry, file) = self.new_segment(label, |file| {
                file.throttle(throttle);
                assembly.write(file, &recipe, &mut Clock::start())
            })?;
            done.made += 1;
            done.written_len += entry.file_len;
            made = Some(entry);
            fresh.push(file);
        }
        segments.splice(range, made);
        // It holds the files that are about to go.
        drop(snapshot);
        self.publish(segments, fresh)
    }
}

impl Writer {
    /// Whether the disks have room for a merge of these.
    fn check_room(&self, parts: &[OpenSegment]) -> Result<()> {
        let mut input = InputEstimate::default();
        for open in parts {
            let header = open.segment.header();
            input.record_count += open.live_count();
            input.id_count += header.id_count;
            input.id_len += open.segment.id_places().map_or(0, |(_, records)| records.len);
        }
        self.room_for(&input)
    }
}

/// Hands over the records of a segment that are there.
fn gather(
    open: &OpenSegment,
    gathering: &mut Gathering,
    watch: &Watch,
    throttle: Option<&Throttle>,
) -> Result<()> {
    let segment = &open.segment;
    let Some(table) = segment.tables().first() else { return Ok(()) };
    segment.expect_pass(table);
    let value_len = open.entry.file_len as f64 / open.entry.fingerprint_count.max(1) as f64;
    let mut values = segment.values(table);
    let mut records = segment.records();
    while let Some((first, run)) = values.next_run()? {
        let ranks = first.0..first.0 + run.len() as u64;
        if let Some(throttle) = throttle {
            throttle.spend((run.len() as f64 * value_len) as u64);
        }
        for (rank, &value) in ranks.map(Rank).zip(run) {
            let record = records.next()?;
            if open.is_gone(rank) {
                continue;
            }
            let fingerprint = table.permutation.invert(Permuted(value));
            let mut bare = true;
            if let Some((_, record)) = record {
                let mut ids = open.live_ids(rank, record);
                while let Some(id) = ids.next().map_err(|fault| id_fault(open, fault))? {
                    bare = false;
                    gathering.push_stored(fingerprint, id)?;
                }
            }
            if bare {
                gathering.push_bare(fingerprint)?;
            }
            watch.tick(1)?;
        }
    }
    segment.expect_probes(table);
    Ok(())
}
