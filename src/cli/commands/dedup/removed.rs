//! `--removed`: what was removed, and what is there instead.

use fpstore::rows::{RemovedInStoresRow, RemovedRow, Side};

use crate::cli::output::row_writer::RowWriter;
use crate::cli::output::sink::Sink;
use crate::cli::session::stores::{StoreNames, name_of};

/// Writes a line for each removed record. Where several stores are compared with, it ends with the name
/// of the store of a stored record.
pub(in crate::cli) struct RemovedWriter {
    rows: RowWriter,
    stores: Option<StoreNames>,
}

impl RemovedWriter {
    pub(in crate::cli) fn new(out: Sink, stores: Option<StoreNames>) -> anyhow::Result<Self> {
        let rows = match stores {
            Some(_) => RowWriter::tsv::<RemovedInStoresRow<'_>>(out)?,
            None => RowWriter::tsv::<RemovedRow<'_>>(out)?,
        };
        Ok(RemovedWriter { rows, stores })
    }

    pub(in crate::cli) fn push(&mut self, removed: RemovedRow<'_>) -> anyhow::Result<()> {
        let Some(names) = &self.stores else { return self.rows.push(&removed) };
        let is_stored = removed.side == Side::Stored;
        let other_store = is_stored.then(|| name_of(names, removed.other_store));
        self.rows.push(&RemovedInStoresRow { removed, other_store })
    }

    pub(in crate::cli) fn finish(self) -> anyhow::Result<()> {
        self.rows.finish()
    }
}
