//! Writes one section, and computes the checksums of its pages.

use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;

use crate::base::error::{Error, Result};
use crate::base::section::Section;
use crate::bytes::checksum::PAGE_LEN;
use crate::format::directory::{SectionPlace, page_checksum};

/// The file of a segment, with its path for messages.
pub(super) struct Output<W> {
    pub(super) file: W,
    pub(super) path: PathBuf,
}

impl<W: Write + Seek> Output<W> {
    pub(super) fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let done = self.file.seek(SeekFrom::Start(offset)).and_then(|_| self.file.write_all(bytes));
        done.map_err(Error::io("write", &self.path))
    }
}

/// Each write ends at a multiple of this many bytes in the file. Some systems cache bytes written
/// together in one large page and map it as one, so that a probe rarely waits for an address
/// translation (which took a tenth of the time of a query of ten million fingerprints).
const SPILL_LEN: u64 = 2 << 20;

pub(super) struct SectionWriter {
    section: Section,
    pub(super) offset: u64,
    written_len: u64,
    /// Bytes that are not written yet.
    pub(super) pending: Vec<u8>,
    checksums: Vec<u8>,
}

impl SectionWriter {
    pub(super) fn new(section: Section, offset: u64) -> Self {
        let (pending, checksums) = (Vec::new(), Vec::new());
        SectionWriter { section, offset, written_len: 0, pending, checksums }
    }

    /// The offset of the next section if this section takes `len` bytes.
    pub(super) fn offset_after(&self, len: u64) -> u64 {
        self.offset + len.next_multiple_of(PAGE_LEN as u64)
    }

    /// The number of bytes of the section so far.
    pub(super) fn len(&self) -> u64 {
        self.written_len + self.pending.len() as u64
    }

    /// Writes whole pages if enough bytes are pending.
    #[inline]
    pub(super) fn spill(&mut self, out: &mut Output<impl Write + Seek>) -> Result<()> {
        if self.pending.len() as u64 >= SPILL_LEN {
            let start = self.offset + self.written_len;
            let end = (start + self.pending.len() as u64) / SPILL_LEN * SPILL_LEN;
            // The range has `SPILL_LEN` or more bytes, so it contains a multiple of `SPILL_LEN`.
            self.write_pages((end - start) as usize, out)?;
        }
        Ok(())
    }

    fn write_pages(&mut self, len: usize, out: &mut Output<impl Write + Seek>) -> Result<()> {
        let (pages, _) = self.pending[..len].as_chunks::<PAGE_LEN>();
        for (number, page) in (self.written_len / PAGE_LEN as u64..).zip(pages) {
            let checksum = page_checksum(self.section, number, page);
            self.checksums.extend(checksum.to_le_bytes());
        }
        out.write_at(self.offset + self.written_len, &self.pending[..len])?;
        self.pending.drain(..len);
        self.written_len += len as u64;
        Ok(())
    }

    /// Writes the pending bytes, padded with zeros. The checksums section itself gets no checksums.
    pub(super) fn finish(
        mut self,
        out: &mut Output<impl Write + Seek>,
    ) -> Result<(SectionPlace, Vec<u8>)> {
        let len = self.len();
        self.pending.resize(self.pending.len().next_multiple_of(PAGE_LEN), 0);
        self.write_pages(self.pending.len(), out)?;
        let place = SectionPlace { section: self.section, offset: self.offset, len };
        let own = if self.section == Section::Checksums { Vec::new() } else { self.checksums };
        Ok((place, own))
    }
}
