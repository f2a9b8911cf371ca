//! Files of documents: how they are read and cleaned.
//!
//! The work is that of `fpstore::corpus`. Here are only its arguments and its answers.

mod benchmark;
mod cleaning;
mod given;
mod overview;
mod removed;
mod rows;
mod table;

pub(crate) use benchmark::contamination;
pub(crate) use cleaning::{clean, judged_of, labels_of, of_row, reasons_of, rules_of};
pub(crate) use given::{Documents, Readable};
pub(crate) use overview::{loss_of, overview_of};
