//! Merging: writing one segment from several, and publishing it in place of these.

use crate::base::error::{Error, Result};
use crate::base::id_policy::IdPolicy;
use crate::format::manifest::SegmentEntry;
use crate::search::snapshot::OpenSegment;
use crate::store::Store;
use crate::writing::builder::RecordBuffer;
use crate::writing::directory::{StoreDirectory, UncommittedSegment};
use crate::writing::input::InputEstimate;
use crate::writing::sort::SortResources;
use crate::writing::writer::WriterOptions;
use crate::writing::writer::live_records::push_live_records;
use crate::writing::writer::rebase::{Rebased, rebase_deletions};
use crate::writing::writer::scheme::{check_room, scheme_for};
use fpstore_base::Recipe;
use fpstore_base::watch::{Observer, Phase, Throttle, Watch};

/// The number of attempts to rebase deletions (see `rebase`) without the publication lock. The next
/// attempt holds the lock, so that no other process can delete records meanwhile.
const UNLOCKED_TRIES: u32 = 3;
/// A compaction gives up after this many conflicts: each conflict wastes a merge, and other
/// processes may cause conflicts for ever.
pub(super) const CONFLICTS_MAX: u64 = 10;

/// Merges segments of a store; the caller holds the compaction lock.
pub(super) struct Merger<'a> {
    directory: &'a StoreDirectory,
    store: &'a Store,
    options: &'a WriterOptions,
    resources: SortResources,
    recipe: &'a Recipe,
    observer: Option<Observer>,
    throttle: Option<Throttle>,
    pub(super) done: Compacted,
}

/// The result of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// The number of merged segments, over all merges.
    pub merged: u64,
    /// The number of new segments.
    pub made: u64,
    /// The length of the merged segment files in bytes.
    pub read_len: u64,
    /// The length of the new segment files in bytes.
    pub written_len: u64,
    /// The number of deleted fingerprints omitted from the new segments.
    pub deleted_fingerprints: u64,
    /// The number of deleted ids omitted from the new segments.
    pub deleted_ids: u64,
    /// The number of merges whose result was discarded, because another process removed or changed
    /// one of the merged segments meanwhile.
    pub conflicted: u64,
}

/// The outcome of a finished merge.
enum Published {
    /// The number of the new segment, which replaced the merged segments; `None` if all records
    /// were deleted and no segment was needed.
    InPlace(Option<u64>),
    /// A merged segment was removed, or its deletions cannot be rebased: nothing changed.
    Conflict,
}

impl<'a> Merger<'a> {
    pub(super) fn new(
        directory: &'a StoreDirectory,
        store: &'a Store,
        options: &'a WriterOptions,
        resources: &SortResources,
        recipe: &'a Recipe,
    ) -> Self {
        let (throttle, observer) =
            Throttle::at_most(options.max_rate, options.resources.observer.clone());
        let scratch = resources.folder.throttled(throttle.clone());
        let resources = SortResources { folder: scratch, ..resources.clone() };
        let done = Compacted::default();
        Merger { directory, store, options, resources, recipe, observer, throttle, done }
    }

    /// Removes the files of the merged segments, except files held by a reader.
    pub(super) fn collect_garbage(&self) {
        if self.done.merged > 0 {
            self.directory.collect_garbage();
        }
    }

    /// Returns an error after [`CONFLICTS_MAX`] conflicts, to end the compaction.
    pub(super) fn check_conflicts(&self) -> Result<()> {
        if self.done.conflicted < CONFLICTS_MAX {
            return Ok(());
        }
        Err(Error::Locked { path: self.directory.path().into(), process: None })
    }

    /// The live segments.
    pub(super) fn segments(&self) -> Vec<OpenSegment> {
        self.store.snapshot().segments().to_vec()
    }

