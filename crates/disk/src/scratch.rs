//! Scratch files: temporary files without a name, and byte buffers that are moved to them.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::files::without_path;
use super::plain_file::Result;
use super::{FailPoint, fail_point, system};
use fpstore_base::IoError;
use fpstore_base::watch::Throttle;

/// The directory for scratch files; it counts the bytes of all its scratch files.
#[derive(Clone, Debug)]
pub struct ScratchFolder {
    path: PathBuf,
    gauge: Arc<Gauge>,
    throttle: Option<Throttle>,
}

#[derive(Debug, Default)]
struct Gauge {
    held: AtomicU64,
    most: AtomicU64,
}

impl ScratchFolder {
    pub fn new(path: PathBuf) -> Self {
        ScratchFolder { path, gauge: Arc::default(), throttle: None }
    }

    /// This directory, but its files are written and read no faster than `throttle` allows.
    pub fn throttled(&self, throttle: Option<Throttle>) -> Self {
        ScratchFolder { throttle, ..self.clone() }
    }

    fn spend(&self, bytes: usize) {
        if let Some(throttle) = &self.throttle {
            throttle.spend(bytes as u64);
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The largest number of bytes that all scratch files together have had at one time.
    pub fn most_held(&self) -> u64 {
        self.gauge.most.load(Ordering::Relaxed)
    }
}

/// A file without a name: the system removes it when the process ends, even if killed.
#[derive(Debug)]
pub struct ScratchFile {
    file: File,
    folder: ScratchFolder,
    len: u64,
}

impl ScratchFile {
    pub fn create(folder: &ScratchFolder) -> Result<Self> {
        let path = folder.path();
        let file = fail_point(path, FailPoint::Create).and_then(|()| tempfile::tempfile_in(path));
        let file = file.map_err(without_path("create a temporary file in", path))?;
        Ok(ScratchFile { file, folder: folder.clone(), len: 0 })
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let path = self.folder.path();
        let written = fail_point(path, FailPoint::Write)
            .and_then(|()| io::Write::write_all(&mut self.file, bytes));
        written.map_err(IoError::of("write temporary data in", path))?;
        self.folder.spend(bytes.len());
        let added = bytes.len() as u64;
        self.len += added;
        let gauge = &self.folder.gauge;
        let held = gauge.held.fetch_add(added, Ordering::Relaxed) + added;
        gauge.most.fetch_max(held, Ordering::Relaxed);
        Ok(())
    }

    /// Reads from `offset` on until `buffer` is full.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        self.folder.spend(buffer.len());
        system::read_exact_at(&self.file, buffer, offset)
            .map_err(IoError::of("read temporary data in", self.folder.path()))
    }

    /// The error if bytes read from the file differ from the bytes written.
    pub fn damaged(&self) -> IoError {
        let source = io::Error::new(
            io::ErrorKind::InvalidData,
            "its checksum differs: it was \
                                                                 changed on the disk",
        );
        IoError { doing: "trust temporary data in", path: self.folder.path().into(), source }
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        self.folder.gauge.held.fetch_sub(self.len, Ordering::Relaxed);
    }
}

/// The number of bytes that a spool keeps in memory.
const SPOOL_LEN: usize = if cfg!(test) { 1 << 10 } else { 1 << 22 };

/// Bytes that are written out later, because the length of other bytes before them is not known
/// yet. More than `SPOOL_LEN` bytes are moved to a scratch file.
#[derive(Debug)]
pub struct Spool {
    folder: ScratchFolder,
    file: Option<ScratchFile>,
    tail: Vec<u8>,
}

impl Spool {
    pub fn new(folder: &ScratchFolder) -> Self {
        Spool { folder: folder.clone(), file: None, tail: Vec::new() }
    }

    pub fn len(&self) -> u64 {
        self.file.as_ref().map_or(0, ScratchFile::len) + self.tail.len() as u64
    }

    /// The bytes in memory, for appending; call [`Spool::spill_if_full`] afterwards.
    #[inline]
    pub fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.tail
    }

    /// Moves the bytes in memory to a scratch file if there are many. Call this after appending.
    #[inline]
    pub fn spill_if_full(&mut self) -> Result<()> {
        if self.tail.len() < SPOOL_LEN { Ok(()) } else { self.spill() }
    }

    #[cold]
    fn spill(&mut self) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(ScratchFile::create(&self.folder)?),
        };
        file.append(&self.tail)?;
        self.tail.clear();
        Ok(())
    }

    /// Passes all bytes to `each` in order, and leaves the spool empty.
    pub fn drain<E: From<IoError>>(
        &mut self,
        mut each: impl FnMut(&[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        if let Some(file) = self.file.take() {
            let mut buffer = vec![0; 1 << 20];
            let mut offset = 0;
            while offset < file.len() {
                let len =
                    buffer.len().min(usize::try_from(file.len() - offset).unwrap_or(usize::MAX));
                file.read_at(&mut buffer[..len], offset)?;
                each(&buffer[..len])?;
                offset += len as u64;
            }
        }
        each(&self.tail)?;
        self.tail.clear();
        Ok(())
    }
}
