//! Keeps the ids of documents by document number.

use crate::base::error::Result;
use fpstore_base::{Id, IdRef};
use fpstore_disk::{ByteTable, ScratchFolder};

/// The first character of a stored id: `NUMBER` for numeric ids, `TEXT` for text ids.
const NUMBER: char = '#';
const TEXT: char = '=';

/// Ids by document number, in a temporary file; `None` if documents have no ids.
#[derive(Debug, Default)]
pub(super) struct DocumentIds(Option<ByteTable>);

impl DocumentIds {
    pub(super) fn create(folder: &ScratchFolder) -> Result<Self> {
        Ok(DocumentIds(Some(ByteTable::create(folder)?)))
    }

    /// Appends the id of the next document.
    pub(super) fn push(&mut self, id: IdRef<'_>) -> Result<()> {
        let kind = if let IdRef::U64(_) = id { NUMBER } else { TEXT };
        match &mut self.0 {
            Some(table) => Ok(table.push(format!("{kind}{id}").as_bytes())?),
            None => Ok(()),
        }
    }

    pub(super) fn get(&self, document: u32) -> Result<Option<Id>> {
        let Some(table) = &self.0 else { return Ok(None) };
        let Some(bytes) = table.get(document as usize)? else { return Ok(None) };
        let text = std::str::from_utf8(&bytes).map_err(|_| table.damaged())?;
        match text.strip_prefix(NUMBER) {
            Some(number) => Ok(Some(Id::U64(number.parse().map_err(|_| table.damaged())?))),
            None => Ok(Some(IdRef::Text(text.strip_prefix(TEXT).unwrap_or(text)).to_id())),
        }
    }
}
