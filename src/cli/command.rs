//! What all commands share: how they are run, their exit status, and the store that they take.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use fpstore::Store;

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
    pub(super) fn open(&self) -> anyhow::Result<Store> {
        Ok(Store::open(&self.store)?)
    }
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

    pub(super) fn open(&self) -> anyhow::Result<Store> {
        Ok(Store::open(self.path())?)
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
