//! The output of the program: messages, rows, files, pages, and hints for errors.

#[macro_use]
pub(crate) mod text;
pub(crate) mod bad_lines;
pub(crate) mod build_report;
pub(crate) mod color;
pub(crate) mod corpus_error;
pub(crate) mod exit;
pub(crate) mod hint;
pub(crate) mod remedy;
pub(crate) mod row_writer;
pub(crate) mod sink;
pub(crate) mod table;
