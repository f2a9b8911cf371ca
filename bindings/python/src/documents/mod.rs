//! Files of documents: how they are read and cleaned.
//!
//! The work is that of `fpstore_corpus`. Here are only its arguments and its answers.

mod benchmark;
mod cleaning;
mod given;
mod labels;
mod overview;
mod removed;
mod rows;
mod table;

pub(crate) use benchmark::contamination;
pub(crate) use cleaning::{clean, reasons_of, rules_of};
pub(crate) use given::{Documents, Readable, of_row};
pub(crate) use labels::{judged_of, labels_of};
pub(crate) use overview::{loss_of, overview_of};
