//! Copying web archives.

use std::io::{self, BufRead, Write};

use super::super::archive::{Archive, Next};
use super::fate::{DecideFate, RecordFate};

/// Copies the records. `out` is flushed after each: in a compressed archive each is a member of its
/// own. A damaged record that is skipped is left out, because what is behind it would be taken for a
/// part of it; one of up to `len_max` bytes is held to be sure that it is none.
pub(super) fn copy(
    mut archive: Archive<impl BufRead>,
    len_max: u64,
    out: &mut dyn Write,
    decide: &mut DecideFate<'_>,
) -> io::Result<()> {
    loop {
        let header = match archive.next()? {
            Next::End => return Ok(()),
            Next::Record(header) => header,
            Next::Damaged(_) => continue,
            Next::Bad(reason) => return Err(bad(&archive, &reason)),
        };
        let len = header.block_len;
        let is_kept = decide(archive.number)? != RecordFate::Drop;
        let is_held = is_kept && archive.skips_bad() && len <= len_max;
        let mut held = Vec::new();
        let damage = if is_held {
            held.extend_from_slice(&archive.raw);
            archive.block(len, &mut held)?
        } else if is_kept {
            out.write_all(&archive.raw)?;
            archive.block(len, out)?
        } else {
            archive.block(len, &mut io::sink())?
        };
        match damage {
            None => {}
            Some(Next::Damaged(_)) if !is_kept || is_held => continue,
            Some(Next::Damaged(reason) | Next::Bad(reason)) => return Err(bad(&archive, &reason)),
            Some(_) => {}
        }
        if is_kept {
            out.write_all(&held)?;
            out.write_all(b"\r\n\r\n")?;
            out.flush()?;
        }
    }
}

fn bad(archive: &Archive<impl BufRead>, reason: &str) -> io::Error {
    let reason = format!("record {}: {reason}", archive.number);
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

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
            let mut decide = |number| match dropped.contains(&number) {
                true => Ok(RecordFate::Drop),
                false => Ok(RecordFate::Keep),
            };
            let all = records.concat();
            copy(archive(all.as_bytes(), false), 100, &mut out, &mut decide).unwrap();
            let kept = (1..).zip(&records).filter(|(number, _)| !dropped.contains(number));
            let expected: String = kept.map(|(_, record)| record.as_str()).collect();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
        let cut = &records.concat()[..records[0].len() + 40];
        for fate in [RecordFate::Keep, RecordFate::Drop] {
            let copied = copy(archive(cut.as_bytes(), false), 100, &mut Vec::new(), &mut |_| {
                Ok(fate.clone())
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
            let mut numbers = Vec::new();
            let copied =
                copy(archive(damaged.as_bytes(), true), len_max, &mut out, &mut |number| {
                    numbers.push(number);
                    Ok(RecordFate::Keep)
                });
            match len_max {
                // What is not held is out before it is known to be damaged.
                0 => assert!(copied.unwrap_err().to_string().starts_with("record 2: its Content")),
                _ => {
                    assert_eq!((numbers, copied.is_ok()), (vec![1, 2, 3], true));
                    assert_eq!(String::from_utf8(out).unwrap(), [&*one, &three].concat());
                }
            }
        }
    }
}
