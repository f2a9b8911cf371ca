//! The input of `pairs`, `cluster` and `join`: a store, or files that are converted to a temporary
//! store.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use fpstore::input::{InputOptions, read_records};
use fpstore::{
    BuildOptions, Builder, Error, Fingerprint, IdPolicy, IdRef, Recipe, Store, TemporaryBuilder,
    TemporaryStore,
};

use super::group_page::TextSource;
use crate::args::documents::{DocumentArgs, report};
use crate::args::inputs::{ReadArgs, estimate, inputs, refuse_pipes, report_skipped, title_of};
use crate::args::resources::ResourceArgs;
use crate::session::command::AccessArgs;
use crate::session::document_reader::Documents;
use crate::session::monitor::Monitor;
use crate::session::stores::{QueriedStores, StoreNames, StoresArg};

/// Arguments for the input of a join: a store, files of fingerprints and ids, or documents.
#[derive(Args, Debug)]
#[command(mut_arg("store", |arg| arg.conflicts_with("inputs")))]
pub(crate) struct JoinInputArgs {
    /// A store, or files as 'build' reads them, or - [default: the store of -s]; with --docs also
    /// folders
    #[arg(value_name = "STORE|FILE")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    stores: StoresArg,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    documents: DocumentArgs,
}

/// The source of the records of a temporary store.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// Files of fingerprints and ids.
    Records(InputOptions),
    /// Files of documents.
    Documents(&'a Documents),
}

/// Documents whose similar pairs `--confirm` finds.
pub(crate) enum ToConfirm<'a> {
    /// Documents in files.
    Documents(Box<Documents>, &'a [PathBuf]),
    /// Documents of a store, compared by their stored sketches.
    Store(Store),
}

/// An open store, given by the user or made from files.
pub(crate) struct Opened {
    pub(crate) store: Store,
    /// The distance in bits that is used if the user gives none.
    pub(crate) default_k: u32,
    /// The names of the stores, if several are queried together.
    pub(crate) stores: Option<StoreNames>,
    /// The temporary store, deleted when this value is dropped.
    _temporary: Option<TemporaryStore>,
}

impl Opened {
    /// Opens one store, or several that are searched as one.
    pub(crate) fn asked(paths: &[PathBuf], access: AccessArgs) -> anyhow::Result<Self> {
        let asked = QueriedStores::open(paths, &access.open_options())?;
        let default_k = asked.store.tuned_k();
        Ok(Opened { default_k, store: asked.store, stores: asked.names, _temporary: None })
    }
}

impl JoinInputArgs {
    /// Whether the input consists of files. Unlike a store, files keep the order of their records.
    pub(crate) fn has_files(&self) -> bool {
        let is_file = |one: &PathBuf| self.documents.are_given() || !one.is_dir();
        self.inputs.first().is_some_and(is_file)
    }

    /// Prints the default recipe, if the input contains documents and the user gave no recipe.
    pub(crate) fn report_default(&self) {
        if self.documents.are_given() {
            self.documents.report_default();
        }
    }

    /// The name of the input for a page. Without folders, because other people see the page.
    pub(crate) fn title(&self) -> String {
        title_of(&self.inputs, &self.usual())
    }

