//! A limit for the length of a document, so that no input can fill the memory.

use std::fmt;
use std::io::{self, Read};

/// The default limit for the length of a document in bytes. The longest books have 10 MB of text;
/// machine-made texts can be longer.
pub(super) const DOCUMENT_LEN_MAX: u64 = 64 << 20;

/// The error for a document or record that is longer than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong {
    pub(super) len_max: u64,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = self.len_max;
        write!(f, "longer than the ")?;
        match len {
            _ if len >= 1 << 20 && len.is_multiple_of(1 << 20) => write!(f, "{} MiB", len >> 20)?,
            _ if len >= 1 << 10 && len.is_multiple_of(1 << 10) => write!(f, "{} KiB", len >> 10)?,
            _ => write!(f, "{len} bytes")?,
        }
        f.write_str(" that a document may have; to allow more, raise --max-document")
    }
}

impl std::error::Error for TooLong {}

/// A reader that fails with [`TooLong`] when the limit is exceeded.
pub(super) struct Capped<R> {
    reader: R,
    len_max: u64,
    left: u64,
}

impl<R: Read> Capped<R> {
    pub(super) fn new(reader: R, len_max: u64) -> Self {
        Capped { reader, len_max, left: len_max }
    }
}

impl<R: Read> Read for Capped<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.reader.read(buffer)?;
        match self.left.checked_sub(len as u64) {
            Some(left) => self.left = left,
            None => return Err(io::Error::other(TooLong { len_max: self.len_max })),
        }
        Ok(len)
    }
}

/// The error of [`Capped`] in an I/O error; `None` for any other error.
pub(super) fn too_long(fault: &io::Error) -> Option<TooLong> {
    fault.get_ref()?.downcast_ref().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_itself_is_allowed() {
        let read = |len_max| {
            let mut bytes = Vec::new();
            Capped::new(&[7; 100][..], len_max).read_to_end(&mut bytes).map(|_| bytes.len())
        };
        assert_eq!(read(100).unwrap(), 100);
        let fault = read(99).unwrap_err();
        assert!(too_long(&fault).unwrap().to_string().starts_with("longer than the 99 bytes"));
        assert!(TooLong { len_max: 64 << 20 }.to_string().contains("the 64 MiB that"));
    }
}
