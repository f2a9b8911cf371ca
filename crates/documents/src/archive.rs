//! Iterates over the records of a web archive, and finds the next record after a damaged one.
//!
//! Reading and copying share this iteration, so that a record has the same number in both. If bad
//! records are skipped, reading resumes after a damaged record at the next line that begins with
//! `WARC/`, or at the next gzip member if the compressed data is damaged.

use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fpstore_base::IoError;
use fpstore_base::decompress::Damaged;
use fpstore_base::source::Source;
use memchr::memchr;

use super::warc::{Header, MAGIC, next_header};

/// The reason why a file cannot be read after a damaged member of gzip.
const SHARED_MEMBERS: &str = "a gzip member is damaged; other members hold several records, so the \
                              number of lost records is unknown";

/// The next item of an archive.
#[derive(Debug)]
pub(super) enum Next {
    /// A record; its block follows.
    Record(Header),
    /// A damaged record that is skipped, with the reason.
    Damaged(String),
    /// A fault that cannot be skipped, with the reason. Nothing can be read after it.
    Bad(String),
    End,
}

/// An archive being read.
pub(super) struct Archive<R> {
    reader: R,
    /// Whether damaged records are skipped.
    skip_bad: bool,
    /// The number of gzip members that the reader has begun; see
    /// [`GzipReader::resuming`](fpstore_base::decompress::GzipReader::resuming).
    members: Arc<AtomicU64>,
    /// The number of the current record, counted from 1.
    pub(super) number: u64,
    /// The bytes of the header of the current record.
    pub(super) raw: Vec<u8>,
    /// Whether the [`MAGIC`] of the next record was consumed.
    is_begun: bool,
    /// An error in the bytes after a record; it is reported with the next record.
    fault: Option<io::Error>,
    /// The gzip member in which the current record begins, and whether it is the first record
    /// there.
    member: Option<u64>,
    is_first_of_member: bool,
    /// Whether a valid header was found. A file without any is not an archive.
    has_header: bool,
    /// Whether a damaged member of gzip was skipped, and whether a member contains several records.
    left_member: bool,
    has_shared_member: bool,
}

/// Opens an archive. With `skip_bad`, reading continues after damaged members of gzip.
pub(super) fn open(
    path: &Path,
    skip_bad: bool,
    members: &Arc<AtomicU64>,
) -> Result<Source, IoError> {
    match skip_bad {
        true => Source::open_resuming(path, members.clone()),
        false => Source::open(path),
    }
}

impl<R: BufRead> Archive<R> {
    pub(super) fn new(reader: R, skip_bad: bool, members: Arc<AtomicU64>) -> Self {
        Archive {
            reader,
            skip_bad,
            members,
            number: 0,
            raw: Vec::new(),
            is_begun: false,
            fault: None,
            member: None,
            is_first_of_member: false,
            has_header: false,
            left_member: false,
            has_shared_member: false,
        }
    }

    /// Whether damaged records are skipped.
    pub(super) fn skips_bad(&self) -> bool {
        self.skip_bad
    }

    /// Reads the header of the next record. The block of the previous record must have been read.
    pub(super) fn next(&mut self) -> io::Result<Next> {
        self.number += 1;
        let began = match self.fault.take() {
            Some(fault) => Err(fault),
            None => self.pass_line_ends(),
        };
        let member = Some(self.members.load(Ordering::Relaxed));
        self.is_first_of_member = self.member != member;
        self.member = member;
        let head: &[u8] = if std::mem::take(&mut self.is_begun) { MAGIC } else { &[] };
        let raw = &mut self.raw;
        raw.clear();
        match began.and_then(|()| next_header(&mut head.chain(&mut self.reader), raw)) {
            Ok(None) => Ok(Next::End),
            Ok(Some(Ok(header))) => {
                self.has_header = true;
                self.has_shared_member |= !self.is_first_of_member && member != Some(0);
                match self.has_shared_member && self.left_member {
                    true => Err(io::Error::new(io::ErrorKind::InvalidData, SHARED_MEMBERS)),
                    false => Ok(Next::Record(header)),
                }
            }
            Ok(Some(Err(reason))) => self.leave(reason, self.raw.ends_with(b"\n")),
            Err(fault) => self.leave_member(fault),
        }
    }

    /// Writes the block of a record to `to`. Returns `None` if it is complete, else the reason why
    /// the record is damaged.
    pub(super) fn block(&mut self, len: u64, to: &mut dyn Write) -> io::Result<Option<Next>> {
        match io::copy(&mut self.reader.by_ref().take(len), to) {
            Ok(found) if found < len => self.leave("it is truncated".into(), false).map(Some),
            Ok(_) => self.look_behind(len),
            Err(fault) => self.leave_member(fault).map(Some),
        }
    }