    /// Where to read the texts of the documents: in the input, or if it contains fingerprints in
    /// `files`. `None` if there are no texts.
    pub(crate) fn text_source<'a>(
        &'a self,
        files: &'a [PathBuf],
        resources: &ResourceArgs,
    ) -> anyhow::Result<Option<TextSource<'a>>> {
        let options = self.documents.options(&self.read, resources.reading()?)?;
        let documents = self.documents.prepare_beside(true, &self.read, resources.reading()?)?;
        if let Some(documents) = documents.filter(Documents::have_texts) {
            if self.documents.hold_features() {
                return Ok(None);
            }
            let hasher = Some(documents.hasher()?.clone());
            return Ok(Some(TextSource { files: &self.inputs, options, hasher }));
        }
        if files.is_empty() {
            return Ok(None);
        }
        // The recipe of fingerprints in files is unknown; a store contains its recipe.
        let hasher = match self.has_files() {
            true => None,
            false => {
                let path = self.inputs.first().cloned().unwrap_or_else(|| self.usual());
                self.documents.hasher_of(&self.access.open(&path)?)
            }
        };
        Ok(Some(TextSource { files, options, hasher }))
    }

    /// Rejects documents from a pipe, for an option that reads them twice.
    pub(crate) fn check_twice(&self, option: &str) -> anyhow::Result<()> {
        if self.documents.are_given() { refuse_pipes(&self.inputs, option) } else { Ok(()) }
    }

    /// The documents to compare with `--confirm`, in files or in a store. For `reads_texts` see
    /// [`JoinInputArgs::open`].
    pub(crate) fn to_confirm(
        &self,
        resources: &ResourceArgs,
        reads_texts: bool,
    ) -> anyhow::Result<ToConfirm<'_>> {
        let (read, limits) = (&self.read, resources.reading()?);
        let documents = self.documents.prepare_beside(reads_texts, read, limits)?;
        match documents.filter(|_| self.documents.are_given()) {
            Some(_) if self.inputs.is_empty() => {
                bail!("--docs needs the files or folders of the documents")
            }
            Some(documents) => Ok(ToConfirm::Documents(Box::new(documents), &self.inputs)),
            None if self.has_files() => {
                bail!("--confirm compares documents; add --docs to read them")
            }
            None => {
                self.stores.check_one("--confirm")?;
                let path = self.inputs.first().cloned().unwrap_or_else(|| self.usual());
                let opened = self.access.open(&path);
                let is_other = opened.as_ref().err().is_some_and(|error| {
                    matches!(error.downcast_ref(), Some(Error::NotAStore { .. }))
                });
                if is_other && path.is_dir() {
                    bail!("{} is not a store; if it holds documents, add --docs", path.display());
                }
                Ok(ToConfirm::Store(opened?))
            }
        }
    }

    /// The store given with `-s`, or the default store.
    fn usual(&self) -> PathBuf {
        self.stores.paths().swap_remove(0)
    }

    /// Rejects several stores. `what` is the option or the command that takes only one store.
    pub(crate) fn check_one(&self, what: &str) -> anyhow::Result<()> {
        self.stores.check_one(what)
    }

    /// Opens the stores at these paths. If the user gave `--bits`, they must have this width.
    fn stored(&self, paths: &[PathBuf]) -> anyhow::Result<Opened> {
        let opened = Opened::asked(paths, self.access)?;
        self.read.of_width(opened.store.width())?;
        Ok(opened)
    }

    /// Opens the store, or makes a temporary store from the files. With `reads_texts` the command
    /// reads fingerprints and also texts of documents, see [`JoinInputArgs::text_source`].
    pub(crate) fn open(
        &self,
        resources: &ResourceArgs,
        monitor: &Monitor,
        ids: Ids,
        reads_texts: bool,
    ) -> anyhow::Result<Opened> {
        if ids != Ids::AsTheyAre && !self.has_files() {
            bail!("a store does not keep the order of its records; name files, or another rule");
        }
        if self.access.is_given() && self.has_files() {
            bail!("--access applies only to stores, and the input is files; leave it out");
        }
        let (read, limits) = (&self.read, resources.reading()?);
        let documents = self.documents.prepare_beside(reads_texts, read, limits)?;
        if self.documents.are_given() {
            let Some(documents) = &documents else { bail!("there is no recipe for --docs") };
            let source = Source::Documents(documents);
            let recipe = documents.source.recipe();
            return temporary_store(&self.inputs, source, recipe, resources, monitor, ids, None);
        }
        if documents.is_some() {
            bail!("--recipe is for documents; add --docs to read them");
        }
        match self.inputs.as_slice() {
            [] => self.stored(&self.stores.paths()),
            [one] if one.is_dir() => self.stored(std::slice::from_ref(one)),
            files => {
                if let Some(folder) = files.iter().find(|file| file.is_dir()) {
                    bail!(
                        "{} is a directory; name one store, or files, or each of several stores \
                         with -s",
                        folder.display()
                    );
                }
                let source = Source::Records(self.documents.lines(&self.read)?);
                let recipe = Recipe::external_of(self.read.width());
                temporary_store(files, source, recipe, resources, monitor, ids, None)
            }
        }
    }
}

/// What a temporary store keeps as the ids of its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ids {
    /// The ids of the files.
    AsTheyAre,
    /// The positions of the records in the input, as numbers, which need less memory than texts.
    Positions(Order),
    /// Texts that consist of the position of the record in the input and its id.
    WithPositions(Order),
}

/// Whether ids that contain positions rise or fall with the position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The first record has the smallest id.
    Rising,
    /// The last record has the smallest id.
    Falling,
}

impl Order {
    /// Converts a position to the number stored in the id, or such a number to the position.
    fn number_of(self, position: u64) -> u64 {
        if self == Order::Falling { !position } else { position }
    }
}

