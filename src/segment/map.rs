//! Mapping a segment file into memory: the one place that needs `unsafe`.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use memmap2::Mmap;

use crate::checksum::PAGE_LEN;
use crate::error::{Error, Fault, Result};
use crate::format::directory::SectionPlace;
use crate::section::Section;
use crate::segment::{Segment, Table};

/// How many segments of a process are held at a time; past that, they are only mapped. A process may not have
/// any number of open files.
const HELD_MAX: usize = 256;

/// The segments that this process holds.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// A segment in a memory map.
pub(crate) type Mapped = Segment<HeldMap>;

/// The bytes of a file in a memory map, and a shared lock on it where the system has such: a writer that sees it
/// leaves the file where it is, though no manifest names it any more.
#[derive(Debug)]
pub(crate) struct HeldMap {
    map: Mmap,
    held: Option<File>,
}

impl HeldMap {
    fn new(map: Mmap, file: File, path: &Path) -> Self {
        // A file that is not locked is as sound where files stay as long as they are mapped, which is everywhere
        // but on network file systems.
        let may_hold = HELD.fetch_add(1, Ordering::Relaxed) < HELD_MAX;
        #[cfg(all(test, feature = "build"))]
        let may_hold = may_hold && crate::disk::may_lock(path).is_ok();
        let _ = path;
        let held = (may_hold && file.try_lock_shared().is_ok()).then_some(file);
        if held.is_none() {
            HELD.fetch_sub(1, Ordering::Relaxed);
        }
        HeldMap { map, held }
    }

    #[cfg(unix)]
    fn map(&self) -> &Mmap {
        &self.map
    }
}

impl AsRef<[u8]> for HeldMap {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        &self.map
    }
}

impl Drop for HeldMap {
    fn drop(&mut self) {
        if let Some(file) = &self.held {
            // Closing would do, were there no copy of the file in a process that another thread is just starting.
            let _ = file.unlock();
            HELD.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Mapped {
    /// Tells the system that a table is about to be read from first to last, so that it reads
    /// ahead.
    pub(crate) fn expect_pass(&self, table: &Table) {
        #[cfg(unix)]
        self.advise_table(table, memmap2::Advice::Sequential);
        #[cfg(not(unix))]
        let _ = table;
    }

    /// Tells the system that single pages of a table will be read again.
    pub(crate) fn expect_probes(&self, table: &Table) {
        #[cfg(unix)]
        self.advise_table(table, memmap2::Advice::Random);
        #[cfg(not(unix))]
        let _ = table;
    }

    #[cfg(unix)]
    fn advise_table(&self, table: &Table, advice: memmap2::Advice) {
        for place in [&table.lines, &table.tails, &table.heads, &table.wide_lines] {
            self.advise(place, advice);
        }
    }

    #[cfg(unix)]
    fn advise(&self, place: &SectionPlace, advice: memmap2::Advice) {
        let (offset, len) = (place.offset as usize, place.len as usize);
        // It is advice: where it is refused, reading only takes longer.
        let _ = self.data().map().advise_range(advice, offset, len);
    }

    /// Asks the system for the pages of some bytes that will soon be read, unless they were checked
    /// before: those are in memory, or were.
    pub(crate) fn announce(&self, place: &SectionPlace, offset: u64, len: u64) {
        let start = place.offset.saturating_add(offset);
        let last = start.saturating_add(len.saturating_sub(1)) / PAGE_LEN as u64;
        let first = start / PAGE_LEN as u64;
        let known =
            self.checked().contains(first as usize) && self.checked().contains(last as usize);
        if known || last >= self.header().file_len / PAGE_LEN as u64 {
            return;
        }
        #[cfg(unix)]
        let _ = self.data().map().advise_range(
            memmap2::Advice::WillNeed,
            first as usize * PAGE_LEN,
            (last - first + 1) as usize * PAGE_LEN,
        );
    }

    /// Tells the system that a section is about to be read from first to last, and to stay in memory: in
    /// large pages, where it has such for files.
    pub(crate) fn expect_to_keep(&self, place: &SectionPlace) {
        #[cfg(unix)]
        {
            // Linux then reads 2 MiB at a time into one page, on file systems that can do so; asked to read ahead by
            // `WillNeed`, it would take small pages. Queries of 10^7 fingerprints take a fifth less in large ones.
            #[cfg(target_os = "linux")]
            self.advise(place, memmap2::Advice::HugePage);
            #[cfg(not(target_os = "linux"))]
            self.advise(place, memmap2::Advice::WillNeed);
            self.advise(place, memmap2::Advice::Sequential);
        }
        #[cfg(not(unix))]
        let _ = place;
    }

    /// Tells the system that single pages of a section will be read again.
    pub(crate) fn expect_queries(&self, place: &SectionPlace) {
        #[cfg(unix)]
        self.advise(place, memmap2::Advice::Random);
        #[cfg(not(unix))]
        let _ = place;
    }
}

/// Maps the segment at `path` and checks its header and recipe.
///
/// # Soundness
///
/// A mapping is sound only while nobody shortens or rewrites the file. Stores keep that by
/// protocol: a segment is written under a name never used before, made read-only, and never
/// touched again. A program that breaks the protocol gets an error or SIGBUS, see README.
#[expect(unsafe_code, reason = "no platform offers a safe file mapping")]
pub(crate) fn map(path: &Path) -> Result<Mapped> {
    // Opening a pipe or a device could wait for ever.
    let metadata = std::fs::metadata(path).map_err(Error::io("open", path))?;
    if !metadata.is_file() {
        let fault = Fault::rule(23, "it is not a plain file");
        let (path, section) = (path.to_path_buf(), Section::Header);
        return Err(Error::Corrupt { path, section, offset: 0, fault });
    }
    let file = File::open(path).map_err(Error::io("open", path))?;
    let len = metadata.len();
    if len < PAGE_LEN as u64 {
        // No system maps nothing, and a message about that would help no one.
        let fault = Fault::Truncated { needed: PAGE_LEN as u64, found: len };
        let (path, section) = (path.to_path_buf(), Section::Header);
        return Err(Error::Corrupt { path, section, offset: 0, fault });
    }
    // SAFETY: `Mmap::map` asks that the file keep its length and bytes while mapped; the
    // store protocol above promises both. Nothing else rests on it: `from_bytes` takes the
    // bytes as hostile, so a wrong file is an error and never undefined behaviour.
    let bytes = unsafe { Mmap::map(&file) }.map_err(Error::io("map", path))?;
    // A query touches single pages all over the file; reading ahead around each would read
    // a hundred pages for one. It is advice: where it is refused, queries only get slower.
    #[cfg(unix)]
    let _ = bytes.advise(memmap2::Advice::Random);
    Segment::from_bytes(HeldMap::new(bytes, file, path), path)
}
