//! A live segment: its file, its deletions, and its plans.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::access::Access;
use crate::checksum::Digest;
use crate::error::{Error, Fault, Result};
use crate::format::deletions::{self, DeletionFault, Deletions};
use crate::format::header::Header;
use crate::format::id_records::Record;
use crate::format::manifest::{self, SegmentEntry};
use crate::plain_file::{self, Refused};
use crate::plan::{PathPlan, PlanCache};
use crate::section::{Rank, Section, TableIndex};
use crate::segment::{self, Segment};
use crate::snapshot::SegmentHit;
use fpstore_base::IdRef;

/// A live segment. Snapshots share the file, the deletions and the plans that do not change.
#[derive(Clone, Debug)]
pub(crate) struct OpenSegment {
    pub(crate) entry: SegmentEntry,
    pub(crate) segment: Arc<Segment>,
    /// Its deletions, if it has any.
    pub(crate) deleted: Option<Arc<Deletions>>,
    plans: Arc<PlanCache>,
}

impl OpenSegment {
    /// Opens a segment of the store at `path` and its deletions, as an entry of the manifest names
    /// them, by the access that was settled on.
    pub(crate) fn open(path: &Path, entry: &SegmentEntry, access: Access) -> Result<Self> {
        let file_path = path.join(entry.file_name());
        let segment = segment::open(&file_path, access, entry.file_len)
            .map_err(|error| missing(error, path, &file_path, 23))?;
        segment.check_entry(entry)?;
        let deleted = read_deletions(path, entry, segment.header())?.map(Arc::new);
        let (segment, plans) = (Arc::new(segment), Arc::new(PlanCache::new()));
        Ok(OpenSegment { entry: entry.clone(), segment, deleted, plans })
    }

    /// The same segment as a later manifest of the same store names it; more of it may be deleted.
    pub(crate) fn renewed(&self, path: &Path, entry: &SegmentEntry) -> Result<Self> {
        let mut renewed = self.clone();
        if entry.deletions != self.entry.deletions {
            let header = self.segment.header();
            renewed.deleted = read_deletions(path, entry, header)?.map(Arc::new);
        }
        renewed.entry = entry.clone();
        Ok(renewed)
    }

    /// How this segment answers distance `k`, at most 64.
    pub(crate) fn plan(&self, k: u32) -> &PathPlan {
        self.plans.for_distance(k, &self.segment)
    }

    /// Fingerprints that are not deleted.
    pub(crate) fn live_count(&self) -> u64 {
        let deleted = self.deleted.as_ref().map_or(0, |deleted| deleted.fingerprint_count());
        self.segment.header().fingerprint_count - deleted
    }

    /// Ids that are not deleted.
    pub(crate) fn live_id_count(&self) -> u64 {
        let deleted = self.deleted.as_ref().map_or(0, |deleted| deleted.id_count());
        self.segment.header().id_count.saturating_sub(deleted)
    }

    /// The rank of a hit in the first table, whose order is that of ids and deletions.
    pub(crate) fn first_rank(&self, found: &SegmentHit) -> Result<Rank> {
        let segment = &self.segment;
        match segment.first_table() {
            Some(first) if found.table != TableIndex(0) => {
                let value = first.permutation.apply(found.fingerprint);
                first.find(value)?.ok_or_else(|| {
                    let detail = format!("{} is missing from the first table", found.fingerprint);
                    segment.corrupt(&first.heads, 0, Fault::rule(20, detail))
                })
            }
            _ => Ok(found.rank),
        }
    }

    /// Removes deleted fingerprints from the matches of a batch from position `from` on; the others
    /// are left in any order.
    pub(crate) fn retain_live_pairs(
        &self,
        found: &mut Vec<(u32, SegmentHit)>,
        from: usize,
    ) -> Result<()> {
        let Some(deleted) = &self.deleted else { return Ok(()) };
        let mut at = from;
        while let Some((_, one)) = found.get(at) {
            if deleted.has(self.first_rank(one)?) {
                found.swap_remove(at);
            } else {
                at += 1;
            }
        }
        Ok(())
    }

    /// Whether the fingerprint at `rank` of the first table is deleted.
    pub(crate) fn is_deleted(&self, rank: Rank) -> bool {
        self.deleted.as_ref().is_some_and(|deleted| deleted.has(rank))
    }

    /// Removes deleted fingerprints from a list of matches; this is the segment at `position` of
    /// the snapshot.
    #[inline]
    pub(crate) fn retain_live(&self, found: &mut Vec<SegmentHit>, position: usize) -> Result<()> {
        let Some(deleted) = &self.deleted else { return Ok(()) };
        let mut failed = None;
        found.retain_mut(|found| {
            if found.segment != position || failed.is_some() {
                return true;
            }
            match self.first_rank(found) {
                Ok(rank) => {
                    // Its ids will be read at this rank, too.
                    (found.table, found.rank) = (TableIndex(0), rank);
                    !deleted.has(rank)
                }
                Err(error) => {
                    failed = Some(error);
                    true
                }
            }
        });
        failed.map_or(Ok(()), Err)
    }

