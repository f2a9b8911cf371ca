//! The option `-s`: the store of a command, or several stores that are searched as one.

use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use fpstore::{OpenOptions, Store, StoreIndex, Stores};

use super::command::{AccessArgs, open_map, variable};

/// The option `-s` of a command that can search several stores. All other definitions of `-s` are
/// derived from this one.
#[derive(Args, Clone, Debug)]
pub(crate) struct StoresArg {
    /// One or more stores [default: $FPSTORE, else store.fps]
    #[arg(short = 's', long = "store", id = "store", value_name = "DIR")]
    named: Vec<PathBuf>,
}

impl StoresArg {
    /// The stores given by the user.
    pub(crate) fn named(&self) -> &[PathBuf] {
        &self.named
    }

    /// Whether the user gave more than one store.
    pub(crate) fn are_several(&self) -> bool {
        self.named.len() > 1
    }

    /// The stores given by the user, else the default store.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        if self.named.is_empty() { vec![default_store()] } else { self.named.clone() }
    }

    /// Rejects several stores. `what` is the option or the command that takes only one store.
    pub(crate) fn check_one(&self, what: &str) -> anyhow::Result<()> {
        if self.are_several() {
            anyhow::bail!("{what} {}", one_alone(&self.named));
        }
        Ok(())
    }
}

/// Changes the help of `-s` for a command that takes only one store.
pub(crate) fn of_one(arg: Arg) -> Arg {
    arg.help("The directory of the store [default: $FPSTORE, else store.fps]")
}

/// The message if several stores are given to a command that takes only one.
fn one_alone(named: &[PathBuf]) -> String {
    let named: Vec<String> = named.iter().map(|path| path.display().to_string()).collect();
    format!(
        "takes one store, and -s names {}: {}; query each store separately, or make one store of \
         them with 'fpstore import'",
        named.len(),
        named.join(", ")
    )
}

/// The option `-s` of a command that takes one store. A second `-s` is rejected, because the
/// command would silently ignore one of the stores.
#[derive(Clone, Debug)]
pub(crate) struct StoreArg {
    /// The store given by the user, if any.
    pub(crate) named: Option<PathBuf>,
    /// The given store, else the default store.
    pub(crate) store: PathBuf,
}

impl StoreArg {
    /// Opens the store, for a command that reads it once or in part.
    pub(crate) fn open(&self) -> fpstore::Result<Store> {
        open_map(&self.store)
    }
}

impl FromArgMatches for StoreArg {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let named = StoresArg::from_arg_matches(matches)?.named;
        if named.len() > 1 {
            let told = format!(
                "the command {}\n\n'query', 'join', 'pairs', 'clean', 'dedup' and 'serve' query several stores together\n",
                one_alone(&named)
            );
            return Err(clap::Error::raw(ErrorKind::ArgumentConflict, told));
        }
        let named = named.into_iter().next();
        Ok(StoreArg { store: named.clone().unwrap_or_else(default_store), named })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = StoreArg::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for StoreArg {
    fn augment_args(command: Command) -> Command {
        StoresArg::augment_args(command).mut_arg("store", of_one)
    }

    fn augment_args_for_update(command: Command) -> Command {
        StoreArg::augment_args(command)
    }
}

/// The store of a command that reads one store, given with `-s` or as the argument.
#[derive(Args, Debug)]
pub(crate) struct StorePlace {
    /// The directory of the store, as with -s
    #[arg(value_name = "STORE", conflicts_with = "store")]
    place: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArg,
}

impl StorePlace {
    pub(crate) fn path(&self) -> &Path {
        self.place.as_ref().unwrap_or(&self.store.store)
    }

    /// Opens the store, for a command that reads it once or in part.
    pub(crate) fn open(&self) -> fpstore::Result<Store> {
        open_map(self.path())
    }
}

/// The stores of a command that reads one or more: several with `-s`, or one as the argument.
#[derive(Args, Debug)]
pub(crate) struct StoresPlace {
    /// The directory of the store, as with -s
    #[arg(value_name = "STORE", conflicts_with = "store")]
    place: Option<PathBuf>,
    #[command(flatten)]
    stores: StoresArg,
}

impl StoresPlace {
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.place.as_ref().map_or_else(|| self.stores.paths(), |place| vec![place.clone()])
    }

    /// Rejects several stores. `what` is the option or the command that takes only one store.
    pub(crate) fn check_one(&self, what: &str) -> anyhow::Result<()> {
        self.stores.check_one(what)
    }
}

/// The path of the store that is used if the user gives none.
pub(crate) fn default_store() -> PathBuf {
    variable("FPSTORE").map_or_else(|| "store.fps".into(), PathBuf::from)
}

/// One open store, or several that are searched as one.
#[derive(Clone)]
pub(crate) struct QueriedStores {
    /// The store, or the union of the stores.
    pub(crate) store: Store,
    /// The names of the stores, if there are several: answers then name the store of each id.
    pub(crate) names: Option<StoreNames>,
}

/// The names of stores that are searched as one, as the user spelled them.
pub(crate) type StoreNames = std::sync::Arc<[String]>;

impl QueriedStores {
    /// Opens the stores at these paths; at least one path is required.
    pub(crate) fn open(paths: &[PathBuf], options: &OpenOptions) -> fpstore::Result<Self> {
        if let [path] = paths {
            return Ok(QueriedStores {
                store: Store::with_options(path, options.clone())?,
                names: None,
            });
        }
        let stores = Stores::with_options(paths, options.clone())?;
        let names = paths.iter().map(|path| path.display().to_string()).collect();
        Ok(QueriedStores { store: stores.as_store().clone(), names: Some(names) })
    }

    /// Opens the stores given by the user, if any, and returns them with their names.
    pub(crate) fn open_named(
        stores: &StoresArg,
    ) -> fpstore::Result<(Option<Store>, Option<StoreNames>)> {
        if stores.named.is_empty() {
            return Ok((None, None));
        }
        let asked = QueriedStores::open(&stores.named, &AccessArgs::default().open_options())?;
        Ok((Some(asked.store), asked.names))
    }

    /// The name of the store or stores, for messages.
    pub(crate) fn title(&self) -> String {
        match &self.names {
            Some(names) => names.join(", "),
            None => self.store.info().path.display().to_string(),
        }
    }
}

/// The name of the store with this index.
pub(crate) fn name_of(names: &StoreNames, store: StoreIndex) -> &str {
    names.get(store.0).map_or("", String::as_str)
}