    /// If bad records are skipped, checks the bytes after a block: no record begins there if the
    /// length of the block is wrong, and reading on checks the checksum of the gzip member.
    fn look_behind(&mut self, len: u64) -> io::Result<Option<Next>> {
        if !self.skip_bad {
            return Ok(None);
        }
        let wrong = |this: &mut Self| {
            let reason = format!(
                "its Content-Length is {len}, but no record begins after that \
                                  many bytes"
            );
            this.leave(reason, false).map(Some)
        };
        let first = self.reader.fill_buf().map(|bytes| bytes.first().copied());
        if matches!(first, Ok(Some(other)) if !b"\r\nW".contains(&other)) {
            return wrong(self);
        }
        let looked = first.and_then(|_| self.pass_line_ends());
        let first =
            looked.and_then(|()| self.reader.fill_buf()).map(|bytes| bytes.first().copied());
        // If a gzip member continues with bytes that begin no record, it is damaged somewhere.
        let is_compressed = self.members.load(Ordering::Relaxed) > 0;
        match first {
            Ok(Some(other)) if other != b'W' && is_compressed && self.is_of_record() => wrong(self),
            Ok(_) => Ok(None),
            Err(fault) if self.is_of_record() => self.leave_member(fault).map(Some),
            Err(fault) => {
                self.fault = Some(fault);
                Ok(None)
            }
        }
    }

    /// Whether the last bytes read are in the gzip member in which the current record begins.
    fn is_of_record(&self) -> bool {
        self.member == Some(self.members.load(Ordering::Relaxed))
    }

    /// Skips the line ends after a block; some writers use more or fewer than the required two.
    fn pass_line_ends(&mut self) -> io::Result<()> {
        while !self.is_begun && matches!(self.reader.fill_buf()?.first(), Some(b'\r' | b'\n')) {
            self.reader.consume(1);
        }
        Ok(())
    }

    /// Continues after a damaged record, if bad records are skipped.
    fn leave(&mut self, reason: String, is_at_line: bool) -> io::Result<Next> {
        if !self.skip_bad {
            return Ok(Next::Bad(reason));
        }
        let is_found = match self.pass_to_record(is_at_line) {
            Ok(is_found) => is_found,
            Err(fault) if self.is_of_record() => return self.leave_member(fault),
            Err(fault) if Damaged::is_in(&fault) => {
                self.fault = Some(fault);
                true
            }
            Err(fault) => return Err(fault),
        };
        // A file without any header is not an archive.
        Ok(if is_found || self.has_header { Next::Damaged(reason) } else { Next::Bad(reason) })
    }

    /// Continues after a damaged gzip member, if bad records are skipped and at most one record is
    /// lost.
    fn leave_member(&mut self, fault: io::Error) -> io::Result<Next> {
        let is_one_record = self.is_first_of_member && !self.has_shared_member;
        if !self.skip_bad || !Damaged::is_in(&fault) || !is_one_record {
            return Err(fault);
        }
        self.left_member = true;
        let is_only = self.member == Some(1);
        match self.reader.fill_buf().map(<[u8]>::is_empty) {
            Ok(true) if is_only => return Err(fault),
            Ok(_) => {}
            Err(next) => self.fault = Some(next),
        }
        Ok(Next::Damaged(format!("it cannot be decompressed: {fault}")))
    }

    /// Skips everything up to and including the next [`MAGIC`] at the start of a line. Returns
    /// whether there is one.
    fn pass_to_record(&mut self, mut is_at_line: bool) -> io::Result<bool> {
        loop {
            if is_at_line {
                let mut head = Vec::new();
                let start = &mut self.reader.by_ref().take(MAGIC.len() as u64);
                start.read_until(b'\n', &mut head)?;
                if head == MAGIC {
                    self.is_begun = true;
                    return Ok(true);
                }
                is_at_line = head.ends_with(b"\n");
                if head.is_empty() {
                    return Ok(false);
                }
                continue;
            }
            let bytes = self.reader.fill_buf()?;
            let end = memchr(b'\n', bytes);
            let len = end.map_or(bytes.len(), |at| at + 1);
            if len == 0 {
                return Ok(false);
            }
            self.reader.consume(len);
            is_at_line = end.is_some();
        }
    }
}

#[cfg(test)]
mod tests {
    use fpstore_base::decompress::GzipReader;

    use super::*;

    fn record(block: &str) -> String {
        let len = block.len();
        format!("WARC/1.0\r\nWARC-Type: x\r\nContent-Length: {len}\r\n\r\n{block}\r\n\r\n")
    }

    /// The blocks of complete records, with a question mark for each damaged one; or the error.
    fn walk(mut archive: Archive<impl BufRead>) -> Result<Vec<String>, String> {
        let mut found = Vec::new();
        loop {
            let bad = |number, reason| Err(format!("{number}: {reason}"));
            match archive.next().map_err(|fault| fault.to_string())? {
                Next::End => return Ok(found),
                Next::Damaged(_) => found.push("?".into()),
                Next::Bad(reason) => return bad(archive.number, reason),
                Next::Record(header) => {
                    let mut block = Vec::new();
                    let read = archive.block(header.block_len, &mut block);
                    match read.map_err(|fault| fault.to_string())? {
                        None => found.push(String::from_utf8(block).unwrap()),
                        Some(Next::Bad(reason)) => return bad(archive.number, reason),
                        Some(_) => found.push("?".into()),
                    }
                }
            }
        }
    }

