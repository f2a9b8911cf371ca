//! The numbering of the documents of a corpus.

/// The number of a document: 0, 1, 2 and so on, in the order of the files, documents without
/// features not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Number(pub(super) u32);

impl Number {
    /// The index in a list of all documents.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}
