//! `--removed`: the list of removed records, each with the record that is kept in its place.

use fpstore::rows::{RemovedRow, Side};

use crate::output::row_writer::RowWriter;
use crate::output::sink::Sink;
use crate::session::stores::{StoreNames, name_of};

/// Writes a line for each removed record. If records are compared with several stores, and the kept
/// record is a stored one, the line ends with the name of the store.
pub(crate) struct RemovedWriter {
    rows: RowWriter,
    stores: Option<StoreNames>,
}

impl RemovedWriter {
    pub(crate) fn new(out: Sink, stores: Option<StoreNames>) -> anyhow::Result<Self> {
        Ok(RemovedWriter { rows: RowWriter::tsv::<RemovedRow<'_>>(out)?, stores })
    }

    pub(crate) fn push(&mut self, removed: RemovedRow<'_>) -> anyhow::Result<()> {
        let Some(names) = &self.stores else { return self.rows.push(&removed) };
        let is_stored = removed.side == Side::Stored;
        let name = if is_stored { name_of(names, removed.other_store) } else { "" };
        self.rows.push(&RemovedRow { other_store_name: Some(name), ..removed })
    }

    pub(crate) fn finish(self) -> anyhow::Result<()> {
        self.rows.finish()
    }
}
