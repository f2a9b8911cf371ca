//! What a check for contamination has found.

use fpstore_base::Id;
use fpstore_documents::DocumentSummary;

/// The account of a check: each item is found, not found, or has too few words to be looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contamination {
    /// Items that were looked for.
    pub item_count: u64,
    /// Those of them with few words, which follow a rule of their own.
    pub short_count: u64,
    /// Items that were not looked for, because they have too few words.
    pub unjudged_count: u64,
    /// The ids of the first ten of these.
    pub unjudged: Vec<Id>,
    /// Items that are in a document.
    pub found_item_count: u64,
    /// Those of them of which a document holds all shingles.
    pub whole_item_count: u64,
    /// Pairs of a document and an item that it holds.
    pub found_count: u64,
    /// Documents that were read.
    pub document_count: u64,
    /// Those of them that hold an item.
    pub contaminated_count: u64,
    /// Outputs that were written.
    pub file_count: u64,
    /// Files that were found in folders and could not be read to their ends or copied; an
    /// [`Event`](crate::Event) named each. None of their documents is in an output.
    pub uncopied_count: u64,
    /// Counts of what was read of the benchmark.
    pub items_read: DocumentSummary,
    /// Counts of what was read of the corpus.
    pub documents_read: DocumentSummary,
}

impl Contamination {
    /// Documents that hold no item.
    pub fn clean_count(&self) -> u64 {
        self.document_count - self.contaminated_count
    }
}
