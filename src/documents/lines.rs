//! Documents that are one line each.

use std::io::{self, BufRead, Read};

/// A longer line is no document: it shows a file of another kind, and must not fill the memory.
const LINE_LEN_MAX: usize = 1 << 30;

/// A line without its end, or what is wrong with it.
pub(super) type Line = Result<Vec<u8>, String>;

/// Hands over the lines with their numbers, from 1, until `take` has seen enough.
pub(super) fn read(
    mut reader: impl BufRead,
    take: &mut dyn FnMut(u64, Line) -> bool,
) -> io::Result<()> {
    for number in 1.. {
        let mut line = Vec::new();
        let limit = LINE_LEN_MAX as u64 + 1;
        if reader.by_ref().take(limit).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let line = if line.len() > LINE_LEN_MAX {
            reader.skip_until(b'\n')?;
            Err("line is longer than 1 GiB".to_string())
        } else {
            while line.last().is_some_and(|b| matches!(b, b'\n' | b'\r')) {
                line.pop();
            }
            Ok(line)
        };
        if !take(number, line) {
            break;
        }
    }
    Ok(())
}
