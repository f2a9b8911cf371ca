//! Records of a fixed number of bytes.

use std::io::{BufRead, Read};

use crate::build::input::{Intake, Record};
use crate::bytes::u64_at;
use crate::error::{InputPlace, Result};
use crate::fingerprint::Fingerprint;
use crate::id::IdRef;

/// Reads records of `LEN` bytes: a fingerprint, and an id if there is room for one.
pub(super) fn read<const LEN: usize>(
    mut reader: Box<dyn BufRead>,
    intake: &mut Intake<'_>,
) -> Result<()> {
    let mut offset = 0;
    loop {
        let mut bytes = Vec::with_capacity(LEN);
        let taken = reader.by_ref().take(LEN as u64).read_to_end(&mut bytes);
        let len = taken.map_err(|source| intake.unreadable(source))?;
        let place = InputPlace::Byte(offset);
        match u64_at(&bytes, 0) {
            _ if len == 0 => return Ok(()),
            Some(value) if len == LEN => {
                let fingerprint = Fingerprint::new(value);
                let id = u64_at(&bytes, 8).map(IdRef::U64);
                intake.record(place, Record { fingerprint, id })?;
            }
            _ => return intake.bad(place, format!("{len} bytes left over, expected {LEN}")),
        }
        offset += LEN as u64;
    }
}
