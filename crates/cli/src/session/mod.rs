//! What a running command has: its observer and signals, the store that it opens, records that come in.

pub(crate) mod choice;
pub(crate) mod command;
pub(crate) mod costs;
pub(crate) mod document_reader;
pub(crate) mod monitor;
pub(crate) mod stores;
pub(crate) mod wait;
