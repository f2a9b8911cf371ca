//! Runs: sorted entries in a temporary file that can be read repeatedly, as a whole or within a
//! range of keys.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use crate::base::error::{Error, Result};
use crate::segment::budget::{MEMORY_MIN, WorkBudget};
use crate::writing::sort::block::{HEADER_LEN, RunBlock};
use fpstore_base::Resources;
use fpstore_disk::{ScratchFile, ScratchFolder};

/// Encoded blocks are appended to the file once they have this many bytes.
const WRITE_LEN: usize = 1 << 20;
/// The minimum memory of the entries between two [`Mark`]s, in bytes.
const MARK_WEIGHT: u64 = if cfg!(test) { 1 << 10 } else { 1 << 16 };

/// The memory, threads and directory that a sort may use.
#[derive(Clone, Debug)]
pub(crate) struct SortResources {
    /// The memory for the entries and for sorting them, in bytes.
    pub(crate) memory: u64,
    /// Threads that sort at the same time.
    pub(crate) threads: usize,
    /// The directory of temporary files.
    pub(crate) folder: ScratchFolder,
}

impl SortResources {
    /// The share of the given resources that sorting may use. Temporary files are created in
    /// `folder` unless `given` names another directory.
    pub(crate) fn of(given: &Resources, folder: impl FnOnce() -> PathBuf) -> Result<Self> {
        let folder = given.temp_dir.clone().unwrap_or_else(folder);
        std::fs::read_dir(&folder).map_err(Error::io("put temporary files into", &folder))?;
        let WorkBudget { memory, threads } = WorkBudget::of(given)?;
        Ok(SortResources { memory, threads, folder: ScratchFolder::new(folder) })
    }

    /// The same resources with the memory reduced by `held` bytes, but not below [`MEMORY_MIN`].
    pub(crate) fn beside(&self, held: u64) -> Self {
        let memory = self.memory.saturating_sub(held).max(MEMORY_MIN);
        SortResources { memory, ..self.clone() }
    }
}

/// A complete sorted run.
#[derive(Debug)]
pub(super) struct SortedRun {
    file: ScratchFile,
    pub(super) marks: Vec<Mark>,
}

/// A block of a run at which reading can begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// The first key of the block.
    pub(super) key: u64,
    offset: u64,
    /// Memory of the entries from this mark to the next one, in bytes.
    pub(super) weight: u64,
}

/// A run being written.
#[derive(Debug)]
pub(super) struct RunWriter {
    file: ScratchFile,
    pending: Vec<u8>,
    marks: Vec<Mark>,
}

impl RunWriter {
    pub(super) fn create(resources: &SortResources) -> Result<Self> {
        let file = ScratchFile::create(&resources.folder)?;
        Ok(RunWriter { file, pending: Vec::new(), marks: Vec::new() })
    }

    /// Appends a block. Its keys must not be smaller than the keys of the preceding blocks.
    pub(super) fn push(&mut self, block: &RunBlock) -> Result<()> {
        match self.marks.last_mut() {
            Some(mark) if mark.weight < MARK_WEIGHT => mark.weight += block.weight(),
            _ => {
                let key = block.keys.first().copied().unwrap_or(0);
                let offset = self.file.len() + self.pending.len() as u64;
                self.marks.push(Mark { key, offset, weight: block.weight() });
            }
        }
        block.encode(&mut self.pending);
        if self.pending.len() >= WRITE_LEN { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.file.append(&self.pending)?;
        self.pending.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<SortedRun> {
        self.flush()?;
        Ok(SortedRun { file: self.file, marks: self.marks })
    }
}

impl SortedRun {
    /// The length of the file in bytes.
    pub(super) fn file_len(&self) -> u64 {
        self.file.len()
    }

    /// A reader of all entries that reads `buffer_len` bytes, or one longer block, at a time.
    pub(super) fn reader(&self, buffer_len: usize) -> RunReader<'_> {
        self.reader_within(0..=u64::MAX, buffer_len)
    }

    /// Like [`SortedRun::reader`], but only for entries with keys in the given range.
    pub(super) fn reader_within(
        &self,
        keys: RangeInclusive<u64>,
        buffer_len: usize,
    ) -> RunReader<'_> {
        // Start at the last mark below the range: the blocks after it may contain the first keys of
        // the range.
        let below = self.marks.partition_point(|mark| mark.key < *keys.start());
        let offset = below.checked_sub(1).map_or(0, |before| self.marks[before].offset);
        RunReader { run: self, keys, offset, buffer: Vec::new(), at: 0, buffer_len }
    }
}

/// Reads the blocks of a run.
#[derive(Debug)]
pub(super) struct RunReader<'a> {
    run: &'a SortedRun,
    keys: RangeInclusive<u64>,
    /// The file offset at which the buffer ends.
    offset: u64,
    buffer: Vec<u8>,
    at: usize,
    buffer_len: usize,
}

impl RunReader<'_> {
    /// Replaces `block` by the next entries. Returns `false` after the last entry.
    pub(super) fn next_block(&mut self, block: &mut RunBlock) -> Result<bool> {
        while self.decode_next(block)? {
            let start = block.keys.partition_point(|key| key < self.keys.start());
            let end = block.keys.partition_point(|key| key <= self.keys.end());
            if end == 0 {
                return Ok(false);
            }
            if start < end {
                block.keep(start..end);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn decode_next(&mut self, block: &mut RunBlock) -> Result<bool> {
        if self.at == self.buffer.len() && self.offset == self.run.file.len() {
            return Ok(false);
        }
        self.fill(HEADER_LEN)?;
        let len = RunBlock::encoded_len(&self.buffer[self.at..]);
        let len = len.ok_or_else(|| self.run.file.damaged())?;
        self.fill(len)?;
        let bytes = &self.buffer[self.at..self.at + len];
        block.decode(bytes).ok_or_else(|| self.run.file.damaged())?;
        self.at += len;
        Ok(true)
    }

    /// Reads until the buffer contains at least `len` bytes after the current position.
    fn fill(&mut self, len: usize) -> Result<()> {
        let held = self.buffer.len() - self.at;
        if held >= len {
            return Ok(());
        }
        let left = self.run.file.len() - self.offset;
        if (len - held) as u64 > left {
            return Err(self.run.file.damaged().into());
        }
        let wanted =
            self.buffer_len.max(len - held).min(usize::try_from(left).unwrap_or(usize::MAX));
        self.buffer.drain(..self.at);
        self.at = 0;
        self.buffer.resize(held + wanted, 0);
        self.run.file.read_at(&mut self.buffer[held..], self.offset)?;
        self.offset += wanted as u64;
        Ok(())
    }
}
