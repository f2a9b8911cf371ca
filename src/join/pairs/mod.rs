//! Near pairs: as they are found, sorted, and by the ids of documents.
//!
//! Each calls the engine once.

pub(in crate::join) mod document_pairs;
pub(in crate::join) mod near_pairs;
pub(in crate::join) mod sorted_pairs;
