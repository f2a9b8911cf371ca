//! The environment of a running command: progress, signals, the opened store, and the records that
//! it receives.

pub(crate) mod choice;
pub(crate) mod command;
pub(crate) mod document_reader;
pub(crate) mod monitor;
pub(crate) mod stores;
pub(crate) mod wait;
