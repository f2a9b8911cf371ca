//! Code that all commands share: the exit status, and functions that open a store.

use std::ffi::OsString;
use std::path::Path;

use anyhow::bail;
use clap::Args;
use fpstore::{Access, OpenOptions, Store, Width};

use super::choice::choice;

/// The exit status of a command that ended without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// Status 0: something was found, or the work is complete.
    Done,
    /// Status 1: nothing was found, or `verify` found damage.
    Negative,
    /// Status 130: a signal ended a stream, and the records received before it were processed.
    Interrupted,
}

/// The option that selects how a command that searches reads the store.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct AccessArgs {
    /// How to read the store [default: map]
    #[arg(long, value_parser = choice::<Access>(), value_name = "HOW", hide_short_help = true)]
    access: Option<Access>,
}

impl AccessArgs {
    /// Whether the user set the option.
    pub(crate) fn is_given(&self) -> bool {
        self.access.is_some()
    }

    /// The options for opening a store; `None` if the user did not set `--access`.
    pub(crate) fn options(&self) -> Option<OpenOptions> {
        self.access.map(|access| OpenOptions::default().access(access))
    }

    pub(crate) fn open(&self, path: &Path) -> anyhow::Result<Store> {
        Ok(Store::with_options(path, self.open_options())?)
    }

    /// The options for opening a store for the searches of one command.
    pub(crate) fn open_options(&self) -> OpenOptions {
        // The default is a memory map: most commands read a small part of the store, and a SIGBUS,
        // if a file is truncated meanwhile, loses no data.
        OpenOptions::default().access(self.access.unwrap_or(Access::Map))
    }
}

/// Rejects fingerprints of fewer than 64 bits, for a command whose statistics assume 64 bits.
pub(crate) fn refuse_narrow(width: Width, command: &str) -> anyhow::Result<()> {
    if width != Width::FULL {
        bail!("'fpstore {command}' is for fingerprints of 64 bits, and these have {width}");
    }
    Ok(())
}

/// Opens a store by a memory map, for a command that reads the store once or only a part.
pub(crate) fn open_map(path: &Path) -> fpstore::Result<Store> {
    Store::with_options(path, OpenOptions::default().access(Access::Map))
}

/// The value of an environment variable; an empty value counts as unset.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
