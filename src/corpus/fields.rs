//! Ids and texts in the files of a job. A text that may be missing is its length plus one, and the
//! text; or 0. An id is a text; or 0 and a number.

use std::io::{self, Read};

use crate::bytes::fields::{put_u32, put_u64, read_u32, read_u64};
use fpstore_base::Id;

pub(super) fn put_id(out: &mut Vec<u8>, id: &Id) {
    match id {
        Id::U64(number) => {
            put_u32(out, 0);
            put_u64(out, *number);
        }
        Id::Text(text) => put_text(out, Some(text)),
    }
}

pub(super) fn put_text(out: &mut Vec<u8>, text: Option<&str>) {
    put_u32(out, text.map_or(0, |text| text.len() as u32 + 1));
    out.extend_from_slice(text.unwrap_or_default().as_bytes());
}

pub(super) fn read_id(from: &mut impl Read) -> io::Result<Id> {
    match read_text(from)? {
        None => Ok(Id::U64(read_u64(from)?)),
        Some(text) => Ok(Id::Text(text.into())),
    }
}

pub(super) fn read_text(from: &mut impl Read) -> io::Result<Option<String>> {
    let Some(len) = read_u32(from)?.checked_sub(1) else { return Ok(None) };
    let mut bytes = vec![0; len as usize];
    from.read_exact(&mut bytes)?;
    String::from_utf8(bytes).map(Some).map_err(io::Error::other)
}