impl Ids {
    /// Splits a stored id into the position of the record (0 without positions) and its id in the
    /// input.
    pub(crate) fn split(self, id: IdRef<'_>) -> (u64, Option<&str>) {
        match (self, id) {
            (Ids::Positions(order), IdRef::U64(number)) => (order.number_of(number), None),
            (Ids::WithPositions(order), IdRef::Text(id)) => {
                let (position, own) = id.split_at_checked(POSITION_LEN).unwrap_or((id, ""));
                let number = u64::from_str_radix(position, 16).unwrap_or_default();
                (order.number_of(number), own.strip_prefix('\t'))
            }
            (_, IdRef::Text(id)) => (0, Some(id)),
            (_, IdRef::U64(_)) => (0, None),
        }
    }

    fn policy(self) -> IdPolicy {
        match self {
            Ids::AsTheyAre => IdPolicy::Auto,
            Ids::Positions(_) => IdPolicy::U64,
            Ids::WithPositions(_) => IdPolicy::Text,
        }
    }

    /// Passes a record with its stored id to the builder.
    fn push(
        self,
        builder: &mut Builder,
        fingerprint: Fingerprint,
        position: u64,
        id: Option<IdRef<'_>>,
    ) -> Result<(), Error> {
        match (self, id) {
            (Ids::AsTheyAre, Some(id)) => builder.push(fingerprint, id),
            (Ids::AsTheyAre, None) => builder.push_bare(fingerprint),
            (Ids::Positions(order), _) => builder.push(fingerprint, order.number_of(position)),
            (Ids::WithPositions(order), id) => {
                let number = order.number_of(position);
                let id = id.map_or(String::new(), |id| format!("\t{id}"));
                builder.push(fingerprint, &format!("{number:016x}{id}"))
            }
        }
    }
}

/// The number of hex digits of a position in an id.
const POSITION_LEN: usize = 16;

/// Callback for each record: the number of its file (0 for documents), its fingerprint, and its id
/// in the file.
pub(crate) type EachRecord<'a> =
    dyn FnMut(usize, Fingerprint, Option<IdRef<'_>>) -> Result<(), Error> + 'a;

/// Builds a temporary store from all records of the files. `each` is called for each record, but
/// for files of fingerprints only if the ids contain positions.
pub(crate) fn temporary_store(
    files: &[PathBuf],
    source: Source<'_>,
    recipe: Recipe,
    resources: &ResourceArgs,
    monitor: &Monitor,
    ids: Ids,
    mut each: Option<&mut EachRecord<'_>>,
) -> anyhow::Result<Opened> {
    let files = inputs(files)?;
    let usual_k = recipe.width().usual_k();
    let options = BuildOptions::default()
        .ids(ids.policy())
        .recipe(recipe)
        .memory(resources.memory.map(|memory| memory.as_u64()))
        .threads(resources.threads()?)
        .observer(monitor.observer());
    let mut temporary = TemporaryBuilder::create(&resources.temp_dir(), options)?;
    let builder = temporary.builder();
    let mut position = 0;
    let mut default_k = usual_k;
    match source {
        Source::Documents(documents) => {
            default_k = documents.source.usual_k();
            let summary = documents.push_all(&files, monitor, |fingerprint, id, _| {
                each.as_mut().map_or(Ok(()), |each| each(0, fingerprint, Some(id)))?;
                position += 1;
                ids.push(builder, fingerprint, position - 1, Some(id))
            });
            let summary = summary.inspect_err(|_| monitor.report_loss(builder.record_count()))?;
            monitor.suspend(|| report(&summary));
        }
        Source::Records(input) => {
            if let Some(expected) = estimate(&files, &input)? {
                builder.expect(&expected, !resources.skip_space_check)?;
            }
            for (number, file) in files.iter().enumerate() {
                let read = match ids {
                    Ids::AsTheyAre => builder.read(file, &input),
                    ids => read_records(file, &input, |record| {
                        let (value, id) = (record.fingerprint, record.id);
                        each.as_mut().map_or(Ok(()), |each| each(number, value, id))?;
                        position += 1;
                        ids.push(builder, record.fingerprint, position - 1, record.id)
                    }),
                };
                let summary = read.inspect_err(|_| monitor.report_loss(builder.record_count()))?;
                monitor.suspend(|| report_skipped(file, &summary));
            }
        }
    }
    let temporary = temporary.finish()?;
    let store = temporary.store().clone();
    Ok(Opened { store, default_k, stores: None, _temporary: Some(temporary) })
}
