//! A snapshot: one generation of a store, open for reading.
//!
//! [`Snapshot`] contains the open segments with their deletions and query plans. The next snapshot
//! shares the unchanged segments, and the values of small segments that searchers have gathered in
//! memory (`gathered`, `pool`). `store` opens snapshots, `search` reads them, `writer` makes the
//! next generation. A snapshot never changes and writes nothing.

mod deletions;
mod gathered;
mod manifest_file;
mod open_segment;
mod pool;
mod united;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::error::{Error, Fault, Result};
use crate::base::section::{Section, StoreIndex};
use crate::base::steps::Counted;
use crate::bytes::checksum::Digest;
use crate::format::manifest::{Manifest, StoreId};
use crate::segment::access::Access;
use fpstore_base::{Fingerprint, Recipe, Width};
pub(crate) use gathered::{Gathered, Gathering, Places};
use manifest_file::{ManifestFile, Seen};
pub(crate) use manifest_file::{parse_manifest, read_manifest, read_manifest_bytes};
pub(crate) use open_segment::{LiveIds, OpenSegment, SegmentHit, canonical, distinct_count};
pub(crate) use pool::Pool;

/// Number of attempts to open a store while a writer keeps replacing its files.
const OPEN_TRIES: u32 = 100;

/// One generation of a store: the segments that were live at one time.
#[derive(Debug)]
pub(crate) struct Snapshot {
    path: PathBuf,
    /// How segment files are read in this snapshot and later ones, as set by the user.
    access: Access,
    /// The manifest of the generation; `segments` can be a part of the segments it lists.
    manifest: Arc<Manifest>,
    /// The manifest bytes as read, compared with later bytes to detect a change.
    manifest_bytes: Arc<[u8]>,
    /// The digest of `manifest_bytes`.
    manifest_digest: Digest,
    /// The manifest file, if its stamp proves that it has not changed since it was read.
    seen: Mutex<Option<Seen>>,
    segments: Vec<OpenSegment>,
    /// The width of the fingerprints, which follows from their recipe.
    width: Width,
    /// Whether [`Snapshot::next`] returns `None`: the snapshot is a part of another one, or pinned.
    is_fixed: bool,
    /// The snapshots of the stores that this snapshot unites, see [`Snapshot::united`]; empty for a
    /// snapshot of one store.
    states: Vec<Arc<Snapshot>>,
    /// The values that searchers have gathered in memory, for this snapshot and earlier ones.
    pool: Arc<Pool>,
}

impl Snapshot {
    pub(crate) fn open(path: &Path, access: Access) -> Result<Self> {
        Snapshot::open_after(path, access, None, ManifestFile::read(path)?)
    }

    /// Opens the current generation of the store, or returns `None` if it is this one. Segments
    /// with the same number and digest stay open; if another store is at this path now, all files
    /// are opened.
    pub(crate) fn next(&self) -> Result<Option<Self>> {
        if self.is_fixed {
            return Ok(None);
        }
        if self.is_united() {
            return self.next_united();
        }
        let seen = || self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen().as_ref().is_some_and(|seen| seen.is_at(&self.path)) {
            return Ok(None);
        }
        let file = ManifestFile::read(&self.path)?;
        if file.bytes == *self.manifest_bytes {
            *seen() = file.seen;
            return Ok(None);
        }
        Snapshot::open_after(&self.path, self.access, Some(self), file).map(Some)
    }

    /// Opens the segments of a manifest. If a writer publishes a new manifest and removes files at
    /// the same time, opens the segments of the new manifest.
    fn open_after(
        path: &Path,
        access: Access,
        before: Option<&Snapshot>,
        mut file: ManifestFile,
    ) -> Result<Self> {
        let mut tries = 0;
        loop {
            tries += 1;
            let opened = Snapshot::open_segments(path, access, before, &file.bytes);
            let newer = match opened {
                Err(Error::Corrupt { .. }) if tries < OPEN_TRIES => ManifestFile::read(path)?,
                Err(_) => return opened,
                Ok(opened) => return Ok(Snapshot { seen: Mutex::new(file.seen), ..opened }),
            };
            if newer.bytes == file.bytes {
                return opened;
            }
            file = newer;
        }
    }

    fn open_segments(
        path: &Path,
        access: Access,
        before: Option<&Snapshot>,
        bytes: &[u8],
    ) -> Result<Self> {
        let manifest = parse_manifest(path, bytes)?;
        let len = manifest.segments.iter().fold(0, |sum: u64, of| sum.saturating_add(of.file_len));
        let settled = access.settle(path, len)?;
        // In another store at the same path, equal numbers mean different segments.
        let before = before.filter(|before| before.store_id() == manifest.store_id);
        let known = before.map_or([].as_slice(), |before| before.segments());
        let known: BTreeMap<Counted<u64>, &OpenSegment> =
            known.iter().map(|open| (Counted(open.entry.number), open)).collect();
        let mut segments: Vec<OpenSegment> = Vec::with_capacity(manifest.segments.len());
        for entry in &manifest.segments {
            let same = |open: &&OpenSegment| {
                open.entry.file_len == entry.file_len
                    && open.entry.fingerprint_count == entry.fingerprint_count
                    && open.entry.digest == entry.digest
            };
            let open = match known.get(&Counted(entry.number)).copied().filter(same) {
                Some(open) => open.renewed(path, entry)?,
                None => OpenSegment::open(path, entry, settled)?,
            };
            if let Some(first) = segments.first() {
                open.segment.check_recipe(first.segment.recipe())?;
            }
            segments.push(open);
        }
        let mut opened = Snapshot::new(path, access, manifest, bytes, segments);
        if let Some(before) = before {
            opened.pool = Arc::clone(&before.pool);
        }
        Ok(opened)
    }

