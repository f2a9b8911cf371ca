//! Making and changing stores: from records to segments, and from one manifest to the next.
//!
//! `input` reads records, `sort` orders them within a budget of memory, `builder` makes segments of
//! them, `labels` recognises dates in labels, `directory` contains the locks and the transactions
//! of a store, and `writer` makes all changes to a store. Readers never wait for a change.

pub(crate) mod builder;
pub(crate) mod directory;
pub mod input;
pub(crate) mod labels;
pub(crate) mod sort;
pub mod writer;