    /// The ids of a hit that are not deleted.
    pub(crate) fn ids(&self, found: &SegmentHit) -> Result<LiveIds<'_>> {
        self.ids_at(self.first_rank(found)?)
    }

    /// The ids that are not deleted of the fingerprint at a rank of the first table.
    pub(crate) fn ids_at(&self, rank: Rank) -> Result<LiveIds<'_>> {
        Ok(self.live_ids(rank, self.segment.record(rank)?))
    }

    /// The ids that are not deleted of the record at a rank of the first table.
    pub(crate) fn live_ids<'a>(&'a self, rank: Rank, record: Record<'a>) -> LiveIds<'a> {
        let deleted = self.deleted.as_ref().map_or([].as_slice(), |deleted| deleted.ids_of(rank));
        LiveIds { record, position: 0, deleted }
    }
}

/// The ids of a fingerprint in one segment, without deleted ones.
#[derive(Clone, Debug)]
pub(crate) struct LiveIds<'a> {
    record: Record<'a>,
    /// The position of the next id in the record.
    position: u64,
    /// The deleted ids that are left, by rank and position.
    deleted: &'a [(u64, u64)],
}

impl<'a> LiveIds<'a> {
    /// The number of ids that are left.
    pub(crate) fn count(&self) -> Result<u64, Fault> {
        Ok(self.record.id_count()?.saturating_sub(self.deleted.len() as u64))
    }

    /// The next one.
    pub(crate) fn next(&mut self) -> Result<Option<IdRef<'a>>, Fault> {
        loop {
            let id = self.record.next()?;
            let position = self.position;
            self.position += 1;
            match self.deleted.split_first() {
                Some((&(_, deleted), rest)) if id.is_some() && deleted == position => {
                    self.deleted = rest;
                }
                _ => return Ok(id),
            }
        }
    }
}

/// A file that a manifest names and that is missing is damage to the store.
fn missing(error: Error, path: &Path, file: &Path, rule: u8) -> Error {
    match error {
        Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            let name = file.file_name().unwrap_or_default().display();
            Error::Corrupt {
                path: path.join(manifest::FILE_NAME),
                section: Section::Manifest,
                offset: 0,
                fault: Fault::rule(rule, format!("it names {name}, which is missing")),
            }
        }
        error => error,
    }
}

/// Reads the deletions of a segment of the store at `path`.
fn read_deletions(path: &Path, entry: &SegmentEntry, header: &Header) -> Result<Option<Deletions>> {
    let Some(expected) = entry.deletions else { return Ok(None) };
    let file_path: PathBuf = path.join(deletions::file_name(expected.number));
    let corrupt = |offset: u64, fault: Fault| Error::Corrupt {
        path: file_path.clone(),
        section: Section::Deletions,
        offset,
        fault,
    };
    let file = plain_file::open(&file_path).map_err(|refused| match refused {
        Refused::Kind(kind) => {
            corrupt(0, Fault::rule(25, format!("it is {kind}, not a plain file")))
        }
        Refused::Io(source) => {
            let error = Error::Io { doing: "open", path: file_path.clone(), source };
            missing(error, path, &file_path, 25)
        }
    })?;
    // Each deletion of the segment takes bytes, and there are no more of them than fingerprints and
    // ids. A file that is longer, or was made longer, is refused unread.
    let (fingerprint_count, id_count) = (expected.fingerprint_count, expected.id_count);
    let most = (header.fingerprint_count, header.id_count);
    if fingerprint_count > most.0 || id_count > most.1 {
        let detail = format!(
            "the manifest states {fingerprint_count} deleted fingerprints and {id_count} deleted \
             ids of a segment with {} and {}",
            most.0, most.1
        );
        return Err(corrupt(0, Fault::rule(25, detail)));
    }
    let len_max = deletions::len_max(fingerprint_count, id_count);
    let len = file.metadata().map_err(Error::io("read", &file_path))?.len();
    if len > len_max {
        let detail = format!("{len} bytes, {len_max} are the most for what the manifest states");
        return Err(corrupt(len_max, Fault::rule(25, detail)));
    }
    let mut bytes = Vec::new();
    file.take(len_max).read_to_end(&mut bytes).map_err(Error::io("read", &file_path))?;
    let read = Deletions::read(&bytes, entry.digest, entry.fingerprint_count);
    let deletions = read.map_err(|fault| match fault {
        DeletionFault::Fault { offset, fault } => corrupt(offset, fault),
        DeletionFault::Version(found) => Error::UnsupportedVersion {
            path: file_path.clone(),
            found,
            oldest: deletions::VERSION,
            newest: deletions::VERSION,
        },
    })?;
    let digest = Digest::of(&bytes);
    let found = (digest, deletions.fingerprint_count(), deletions.id_count());
    if found != (expected.digest, expected.fingerprint_count, expected.id_count) {
        let detail = format!(
            "it has digest {digest}, {} fingerprints and {} ids, \
             the manifest names one with {}, {} and {}",
            found.1, found.2, expected.digest, expected.fingerprint_count, expected.id_count
        );
        return Err(corrupt(0, Fault::rule(25, detail)));
    }
    Ok(Some(deletions))
}
