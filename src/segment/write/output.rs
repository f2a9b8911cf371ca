//! The file that a segment is written to.

use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;

use crate::base::error::{Error, Result};

/// A file with a name for messages.
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