    /// Merges neighbouring segments into one, and returns its number. `None` if all records are
    /// deleted, or after a conflict, which changes nothing and is counted.
    pub(super) fn merge(&mut self, parts: &[OpenSegment], label: &str) -> Result<Option<u64>> {
        if !self.options.skip_space_check {
            self.check_room(parts)?;
        }
        let observer = self.observer.clone();
        let mut lens = parts.iter().map(|open| open.segment.header().sketch_len);
        let first = lens.next().unwrap_or_default();
        // If sketch lengths differ, the merged segment has no sketches; writers prevent that case.
        let sketch_len = if lens.all(|len| len == first) { first } else { 0 };
        let mut records =
            RecordBuffer::new(IdPolicy::Auto, sketch_len, &self.resources, observer.clone());
        let total = parts.iter().map(OpenSegment::live_count).sum();
        let watch = Watch::new(observer, Phase::Read, Some(total));
        // The pauses of a throttle repeat the last report, so there must be one.
        watch.report()?;
        for open in parts {
            push_live_records(open, &mut records, &self.resources, &watch, self.throttle.as_ref())?;
        }
        let mut segment = None;
        // The last segment of a store is kept even if it is empty: it contains the recipe.
        if records.count() > 0 || self.store.snapshot().segments().len() == parts.len() {
            segment = Some(self.write(records, label)?);
        }
        self.done.written_len += segment.as_ref().map_or(0, |made| made.entry.file_len);
        let made = match self.publish(parts, segment)? {
            Published::InPlace(made) => made,
            Published::Conflict => {
                self.done.conflicted += 1;
                return Ok(None);
            }
        };
        self.done.made += u64::from(made.is_some());
        self.done.merged += parts.len() as u64;
        for open in parts {
            self.done.read_len += open.entry.file_len;
            if let Some(deleted) = &open.deleted {
                self.done.deleted_fingerprints += deleted.fingerprint_count();
                self.done.deleted_ids += deleted.id_count();
            }
        }
        Ok(made)
    }

    fn write(&self, records: RecordBuffer, label: &str) -> Result<UncommittedSegment> {
        let mut build = records.sort(|count| scheme_for(count, self.options, self.store))?;
        let mut file = self.directory.new_segment()?;
        file.throttle(self.throttle.clone());
        build.write(file, self.recipe, label)
    }

    /// Replaces `parts` by the merged segment. Records that were deleted from `parts` during the
    /// merge are first deleted from the merged segment.
    fn publish(
        &self,
        parts: &[OpenSegment],
        segment: Option<UncommittedSegment>,
    ) -> Result<Published> {
        let begin = || self.directory.begin();
        for attempt in 0..=UNLOCKED_TRIES {
            let early = if attempt == UNLOCKED_TRIES { Some(begin()?) } else { None };
            self.store.refresh()?;
            let snapshot = self.store.snapshot();
            let is = |entry: &SegmentEntry, part: &OpenSegment| entry.number == part.entry.number;
            let at = position_of(parts, snapshot.segments(), |open, part| is(&open.entry, part));
            let Some(at) = at else { return Ok(Published::Conflict) };
            let now = &snapshot.segments()[at..at + parts.len()];
            let deletions = match rebase_deletions(parts, now, segment.as_ref())? {
                Rebased::Deletions(deletions) => deletions,
                Rebased::Impossible => return Ok(Published::Conflict),
            };
            let mut transaction = early.map_or_else(begin, Ok)?;
            // Other processes may have published since the refresh.
            let entries = transaction.segments();
            let Some(at) = position_of(parts, entries, is) else {
                return Ok(Published::Conflict);
            };
            let range = at..at + parts.len();
            let is_same = |(entry, open): (&SegmentEntry, &OpenSegment)| *entry == open.entry;
            if !entries[range.clone()].iter().zip(now).all(is_same) {
                continue;
            }
            if segment.is_none() && entries.len() == parts.len() {
                return Ok(Published::Conflict);
            }
            let mut segments = entries.to_vec();
            let made = match segment {
                Some(segment) => Some(transaction.add_segment(segment, deletions.as_ref())?),
                None => None,
            };
            let number = made.as_ref().map(|entry| entry.number);
            segments.splice(range, made);
            // Release the files of the merged segments, so that they can be removed.
            drop(snapshot);
            transaction.commit_to(self.store, segments)?;
            return Ok(Published::InPlace(number));
        }
        Ok(Published::Conflict)
    }

    /// Checks that the disks have room for a merge of `parts`.
    fn check_room(&self, parts: &[OpenSegment]) -> Result<()> {
        let mut input = InputEstimate::default();
        for open in parts {
            let header = open.segment.header();
            input.record_count += open.live_count();
            input.id_count += header.id_count;
            input.id_len += open.segment.id_places().map_or(0, |(_, records)| records.len);
        }
        check_room(&input, self.options, &self.resources, self.store)
    }
}

/// The position of `parts` among the live segments, if they are still neighbours.
fn position_of<T>(
    parts: &[OpenSegment],
    live: &[T],
    is: impl Fn(&T, &OpenSegment) -> bool,
) -> Option<usize> {
    let mut windows = live.windows(parts.len().max(1));
    windows.position(|window| window.iter().zip(parts).all(|(live, part)| is(live, part)))
}