    /// Calls [`walk`] on an uncompressed archive, read in pieces of several lengths.
    fn walked(bytes: &[u8], skip_bad: bool) -> Result<Vec<String>, String> {
        let results = [1, 9, 4096].map(|capacity| {
            let reader = io::BufReader::with_capacity(capacity, bytes);
            walk(Archive::new(reader, skip_bad, Arc::default()))
        });
        assert!(results.iter().all(|result| *result == results[0]), "{results:?}");
        let [result, ..] = results;
        result
    }

    #[test]
    fn the_next_record_is_found_behind_a_damaged_one() {
        let [one, two, three] = ["one", "two lines\nWARC-like", "three"].map(record);
        let without_len = two.replace("Content-Length", "Content-Lenght");
        for (second, expected) in [
            (two.as_str(), &["one", "two lines\nWARC-like", "three"][..]),
            (&without_len, &["one", "?", "three"]),
            (&two.replace("19", "x9"), &["one", "?", "three"]),
            (&two.replace("19", "7"), &["one", "?", "three"]),
            ("garbage\n and\u{e9} more\r\n", &["one", "?", "three"]),
            (&two[..two.len() - 10], &["one", "?"]),
        ] {
            let bytes = [&*one, second, &three].concat();
            let found = walked(bytes.as_bytes(), true);
            assert_eq!(found.unwrap(), expected, "{second}");
        }
        // A block length that is too large includes the start of the next record, so both are lost.
        let long = [&*one, &two.replace("19", "29"), &three, &one].concat();
        assert_eq!(walked(long.as_bytes(), true).unwrap(), ["one", "?", "one"]);
        for len in one.len()..one.len() + two.len() - 4 {
            let found = walked(&[&one, &two].map(|it| it.as_bytes()).concat()[..len], true);
            let expected = if len == one.len() { &["one"][..] } else { &["one", "?"] };
            assert_eq!(found.unwrap(), expected, "{len}");
        }
    }

    /// In a compressed archive each record is a separate gzip member.
    #[test]
    fn a_damaged_member_of_gzip_is_one_record() {
        let blocks = ["the first of all", "two", "the third of all"];
        let zipped = blocks.map(|block| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            encoder.write_all(record(block).as_bytes()).unwrap();
            encoder.finish().unwrap()
        });
        let walk = |bytes: &[u8]| {
            let members = Arc::<AtomicU64>::default();
            let reader = io::BufReader::with_capacity(16, bytes);
            let unzipped = GzipReader::resuming(reader, members.clone());
            walk(Archive::new(io::BufReader::new(unzipped), true, members))
        };
        assert_eq!(walk(&zipped.concat()).unwrap(), blocks);
        let expected = ["the first of all", "?", "the third of all"];
        for at in 0..zipped[1].len() {
            let mut damaged = zipped[1].clone();
            damaged[at] ^= 0x55;
            let found = walk(&[&zipped[0][..], &damaged, &zipped[2]].concat()).unwrap();
            // Changes of some bytes of the gzip header have no effect.
            assert!(found == expected || at < 10 && found == blocks, "{at}: {found:?}");
            let found = walk(&[&zipped[0][..], &zipped[1][..at], &zipped[2]].concat()).unwrap();
            assert!(found == expected || at == 0 && found == [blocks[0], blocks[2]], "{at}");
            let found = walk(&[&zipped[0], &zipped[1][..at]].concat()).unwrap();
            assert_eq!(found, expected[..2.min(at + 1)], "{at}");
        }
        // Foreign bytes after a member are not a fault of its record.
        let followed = [&zipped[0][..], &zipped[1], b"tail"].concat();
        assert_eq!(walk(&followed).unwrap(), ["the first of all", "two", "?"]);
        // If a damaged member contains several records, the number of lost records is unknown.
        let together = [&zipped[0], &zipped[1]].map(|_| record("again")).concat();
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
        encoder.write_all(together.as_bytes()).unwrap();
        let whole = encoder.finish().unwrap();
        assert!(walk(&[&zipped[0], &whole[..whole.len() - 9], &zipped[2]].concat()).is_err());
        // If another member contains several records, the damaged member may, too.
        let cut = &zipped[1][..20];
        assert!(walk(&[&zipped[0][..], cut, &whole, &zipped[2]].concat()).is_err());
        assert!(walk(&[&whole[..], cut, &zipped[2]].concat()).is_err());
        assert!(walk(&zipped[0][..20]).is_err());
    }

    #[test]
    fn without_skipping_and_of_other_files_the_first_fault_ends_all() {
        let bytes = [&record("one"), "garbage\n", &record("two")].concat();
        let told = "2: it begins with \"garbage\", expected WARC/1.0 or WARC/1.1";
        assert_eq!(walked(bytes.as_bytes(), false).unwrap_err(), told);
        for skip_bad in [false, true] {
            let error = walked(b"<html>\n<p>no archive\n", skip_bad).unwrap_err();
            assert!(error.starts_with("1: it begins with"), "{error}");
        }
    }
}