    /// A snapshot with these segments of the store at `path`.
    pub(crate) fn new(
        path: &Path,
        access: Access,
        manifest: Manifest,
        bytes: &[u8],
        segments: Vec<OpenSegment>,
    ) -> Self {
        Snapshot {
            path: path.into(),
            access,
            manifest: manifest.into(),
            manifest_bytes: bytes.into(),
            manifest_digest: Digest::of(bytes),
            seen: Mutex::default(),
            width: segments.first().map_or(Width::FULL, |open| open.segment.recipe().width()),
            segments,
            is_fixed: false,
            states: Vec::new(),
            pool: Arc::default(),
        }
    }

    /// This snapshot, pinned: it has no next snapshot.
    pub(crate) fn fixed(self) -> Self {
        Snapshot { is_fixed: true, ..self }
    }

    /// This snapshot with only the segments at the given positions.
    pub(crate) fn part(&self, positions: &[usize]) -> Self {
        let segments = positions.iter().filter_map(|&at| self.segments.get(at)).cloned().collect();
        Snapshot {
            path: self.path.clone(),
            access: self.access,
            manifest: Arc::clone(&self.manifest),
            manifest_bytes: Arc::clone(&self.manifest_bytes),
            manifest_digest: self.manifest_digest,
            seen: Mutex::default(),
            width: self.width,
            segments,
            is_fixed: true,
            states: self.states.clone(),
            pool: Arc::default(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// See [`Store::tuned_k`](crate::Store::tuned_k).
    pub(crate) fn tuned_k(&self) -> u32 {
        self.segments.iter().map(|open| open.segment.header().tuned_k).min().unwrap_or(3)
    }

    /// See [`Store::sketch_len`](crate::Store::sketch_len).
    pub(crate) fn sketch_len(&self) -> u8 {
        let lens = self.segments.iter().map(|open| open.segment.header().sketch_len);
        let (least, most) = (lens.clone().min().unwrap_or(0), lens.max().unwrap_or(0));
        // If the lengths differ between segments, the store has no common length.
        if least == most { u8::try_from(least).unwrap_or(0) } else { 0 }
    }

    /// The recipe of the first segment; all segments have the same. See
    /// [`Store::recipe`](crate::Store::recipe).
    pub(crate) fn recipe(&self) -> Option<Recipe> {
        self.segments.first().map(|open| open.segment.recipe().clone())
    }

    /// See [`Store::width`](crate::Store::width).
    pub(crate) fn width(&self) -> Width {
        self.width
    }

    /// Rejects a needle that is too wide for the store.
    #[inline]
    pub(crate) fn check_needle(&self, needle: Fingerprint) -> Result<()> {
        if self.width.fits(needle) {
            return Ok(());
        }
        Err(Error::TooWide { fingerprint: needle, width: self.width })
    }

    /// The manifest of the generation; this snapshot can have a part of the segments it lists.
    #[cfg(feature = "write")]
    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The bytes of the manifest file, as read.
    pub(crate) fn manifest_bytes(&self) -> &[u8] {
        &self.manifest_bytes
    }

    /// The digest of the manifest. It identifies the contents of the store, because the manifest
    /// contains the digests of all segments.
    pub(crate) fn manifest_digest(&self) -> Digest {
        self.manifest_digest
    }

    pub(crate) fn store_id(&self) -> StoreId {
        self.manifest.store_id
    }

    pub(crate) fn generation(&self) -> u64 {
        self.manifest.generation
    }

    /// The names given to the runs that have added to the store, oldest first.
    pub(crate) fn runs(&self) -> &[String] {
        &self.manifest.runs
    }

    pub(crate) fn segments(&self) -> &[OpenSegment] {
        &self.segments
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The ids of a hit. Ids have the order of the first table, so a hit in another table is first
    /// looked up in the first table.
    pub(crate) fn ids(&self, found: &SegmentHit) -> Result<Option<LiveIds<'_>>> {
        self.segments.get(found.segment).map(|open| open.ids(found)).transpose()
    }

    /// The store of a hit, if several stores are searched together.
    pub(crate) fn store_of(&self, found: &SegmentHit) -> StoreIndex {
        self.segments.get(found.segment).map_or(StoreIndex::default(), |open| open.store)
    }

    /// The label of the segment of a hit.
    pub(crate) fn label(&self, found: &SegmentHit) -> &str {
        self.segments.get(found.segment).map_or("", |open| &open.entry.label)
    }

    /// The error for a fault in the ids of a hit, with its position in the file.
    pub(crate) fn id_fault(&self, found: &SegmentHit, fault: Fault) -> Error {
        match self.segments.get(found.segment) {
            Some(open) => open.id_fault(fault),
            None => Error::corrupt(&self.path, Section::IdRecords, 0, fault),
        }
    }
}
