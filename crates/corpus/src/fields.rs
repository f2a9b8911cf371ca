//! Encoding of ids and texts in the files of a job. A text is encoded as its length plus one and
//! its bytes, a missing text as 0; an id as a text, or as 0 and a number.

use std::io;

use fpstore_base::IdRef;
use fpstore_disk::fields::{put_u32, put_u64, read_u32, read_u64};

pub(super) fn put_id(out: &mut Vec<u8>, id: IdRef<'_>) {
    match id {
        IdRef::U64(number) => {
            put_u32(out, 0);
            put_u64(out, number);
        }
        IdRef::Text(text) => put_text(out, Some(text)),
    }
}

pub(super) fn put_text(out: &mut Vec<u8>, text: Option<&str>) {
    put_u32(out, text.map_or(0, |text| text.len() as u32 + 1));
    out.extend_from_slice(text.unwrap_or_default().as_bytes());
}

/// Reads an id from the beginning of `from`, and advances `from` past it.
pub(super) fn read_id<'a>(from: &mut &'a [u8]) -> io::Result<IdRef<'a>> {
    Ok(match read_text(from)? {
        None => IdRef::U64(read_u64(from)?),
        Some(text) => IdRef::Text(text),
    })
}

pub(super) fn read_text<'a>(from: &mut &'a [u8]) -> io::Result<Option<&'a str>> {
    let Some(len) = read_u32(from)?.checked_sub(1) else { return Ok(None) };
    let text = read_bytes(from, len as usize)?;
    std::str::from_utf8(text).map(Some).map_err(io::Error::other)
}

pub(super) fn read_bytes<'a>(from: &mut &'a [u8], len: usize) -> io::Result<&'a [u8]> {
    let (bytes, rest) = from.split_at_checked(len).ok_or(io::ErrorKind::UnexpectedEof)?;
    *from = rest;
    Ok(bytes)
}
