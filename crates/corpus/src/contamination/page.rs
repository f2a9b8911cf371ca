//! The HTML page of a contamination check.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use fpstore_documents::{DocumentOptions, read_texts};
use fpstore_plot::numbers::grouped;

use super::work::{Contamination, FoundItem};
use crate::error::{Error, Result};
use fpstore_report::page::{ContaminationPage, HeldItem};

impl FoundItem<'_> {
    /// The values of the item that a page shows.
    pub fn held(&self) -> HeldItem {
        let row = &self.row;
        HeldItem {
            item: row.item.to_string(),
            contained: row.contained,
            file: row.file.into(),
            id: row.id.to_string(),
            chars: row.start..row.end,
            passage: self.passage.into(),
        }
    }
}

impl Contamination {
    /// An HTML page of the items in `shown`. Their texts are read again from the files `items`.
    ///
    /// # Errors
    ///
    /// [`Error::Text`](crate::Error::Text) if the items cannot be read.
    pub fn page(
        &self,
        shown: ContaminationPage,
        items: &[PathBuf],
        options: &DocumentOptions,
        title: &str,
    ) -> Result<String> {
        let wanted: BTreeSet<String> = shown.items().map(String::from).collect();
        let mut texts = HashMap::new();
        read_texts(items, options, |id, text| -> Result<(), Error> {
            let id = id.to_string();
            if wanted.contains(&id) {
                texts.entry(id).or_insert_with(|| text.to_string());
            }
            Ok(())
        })?;
        let facts = [
            ("items looked for", grouped(self.item_count)),
            ("items found", grouped(self.found_item_count)),
            ("documents", grouped(self.document_count)),
            ("documents that hold items", grouped(self.contaminated_count)),
        ];
        Ok(shown.write(title, &facts, &texts))
    }
}
