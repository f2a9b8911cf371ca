//! Making stores: the class `Builder` and the function `build`.

use std::path::PathBuf;
use std::sync::Arc;

use fpstore::{BuildOptions, Fingerprint, IdRef, Recipe, SchemeChoice, Width};
use fpstore_text::{SKETCH_LENS, TextHasher};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyTuple};

use crate::adding::{Adder, Adding, add};
use crate::documents::Documents;
use crate::errors::{Failure, input_error};
use crate::id_rule::IdRule;
use crate::input::arguments::{path, path_or_none, text, text_or_none};
use crate::input::ids::Ids;
use crate::input::whole::{Bytes, Whole, budget_or_none, wide};
use crate::lent::{Lent, Words};
use crate::options::{Limits, tuned_distance, wait_of};
use crate::recipes::{common, warn_of_unknown_recipe};
use crate::store::{Store, open_one};
use crate::text::{hasher_of, recipe_text_of};
use crate::work::{Reporter, Shared, run_shared};

/// Makes a store of records, which are added in any order and need not fit into memory.
///
/// The same records make the same file as with the program `fpstore`, byte for byte. Leaving a
/// `with` block finishes the store; leaving it with an exception discards the records. A record
/// without an id is merged into a record with the same fingerprint and an id.
///
/// Parameters
/// ----------
/// path : path
///     The directory of the store.
#[doc = parameters!(build)]
///
/// Raises
/// ------
/// StoreExistsError
///     There is already a store, and `replace` is not set.
///
/// Examples
/// --------
/// >>> with fpstore.Builder(folder / "built.fps", label="2026-11") as builder:
/// ...     builder.add([1, 2], ["one", "two"])
/// 2
/// >>> len(fpstore.open(folder / "built.fps"))
/// 2
#[pyclass(frozen, module = "fpstore")]
pub(crate) struct Builder(Adder<LateBuilder>);

/// The name of a builder in messages.
pub(crate) const WORDS: Words = Words { noun: "builder", loss: "nothing was built" };

/// A builder of the Rust crate, created at the first record: only then is the id kind known.
pub(crate) struct LateBuilder {
    begin: Box<dyn Fn(BuildOptions) -> fpstore::Result<fpstore::Builder> + Send>,
    options: BuildOptions,
    rule: IdRule,
    begun: Option<fpstore::Builder>,
    recipe: Option<Recipe>,
    tables: Option<Tables>,
    sketch_len: u8,
}

/// The table options given by the user.
pub(crate) struct Tables {
    pub(crate) k: Option<Whole>,
    pub(crate) scheme: Option<String>,
    pub(crate) budget: Option<String>,
}

impl Tables {
    fn scheme(&self, py: Python<'_>, recipe: Option<&Recipe>) -> PyResult<SchemeChoice> {
        let k = tuned_distance(py, self.k, recipe)?;
        Ok(crate::options::scheme(k, self.scheme.as_deref(), self.budget.as_deref())?)
    }
}

impl LateBuilder {
    /// A builder for fingerprints of `recipe`, by default the recipe of the first fingerprints.
    pub(crate) fn new(
        py: Python<'_>,
        mut options: BuildOptions,
        recipe: Option<Recipe>,
        tables: Tables,
        rule: IdRule,
        begin: impl Fn(BuildOptions) -> fpstore::Result<fpstore::Builder> + Send + 'static,
    ) -> PyResult<Self> {
        options = options.scheme(tables.scheme(py, recipe.as_ref())?);
        if let Some(recipe) = &recipe {
            options = options.recipe(recipe.clone());
        }
        let tables = Some(tables);
        let begin = Box::new(begin);
        Ok(LateBuilder { begin, options, rule, begun: None, recipe, tables, sketch_len: 0 })
    }

    /// Whether the default distance is used because the recipe is unknown.
    fn guesses_distance(&self) -> bool {
        let is_default = self.tables.as_ref().is_some_and(|tables| tables.k.is_none());
        self.begun.is_none() && self.recipe.is_none() && is_default
    }

    /// Without a recipe, the builder then does not adopt the recipe of added fingerprints.
    pub(crate) fn with_said_recipe(self) -> Self {
        LateBuilder { tables: None, ..self }
    }

    fn begin(&self) -> Result<fpstore::Builder, Failure> {
        Ok((self.begin)(self.options.clone().ids(self.rule.policy()))?)
    }

    /// The builder, which is created now if there were no records.
    pub(crate) fn into_builder(mut self) -> Result<fpstore::Builder, Failure> {
        match self.begun.take() {
            Some(builder) => Ok(builder),
            None => self.begin(),
        }
    }
}

impl Adding for LateBuilder {
    type Target = fpstore::Builder;

    fn admit(&mut self, ids: Option<&Ids>) -> Result<(), Failure> {
        // The first ids decide the kind.
        let rule = if self.begun.is_none() { self.rule.after(ids) } else { self.rule };
        rule.check(ids)?;
        self.rule = rule.after(ids);
        Ok(())
    }

