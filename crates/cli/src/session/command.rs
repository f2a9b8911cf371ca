//! What all commands share: their exit status, and how they open a store.

use std::ffi::OsString;
use std::path::Path;

use anyhow::bail;
use clap::Args;
use fpstore::{Access, OpenOptions, Store, Width};

use super::choice::bare_choice;

/// The exit status of a command that could do its work; see [`crate::run`] for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// 0: found, or done.
    Done,
    /// 1: nothing found, or damaged.
    Negative,
    /// 130: a signal ended a stream, and what came before was done.
    Interrupted,
}

/// How a command that searches gets the bytes of a store.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct AccessArgs {
    /// How to read the store: from a memory map; all of it into memory first, which no change to the
    /// files can hurt; or auto: into memory on a network file system, if it takes at most a quarter
    /// of the memory [default: map]
    #[arg(long, value_parser = bare_choice::<Access>(), value_name = "HOW", hide_short_help = true)]
    access: Option<Access>,
}

impl AccessArgs {
    /// Whether the user chose.
    pub(crate) fn is_given(&self) -> bool {
        self.access.is_some()
    }

    /// The options of a store, if the user chose.
    pub(crate) fn options(&self) -> Option<OpenOptions> {
        self.access.map(|access| OpenOptions::default().access(access))
    }

    pub(crate) fn open(&self, path: &Path) -> anyhow::Result<Store> {
        Ok(Store::with_options(path, self.open_options())?)
    }

    /// The options of a store that is searched by one command.
    pub(crate) fn open_options(&self) -> OpenOptions {
        // A command that is killed loses nothing, and most read a small part of the store.
        OpenOptions::default().access(self.access.unwrap_or(Access::Map))
    }
}

/// Refuses fingerprints of fewer than 64 bits, for a command whose figures are those of 64.
pub(crate) fn refuse_narrow(width: Width, command: &str) -> anyhow::Result<()> {
    if width != Width::FULL {
        bail!(
            "'fpstore {command}' knows what is usual among fingerprints of 64 bits, and these have \
             {width}"
        );
    }
    Ok(())
}

/// Opens a store that is read once or in part.
pub(crate) fn open_map(path: &Path) -> fpstore::Result<Store> {
    Store::with_options(path, OpenOptions::default().access(Access::Map))
}

/// The value of an environment variable; an empty one is as good as none.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
