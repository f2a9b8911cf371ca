//! What all commands share: how they are run, their exit status, and the store that they take.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use fpstore::{Access, OpenOptions, Store};

/// The exit status of a command that could do its work; see [`super::run`] for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExitStatus {
    /// 0: found, or done.
    Done,
    /// 1: nothing found, or damaged.
    Negative,
    /// 130: a signal ended a stream, and what came before was done.
    Interrupted,
}

/// A command. A new one takes a file with its arguments and this trait, and three lines in
/// `cli/mod.rs`: the module, the enum of commands, and the list below it. A command with exit
/// status 1 is also named in the help there.
pub(super) trait Run {
    fn run(&self) -> anyhow::Result<ExitStatus>;

    /// Whether the user may be told that `--skip-bad` skips a bad record.
    fn can_skip_bad(&self) -> bool {
        false
    }

    /// Whether the user may be told that `--force` replaces a store that exists.
    fn can_replace(&self) -> bool {
        false
    }

    /// Whether the user may be told that `--recipe` says how fingerprints were made.
    fn takes_recipe(&self) -> bool {
        false
    }

    /// What an interruption has left of the work, to be printed after it.
    fn after_interruption(&self) -> &'static str {
        "nothing was changed"
    }
}

/// The store that a command works on.
#[derive(Args, Debug)]
pub(super) struct StoreArg {
    /// The directory of the store [default: $FPSTORE, else store.fps]
    #[arg(short, long, value_name = "DIR", default_value_os_t = default_store(),
        hide_default_value = true)]
    pub(super) store: PathBuf,
}

impl StoreArg {
    /// For a command that reads it once or in part.
    pub(super) fn open(&self) -> fpstore::Result<Store> {
        open_map(&self.store)
    }
}

/// How a command that searches gets the bytes of a store.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct AccessArgs {
    /// How to read the store: from a memory map; all of it into memory first, which no change to the
    /// files can hurt; or auto: into memory on a network file system, if it takes at most a quarter
    /// of the memory [default: map]
    #[arg(long, value_enum, value_name = "HOW", hide_short_help = true)]
    access: Option<AccessArg>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AccessArg {
    Map,
    Memory,
    Auto,
}

impl AccessArgs {
    /// Whether the user chose.
    pub(super) fn is_given(&self) -> bool {
        self.access.is_some()
    }

    pub(super) fn open(&self, path: &Path) -> anyhow::Result<Store> {
        Ok(open(
            path,
            match self.access {
                // A command that is killed loses nothing, and most read a small part of the store.
                None | Some(AccessArg::Map) => Access::Map,
                Some(AccessArg::Memory) => Access::Memory,
                Some(AccessArg::Auto) => Access::Auto,
            },
        )?)
    }
}

/// Opens a store that is read once or in part.
pub(super) fn open_map(path: &Path) -> fpstore::Result<Store> {
    open(path, Access::Map)
}

fn open(path: &Path, access: Access) -> fpstore::Result<Store> {
    Store::with_options(path, OpenOptions::default().access(access))
}

/// The store that a command reads: the only thing that its arguments can name.
#[derive(Args, Debug)]
pub(super) struct StorePlace {
    /// The directory of the store, as with -s
    #[arg(value_name = "STORE", conflicts_with = "store")]
    place: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArg,
}

impl StorePlace {
    pub(super) fn path(&self) -> &Path {
        self.place.as_ref().unwrap_or(&self.store.store)
    }

    /// For a command that reads it once or in part.
    pub(super) fn open(&self) -> fpstore::Result<Store> {
        open_map(self.path())
    }
}

/// The store that is meant if none is named.
pub(super) fn default_store() -> PathBuf {
    variable("FPSTORE").map_or_else(|| "store.fps".into(), PathBuf::from)
}

/// The value of an environment variable; an empty one is as good as none.
pub(super) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
