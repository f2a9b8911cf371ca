//! Opening: from the manifest to mapped segments.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::{Error, Fault, Result};
use crate::format::id_records::Record;
use crate::format::manifest::{self, Manifest, ManifestFault, SegmentEntry};
use crate::scheme::Choice;
use crate::search::{Choices, Found};
use crate::section::{Section, TableIndex};
use crate::segment::{Mapped, map};

/// How often to read a manifest again whose segments a writer has just replaced.
const OPEN_TRIES: u32 = 5;

/// A segment with its plans.
#[derive(Debug)]
pub(crate) struct OpenSegment {
    pub(crate) number: u64,
    pub(crate) label: String,
    pub(crate) segment: Mapped,
    choices: Choices,
}

impl OpenSegment {
    /// How this segment answers distance `k`, at most 64.
    pub(crate) fn choice(&self, k: u32) -> &Choice {
        self.choices.for_distance(k, &self.segment)
    }
}

/// The segments that were live at one time.
#[derive(Debug)]
pub(crate) struct Snapshot {
    path: PathBuf,
    generation: u64,
    segments: Vec<OpenSegment>,
}

impl Snapshot {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let mut manifest = read_manifest(path)?;
        for _ in 1..OPEN_TRIES {
            let opened = Snapshot::open_segments(path, &manifest);
            // A writer may publish a new manifest and remove old segments in between.
            let newer = match &opened {
                Err(Error::Corrupt { .. }) => read_manifest(path)?,
                _ => return opened,
            };
            if newer.generation == manifest.generation {
                return opened;
            }
            manifest = newer;
        }
        Snapshot::open_segments(path, &manifest)
    }

    fn open_segments(path: &Path, manifest: &Manifest) -> Result<Self> {
        let mut segments: Vec<(SegmentEntry, Mapped)> = Vec::with_capacity(manifest.segments.len());
        for entry in &manifest.segments {
            let segment = map_live(path, entry)?;
            segment.check_entry(entry)?;
            if let Some((_, first)) = segments.first() {
                segment.check_recipe(first.recipe())?;
            }
            segments.push((entry.clone(), segment));
        }
        Ok(Snapshot::new(path, manifest.generation, segments))
    }

    /// These segments, with their entries, as the store at `path`.
    pub(crate) fn new(path: &Path, generation: u64, segments: Vec<(SegmentEntry, Mapped)>) -> Self {
        let open = |(entry, segment): (SegmentEntry, Mapped)| OpenSegment {
            number: entry.number,
            label: entry.label,
            segment,
            choices: Choices::new(),
        };
        let segments = segments.into_iter().map(open).collect();
        Snapshot { path: path.into(), generation, segments }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    pub(crate) fn segments(&self) -> &[OpenSegment] {
        &self.segments
    }

    /// The ids of a match. Ids follow the first table, so a match of another is found there.
    pub(crate) fn record(&self, found: &Found) -> Result<Record<'_>> {
        let Some(open) = self.segments.get(found.segment) else { return Ok(Record::empty()) };
        let segment = &open.segment;
        let mut rank = found.rank;
        if let (Some(first), true) = (segment.tables().first(), found.table != TableIndex(0)) {
            let value = first.permutation.apply(found.fingerprint);
            rank = segment.find(first, value, &mut 0)?.ok_or_else(|| {
                let detail = format!("{} is missing from the first table", found.fingerprint);
                segment.corrupt(&first.heads, 0, Fault::rule(20, detail))
            })?;
        }
        segment.record(rank, &mut 0)
    }

    /// A fault in the ids of a match, with its place.
    pub(crate) fn id_fault(&self, found: &Found, fault: Fault) -> Error {
        let segment = self.segments.get(found.segment).map(|open| &open.segment);
        match segment.and_then(|segment| Some((segment, segment.id_places()?.1))) {
            Some((segment, records)) => segment.corrupt(records, 0, fault),
            None => Error::Corrupt {
                path: self.path.clone(),
                section: Section::IdRecords,
                offset: 0,
                fault,
            },
        }
    }
}

/// Maps a segment that a manifest names; one that is missing is damage to the store.
pub(crate) fn map_live(path: &Path, entry: &SegmentEntry) -> Result<Mapped> {
    map(&path.join(entry.file_name())).map_err(|error| match error {
        Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => Error::Corrupt {
            path: path.join(manifest::FILE_NAME),
            section: Section::Manifest,
            offset: 0,
            fault: Fault::rule(23, format!("it names {}, which is missing", entry.file_name())),
        },
        error => error,
    })
}

/// Reads the manifest of the store in the directory `path`.
pub(crate) fn read_manifest(path: &Path) -> Result<Manifest> {
    let file_path = path.join(manifest::FILE_NAME);
    let file = fs::File::open(&file_path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound if path.is_dir() => {
            Error::NotAStore { path: path.into(), found: "a directory without a manifest" }
        }
        io::ErrorKind::NotFound => Error::NoStore { path: path.into() },
        io::ErrorKind::NotADirectory => {
            Error::NotAStore { path: path.into(), found: "a file, not a directory" }
        }
        _ => Error::Io { doing: "open", path: file_path.clone(), source },
    })?;
    let mut bytes = Vec::new();
    file.take(manifest::LEN_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(Error::io("read", &file_path))?;
    Manifest::read(&bytes).map_err(|fault| match fault {
        ManifestFault::Version { found, oldest, newest } => {
            Error::UnsupportedVersion { path: file_path, found, oldest, newest }
        }
        ManifestFault::Fault { offset, fault } => {
            Error::Corrupt { path: file_path, section: Section::Manifest, offset, fault }
        }
    })
}
