//! Reading an input in chunks of whole records.

use std::io::{self, Read};
use std::sync::Arc;

use super::InputOptions;
use super::layout::{Chunk, LINE_LEN_MAX};
use fpstore_base::lines::LineForm;

/// The maximum number of bytes of one read.
const READ_LEN: usize = 1 << 20;

/// Reads an input in chunks of whole records.
///
/// A chunk is complete as soon as one read contains the end of a record, so that records typed or
/// piped one by one are processed at once. For the first chunk, more lines are read if they are
/// needed to identify the columns.
pub(super) struct ChunkReader {
    reader: Box<dyn Read + Send>,
    options: InputOptions,
    /// The start of a record whose end has not been read yet.
    partial: Vec<u8>,
    /// The total length of all chunks so far and of all skipped lines, in bytes.
    offset: u64,
    ended: bool,
    /// The form of the lines; `None` until enough lines were read to decide it.
    form: Option<Arc<LineForm>>,
}

impl ChunkReader {
    pub(super) fn new(reader: Box<dyn Read + Send>, options: &InputOptions) -> Self {
        let options = *options;
        ChunkReader { reader, options, partial: Vec::new(), offset: 0, ended: false, form: None }
    }

    /// The next chunk; `None` at the end of the input.
    pub(super) fn next(&mut self) -> io::Result<Option<Chunk>> {
        let mut bytes = std::mem::take(&mut self.partial);
        let mut searched_len = bytes.len();
        if self.form.is_none() {
            self.decide(&mut bytes)?;
            searched_len = 0;
        }
        loop {
            let whole_len =
                if self.ended { bytes.len() } else { self.options.whole_len(&bytes, searched_len) };
            if whole_len > 0 {
                self.partial = bytes.split_off(whole_len);
                return Ok(Some(self.chunk(bytes, false)));
            }
            if self.ended {
                return Ok(None);
            }
            if bytes.len() > LINE_LEN_MAX {
                self.skip_line(&mut bytes)?;
                return Ok(Some(self.chunk(Vec::new(), true)));
            }
            searched_len = bytes.len();
            self.read_more(&mut bytes)?;
        }
    }

    /// Reads enough of the input to decide the form of its lines.
    fn decide(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        loop {
            let is_whole = self.ended || bytes.len() > LINE_LEN_MAX;
            if let Some(form) = self.options.line_form(bytes, is_whole) {
                self.form = Some(Arc::new(form));
                return Ok(());
            }
            self.read_more(bytes)?;
        }
    }

    fn chunk(&mut self, bytes: Vec<u8>, is_long_line: bool) -> Chunk {
        let offset = self.offset;
        self.offset += bytes.len() as u64;
        let form = self.form.clone().unwrap_or_default();
        Chunk { bytes, offset, end: self.offset, is_long_line, form }
    }

    /// Reads once. A read of no bytes is the end of the input.
    fn read_more(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let held = bytes.len();
        bytes.resize(held + READ_LEN, 0);
        let len = loop {
            match self.reader.read(&mut bytes[held..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        bytes.truncate(held + len);
        self.ended = len == 0;
        Ok(())
    }

    /// Skips the rest of a line. Saves the bytes after it for the next chunk.
    fn skip_line(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        loop {
            self.offset += bytes.len() as u64;
            bytes.clear();
            self.read_more(bytes)?;
            if let Some(at) = memchr::memchr(b'\n', bytes) {
                self.offset += at as u64 + 1;
                self.partial = bytes.split_off(at + 1);
                return Ok(());
            }
            if self.ended {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that yields a few bytes at a time.
    struct Drip(Vec<u8>, usize);

    impl Read for Drip {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = self.1.min(self.0.len()).min(buffer.len());
            buffer[..len].copy_from_slice(&self.0[..len]);
            self.0.drain(..len);
            Ok(len)
        }
    }

    #[test]
    fn chunks_hold_whole_records_however_they_arrive() {
        let lines = b"1\n22\n\n333\n4444".to_vec();
        for step in 1..=lines.len() {
            let reader = Box::new(Drip(lines.clone(), step));
            let mut chunks = ChunkReader::new(reader, &InputOptions::default());
            let mut all = Vec::new();
            while let Some(chunk) = chunks.next().unwrap() {
                assert_eq!(chunk.offset, all.len() as u64);
                all.extend_from_slice(&chunk.bytes);
                assert!(chunk.bytes.ends_with(b"\n") || all == lines, "step {step}");
            }
            assert_eq!(all, lines);
        }
    }

    #[test]
    fn a_long_line_is_skipped_whole() {
        let long = vec![b'x'; 3 * LINE_LEN_MAX];
        let input = [b"1\n".as_slice(), &long, b"\n2\n"].concat();
        for step in [1000, 70_000, LINE_LEN_MAX, 10 * LINE_LEN_MAX] {
            let reader = Box::new(Drip(input.clone(), step));
            let mut chunks = ChunkReader::new(reader, &InputOptions::default());
            let mut seen = Vec::new();
            while let Some(chunk) = chunks.next().unwrap() {
                let long = chunk.is_long_line || chunk.bytes.len() > LINE_LEN_MAX;
                seen.extend(if long { b"L".to_vec() } else { chunk.bytes });
            }
            assert!(seen == b"1\nL2\n" || seen == b"L", "{seen:?}");
        }
    }
}
