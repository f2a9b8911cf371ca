//! What writers ask of the file system, in one place, so that tests can make each step fail.

#[cfg(test)]
pub(crate) mod faults;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::watch::Throttle;

/// Stands before every write, sync, rename and removal at `path`. Does nothing, except that
/// tests can have it fail or end the process.
#[inline]
pub(crate) fn step(path: &Path, step: Step) -> io::Result<()> {
    #[cfg(test)]
    faults::at(path, step)?;
    let _ = (path, step);
    Ok(())
}

/// Stands before every lock on a file. Does nothing, except that tests can have it fail, as where there are no locks.
#[inline]
pub(crate) fn may_lock(path: &Path) -> io::Result<()> {
    #[cfg(test)]
    faults::lock_at(path)?;
    let _ = path;
    Ok(())
}

/// Something that can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Create,
    Lock,
    Write,
    Protect,
    Sync,
    Rename,
    Remove,
    SyncDirectory,
}

/// Where temporary data go, and how many bytes of them there are.
#[derive(Clone, Debug)]
pub(crate) struct ScratchFolder {
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
    pub(crate) fn new(path: PathBuf) -> Self {
        ScratchFolder { path, gauge: Arc::default(), throttle: None }
    }

    /// The same, of which files are written and read no faster than this allows.
    pub(crate) fn throttled(&self, throttle: Option<Throttle>) -> Self {
        ScratchFolder { throttle, ..self.clone() }
    }

    fn spend(&self, bytes: usize) {
        if let Some(throttle) = &self.throttle {
            throttle.spend(bytes as u64);
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The most bytes that temporary files held at a time.
    pub(crate) fn most_held(&self) -> u64 {
        self.gauge.most.load(Ordering::Relaxed)
    }
}

/// A file without a name, for data that need not outlive the process: the system takes it
/// back however the process ends.
#[derive(Debug)]
pub(crate) struct ScratchFile {
    file: File,
    folder: ScratchFolder,
    len: u64,
}

impl ScratchFile {
    pub(crate) fn create(folder: &ScratchFolder) -> Result<Self> {
        let path = folder.path();
        let file = step(path, Step::Create).and_then(|()| tempfile::tempfile_in(path));
        let file = file.map_err(without_path("create a temporary file in", path))?;
        Ok(ScratchFile { file, folder: folder.clone(), len: 0 })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let path = self.folder.path();
        let written =
            step(path, Step::Write).and_then(|()| io::Write::write_all(&mut self.file, bytes));
        written.map_err(Error::io("write temporary data in", path))?;
        self.folder.spend(bytes.len());
        let added = bytes.len() as u64;
        self.len += added;
        let gauge = &self.folder.gauge;
        let held = gauge.held.fetch_add(added, Ordering::Relaxed) + added;
        gauge.most.fetch_max(held, Ordering::Relaxed);
        Ok(())
    }

    /// Fills `buffer` from `offset` on.
    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        self.folder.spend(buffer.len());
        read_exact_at(&self.file, buffer, offset)
            .map_err(Error::io("read temporary data in", self.folder.path()))
    }

    /// The error for data that did not come back as they were written.
    pub(crate) fn damaged(&self) -> Error {
        let source = io::Error::new(io::ErrorKind::InvalidData, "it was changed on the disk");
        Error::Io { doing: "trust temporary data in", path: self.folder.path().into(), source }
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        self.folder.gauge.held.fetch_sub(self.len, Ordering::Relaxed);
    }
}

/// Bytes of a spool that stay in memory.
const SPOOL_LEN: usize = if cfg!(test) { 1 << 10 } else { 1 << 22 };

/// Bytes put aside until it is known what comes before them; many of them go to a file.
#[derive(Debug)]
pub(crate) struct Spool {
    folder: ScratchFolder,
    file: Option<ScratchFile>,
    tail: Vec<u8>,
}

impl Spool {
    pub(crate) fn new(folder: &ScratchFolder) -> Self {
        Spool { folder: folder.clone(), file: None, tail: Vec::new() }
    }

    pub(crate) fn len(&self) -> u64 {
        self.file.as_ref().map_or(0, ScratchFile::len) + self.tail.len() as u64
    }

    /// Where to append bytes; see [`Spool::settle`].
    #[inline]
    pub(crate) fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.tail
    }

    /// To be called now and then: moves what has become much to a file.
    #[inline]
    pub(crate) fn settle(&mut self) -> Result<()> {
        if self.tail.len() < SPOOL_LEN { Ok(()) } else { self.move_to_file() }
    }

    #[cold]
    fn move_to_file(&mut self) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(ScratchFile::create(&self.folder)?),
        };
        file.append(&self.tail)?;
        self.tail.clear();
        Ok(())
    }

    /// Hands all bytes to `each`, in order, and is empty then.
    pub(crate) fn drain(&mut self, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
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

/// An error without the path that the library of temporary files adds to it.
pub(crate) fn bare(failed: io::Error) -> io::Error {
    match failed.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => match failed.get_ref().and_then(|inner| inner.downcast_ref::<io::Error>()) {
            Some(inner) => inner.kind().into(),
            None => failed.kind().into(),
        },
    }
}

/// Temporary names are for their owner alone unless told otherwise; what is renamed to its
/// final name should be as open as the user's file mode mask lets new files be.
pub(crate) fn with_usual_mode<'a, 'b>(
    builder: &'a mut tempfile::Builder<'b, 'b>,
    mode: u32,
) -> &'a mut tempfile::Builder<'b, 'b> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(mode))
    }
    #[cfg(not(unix))]
    {
        let _ = mode;
        builder
    }
}

/// The names of temporary files are no help to anyone; the folder is.
pub(crate) fn without_path(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_path_buf();
    move |failed| Error::Io { doing, path, source: bare(failed) }
}

#[cfg(unix)]
fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            len => {
                buffer = &mut buffer[len..];
                offset += len as u64;
            }
        }
    }
    Ok(())
}
