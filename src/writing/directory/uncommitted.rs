//! Files that no manifest lists yet.

use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::base::error::{Error, Result};
use crate::format::manifest::SegmentEntry;
use crate::segment::map;
use crate::writing::directory::lock::TEMPORARY_PREFIX;
use fpstore_base::watch::Throttle;
use fpstore_disk::{TemporaryFile, parent_of, sync_directory};

/// The length of a file that tests whether a disk accepts writes: about the length of the smallest
/// segment.
const TRIED_LEN: usize = 1 << 16;

/// A segment file being written, under a temporary name. Dropping it removes the file.
#[derive(Debug)]
pub(crate) struct SegmentFile {
    file: TemporaryFile,
    directory: PathBuf,
    throttle: Option<Throttle>,
}

impl SegmentFile {
    /// A segment file with a temporary name in `directory`.
    pub(super) fn of(file: TemporaryFile, directory: &Path) -> Self {
        SegmentFile { file, directory: directory.into(), throttle: None }
    }

    /// Creates a temporary file for the future file `path`, outside any store. The file mode mask
    /// of the user limits who may read it.
    pub(crate) fn beside(path: &Path) -> Result<Self> {
        let directory = parent_of(path);
        let file = TemporaryFile::create(directory, TEMPORARY_PREFIX)?;
        Ok(SegmentFile::of(file, directory))
    }

    /// The directory of the file. Error messages contain it, because a temporary name would be
    /// useless.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The temporary path of the file.
    pub(crate) fn temporary_path(&self) -> &Path {
        self.file.path()
    }

    /// Limits the rate of writes from now on.
    pub(crate) fn throttle(&mut self, throttle: Option<Throttle>) {
        self.throttle = throttle;
    }

    /// Tests whether the disk accepts writes: makes a file of a few pages durable, and removes it.
    pub(crate) fn try_disk(mut self) -> Result<()> {
        let written = self.file.write_all(&[0x5a; TRIED_LEN]);
        written.map_err(Error::io("write a file in", &self.directory))?;
        Ok(self.file.sync(&self.directory)?)
    }

    /// Makes the written file read-only and durable, and checks that a reader can open it.
    pub(crate) fn finish(self, label: &str) -> Result<UncommittedSegment> {
        self.file.protect_and_sync()?;
        let entry = map(self.file.path())?.entry(0, label);
        Ok(UncommittedSegment { file: self.file, entry })
    }
}

impl Write for SegmentFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
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

/// A complete and durable segment file under a temporary name. Dropping it removes the file.
#[derive(Debug)]
pub(crate) struct UncommittedSegment {
    pub(super) file: TemporaryFile,
    /// The future manifest entry of the segment, with number 0.
    pub(crate) entry: SegmentEntry,
}

impl UncommittedSegment {
    /// The temporary path of the file.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Renames the file to `path` in its directory, outside any store. With `replace` it may
    /// replace another file.
    pub(crate) fn name(self, path: &Path, replace: bool) -> Result<()> {
        let named =
            if replace { self.file.rename_over(path) } else { self.file.rename_to_free_name(path) };
        named.map_err(Error::io("move the new segment to", path))?;
        Ok(sync_directory(parent_of(path))?)
    }
}
