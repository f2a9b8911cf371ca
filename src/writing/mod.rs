//! Making and changing stores: records in, segments out, one manifest after the other.
//!
//! `input` reads records, `sort` orders them within a `budget` of memory, `builder` makes a segment of
//! them, `labels` tells dates from other labels, `directory` has the locks and the transactions of a
//! store, and `writer` does all that changes one. Readers never wait for any of it.

pub(crate) mod budget;
pub(crate) mod builder;
pub(crate) mod directory;
pub mod input;
pub(crate) mod labels;
pub(crate) mod sort;
pub mod writer;
