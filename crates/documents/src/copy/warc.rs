//! Copies web archives.

use std::hash::Hasher;
use std::io::{self, BufRead, Write};

use twox_hash::XxHash3_64;

use super::super::archive::{Archive, Next};
use super::super::raw::digest_of;
use super::fate::{Fates, RecordFate};

/// Copies the records. `out` is flushed after each record: in a compressed archive each record is a
/// member of its own. A skipped damaged record is omitted, because a reader would take the bytes
/// after it for a part of it. Records of up to `len_max` bytes are buffered until damage is ruled
/// out.
pub(super) fn copy(
    mut archive: Archive<impl BufRead>,
    len_max: u64,
    out: &mut dyn Write,
    fates: &mut Fates<'_>,
) -> io::Result<()> {
    loop {
        let header = match archive.next()? {
            Next::End => return Ok(()),
            Next::Record(header) => header,
            Next::Damaged(_) => continue,
            Next::Bad(reason) => return Err(bad(&archive, &reason)),
        };
        let len = header.block_len;
        let decided = fates.of(archive.number)?;
        let is_kept = decided.fate != RecordFate::Drop;
        let is_held = is_kept && archive.skips_bad() && len <= len_max;
        let mut held = Vec::new();
        let to: &mut dyn Write = match is_held {
            true => &mut held,
            false if is_kept => out,
            false => &mut io::sink(),
        };
        to.write_all(&archive.raw)?;
        let hasher = XxHash3_64::with_seed(digest_of([&archive.raw]));
        let mut block = Block { to, hasher };
        let damage = archive.block(len, &mut block)?;
        let digest = block.hasher.finish();
        match damage {
            None => {}
            Some(Next::Damaged(_)) if !is_kept || is_held => {
                fates.check(&decided, None)?;
                continue;
            }
            Some(Next::Damaged(reason) | Next::Bad(reason)) => return Err(bad(&archive, &reason)),
            Some(_) => {}
        }
        fates.check(&decided, Some(digest))?;
        if is_kept {
            out.write_all(&held)?;
            out.write_all(b"\r\n\r\n")?;
            out.flush()?;
        }
    }
}

/// Copies the block of a record and computes its digest.
struct Block<'a> {
    to: &'a mut dyn Write,
    hasher: XxHash3_64,
}

impl Write for Block<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = self.to.write(bytes)?;
        self.hasher.write(&bytes[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

fn bad(archive: &Archive<impl BufRead>, reason: &str) -> io::Error {
    let reason = format!("record {}: {reason}", archive.number);
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::fate::tests::with_fates;
    use super::*;

    fn archive(bytes: &[u8], skip_bad: bool) -> Archive<&[u8]> {
        Archive::new(bytes, skip_bad, Arc::default())
    }

    #[test]
    fn records_that_stay_are_the_same_bytes() {
        let record = |block: &str| {
            format!(
                "WARC/1.0\r\nWARC-Type: x\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
                block.len()
            )
        };
        let records = [record("one"), record(""), record("WARC/1.0\r\n\r\n"), record("four")];
        for dropped in [&[][..], &[1], &[2, 3], &[4], &[1, 2, 3, 4]] {
            let mut out = Vec::new();
            let some: Vec<_> = dropped.iter().map(|&number| (number, RecordFate::Drop)).collect();
            let all = records.concat();
            with_fates(&some, &RecordFate::Keep, |fates| {
                copy(archive(all.as_bytes(), false), 100, &mut out, fates).unwrap();
            });
            let kept = (1..).zip(&records).filter(|(number, _)| !dropped.contains(number));
            let expected: String = kept.map(|(_, record)| record.as_str()).collect();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
        let cut = &records.concat()[..records[0].len() + 40];
        for fate in [RecordFate::Keep, RecordFate::Drop] {
            let copied = with_fates(&[], &fate, |fates| {
                copy(archive(cut.as_bytes(), false), 100, &mut Vec::new(), fates)
            });
            assert!(copied.unwrap_err().to_string().contains("record 2"));
        }
    }

    #[test]
    fn damaged_records_are_left_out_where_they_are_skipped() {
        let record = |block: &str| {
            let len = block.len();
            format!("WARC/1.0\r\nContent-Length: {len}\r\n\r\n{block}\r\n\r\n")
        };
        let [one, two, three] = ["one", "twotwo", "three"].map(record);
        let damaged = [&one, &two.replace(": 6", ": 3"), &three, "more"].concat();
        for len_max in [0, 100] {
            let mut out = Vec::new();
            let some = [1, 2, 3].map(|number| (number, RecordFate::Keep));
            let copied = with_fates(&some, &RecordFate::Drop, |fates| {
                copy(archive(damaged.as_bytes(), true), len_max, &mut out, fates)?;
                fates.end()
            });
            match len_max {
                // A record that is not buffered is written before its damage is known.
                0 => assert!(copied.unwrap_err().to_string().starts_with("record 2: its Content")),
                _ => {
                    assert!(copied.is_ok());
                    assert_eq!(String::from_utf8(out).unwrap(), [&*one, &three].concat());
                }
            }
        }
    }
}
