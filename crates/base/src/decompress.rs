//! Decompresses gzip and zstd data as found in practice: with several members, with NUL bytes after
//! the last member, or truncated.
//!
//! All bytes before a fault are returned first; then an error with the offset of the fault in the
//! compressed data.

use std::fmt;
use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::GzDecoder;

/// The window size that files made with `zstd --long=31` need, as a number of bits.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;
/// The first byte of each gzip member.
const GZIP_FIRST: u8 = 0x1f;
/// The first bytes of each gzip member: the magic, and the only compression method in use.
const GZIP_HEAD: [u8; 3] = [GZIP_FIRST, 0x8b, 0x08];

/// The flags byte of a gzip member is less than this.
const GZIP_FLAGS_END: u8 = 0x20;
/// In a damaged member longer than this, the next member is searched only after the fault.
const KEPT_LEN_MAX: usize = 16 << 20;
/// Limits the bytes that are read again: this factor times the bytes read, plus a constant. Hostile
/// members can each begin inside another one and all be damaged at the same place; after the limit,
/// the next member is searched only after the damage.
const AGAIN_FACTOR: u64 = 4;
const AGAIN_LEN_FREE: u64 = 1 << 16;

/// The cause of errors from damaged compressed data; errors of the system have other causes.
#[derive(Clone, Debug)]
pub struct Damaged {
    reason: String,
}

impl Damaged {
    /// Whether the cause of an error is damaged data.
    pub fn is_in(fault: &io::Error) -> bool {
        fault.get_ref().is_some_and(|inner| inner.is::<Damaged>())
    }

    fn error(kind: io::ErrorKind, reason: String) -> io::Error {
        io::Error::new(kind, Damaged { reason })
    }
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Damaged {}

/// A reader of gzip data (RFC 1952) that reads all members in sequence. Skips NUL bytes after a
/// member, as gzip does: tape archives and block-wise copies are padded with them.
pub struct GzipReader<R: BufRead> {
    state: State<R>,
    /// The number of members begun so far, if reading resumes after damaged members.
    resuming: Option<Arc<AtomicU64>>,
}

enum State<R: BufRead> {
    /// Before the first member.
    Start(Placed<R>),
    /// Inside a member.
    Member(GzDecoder<Placed<R>>),
    /// After a member.
    Between(Placed<R>),
    /// Inside a damaged member.
    Damaged(Placed<R>),
    Ended,
    /// After an error.
    Failed,
}

impl<R: BufRead> GzipReader<R> {
    /// A reader that decompresses the bytes of `reader`.
    pub fn new(reader: R) -> Self {
        GzipReader { state: State::Start(Placed::new(reader)), resuming: None }
    }

    /// A reader that, after returning an error for damaged data, resumes with the next member it
    /// finds. `members` counts the members that have begun.
    pub fn resuming(reader: R, members: Arc<AtomicU64>) -> Self {
        GzipReader { state: State::Start(Placed::new(reader)), resuming: Some(members) }
    }

    fn begin(&self, mut reader: Placed<R>) -> State<R> {
        self.count_member(&mut reader);
        State::Member(GzDecoder::new(reader))
    }

    fn count_member(&self, reader: &mut Placed<R>) {
        if let Some(members) = &self.resuming {
            members.fetch_add(1, Ordering::Relaxed);
            reader.keep();
        }
    }

    /// The state after the error `fault` in the compressed bytes of `reader`.
    fn after(&self, reader: Placed<R>, fault: &io::Error) -> State<R> {
        match self.resuming.is_some() && Damaged::is_in(fault) {
            true => State::Damaged(reader),
            false => State::Failed,
        }
    }
}

impl<R: BufRead> Read for GzipReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match std::mem::replace(&mut self.state, State::Failed) {
                State::Start(reader) => self.state = self.begin(reader),
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
                    Err(fault) => {
                        let reader = member.into_inner();
                        let fault = reader.placed(fault);
                        self.state = self.after(reader, &fault);
                        return Err(fault);
                    }
                },
                State::Between(mut reader) => match reader.pass_nul() {
                    Ok(None) => self.state = State::Ended,
                    Ok(Some(GZIP_FIRST)) => self.state = self.begin(reader),
                    Ok(Some(byte)) => {
                        let fault = Damaged::error(
                            io::ErrorKind::InvalidData,
                            format!(
                                "byte {} of the compressed data is {byte:#04x}, expected another \
                                 member of gzip, NUL bytes or the end",
                                reader.at
                            ),
                        );
                        // The previous member is intact; this one counts, with a damaged head.
                        self.count_member(&mut reader);
                        self.state = self.after(reader, &fault);
                        return Err(fault);
                    }
                    Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {
                        self.state = State::Between(reader);
                        return Err(fault);
                    }
                    Err(fault) => return Err(fault),
                },
                State::Damaged(mut reader) => match reader.find_head() {
                    Ok(true) => self.state = self.begin(reader),
                    Ok(false) => self.state = State::Ended,
                    Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {
                        self.state = State::Damaged(reader);
                        return Err(fault);
                    }
                    Err(fault) => return Err(fault),
                },
                State::Ended => {
                    self.state = State::Ended;
                    return Ok(0);
                }
                // Returning no bytes would look like the end of the data.
                State::Failed => return Err(io::Error::other("reading it failed before")),
            }
        }
    }
}

