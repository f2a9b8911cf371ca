//! Copying web archives.

use std::io::{self, BufRead, Read, Write};

use super::super::warc::next_header;
use super::fate::{DecideFate, RecordFate};

/// Copies the records. `out` is flushed after each: in a compressed archive each is a member of its
/// own.
pub(super) fn copy(
    mut reader: impl BufRead,
    out: &mut dyn Write,
    decide: &mut DecideFate<'_>,
) -> io::Result<()> {
    let mut raw = Vec::new();
    for number in 1.. {
        let Some(header) = next_header(&mut reader, &mut raw)? else { break };
        let header = header.map_err(|reason| {
            io::Error::new(io::ErrorKind::InvalidData, format!("record {number}: {reason}"))
        })?;
        let start = raw.iter().position(|byte| !b"\r\n".contains(byte)).unwrap_or(0);
        let mut record = (&raw[start..]).chain(reader.by_ref().take(header.block_len));
        let is_kept = decide(number)? != RecordFate::Drop;
        let len = match is_kept {
            true => io::copy(&mut record, out)?,
            false => io::copy(&mut record, &mut io::sink())?,
        };
        if len != (raw.len() - start) as u64 + header.block_len {
            let reason = format!("record {number} is cut");
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, reason));
        }
        if is_kept {
            out.write_all(b"\r\n\r\n")?;
            out.flush()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
            copy(records.concat().as_bytes(), &mut out, &mut decide).unwrap();
            let kept = (1..).zip(&records).filter(|(number, _)| !dropped.contains(number));
            let expected: String = kept.map(|(_, record)| record.as_str()).collect();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
        let cut = &records.concat()[..records[0].len() + 40];
        for fate in [RecordFate::Keep, RecordFate::Drop] {
            let copied = copy(cut.as_bytes(), &mut Vec::new(), &mut |_| Ok(fate.clone()));
            assert!(copied.unwrap_err().to_string().contains("record 2"));
        }
    }
}
