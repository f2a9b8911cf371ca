//! Files that no manifest names yet.

use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::disk::{self, FailPoint, bare, fail_point, protect_and_sync};
use crate::error::Result;
use crate::format::manifest::SegmentEntry;
use crate::segment::map;
use fpstore_base::watch::Throttle;

/// A segment file being written, under a temporary name. Dropping it removes the file.
#[derive(Debug)]
pub(crate) struct SegmentFile {
    file: NamedTempFile,
    directory: PathBuf,
    throttle: Option<Throttle>,
}

impl SegmentFile {
    /// Creates a file in `directory` under a name that starts with `prefix`.
    pub(super) fn create(directory: &Path, prefix: &str) -> Result<Self> {
        let file = disk::create_temporary(directory, prefix)?;
        Ok(SegmentFile { file, directory: directory.into(), throttle: None })
    }

    /// The directory of the file, for messages: a temporary name is of no use there.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The temporary name.
    pub(crate) fn temporary_path(&self) -> &Path {
        self.file.path()
    }

    /// Limits the rate of later writes.
    pub(crate) fn throttle(&mut self, throttle: Option<Throttle>) {
        self.throttle = throttle;
    }

    /// Makes the written file read-only and durable, and checks that a reader can open it.
    pub(crate) fn finish(self, label: &str) -> Result<UncommittedSegment> {
        protect_and_sync(self.file.as_file(), &self.directory)?;
        let entry = map(self.file.path())?.entry(0, label);
        Ok(UncommittedSegment { file: self.file, entry })
    }
}

impl Write for SegmentFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        fail_point(&self.directory, FailPoint::Write)?;
        let written = self.file.write(bytes).map_err(bare)?;
        if let Some(throttle) = &self.throttle {
            throttle.spend(written as u64);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for SegmentFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// A whole and durable segment file under a temporary name. Dropping it removes the file.
#[derive(Debug)]
pub(crate) struct UncommittedSegment {
    pub(super) file: NamedTempFile,
    /// The entry that a manifest will have, with number 0.
    pub(crate) entry: SegmentEntry,
}

impl UncommittedSegment {
    /// The temporary name.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }
}