/// A reader of zstd data (RFC 8878) that reads all frames in sequence.
pub(crate) struct ZstandardReader<R: BufRead> {
    decoder: zstd::Decoder<'static, Placed<R>>,
}

impl<R: BufRead> ZstandardReader<R> {
    /// A reader that decompresses the bytes of `reader`.
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

/// A reader that tracks its position and can return its last bytes again.
struct Placed<R> {
    reader: R,
    /// Bytes that were read: from `start` on those of the current member, if `is_kept`, and from
    /// `next` on those to return again.
    held: Vec<u8>,
    start: usize,
    next: usize,
    is_kept: bool,
    at: u64,
    /// The number of bytes read for the first time, and of bytes returned again.
    fresh_len: u64,
    again_len: u64,
    /// Whether the reader itself has failed, and not the decompression.
    failed: bool,
}

impl<R: BufRead> Placed<R> {
    fn new(reader: R) -> Self {
        let (held, is_kept, failed) = (Vec::new(), false, false);
        let (fresh_len, again_len) = (0, 0);
        Placed { reader, held, start: 0, next: 0, is_kept, at: 0, fresh_len, again_len, failed }
    }

    /// Adds the offset to an error in the compressed data; leaves an error of the reader unchanged.
    fn placed(&self, fault: io::Error) -> io::Error {
        if self.failed || fault.kind() == io::ErrorKind::Interrupted {
            return fault;
        }
        let (kind, at) = (fault.kind(), self.at);
        let reason = match kind {
            io::ErrorKind::UnexpectedEof => {
                format!("the compressed data is truncated: the file ends at byte {at}")
            }
            _ => format!("{fault}, before byte {at} of the compressed data"),
        };
        Damaged::error(kind, reason)
    }

    /// Starts keeping the bytes of a member: if the member turns out to be truncated, the next
    /// member may begin inside it.
    fn keep(&mut self) {
        // Moves the rest only after half of the bytes are used, so that each byte is moved about
        // once.
        if self.next >= self.held.len() / 2 {
            self.held.drain(..self.next);
            self.next = 0;
        }
        self.start = self.next;
        self.is_kept = true;
    }

    /// Makes the next reads return the last `len` bytes, which must all be in `held`, once more.
    fn give_again(&mut self, len: usize) {
        self.next -= len;
        self.at -= len as u64;
        self.again_len += len as u64;
    }

    /// Skips to the head of the next member, which may begin inside the damaged member after its
    /// first byte; returns whether there is one.
    fn find_head(&mut self) -> io::Result<bool> {
        let kept_len = (self.next - self.start).saturating_sub(1);
        let again_max = AGAIN_FACTOR.saturating_mul(self.fresh_len).saturating_add(AGAIN_LEN_FREE);
        if std::mem::take(&mut self.is_kept) && self.again_len + kept_len as u64 <= again_max {
            self.give_again(kept_len);
        }
        let mut found = 0;
        let mut last = 0;
        loop {
            let bytes = self.fill_buf()?;
            if bytes.is_empty() {
                return Ok(false);
            }
            let mut len = 0;
            for &byte in bytes {
                len += 1;
                last = byte;
                found = match byte {
                    _ if GZIP_HEAD.get(found) == Some(&byte) => found + 1,
                    // The next byte contains the flags; three of its bits are reserved and must be
                    // zero.
                    _ if found == GZIP_HEAD.len() && byte < GZIP_FLAGS_END => found + 1,
                    GZIP_FIRST => 1,
                    _ => 0,
                };
                if found > GZIP_HEAD.len() {
                    break;
                }
            }
            self.consume(len);
            if found > GZIP_HEAD.len() {
                // The bytes of the head are not kept, but their values are known.
                if self.held.is_empty() {
                    self.held = [&GZIP_HEAD[..], &[last]].concat();
                    self.next = self.held.len();
                }
                self.give_again(found);
                return Ok(true);
            }
        }
    }