    fn agree(&mut self, recipe: Recipe) -> Result<(), Failure> {
        if self.recipe.is_some() {
            return common(self.recipe.clone(), Some(recipe)).map(drop);
        }
        // Records without a recipe were added before, so the recipe of the store remains unknown.
        let Some(tables) = self.tables.as_ref().filter(|_| self.begun.is_none()) else {
            return Ok(());
        };
        let scheme = Python::attach(|py| tables.scheme(py, Some(&recipe)))?;
        self.options = self.options.clone().scheme(scheme).recipe(recipe.clone());
        self.recipe = Some(recipe);
        Ok(())
    }

    fn hasher(&mut self, recipe: Option<&Bound<'_, PyAny>>) -> Result<(TextHasher, u8), Failure> {
        if recipe.is_none() {
            let message = "the builder has no recipe for documents; give recipe='minhash'";
            return Err(Failure::Input(message.into()));
        }
        Ok((hasher_of(recipe, None)?, self.sketch_len))
    }

    fn target(&mut self) -> Result<&mut fpstore::Builder, Failure> {
        let builder = match self.begun.take() {
            Some(builder) => builder,
            None => self.begin()?,
        };
        Ok(self.begun.insert(builder))
    }

    fn push(
        target: &mut fpstore::Builder,
        fingerprint: Fingerprint,
        id: Option<IdRef<'_>>,
        sketch: &[u8],
    ) -> fpstore::Result<()> {
        match id {
            Some(id) => target.push_sketched(fingerprint, id, sketch),
            None => target.push_bare(fingerprint),
        }
    }
}

#[pymethods]
impl Builder {
    #[new]
    #[pyo3(signature = (
        path, *, k=None, scheme=None, budget=None, label="", recipe=None, sketch=0, bits=None,
        id_type="auto", replace=false, threads=None, memory=None, temp_dir=None, wait=0.0, progress=None
    ))]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = path)] path: PathBuf,
        k: Option<Whole>,
        #[pyo3(from_py_with = text_or_none)] scheme: Option<&str>,
        #[pyo3(from_py_with = budget_or_none)] budget: Option<String>,
        #[pyo3(from_py_with = text)] label: &str,
        recipe: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = sketch_len)] sketch: u8,
        bits: Option<u32>,
        #[pyo3(from_py_with = text)] id_type: &str,
        replace: bool,
        threads: Option<Whole>,
        memory: Option<Bytes>,
        #[pyo3(from_py_with = path_or_none)] temp_dir: Option<PathBuf>,
        wait: Option<f64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let given = recipe.map(|recipe| recipe.clone().unbind());
        let recipe = match (recipe, bits) {
            (recipe, None) => recipe.map(recipe_text_of).transpose()?,
            (Some(_), Some(_)) => {
                let message = "a recipe makes fingerprints of 64 bits; leave recipe or bits out";
                return Err(input_error(py, message));
            }
            (None, Some(bits)) => Some(narrow(py, bits)?),
        };
        let limits = Limits::new(py, threads, memory, temp_dir)?;
        let shared = Arc::new(Shared::default());
        let options = BuildOptions::default()
            .label(label)
            .replace(replace)
            .sketch_len(sketch)
            .wait(wait_of(py, wait)?)
            .resources(limits.given(&shared));
        let scheme = scheme.map(str::to_owned);
        let tables = Tables { k, scheme, budget };
        let rule = IdRule::named(py, id_type)?;
        let reporter = Reporter::new(progress)?.phases(5);
        // Invalid options are rejected here, before any record is processed.
        let begun = path.clone();
        let late = LateBuilder::new(py, options, recipe, tables, rule, move |options| {
            fpstore::Builder::with_options(&begun, options)
        })?;
        let late = run_shared(py, &reporter, &shared, move |_| {
            drop(late.begin()?);
            Ok(LateBuilder { sketch_len: sketch, ..late })
        })?;
        let lent = Lent::new(WORDS, reporter, shared, late).noticed(|late| late.begun.is_some());
        Ok(Builder(Adder { path, recipe: given, limits, lent }))
    }

    /// Adds records.
    ///
    /// Parameters
    /// ----------
    /// fingerprints : array, list, Column, Rows, Arrow stream or iterator
    ///     Fingerprints; or an Arrow stream with the columns `fingerprint` and `id`; or an iterator
    ///     over batches, each an array or a tuple of fingerprints and ids.
    /// ids : array or list, optional
    ///     One id for each fingerprint: integers or texts.
    ///
    /// Returns
    /// -------
    /// int
    ///     The number of records.
    #[pyo3(signature = (fingerprints, ids=None))]
    fn add(
        &self,
        fingerprints: &Bound<'_, PyAny>,
        ids: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        // No warning if another thread uses the builder: it already has records.
        if self.0.lent.look(|late| late.guesses_distance()).unwrap_or(false) {
            warn_of_unknown_recipe(fingerprints)?;
        }
        add(&self.0.lent, fingerprints, ids)
    }

    /// Adds documents: the `recipe` of the builder makes their fingerprints.
    ///
    /// Parameters
    /// ----------
    /// inputs : Documents, path, list of paths, or table
    ///     Documents without features have no fingerprint and are only counted.
    ///
    /// Returns
    /// -------
    /// fpstore.types.DocumentsAdded
    ///
    /// Examples
    /// --------
    /// >>> _ = (folder / "docs.csv").write_text("id,text\na,one two three\n")
    /// >>> with fpstore.Builder(folder / "docs.fps", recipe="minhash") as builder:
    /// ...     builder.add_documents(folder / "docs.csv").documents
    /// 1
    fn add_documents<'py>(&self, inputs: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.0.add_documents(inputs)
    }

    /// Sorts, writes and publishes the store, and opens it.
    fn finish(&self, py: Python<'_>) -> PyResult<Store> {
        let finish = |late: LateBuilder, _: &_| Ok(late.into_builder()?.finish()?);
        Ok(Store::new(self.0.lent.finish(py, "is finished", finish)?))
    }

    /// Discards all records and makes no store.
    fn close(&self) {
        self.0.lent.end("is closed");
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*raised))]
    fn __exit__(&self, py: Python<'_>, raised: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.0.lent.leave(raised, || self.finish(py).map(drop))
    }

    fn __repr__(&self) -> String {
        let state = self.0.lent.shown(|late| match &late.begun {
            None => "nothing yet".to_owned(),
            Some(builder) => format!("{} records", builder.record_count()),
        });
        format!("<fpstore.Builder '{}': {state}>", self.0.path.display())
    }
}

