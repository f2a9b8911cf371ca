//! The bytes of a segment file, mapped or read into memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use memmap2::{Mmap, MmapMut};

use crate::base::error::{Error, Fault, IoError, Result};
use crate::base::section::Section;

/// The maximum number of locks that the segments of a process hold together. Further segments are
/// mapped without a lock, because the number of open files of a process is limited.
const HELD_MAX: usize = 256;

/// The number of locks that segments of this process hold now.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// The bytes of a segment file: in a memory map, with a shared lock on the file if the system has
/// such locks, or in memory of this process. The lock tells writers to leave the file in place even
/// when no manifest lists it any more.
#[derive(Debug)]
pub(super) struct SegmentBytes {
    /// The memory map of the file, or anonymous memory with its contents.
    map: Mmap,
    held: Option<File>,
    is_read: bool,
}

impl SegmentBytes {
    /// Maps a file.
    ///
    /// # Soundness
    ///
    /// A mapping is sound only while no program shortens or rewrites the file. Stores ensure this
    /// by protocol: a segment is written under a new name, made read-only, and never changed. If a
    /// program breaks the protocol, readers get an error or SIGBUS, see docs/operations.md.
    #[expect(unsafe_code, reason = "no platform offers a safe file mapping")]
    pub(super) fn map(file: File, path: &Path) -> Result<Self> {
        // SAFETY: `Mmap::map` requires that the file keep its length and bytes while mapped, which
        // the protocol above ensures. `Segment::from_bytes` takes the bytes as hostile, so a wrong
        // file causes an error and never undefined behaviour.
        let map = unsafe { Mmap::map(&file) }.map_err(Error::io("map", path))?;
        // A query reads single pages all over the file, and readahead would read a hundred pages
        // for each. If the system rejects the advice, queries only get slower.
        #[cfg(unix)]
        let _ = map.advise(memmap2::Advice::Random);
        Ok(SegmentBytes::holding(map, file, path))
    }

    /// Reads a whole file of `len` bytes into memory.
    pub(super) fn read(mut file: File, len: u64, path: &Path) -> Result<Self> {
        let take = || MmapMut::map_anon(usize::try_from(len).unwrap_or(usize::MAX));
        let mut map = take().map_err(Error::io("take memory for", path))?;
        // Huge pages make queries a fifth faster. The advice must come before the first write to
        // the memory.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        if let Err(source) = file.read_exact(&mut map) {
            if source.kind() == io::ErrorKind::UnexpectedEof {
                let found = file.metadata().map_or(0, |metadata| metadata.len());
                return Err(truncated(path, len, found));
            }
            return Err(Error::Io(IoError { doing: "read", path: path.into(), source }));
        }
        let map = map.make_read_only().map_err(Error::io("protect the memory of", path))?;
        Ok(SegmentBytes { map, held: None, is_read: true })
    }

    fn holding(map: Mmap, file: File, path: &Path) -> Self {
        // Without a lock, reading is equally safe wherever files persist while they are mapped:
        // everywhere except on network file systems.
        let may_hold = HELD.fetch_add(1, Ordering::Relaxed) < HELD_MAX;
        #[cfg(test)]
        let may_hold = may_hold && fpstore_disk::lock_fail_point(path).is_ok();
        let _ = path;
        let held = (may_hold && file.try_lock_shared().is_ok()).then_some(file);
        if held.is_none() {
            HELD.fetch_sub(1, Ordering::Relaxed);
        }
        SegmentBytes { map, held, is_read: false }
    }

    #[inline(always)]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.map
    }

    pub(super) fn is_read(&self) -> bool {
        self.is_read
    }

    /// Advises the system on a range of bytes. If the system rejects the advice, reading only gets
    /// slower.
    #[cfg(unix)]
    pub(super) fn advise(&self, advice: memmap2::Advice, offset: usize, len: usize) {
        let _ = self.map.advise_range(advice, offset, len);
    }
}

impl Drop for SegmentBytes {
    fn drop(&mut self) {
        if let Some(file) = &self.held {
            // Closing the file may keep the lock: a process that another thread has just started
            // may have a copy of the open file.
            let _ = file.unlock();
            HELD.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

pub(super) fn truncated(path: &Path, needed: u64, found: u64) -> Error {
    Error::corrupt(path, Section::Header, 0, Fault::Truncated { needed, found })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that another thread starts has copies of all open files for a moment, or for its
    /// whole lifetime. `try_clone` makes such a copy.
    #[test]
    fn a_copy_in_another_process_does_not_hold_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("segment.fps");
        std::fs::write(&path, [0; 4096]).unwrap();
        let bytes = SegmentBytes::map(File::open(&path).unwrap(), &path).unwrap();
        let is_held = || File::open(&path).unwrap().try_lock().is_err();
        let copy = bytes.held.as_ref().unwrap().try_clone().unwrap();
        assert!(is_held());
        drop(bytes);
        assert!(!is_held());
        drop(copy);
    }
}