    /// Skips NUL bytes; returns the next byte without consuming it, or `None` at the end.
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
        if self.next < self.held.len() {
            return Ok(&self.held[self.next..]);
        }
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
        if self.next < self.held.len() {
            self.next += len;
        } else {
            self.fresh_len += len as u64;
            if self.is_kept {
                // The caller has filled the buffer of the reader before, so it contains these
                // bytes.
                let taken = self.reader.fill_buf().ok().and_then(|bytes| bytes.get(..len));
                self.held.extend_from_slice(taken.unwrap_or_default());
                self.next = self.held.len();
            }
            self.reader.consume(len);
        }
        self.is_kept &= self.next - self.start <= KEPT_LEN_MAX;
        if !self.is_kept && self.next == self.held.len() {
            self.held.clear();
            (self.start, self.next) = (0, 0);
        }
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

    /// All bytes that can be read, and the error after them.
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
            // All complete members are returned before the error.
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

    /// The bytes from a reader that resumes after errors, and the numbers of errors and members.
    fn resumed(bytes: &[u8], capacity: usize) -> (Vec<u8>, usize, u64) {
        let members = Arc::<AtomicU64>::default();
        let reader = BufReader::with_capacity(capacity, bytes);
        let mut reader = GzipReader::resuming(reader, members.clone());
        let (mut found, mut fault_count) = (Vec::new(), 0);
        let mut piece = [0; 7];
        loop {
            match reader.read(&mut piece) {
                Ok(0) => return (found, fault_count, members.load(Ordering::Relaxed)),
                Ok(len) => found.extend_from_slice(&piece[..len]),
                Err(fault) => {
                    assert!(Damaged::is_in(&fault), "{fault}");
                    fault_count += 1;
                }
            }
        }
    }

    #[test]
    fn reading_goes_on_behind_a_damaged_member() {
        let members = [&b"the first"[..], b" and a second one, somewhat longer,", b" the third"];
        let zipped = members.map(gzip);
        for at in 0..zipped[1].len() {
            let mut damaged = zipped[1].clone();
            damaged[at] ^= 0x55;
            for (second, is_cut) in [(&damaged[..], false), (&zipped[1][..at], true)] {
                let bytes = [&zipped[0][..], second, &zipped[2]].concat();
                for capacity in [1, 2, 4096] {
                    let (found, faults, _) = resumed(&bytes, capacity);
                    let is_named = found.starts_with(members[0]) && found.ends_with(members[2]);
                    assert!(is_named, "{at} {is_cut}: {}", String::from_utf8_lossy(&found));
                    // A change in some parts of a member's header, such as the time, is not
                    // detected.
                    let is_whole = found.len() == members.concat().len();
                    assert!(faults == 1 || faults == 0 && (is_whole || at == 0), "{at} {faults}");
                }
            }
        }
        let cut = [&zipped[0][..], &zipped[1][..12]].concat();
        assert_eq!(resumed(&cut, 5), (members[0].to_vec(), 1, 2));
        let junk = [&zipped[0][..], b"\x1f\x1f\x8b junk", &zipped[2]].concat();
        let (found, faults, count) = resumed(&junk, 3);
        assert_eq!((found, faults, count), ([members[0], members[2]].concat(), 1, 3));
    }

    #[test]
    fn the_work_behind_damaged_members_grows_with_the_data_and_not_with_its_square() {
        // Each member is one stored block that contains all later members, and is followed by bytes
        // that do not start a block.
        let (head, count) = ([31, 139, 8, 0, 0, 0, 0, 0, 0, 3], 4000_u16);
        let mut bytes = Vec::new();
        for number in 0..count {
            let len = (count - number) * 15 - 15;
            bytes.extend(head);
            bytes.push(0);
            bytes.extend(len.to_le_bytes());
            bytes.extend((!len).to_le_bytes());
        }
        bytes.push(7);
        let whole = gzip(b"and a whole one");
        bytes.extend(&whole);
        for capacity in [7, 4096] {
            let (found, _, _) = resumed(&bytes, capacity);
            assert!(found.ends_with(b"and a whole one"));
            // Stored blocks are copied, so the length of the output measures the work.
            let work_max = (AGAIN_FACTOR + 1) * bytes.len() as u64 + AGAIN_LEN_FREE;
            assert!(found.len() as u64 <= work_max, "{} of {work_max}", found.len());
        }
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
