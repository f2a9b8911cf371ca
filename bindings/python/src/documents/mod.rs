//! Reading and cleaning files of documents: the arguments and answers of `fpstore_corpus`.

mod benchmark;
mod cleaning;
mod given;
mod labels;
mod output;
mod overview;
mod removed;
mod rows;
mod table;

pub(crate) use benchmark::contamination;
pub(crate) use cleaning::{Addition, clean, reasons_of, rules_of};
pub(crate) use given::{Documents, Readable, of_row};
pub(crate) use labels::{judged_of, labels_of};
pub(crate) use overview::{loss_of, overview_of};
