//! What all commands share: their exit status, and the store that they take.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use fpstore::{Access, OpenOptions, Store, Width};

use super::choice::bare_choice;

/// The exit status of a command that could do its work; see [`crate::cli::run`] for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum ExitStatus {
    /// 0: found, or done.
    Done,
    /// 1: nothing found, or damaged.
    Negative,
    /// 130: a signal ended a stream, and what came before was done.
    Interrupted,
}

/// The store that a command works on.
#[derive(Args, Debug)]
pub(in crate::cli) struct StoreArg {
    /// The directory of the store [default: $FPSTORE, else store.fps]
    #[arg(short, long, value_name = "DIR", default_value_os_t = default_store(),
        hide_default_value = true)]
    pub(in crate::cli) store: PathBuf,
}

impl StoreArg {
    /// For a command that reads it once or in part.
    pub(in crate::cli) fn open(&self) -> fpstore::Result<Store> {
        open_map(&self.store)
    }
}

/// How a command that searches gets the bytes of a store.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(in crate::cli) struct AccessArgs {
    /// How to read the store: from a memory map; all of it into memory first, which no change to the
    /// files can hurt; or auto: into memory on a network file system, if it takes at most a quarter
    /// of the memory [default: map]
    #[arg(long, value_parser = bare_choice::<Access>(), value_name = "HOW", hide_short_help = true)]
    access: Option<Access>,
}

impl AccessArgs {
    /// Whether the user chose.
    pub(in crate::cli) fn is_given(&self) -> bool {
        self.access.is_some()
    }

    /// The options of a store, if the user chose.
    #[cfg(feature = "serve")]
    pub(in crate::cli) fn options(&self) -> Option<OpenOptions> {
        self.access.map(|access| OpenOptions::default().access(access))
    }

    pub(in crate::cli) fn open(&self, path: &Path) -> anyhow::Result<Store> {
        // A command that is killed loses nothing, and most read a small part of the store.
        Ok(open(path, self.access.unwrap_or(Access::Map))?)
    }
}

/// Refuses fingerprints of fewer than 64 bits, for a command whose figures are those of 64.
pub(in crate::cli) fn refuse_narrow(width: Width, command: &str) -> anyhow::Result<()> {
    if width != Width::FULL {
        bail!(
            "'fpstore {command}' knows what is usual among fingerprints of 64 bits, and these have \
             {width}"
        );
    }
    Ok(())
}

/// Opens a store that is read once or in part.
pub(in crate::cli) fn open_map(path: &Path) -> fpstore::Result<Store> {
    open(path, Access::Map)
}

fn open(path: &Path, access: Access) -> fpstore::Result<Store> {
    Store::with_options(path, OpenOptions::default().access(access))
}

/// The store that a command reads: the only thing that its arguments can name.
#[derive(Args, Debug)]
pub(in crate::cli) struct StorePlace {
    /// The directory of the store, as with -s
    #[arg(value_name = "STORE", conflicts_with = "store")]
    place: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArg,
}

impl StorePlace {
    pub(in crate::cli) fn path(&self) -> &Path {
        self.place.as_ref().unwrap_or(&self.store.store)
    }

    /// For a command that reads it once or in part.
    pub(in crate::cli) fn open(&self) -> fpstore::Result<Store> {
        open_map(self.path())
    }
}

/// The store that is meant if none is named.
pub(in crate::cli) fn default_store() -> PathBuf {
    variable("FPSTORE").map_or_else(|| "store.fps".into(), PathBuf::from)
}

/// The value of an environment variable; an empty one is as good as none.
pub(in crate::cli) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
