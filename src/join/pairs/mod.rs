//! Near pairs: as they are found, sorted, by the ids of documents, and a few to judge.
//!
//! Each calls the engine once.

pub(in crate::join) mod document_lookup;
pub(in crate::join) mod document_pairs;
pub(in crate::join) mod near_pairs;
pub(crate) mod nearest_others;
pub(in crate::join) mod sampled_pairs;
pub(in crate::join) mod sorted_pairs;