/// The recipe of ready-made fingerprints that are `bits` bits wide.
fn narrow(py: Python<'_>, bits: u32) -> PyResult<Recipe> {
    let width = Width::new(bits)
        .ok_or_else(|| input_error(py, format!("bits is {bits}, expected {}", Width::EXPECTED)))?;
    Ok(Recipe::external_of(width))
}

/// The length of a sketch in bytes: 32, 64 or 128; `True` means 128, `False` and 0 no sketch.
fn sketch_len(given: &Bound<'_, PyAny>) -> PyResult<u8> {
    let longest = SKETCH_LENS[SKETCH_LENS.len() - 1];
    if let Ok(is_wanted) = given.cast::<PyBool>() {
        return Ok(if is_wanted.is_true() { longest } else { 0 });
    }
    let len: i128 = wide(given)?;
    let len = u8::try_from(len).ok().filter(|len| *len == 0 || SKETCH_LENS.contains(len));
    let expected = || format!("sketch is {given}, expected True, or 32, 64 or 128 bytes");
    len.ok_or_else(|| input_error(given.py(), expected()))
}

/// Makes a store of fingerprints, with or without ids, or of documents.
///
/// Parameters
/// ----------
/// path : path or None
///     The directory of the store. `None` makes a store in memory, for queries only: it cannot be
///     changed, refreshed or pickled.
/// fingerprints : array, list, Column, Rows, Arrow stream, iterator, or Documents
///     The records, in any form that `Builder.add` accepts; or `Documents`, whose fingerprints are
///     made by the `recipe`.
/// ids : array or list, optional
///     One id for each fingerprint: integers or texts.
#[doc = parameters!(build)]
///
/// Returns
/// -------
/// Store
///
/// Examples
/// --------
/// >>> made = fpstore.build(folder / "made.fps", [3, 5], [30, 50])
/// >>> made.query(3, k=0)
/// [Match(fingerprint=3, distance=0, ids=[30])]
/// >>> fpstore.build(None, [3, 5], ["three", "five"]).nearest(4)[0].ids
/// ['five']
#[pyfunction]
#[pyo3(
    signature = (path, fingerprints, ids=None, **options),
    text_signature = "(path, fingerprints, ids=None, *, k=None, scheme=None, budget=None, \
                      label='', recipe=None, sketch=False, bits=None, id_type='auto', \
                      replace=False, threads=None, memory=None, temp_dir=None, wait=0.0, progress=None)"
)]
pub(crate) fn build(
    py: Python<'_>,
    #[pyo3(from_py_with = path_or_none)] path: Option<PathBuf>,
    fingerprints: &Bound<'_, PyAny>,
    ids: Option<&Bound<'_, PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Store> {
    let Some(path) = path else {
        let folder = py.import("tempfile")?.getattr("TemporaryDirectory")?.call0()?;
        let path = folder.getattr("name")?.extract::<PathBuf>()?.join("memory.fps");
        let made = build(py, Some(path.clone()), fingerprints, ids, options)
            .and_then(|_| open_one(py, &path, None, "memory", None));
        folder.call_method0("cleanup")?;
        return made;
    };
    let builder = py.get_type::<Builder>().call((path,), options)?.cast_into::<Builder>()?;
    match (fingerprints.is_instance_of::<Documents>(), ids) {
        (false, ids) => builder.get().add(fingerprints, ids).map(drop)?,
        (true, None) => builder.get().add_documents(fingerprints).map(drop)?,
        (true, Some(_)) => {
            let message = "leave ids out: documents contain their ids, see id_field";
            return Err(input_error(py, message));
        }
    }
    builder.get().finish(py)
}
