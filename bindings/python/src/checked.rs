//! The answer of `Writer.check_and_add`: one row for each record.

use arrow_array::builder::{UInt8Builder, UInt64Builder};
use fpstore::writer::{CheckedWriter, NewRecord, Verdict};
use fpstore::{IdKind, IdRef};

use crate::answer_columns::{IdColumn, Near};
use crate::columns::{Bits, RowsBuilder};
use crate::errors::Failure;
use crate::input::batches::Batch;
use crate::rows::Rows;
use crate::work::Shared;

/// The rows of `Writer.check_and_add` under construction.
pub(crate) struct CheckedRows {
    table: RowsBuilder<(Bits, UInt64Builder, IdColumn, UInt8Builder)>,
    ids: IdKind,
}

impl CheckedRows {
    /// An empty table, in which the column `near_id` has the kind `ids`.
    pub(crate) fn new(ids: IdKind) -> Self {
        let (near, near_id, distance) = Near::columns(ids);
        let columns = (Bits::default(), near, near_id, distance);
        let table = RowsBuilder::new(["added", "near", "near_id", "distance"], columns);
        CheckedRows { table, ids }
    }

    /// Checks the records of a batch, and adds those that are new.
    pub(crate) fn check_and_add(
        &mut self,
        writer: &mut CheckedWriter,
        batch: &Batch,
        k: u32,
        shared: &Shared,
    ) -> Result<(), Failure> {
        for (at, &fingerprint) in batch.fingerprints.iter().enumerate() {
            if at % (1 << 10) == 0 && shared.is_stopped() {
                return Err(fpstore::Error::Interrupted.into());
            }
            let id = batch.ids.as_ref().map(|ids| self.id_as_kept(ids.get(at)).to_id());
            let verdict = writer.check_and_add(&NewRecord::new(fingerprint, id), k)?;
            let added = matches!(verdict, Verdict::Added);
            self.keep(added, near_of(verdict)?.as_ref())?;
        }
        Ok(())
    }

    /// Adds a row: whether the record was added, and the near record that prevented it.
    pub(crate) fn keep(&mut self, added: bool, near: Option<&Near>) -> Result<(), Failure> {
        let (near, near_id, distance) = Near::cells(near);
        // Without a column of ids, the id is omitted.
        let near_id = near_id.filter(|_| self.ids != IdKind::None);
        self.table.keep((added, near, near_id, distance))
    }

    /// Converts the text of a number to the number if the id column contains numbers.
    fn id_as_kept<'a>(&self, id: IdRef<'a>) -> IdRef<'a> {
        match id {
            IdRef::Text(text) if self.ids == IdKind::U64 => {
                IdRef::canonical_number(text).map_or(id, IdRef::U64)
            }
            id => id,
        }
    }

    pub(crate) fn finish(self) -> Result<Rows, Failure> {
        self.table.finish()
    }
}

fn near_of(verdict: Verdict<'_>) -> Result<Option<Near>, Failure> {
    let (fingerprint, distance, id) = match verdict {
        Verdict::Added => return Ok(None),
        Verdict::Stored(hit) => {
            let id = hit.ids().next().transpose()?.map(IdRef::to_id);
            (hit.fingerprint(), hit.distance(), id)
        }
        Verdict::Pending { record, distance } => (record.fingerprint, distance, record.id.clone()),
        Verdict::Cut => return Err(fpstore::Error::Interrupted.into()),
    };
    Ok(Some(Near { fingerprint: fingerprint.value(), distance, id }))
}
