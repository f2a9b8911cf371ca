//! What a running command has: its observer and signals, the store that it opens, records that come in.

pub(in crate::cli) mod choice;
pub(in crate::cli) mod command;
pub(in crate::cli) mod costs;
pub(in crate::cli) mod document_reader;
pub(in crate::cli) mod memory;
pub(in crate::cli) mod monitor;
pub(in crate::cli) mod received;
pub(in crate::cli) mod stores;
pub(in crate::cli) mod wait;
