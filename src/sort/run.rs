//! Runs: sorted entries in a temporary file, read from front to back as often as needed.

use crate::disk::ScratchFile;
use crate::error::Result;
use crate::sort::Resources;
use crate::sort::block::{Block, HEADER_LEN};

/// Encoded blocks are handed to the file once so many bytes wait.
const WRITE_LEN: usize = 1 << 20;

/// A sorted run that is written.
#[derive(Debug)]
pub(super) struct Run {
    file: ScratchFile,
}

/// A run being written.
#[derive(Debug)]
pub(super) struct RunWriter {
    file: ScratchFile,
    pending: Vec<u8>,
}

impl RunWriter {
    pub(super) fn create(resources: &Resources) -> Result<Self> {
        Ok(RunWriter { file: ScratchFile::create(&resources.folder)?, pending: Vec::new() })
    }

    /// Appends a block, whose keys are not below those before.
    pub(super) fn push(&mut self, block: &Block) -> Result<()> {
        block.encode(&mut self.pending);
        if self.pending.len() >= WRITE_LEN { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.file.append(&self.pending)?;
        self.pending.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Run> {
        self.flush()?;
        Ok(Run { file: self.file })
    }
}

impl Run {
    /// The bytes that the run takes on the disk.
    pub(super) fn file_len(&self) -> u64 {
        self.file.len()
    }

    /// Reads the run from its start, `buffer_len` bytes at a time or a little more.
    pub(super) fn reader(&self, buffer_len: usize) -> RunReader<'_> {
        RunReader { run: self, offset: 0, buffer: Vec::new(), at: 0, buffer_len }
    }
}

/// Reads the blocks of a run.
#[derive(Debug)]
pub(super) struct RunReader<'a> {
    run: &'a Run,
    /// Where in the file the buffer ends.
    offset: u64,
    buffer: Vec<u8>,
    at: usize,
    buffer_len: usize,
}

impl RunReader<'_> {
    /// Puts the next block in the place of `block`, and says whether there was one.
    pub(super) fn next_block(&mut self, block: &mut Block) -> Result<bool> {
        if self.at == self.buffer.len() && self.offset == self.run.file.len() {
            return Ok(false);
        }
        self.have(HEADER_LEN)?;
        let len = Block::encoded_len(&self.buffer[self.at..]);
        let len = len.ok_or_else(|| self.run.file.damaged())?;
        self.have(len)?;
        let bytes = &self.buffer[self.at..self.at + len];
        block.decode(bytes).ok_or_else(|| self.run.file.damaged())?;
        self.at += len;
        Ok(true)
    }

    /// Sees to it that the buffer holds `len` bytes more.
    fn have(&mut self, len: usize) -> Result<()> {
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
