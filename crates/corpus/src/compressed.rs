//! A writer that compresses a copy like its original.

use std::io::{self, Write};

use fpstore_base::source::{Compression, Encoder};

/// The writer of a copy. Keeps a failed write in `failed`, to distinguish it from read errors of
/// the original.
pub(super) struct Compressed<W: Write> {
    compression: Option<Compression>,
    /// Whether a flush ends a member of the compressed file.
    has_members: bool,
    /// The encoder of the current member; between members, only the uncompressed writer `between`
    /// is present.
    encoder: Option<Encoder<W>>,
    between: Option<W>,
    /// Whether no member has begun yet.
    is_empty: bool,
    pub(super) failed: Option<io::Error>,
}

impl<W: Write> Compressed<W> {
    pub(super) fn new(
        compression: Option<Compression>,
        has_members: bool,
        to: W,
    ) -> io::Result<Self> {
        let (encoder, between) = match has_members {
            true => (None, Some(to)),
            false => (Some(Encoder::new(compression, to)?), None),
        };
        Ok(Compressed { compression, has_members, encoder, between, is_empty: true, failed: None })
    }

    fn encoder(&mut self) -> io::Result<&mut Encoder<W>> {
        self.is_empty = false;
        if let Some(to) = self.between.take() {
            self.encoder = Some(Encoder::new(self.compression, to)?);
        }
        self.encoder.as_mut().ok_or_else(|| io::Error::other("writing it failed before"))
    }

    fn end_member(&mut self) -> io::Result<()> {
        if let Some(encoder) = self.encoder.take() {
            self.between = Some(encoder.finish()?);
        }
        Ok(())
    }

    /// Ends the compression and returns the underlying writer. A file without records gets an empty
    /// member, because zero bytes are no valid compressed file.
    pub(super) fn finish(mut self) -> io::Result<W> {
        if self.is_empty {
            self.encoder()?;
        }
        self.end_member()?;
        self.between.ok_or_else(|| io::Error::other("writing it failed before"))
    }

    fn note<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        done.map_err(|error| {
            let kind = error.kind();
            self.failed = Some(error);
            kind.into()
        })
    }
}

impl<W: Write> Write for Compressed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.encoder().and_then(|encoder| encoder.write(bytes));
        self.note(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = match self.has_members {
            true => self.end_member(),
            false => self.encoder().and_then(Encoder::flush),
        };
        self.note(done)
    }
}
