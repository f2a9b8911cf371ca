//! Segments: immutable files, each of which stores a set of fingerprints in every one of its
//! tables.
//!
//! [`Segment`] is an open file: its header, and its bytes, which are verified page by page.
//! [`TableReader`] reads one of its tables: blocks by the prefix index, heads, tails, all values in
//! order. `write` makes a segment file. Reading and writing share only the format.
//!
//! Bytes of a file are hostile until the checksum of their page is verified, and even then their
//! content can be hostile: readers return faults and never panic.

// Code that reads bytes from a file must not panic, so it must not index or unwrap.
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub(crate) mod access;
mod advice;
pub(crate) mod budget;
mod ids;
mod lookup;
mod map;
mod open;
mod read;
mod records;
mod table;
mod table_reader;
mod values;
#[cfg(feature = "write")]
pub(crate) mod write;

pub(crate) use advice::ReadAhead;
pub(crate) use open::{map, open, open_file, open_plain_file};
pub(crate) use read::Segment;
pub(crate) use records::Records;
pub(crate) use table::SyndromeLayout;
pub(crate) use table_reader::{
    IndexReader, SyndromeTable, TableKind, TableReader, Tails, WholeTable,
};
