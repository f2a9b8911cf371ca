//! A writer and a reader that compute the digest of their bytes.

use std::io::{self, BufRead, Read, Write};

use super::digest::{Digest, Digester};

/// Passes bytes to another writer, and computes their length and their digest.
#[derive(Debug)]
pub struct DigestWriter<W> {
    to: W,
    digester: Digester,
    len: u64,
}

impl<W: Write> DigestWriter<W> {
    pub fn new(to: W) -> Self {
        DigestWriter { to, digester: Digester::default(), len: 0 }
    }

    /// The length and the digest of all bytes written so far.
    pub fn written(&self) -> (u64, Digest) {
        (self.len, self.digester.digest())
    }

    /// Writes the digest itself after all other bytes.
    pub fn seal(mut self) -> io::Result<W> {
        let digest = self.digester.digest().bytes();
        self.to.write_all(&digest)?;
        self.to.flush()?;
        Ok(self.to)
    }
}

impl<W: Write> Write for DigestWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.digester.update(bytes.get(..written).unwrap_or_default());
        self.len += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Reads the output of [`DigestWriter::seal`] and computes its digest.
///
/// The digest is updated in whole buffers, because updates by fields of a few bytes would take
/// several times as long.
#[derive(Debug)]
pub struct DigestReader<R> {
    from: R,
    /// The number of bytes consumed from the buffer of `from` and not yet added to the digest.
    read: usize,
    digester: Digester,
}

impl<R: BufRead> DigestReader<R> {
    pub fn new(from: R) -> Self {
        DigestReader { from, read: 0, digester: Digester::default() }
    }

    /// Whether the next bytes are the digest of all bytes read, and the last bytes of the stream.
    pub fn ends_sealed(&mut self) -> io::Result<bool> {
        self.digest_read()?;
        let mut seal = Vec::new();
        (&mut self.from).take(17).read_to_end(&mut seal)?;
        Ok(seal == self.digester.digest().bytes())
    }

    fn digest_read(&mut self) -> io::Result<()> {
        if self.read > 0 {
            let buffer = self.from.fill_buf()?;
            self.digester.update(buffer.get(..self.read).unwrap_or_default());
            self.from.consume(self.read);
            self.read = 0;
        }
        Ok(())
    }
}

impl<R: BufRead> Read for DigestReader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.from.fill_buf()?.len() == self.read {
            self.digest_read()?;
        }
        let mut unread = self.from.fill_buf()?.get(self.read..).unwrap_or_default();
        let count = unread.read(bytes)?;
        self.read += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::io::BufReader;

    use super::*;

    #[test]
    fn a_change_of_any_bit_is_found() {
        let mut writer = DigestWriter::new(Vec::new());
        writer.write_all(b"one ").unwrap();
        writer.write_all(b"two").unwrap();
        assert_eq!(writer.written(), (7, Digest::of(b"one two")));
        let whole = writer.seal().unwrap();
        let is_sound = |bytes: &[u8]| {
            // Reads through buffers of every possible length.
            let found = (1..=bytes.len() + 1).map(|len| {
                let mut reader = DigestReader::new(BufReader::with_capacity(len, bytes));
                let mut read = [0; 7];
                reader.read_exact(&mut read).is_ok() && reader.ends_sealed().unwrap()
            });
            let found: HashSet<bool> = found.collect();
            assert_eq!(found.len(), 1);
            found.contains(&true)
        };
        assert!(is_sound(&whole));
        for bit in 0..8 * whole.len() {
            let mut changed = whole.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_sound(&changed), "bit {bit}");
        }
        assert!(
            !is_sound(&whole[..whole.len() - 1]) && !is_sound(&[whole.as_slice(), &[0]].concat())
        );
    }
}
