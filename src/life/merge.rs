//! One segment from several: read and written without the lock of the writer, and published in an instant.

use crate::bits::permutation::Permuted;
use crate::build::{Clock, Folder, FreshSegment, Gathering, IdPolicy, InputEstimate, Publishing};
use crate::error::Result;
use crate::format::manifest::SegmentEntry;
use crate::life::carry::{Carried, carry_over};
use crate::life::delete::id_fault;
use crate::life::shape::{room_for, scheme_for};
use crate::life::{Compacted, WriterOptions};
use crate::recipe::Recipe;
use crate::section::Rank;
use crate::sort::Resources;
use crate::store::{OpenSegment, Store};
use crate::watch::{Observer, Phase, Throttle, Watch};

/// How often to look what was deleted meanwhile before others are kept from deleting more.
const LOOKS: u32 = 3;

/// Merges segments of a store; whoever has one has the lock for it.
pub(super) struct Merger<'a> {
    folder: &'a Folder,
    store: &'a Store,
    options: &'a WriterOptions,
    resources: Resources,
    recipe: &'a Recipe,
    observer: Option<Observer>,
    throttle: Option<Throttle>,
    pub(super) done: Compacted,
}

impl<'a> Merger<'a> {
    pub(super) fn new(
        folder: &'a Folder,
        store: &'a Store,
        options: &'a WriterOptions,
        resources: &Resources,
        recipe: &'a Recipe,
    ) -> Self {
        let observer = options.observer.clone();
        let (throttle, observer) = match options.max_rate {
            Some(rate) => {
                let (throttle, observer) = Throttle::new(rate, observer);
                (Some(throttle), observer)
            }
            None => (None, observer),
        };
        let scratch = resources.folder.throttled(throttle.clone());
        let resources = Resources { folder: scratch, ..resources.clone() };
        let done = Compacted::default();
        Merger { folder, store, options, resources, recipe, observer, throttle, done }
    }

    /// Removes the files of what was merged, once no one here holds them.
    pub(super) fn tidy(&self) {
        if self.done.merged > 0 {
            self.folder.tidy();
        }
    }

    /// The live segments.
    pub(super) fn segments(&self) -> Vec<OpenSegment> {
        self.store.snapshot().segments().to_vec()
    }

    /// Makes one segment of neighbours, or none if all of them is deleted: gives its number. If one of them is gone
    /// when it is done, nothing is changed, and that is counted.
    pub(super) fn merge(&mut self, parts: &[OpenSegment], label: &str) -> Result<Option<u64>> {
        if !self.options.skip_space_check {
            self.check_room(parts)?;
        }
        let observer = self.observer.clone();
        let mut gathering = Gathering::new(IdPolicy::Auto, &self.resources, observer.clone());
        let total = parts.iter().map(OpenSegment::live_count).sum();
        let watch = Watch::new(observer, Phase::Read, Some(total));
        // Pauses ask again what was told before them.
        watch.report()?;
        for open in parts {
            gather(open, &mut gathering, &watch, self.throttle.as_ref())?;
        }
        let mut fresh = None;
        // One segment stays, or no one would know the recipe.
        if gathering.count() > 0 || self.store.snapshot().segments().len() == parts.len() {
            let scheme = |count| scheme_for(count, self.options, self.store);
            let assembly = gathering.assemble(scheme, &mut Clock::start())?;
            fresh = Some(self.folder.write_segment(label, |file| {
                file.throttle(self.throttle.clone());
                assembly.write(file, self.recipe, &mut Clock::start())
            })?);
        }
        let written_len = fresh.as_ref().map_or(0, |fresh| fresh.entry.file_len);
        self.done.written_len += written_len;
        let Some(made) = self.publish(parts, fresh, &watch)? else {
            self.done.overtaken += 1;
            return Ok(None);
        };
        self.done.made += u64::from(made.is_some());
        self.done.merged += parts.len() as u64;
        for open in parts {
            self.done.read_len += open.entry.file_len;
            if let Some(deleted) = &open.deleted {
                self.done.dropped_fingerprints += deleted.fingerprint_count();
                self.done.dropped_ids += deleted.id_count();
            }
        }
        Ok(made)
    }

    /// Puts the new segment in the place of those that it was made of, without what was deleted of them meanwhile:
    /// gives its number, if there is one; `None` if one of them is gone, or if the deletions do not fit.
    fn publish(
        &self,
        parts: &[OpenSegment],
        fresh: Option<FreshSegment>,
        watch: &Watch,
    ) -> Result<Option<Option<u64>>> {
        let publishing = || self.folder.publish(|| watch.report());
        for look in 0..=LOOKS {
            let held = if look == LOOKS { Some(publishing()?) } else { None };
            self.store.refresh()?;
            let snapshot = self.store.snapshot();
            let is = |entry: &SegmentEntry, part: &OpenSegment| entry.number == part.entry.number;
            let at = place(snapshot.segments(), parts, |open, part| is(&open.entry, part));
            let Some(at) = at else { return Ok(None) };
            let now = &snapshot.segments()[at..at + parts.len()];
            let deletions = match carry_over(parts, now, fresh.as_ref())? {
                Carried::Nothing => None,
                Carried::Deletions(deletions) => Some(deletions),
                Carried::Impossible => return Ok(None),
            };
            let mut publishing: Publishing = held.map_or_else(publishing, Ok)?;
            // What others did since.
            let entries = publishing.segments();
            let Some(at) = place(entries, parts, is) else { return Ok(None) };
            let range = at..at + parts.len();
            let same = |(entry, open): (&SegmentEntry, &OpenSegment)| *entry == open.entry;
            if !entries[range.clone()].iter().zip(now).all(same) {
                continue;
            }
            if fresh.is_none() && entries.len() == parts.len() {
                return Ok(None);
            }
            let mut segments = entries.to_vec();
            let mut made = None;
            if let Some(fresh) = fresh {
                let mut entry = publishing.name_segment(fresh)?;
                if let Some(deletions) = deletions {
                    let fresh = self.folder.write_deletions(&entry, &deletions)?;
                    entry.deletions = Some(publishing.name_deletions(fresh)?);
                }
                made = Some(entry);
            }
            let number = made.as_ref().map(|entry| entry.number);
            segments.splice(range, made);
            // It holds the files that are about to go.
            drop(snapshot);
            let published = publishing.commit(segments);
            // Even if the last sync failed, this is what readers see.
            let refreshed = self.store.refresh();
            published?;
            refreshed?;
            return Ok(Some(number));
        }
        Ok(None)
    }

    /// Whether the disks have room for a merge of these.
    fn check_room(&self, parts: &[OpenSegment]) -> Result<()> {
        let mut input = InputEstimate::default();
        for open in parts {
            let header = open.segment.header();
            input.record_count += open.live_count();
            input.id_count += header.id_count;
            input.id_len += open.segment.id_places().map_or(0, |(_, records)| records.len);
        }
        room_for(&input, self.options, &self.resources, self.store)
    }
}

/// Where the parts stand among the live segments, as neighbours still.
fn place<T>(
    live: &[T],
    parts: &[OpenSegment],
    is: impl Fn(&T, &OpenSegment) -> bool,
) -> Option<usize> {
    let mut windows = live.windows(parts.len().max(1));
    windows.position(|window| window.iter().zip(parts).all(|(live, part)| is(live, part)))
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
