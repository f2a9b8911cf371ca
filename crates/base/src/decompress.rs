//! Decompressing gzip and zstd, as inputs in the world are: of several members, with NUL bytes behind
//! the last one, cut in the middle.
//!
//! All bytes before a fault are given first; then the error names the byte of the compressed data at
//! which the fault lies.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// Files made with `zstd --long=31` need a window of this many bits.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;
/// The first byte of each member of gzip.
const GZIP_FIRST: u8 = 0x1f;

/// A reader of gzip (RFC 1952): all members one after the other. NUL bytes behind a member are passed
/// over, as by gzip itself: archives on tape and copies in whole blocks are filled up with them.
pub struct GzipReader<R: BufRead> {
    state: State<R>,
}

enum State<R: BufRead> {
    /// Before the first member.
    Start(Placed<R>),
    /// Inside a member.
    Member(GzDecoder<Placed<R>>),
    /// Behind a member.
    Between(Placed<R>),
    Ended,
    /// After an error.
    Failed,
}

impl<R: BufRead> GzipReader<R> {
    /// A reader of the compressed bytes that `reader` gives.
    pub fn new(reader: R) -> Self {
        GzipReader { state: State::Start(Placed::new(reader)) }
    }
}

impl<R: BufRead> Read for GzipReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match std::mem::replace(&mut self.state, State::Failed) {
                State::Start(reader) => self.state = State::Member(GzDecoder::new(reader)),
                State::Member(mut member) => match member.read(buffer) {
                    Ok(0) => self.state = State::Between(member.into_inner()),
                    Ok(len) => {
                        self.state = State::Member(member);
                        return Ok(len);
                    }
                    Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {
                        self.state = State::Member(member);
                        return Err(fault);
                    }
                    Err(fault) => return Err(member.get_ref().placed(fault)),
                },
                State::Between(mut reader) => match reader.pass_nul() {
                    Ok(None) => self.state = State::Ended,
                    Ok(Some(GZIP_FIRST)) => self.state = State::Member(GzDecoder::new(reader)),
                    Ok(Some(byte)) => {
                        return Err(io::Error::new(
                            io::ErrorKind::InvalidData,
                            format!(
                                "byte {} of the compressed data is {byte:#04x}, expected another \
                                 member of gzip, NUL bytes or the end",
                                reader.at
                            ),
                        ));
                    }
                    Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {
                        self.state = State::Between(reader);
                        return Err(fault);
                    }
                    Err(fault) => return Err(fault),
                },
                State::Ended => {
                    self.state = State::Ended;
                    return Ok(0);
                }
                // An end would pass for that of the data.
                State::Failed => return Err(io::Error::other("it has failed before")),
            }
        }
    }
}

/// A reader of zstd (RFC 8878), all frames one after the other.
pub(crate) struct ZstandardReader<R: BufRead> {
    decoder: zstd::Decoder<'static, Placed<R>>,
}

impl<R: BufRead> ZstandardReader<R> {
    /// A reader of the compressed bytes that `reader` gives.
    pub(crate) fn new(reader: R) -> io::Result<Self> {
        let mut decoder = zstd::Decoder::with_buffer(Placed::new(reader))?;
        decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
        Ok(ZstandardReader { decoder })
    }
}

impl<R: BufRead> Read for ZstandardReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(buffer).map_err(|fault| self.decoder.get_ref().placed(fault))
    }
}

/// A reader that knows how many bytes were taken from it.
struct Placed<R> {
    reader: R,
    at: u64,
    /// Whether the reader itself has failed.
    failed: bool,
}

impl<R: BufRead> Placed<R> {
    fn new(reader: R) -> Self {
        Placed { reader, at: 0, failed: false }
    }

    /// A fault of the compressed data with its place; one of the reader stays as it is.
    fn placed(&self, fault: io::Error) -> io::Error {
        if self.failed || fault.kind() == io::ErrorKind::Interrupted {
            return fault;
        }
        let (kind, at) = (fault.kind(), self.at);
        let reason = match kind {
            io::ErrorKind::UnexpectedEof => {
                format!("the compressed data is cut: it ends at byte {at}, before its own end")
            }
            _ => format!("{fault}, before byte {at} of the compressed data"),
        };
        io::Error::new(kind, reason)
    }

    /// Passes over NUL bytes; returns the next byte, which is not taken, or `None` at the end.
    fn pass_nul(&mut self) -> io::Result<Option<u8>> {
        loop {
            let bytes = self.fill_buf()?;
            if bytes.is_empty() {
                return Ok(None);
            }
            let other = bytes.iter().position(|&byte| byte != 0);
            let (len, next) = match other {
                None => (bytes.len(), None),
                Some(at) => (at, Some(bytes[at])),
            };
            self.consume(len);
            if next.is_some() {
                return Ok(next);
            }
        }
    }
}

impl<R: BufRead> Read for Placed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.fill_buf()?.read(buffer)?;
        self.consume(len);
        Ok(len)
    }
}

