//! Pushed records that replace older records with the same ids.

use std::collections::BTreeMap;

use super::wanted_ids::{WantedIds, number_of};
use crate::base::error::{Error, Result};
use crate::writing::builder::RecordBuffer;
use fpstore_base::{Fingerprint, Id, IdRef};

/// Pushed records, at most one for each id, sorted by id, so that the same records give the same
/// bytes. A number and its decimal text are the same id, as in deletions.
#[derive(Debug, Default)]
pub(super) struct Replacing {
    numbers: BTreeMap<u64, Record>,
    texts: BTreeMap<Box<str>, Record>,
}

#[derive(Debug)]
struct Record {
    fingerprint: Fingerprint,
    id: Id,
    sketch: Box<[u8]>,
}

impl Replacing {
    /// Takes a record, replacing an earlier one with the same id.
    pub(super) fn push(
        &mut self,
        fingerprint: Fingerprint,
        id: IdRef<'_>,
        sketch: &[u8],
    ) -> Result<()> {
        if let IdRef::Text(text) = id
            && let Some(reason) = IdRef::fault_of_text(text)
        {
            return Err(Error::InvalidId { reason: reason.into() });
        }
        let record = Record { fingerprint, id: id.to_id(), sketch: sketch.into() };
        match number_of(id) {
            Ok(number) => self.numbers.insert(number, record),
            Err(text) => self.texts.insert(text.into(), record),
        };
        Ok(())
    }

    /// The number of records.
    pub(super) fn len(&self) -> u64 {
        (self.numbers.len() + self.texts.len()) as u64
    }

    /// Pushes the records to a buffer, and returns their ids.
    pub(super) fn push_to(self, buffer: &mut RecordBuffer) -> Result<WantedIds> {
        let mut ids = WantedIds::default();
        let records = self.numbers.into_values().chain(self.texts.into_values());
        for Record { fingerprint, id, sketch } in records {
            ids.insert(id.as_ref());
            buffer.push(fingerprint, id.as_ref(), &sketch)?;
        }
        Ok(ids)
    }
}
