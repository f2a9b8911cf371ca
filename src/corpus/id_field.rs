//! Ids in the files of a job: the length of the text plus one, and the text; or 0 and a number.

use std::io::{self, Read};

use crate::bytes::fields::{put_u32, put_u64, read_u32, read_u64};
use fpstore_base::Id;

pub(super) fn put_id(out: &mut Vec<u8>, id: &Id) {
    match id {
        Id::U64(number) => {
            put_u32(out, 0);
            put_u64(out, *number);
        }
        Id::Text(text) => {
            put_u32(out, text.len() as u32 + 1);
            out.extend_from_slice(text.as_bytes());
        }
    }
}

pub(super) fn read_id(from: &mut impl Read) -> io::Result<Id> {
    match read_u32(from)?.checked_sub(1) {
        None => Ok(Id::U64(read_u64(from)?)),
        Some(len) => {
            let mut bytes = vec![0; len as usize];
            from.read_exact(&mut bytes)?;
            let text = String::from_utf8(bytes).map_err(io::Error::other)?;
            Ok(Id::Text(text.into()))
        }
    }
}
