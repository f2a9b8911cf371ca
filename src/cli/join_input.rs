//! What a join works on: a store, or files that become a store for as long as it takes.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use fpstore::{
    BuildOptions, Builder, IdPolicy, IdRef, InputOptions, JoinOptions, Recipe, Scheme, Store,
    read_records,
};
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
    /// Whether the input are files, whose records have an order.
    pub(super) fn has_files(&self) -> bool {
        matches!(self.inputs.as_slice(), [one, ..] if !one.is_dir())
    }

    pub(super) fn open(
        &self,
        effort: &EffortArgs,
        work: &Work,
        ids: Ids,
    ) -> anyhow::Result<Opened> {
        if ids == Ids::WithPlaces && !self.has_files() {
            bail!(
                "a store does not know in which order its records came; name files, or another rule"
            );
        }
        match self.inputs.as_slice() {
            [] => Ok(Opened { store: Store::open(&self.store)?, _folder: None }),
            [one] if one.is_dir() => Ok(Opened { store: Store::open(one)?, _folder: None }),
            files => {
                if let Some(folder) = files.iter().find(|file| file.is_dir()) {
                    bail!("{} is a directory; name one store, or files", folder.display());
                }
                temporary_store(files, &self.read, Recipe::external(), effort, work, ids)
            }
        }
    }
}

/// What ids a store made from files gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ids {
    /// Those of the files.
    AsTheyAre,
    /// Those of the files after the place of their record, so that the smallest id is that of the first
    /// record.
    WithPlaces,
}

/// Hex digits of a place.
const PLACE_LEN: usize = 16;

fn with_place(place: u64, id: Option<IdRef<'_>>) -> String {
    match id {
        Some(id) => format!("{place:016x}\t{id}"),
        None => format!("{place:016x}"),
    }
}

/// The place of a record and its own id.
pub(super) fn split_place(id: &str) -> (u64, Option<&str>) {
    let (place, own) = id.split_at_checked(PLACE_LEN).unwrap_or((id, ""));
    (u64::from_str_radix(place, 16).unwrap_or_default(), own.strip_prefix('\t'))
}

/// A store of one table with all records of the files.
pub(super) fn temporary_store(
    files: &[PathBuf],
    read: &ReadArgs,
    recipe: Recipe,
    effort: &EffortArgs,
    work: &Work,
    ids: Ids,
) -> anyhow::Result<Opened> {
    let files = inputs(files)?;
    let parent = effort.temp_dir.clone().unwrap_or_else(std::env::temp_dir);
    let folder = tempfile::Builder::new()
        .prefix("fpstore-")
        .tempdir_in(&parent)
        .with_context(|| format!("cannot create a directory in {}", parent.display()))?;
    let scheme = Scheme::named("1", 3)?;
    let policy = match ids {
        Ids::AsTheyAre => IdPolicy::Auto,
        Ids::WithPlaces => IdPolicy::Text,
    };
    let mut options = BuildOptions::default().scheme(scheme).ids(policy).recipe(recipe);
    options.memory = effort.memory.map(|memory| memory.as_u64());
    options.threads = effort.threads.map(usize::from);
    options.temp_dir = Some(parent);
    let path = folder.path().join("input.fps");
    let mut builder = Builder::with_options(&path, options.observer(work.observer()))?;
    let input = read.options();
    if let Some(expected) = estimate(&files, &input)? {
        builder.expect(&expected, !effort.skip_space_check)?;
    }
    let mut place = 0;
    for file in &files {
        let read = match ids {
            Ids::AsTheyAre => builder.read(file, &input),
            Ids::WithPlaces => read_records(file, &input, |record| {
                let id = with_place(place, record.id);
                place += 1;
                builder.push(record.fingerprint, &id)
            }),
        };
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
