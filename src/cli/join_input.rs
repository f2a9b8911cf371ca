//! What a join works on: a store, or files that become a store for as long as it takes.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use fpstore::{BuildOptions, Builder, IdPolicy, InputOptions, JoinOptions, Recipe, Scheme, Store};
use tempfile::TempDir;

use super::RadixArg;
use super::build::{FormatArg, estimate, inputs, report_skipped};
use super::effort::{EffortArgs, Work};

/// How the lines of files are read.
#[derive(Args, Debug)]
pub(super) struct ReadArgs {
    /// How given fingerprints are spelled; what is printed is always hex
    #[arg(long, value_enum, default_value = "hex")]
    pub(super) radix: RadixArg,
    /// How records are laid out in files
    #[arg(long, value_enum, default_value = "lines")]
    input_format: FormatArg,
    /// Count bad records, show the first ten, and go on
    #[arg(long)]
    pub(super) skip_bad: bool,
}

impl ReadArgs {
    pub(super) fn options(&self) -> InputOptions {
        let format = self.input_format.into();
        InputOptions::default().format(format).radix(self.radix.into()).skip_bad(self.skip_bad)
    }
}

/// A store, or files of fingerprints and ids.
#[derive(Args, Debug)]
pub(super) struct JoinInputArgs {
    /// A store, or files as 'build' reads them, or -; the store of -s if none
    #[arg(value_name = "STORE|FILE")]
    inputs: Vec<PathBuf>,
    /// The directory of the store
    #[arg(short, long, value_name = "DIR", env = "FPSTORE", default_value = "store.fps")]
    store: PathBuf,
    #[command(flatten)]
    read: ReadArgs,
}

/// A store to work on.
pub(super) struct Opened {
    pub(super) store: Store,
    /// The folder of a store made from files, which goes with this.
    _folder: Option<TempDir>,
}

impl JoinInputArgs {
    pub(super) fn open(&self, effort: &EffortArgs, work: &Work) -> anyhow::Result<Opened> {
        match self.inputs.as_slice() {
            [] => Ok(Opened { store: Store::open(&self.store)?, _folder: None }),
            [one] if one.is_dir() => Ok(Opened { store: Store::open(one)?, _folder: None }),
            files => {
                if let Some(folder) = files.iter().find(|file| file.is_dir()) {
                    bail!("{} is a directory; name one store, or files", folder.display());
                }
                temporary_store(files, &self.read, Recipe::external(), effort, work)
            }
        }
    }
}

/// A store of one table with all records of the files.
pub(super) fn temporary_store(
    files: &[PathBuf],
    read: &ReadArgs,
    recipe: Recipe,
    effort: &EffortArgs,
    work: &Work,
) -> anyhow::Result<Opened> {
    let files = inputs(files)?;
    let parent = effort.temp_dir.clone().unwrap_or_else(std::env::temp_dir);
    let folder = tempfile::Builder::new()
        .prefix("fpstore-")
        .tempdir_in(&parent)
        .with_context(|| format!("cannot create a directory in {}", parent.display()))?;
    let scheme = Scheme::named("1", 3)?;
    let mut options = BuildOptions::default().scheme(scheme).ids(IdPolicy::Auto).recipe(recipe);
    options.memory = effort.memory.map(|memory| memory.as_u64());
    options.threads = effort.threads.map(usize::from);
    options.temp_dir = Some(parent);
    let path = folder.path().join("input.fps");
    let mut builder = Builder::with_options(&path, options.observer(work.observer()))?;
    let input = read.options();
    if let Some(expected) = estimate(&files, &input)? {
        builder.expect(&expected, !effort.skip_space_check)?;
    }
    for file in &files {
        let read = builder.read(file, &input);
        let summary = read.inspect_err(|_| work.lost(builder.record_count()))?;
        work.aside(|| report_skipped(file, &summary));
    }
    let store = builder.finish()?;
    // Its files are open, so where the system allows it they vanish with the process, however it ends.
    let folder = match cfg!(unix) {
        true => folder.close().map(|()| None),
        false => Ok(Some(folder)),
    };
    let folder = folder.with_context(|| format!("cannot tidy up in {}", path.display()))?;
    Ok(Opened { store, _folder: folder })
}

/// How to join with so much effort.
pub(super) fn join_options(k: u32, effort: &EffortArgs, work: &Work) -> JoinOptions {
    let mut options = JoinOptions::new(k);
    options.memory = effort.memory.map(|memory| memory.as_u64());
    options.threads = effort.threads.map(usize::from);
    options.temp_dir.clone_from(&effort.temp_dir);
    options.observer = Some(work.observer());
    options
}
