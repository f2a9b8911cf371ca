//! What the program writes: messages, rows, files, pages, and what helps after an error.

#[macro_use]
pub(in crate::cli) mod text;
pub(in crate::cli) mod bad_lines;
pub(in crate::cli) mod build_report;
pub(in crate::cli) mod color;
pub(in crate::cli) mod corpus_error;
pub(in crate::cli) mod csv;
pub(in crate::cli) mod exit;
pub(in crate::cli) mod hint;
pub(in crate::cli) mod page;
pub(in crate::cli) mod pictures_in;
pub(in crate::cli) mod refused;
pub(in crate::cli) mod remedy;
pub(in crate::cli) mod row_writer;
pub(in crate::cli) mod sink;
#[cfg(feature = "parquet")]
pub(in crate::cli) mod table;
