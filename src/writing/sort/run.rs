//! Runs: sorted entries in a temporary file, which can be read from the front any number of times.

use crate::base::error::Result;
use crate::disk::ScratchFile;
use crate::writing::sort::SortResources;
use crate::writing::sort::block::{HEADER_LEN, RunBlock};

/// Encoded blocks are appended to the file once they have this many bytes.
const WRITE_LEN: usize = 1 << 20;

/// A sorted run, complete.
#[derive(Debug)]
pub(super) struct SortedRun {
    file: ScratchFile,
}

/// A run being written.
#[derive(Debug)]
pub(super) struct RunWriter {
    file: ScratchFile,
    pending: Vec<u8>,
}

impl RunWriter {
    pub(super) fn create(resources: &SortResources) -> Result<Self> {
        Ok(RunWriter { file: ScratchFile::create(&resources.folder)?, pending: Vec::new() })
    }

    /// Appends a block, whose keys are not below those before.
    pub(super) fn push(&mut self, block: &RunBlock) -> Result<()> {
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
        Ok(SortedRun { file: self.file })
    }
}

impl SortedRun {
    /// The bytes of the run on disk.
    pub(super) fn file_len(&self) -> u64 {
        self.file.len()
    }

    /// A reader from the start that reads `buffer_len` bytes at a time, or one block.
    pub(super) fn reader(&self, buffer_len: usize) -> RunReader<'_> {
        RunReader { run: self, offset: 0, buffer: Vec::new(), at: 0, buffer_len }
    }
}

/// Reads the blocks of a run.
#[derive(Debug)]
pub(super) struct RunReader<'a> {
    run: &'a SortedRun,
    /// The offset in the file at which the buffer ends.
    offset: u64,
    buffer: Vec<u8>,
    at: usize,
    buffer_len: usize,
}

impl RunReader<'_> {
    /// Replaces `block` by the next block. Returns `false` after the last one.
    pub(super) fn next_block(&mut self, block: &mut RunBlock) -> Result<bool> {
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

    /// Reads until the buffer holds at least `len` bytes after the current position.
    fn fill(&mut self, len: usize) -> Result<()> {
        let held = self.buffer.len() - self.at;
        if held >= len {
            return Ok(());
        }
        let left = self.run.file.len() - self.offset;
        if (len - held) as u64 > left {
            return Err(self.run.file.damaged());
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
