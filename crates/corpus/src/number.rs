//! The numberings of the documents of a corpus, as types that cannot be mixed.

/// The number of a document: 0, 1, 2 and so on, in the order of the files, without those that have
/// no features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Number(pub(super) u32);

impl Number {
    /// The position in a list of all documents.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The rank of a document, by which it is kept rather than near ones: 0 for the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(pub(super) u32);

impl Rank {
    /// The position in a list of all documents by rank.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}