impl<R: BufRead> BufRead for Placed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self.reader.fill_buf() {
            Ok(bytes) => Ok(bytes),
            Err(fault) => {
                self.failed |= fault.kind() != io::ErrorKind::Interrupted;
                Err(fault)
            }
        }
    }

    fn consume(&mut self, len: usize) {
        self.at += len as u64;
        self.reader.consume(len);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write};

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// What can be read, and the error after it.
    fn read(mut reader: impl Read) -> (Vec<u8>, Option<String>) {
        let mut bytes = Vec::new();
        let mut piece = [0; 7];
        loop {
            match reader.read(&mut piece) {
                Ok(0) => return (bytes, None),
                Ok(len) => bytes.extend_from_slice(&piece[..len]),
                Err(fault) => return (bytes, Some(fault.to_string())),
            }
        }
    }

    fn gunzipped(bytes: &[u8]) -> (Vec<u8>, Option<String>) {
        let found = [1, 5, 4096]
            .map(|capacity| read(GzipReader::new(BufReader::with_capacity(capacity, bytes))));
        assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
        found.into_iter().next().unwrap()
    }

    #[test]
    fn members_of_gzip_are_read_one_after_the_other_and_nul_bytes_passed_over() {
        let text = b"a text of some length, a text of some length";
        let (one, other) = (gzip(text), gzip(b" and more"));
        let both = [&text[..], b" and more"].concat();
        for nul in [0, 1, 512, 10_000] {
            let nul = vec![0; nul];
            assert_eq!(gunzipped(&[&one[..], &nul].concat()), (text.to_vec(), None));
            assert_eq!(gunzipped(&[&one[..], &nul, &other, &nul].concat()), (both.clone(), None));
        }
        assert_eq!(gunzipped(&gzip(b"")), (Vec::new(), None));
    }

    #[test]
    fn what_is_cut_or_followed_by_other_bytes_is_an_error_with_its_place() {
        let text = b"a text of some length, a text of some length";
        let (one, other) = (gzip(text), gzip(b" and more"));
        let both = [&one[..], &other].concat();
        for len in 0..both.len() {
            let (bytes, fault) = gunzipped(&both[..len]);
            assert_eq!(fault.is_none(), len == one.len(), "{len}: {fault:?}");
            let fault = fault.unwrap_or_default();
            assert!(len == one.len() || fault.contains(&format!("ends at byte {len}")), "{fault}");
            // All whole members are given before the error.
            assert!(len < one.len() || bytes.starts_with(text), "{len}");
        }
        for (bytes, part) in [
            ([&one[..], b"\0\0junk"].concat(), format!("byte {} of the", one.len() + 2)),
            ([&one[..], b"\x1fjunk and more of it"].concat(), "header, before byte".into()),
        ] {
            let (found, fault) = gunzipped(&bytes);
            assert_eq!(found, text);
            assert!(fault.as_ref().is_some_and(|fault| fault.contains(&part)), "{fault:?}");
        }
        let mut damaged = one.clone();
        let at = damaged.len() - 6;
        damaged[at] ^= 1;
        assert!(gunzipped(&damaged).1.is_some());
    }

    #[test]
    fn cut_zstd_is_an_error_with_its_place() {
        let frame = |text: &[u8]| zstd::encode_all(text, 1).unwrap();
        let (one, other) = (frame(b"a text of some length"), frame(b" and more"));
        let both = [&one[..], &other].concat();
        for len in 0..=both.len() {
            let (bytes, fault) = read(ZstandardReader::new(&both[..len]).unwrap());
            let is_whole = [one.len(), both.len()].contains(&len);
            assert_eq!(fault.is_none(), is_whole, "{len}: {fault:?}");
            let fault = fault.unwrap_or_default();
            assert!(is_whole || fault.contains(&format!("ends at byte {len}")), "{len}: {fault}");
            assert!(len < one.len() || bytes.starts_with(b"a text of some length"), "{len}");
        }
        let (_, fault) = read(ZstandardReader::new(&b"no zstd at all"[..]).unwrap());
        assert!(fault.is_some_and(|fault| fault.contains("of the compressed data")));
    }

    #[test]
    fn an_error_of_the_system_stays_what_it_is() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other(crate::Interrupted))
            }
        }
        let whole = gzip(b"some text");
        let cut = (&whole[..12]).chain(Broken);
        let fault = GzipReader::new(BufReader::new(cut)).read_to_end(&mut Vec::new()).unwrap_err();
        assert!(crate::Interrupted::is_in(&fault));
        let whole = zstd::encode_all(&b"some text"[..], 1).unwrap();
        let cut = (&whole[..6]).chain(Broken);
        let fault = ZstandardReader::new(BufReader::new(cut)).unwrap().read(&mut [0; 9]);
        assert!(crate::Interrupted::is_in(&fault.unwrap_err()));
    }
}
