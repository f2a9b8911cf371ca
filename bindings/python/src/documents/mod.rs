//! Files of documents: how they are read and cleaned.
//!
//! The work is that of `fpstore::corpus`. Here are only its arguments and its answers.

mod cleaning;
mod given;
mod overview;
mod removed;

pub(crate) use cleaning::clean;
pub(crate) use given::Documents;
pub(crate) use overview::{loss_of, overview_of};
