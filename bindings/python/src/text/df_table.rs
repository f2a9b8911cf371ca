//! Tables of document frequencies: counted over documents or texts, kept in files, used by recipes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use fpstore::IoError;
use fpstore::corpus::NewFile;
use fpstore::writer::check_output;
use fpstore_documents::count_document_frequencies;
use fpstore_text::{DfBuilder, DfTable as Table, Factor};
use pyo3::exceptions::PyFileExistsError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::hashing::of_all;
use super::recipe::Recipe;
use crate::documents::{Documents, Readable, of_row};
use crate::errors::{EEXIST, Failure, input_error};
use crate::input::arguments::{path, path_or_none};
use crate::input::texts::TextInput;
use crate::input::whole::{Whole, wide};
use crate::options::Limits;
use crate::work::{Reporter, Shared, run};

/// In how many documents of a corpus each feature occurs, to weigh features by: rare ones more. It holds
/// for the recipe that made the features.
///
/// `DfTable(path)` reads one that `save` or the program `fpstore df` wrote, `Recipe.df_table` counts
/// one, and `Recipe("simhash", df=table)` weighs by it.
///
/// >>> recipe = fpstore.Recipe("simhash", shingle=1)
/// >>> table = recipe.df_table(texts=["the cat", "the dog"], min_df=1)
/// >>> len(table), table.documents
/// (3, 2)
/// >>> weighed = fpstore.Recipe("simhash", shingle=1, df=table)
/// >>> [(of.text, of.weight) for of in weighed.features("the cat")]
/// [('the', 1.0), ('cat', 1.5849609375)]
#[pyclass(frozen, module = "fpstore", eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct DfTable {
    /// The bytes of the file, which were checked.
    bytes: Vec<u8>,
    documents: u64,
    features: usize,
}

impl DfTable {
    fn of(table: &Table) -> Self {
        let mut bytes = Vec::new();
        table.write_to(&mut bytes).expect("a vector takes all bytes");
        DfTable { bytes, documents: table.document_count(), features: table.entry_count() as usize }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn write(&self, path: PathBuf, replace: bool) -> Result<(), Failure> {
        let refused = |doing| {
            let path = path.clone();
            move |error| fpstore::Error::Io(IoError::of(doing, &path)(error))
        };
        let before = match std::fs::symlink_metadata(&path) {
            Ok(_) if !replace => {
                let message = "exists; replace=True replaces it once the new one is complete";
                let error = PyFileExistsError::new_err((EEXIST, message, path.into_os_string()));
                return Err(Failure::Python(error));
            }
            Ok(found) if !found.is_file() => {
                let message = format!("cannot write {}: it is no file", path.display());
                return Err(Failure::Input(message));
            }
            Ok(found) => Some(found),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(refused("write")(error).into()),
        };
        check_output(&path)?;
        let file = NewFile::create(path.clone(), before).map_err(refused("create"))?;
        file.file().and_then(|mut out| out.write_all(&self.bytes)).map_err(refused("write"))?;
        Ok(file.publish().map_err(refused("write"))?)
    }
}

/// What counts documents for a table.
struct Counting<'a> {
    recipe: &'a Recipe,
    limits: Limits,
}

impl Counting<'_> {
    fn of_documents(
        &self,
        documents: &Readable,
        shared: &Arc<Shared>,
    ) -> Result<DfBuilder, Failure> {
        let hasher = self.recipe.hasher()?;
        let mut builder = DfBuilder::new(hasher.recipe());
        let options = documents.options.clone().observer(shared.observer());
        let counted = count_document_frequencies(&documents.paths, &hasher, &options, &mut builder);
        let refused =
            |error| of_row(Failure::Corpus(fpstore::corpus::Error::Text(error)), documents);
        counted.map_err(refused)?;
        Ok(builder)
    }

    fn of_texts(&self, texts: &TextInput, shared: &Arc<Shared>) -> Result<DfBuilder, Failure> {
        let builder = Mutex::new(DfBuilder::new(self.recipe.text_recipe()));
        of_all(self.recipe, texts, self.limits.threads(), shared, |hasher, _, text| {
            let features = hasher.distinct_features(text);
            builder.lock().unwrap_or_else(PoisonError::into_inner).add_hashes(&features);
        })?;
        Ok(builder.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl DfTable {
    #[new]
    #[pyo3(signature = (path, /))]
    fn new(py: Python<'_>, #[pyo3(from_py_with = path)] path: PathBuf) -> PyResult<Self> {
        run(py, &Reporter::default(), |_| DfTable::open(&path))
    }

    /// Documents that were counted: those with features.
    #[getter]
    fn documents(&self) -> u64 {
        self.documents
    }

    /// The number of features.
    fn __len__(&self) -> usize {
        self.features
    }

    fn __bool__(&self) -> bool {
        true
    }

    /// Writes the table to a file, which appears when it is complete: the bytes that the program
    /// `fpstore df` writes.
    #[pyo3(signature = (path, *, replace=false))]
    fn save(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = path)] path: PathBuf,
        replace: bool,
    ) -> PyResult<()> {
        run(py, &Reporter::default(), |_| self.write(path, replace))
    }

    /// Pickled, a table is its bytes.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let make = py.import("fpstore._fpstore")?.getattr("_df_table_of")?;
        (make, (PyBytes::new(py, &self.bytes),)).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        let nouns = |count: u64, noun: &str| match count {
            1 => format!("1 {noun}"),
            count => format!("{count} {noun}s"),
        };
        let features = nouns(self.features as u64, "feature");
        format!("<fpstore.DfTable of {features} in {}>", nouns(self.documents, "document"))
    }
}

impl DfTable {
    fn open(path: &Path) -> Result<Self, Failure> {
        Ok(DfTable::of(&Table::open(path)?))
    }
}

/// A table that was pickled.
#[pyfunction]
pub(crate) fn _df_table_of(bytes: &[u8]) -> PyResult<DfTable> {
    Ok(DfTable::of(&Table::from_bytes(bytes, "df").map_err(Failure::from)?))
}

#[pymethods]
impl Recipe {
    /// Counts in how many documents each feature occurs. The documents are `inputs`, as `Documents` takes
    /// them, or `texts`, as `fingerprints` takes them. Features of fewer than `min_df` documents are
    /// left out, and count as if they occurred in one.
    ///
    /// Needs about 20 bytes of memory for each distinct feature. Without any document with features
    /// there is no table, unless `allow_empty` wants one.
    ///
    /// >>> fpstore.Recipe("simhash").df_table(texts=["a cat", "a dog", "a cat"])
    /// <fpstore.DfTable of 1 feature in 3 documents>
    #[pyo3(signature = (
        inputs=None, *, texts=None, min_df=2, allow_empty=false, threads=None, temp_dir=None,
        progress=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn df_table(
        &self,
        py: Python<'_>,
        inputs: Option<&Bound<'_, PyAny>>,
        texts: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = wide)] min_df: i128,
        allow_empty: bool,
        threads: Option<Whole>,
        #[pyo3(from_py_with = path_or_none)] temp_dir: Option<PathBuf>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<DfTable> {
        if self.text_recipe().votes().is_some_and(|rules| rules.factor != Factor::None) {
            let message = "the recipe has df or weights, which have no meaning here: a table of \
                           document frequencies has no weights";
            return Err(input_error(py, message));
        }
        let least = u32::try_from(min_df).ok().filter(|least| *least > 0);
        let least = least.ok_or_else(|| {
            input_error(py, format!("min_df is {min_df}, expected 1 to {}", u32::MAX))
        })?;
        let limits = Limits::new(py, threads, None, temp_dir)?;
        let reporter = Reporter::new(progress)?;
        let counting = Counting { recipe: self, limits: limits.clone() };
        let builder = match (inputs, texts) {
            (Some(inputs), None) => {
                let resources = limits.given(&Arc::default());
                let documents =
                    Documents::of(inputs)?.get().readable(py, &resources, Vec::new())?;
                run(py, &reporter, |shared| counting.of_documents(&documents, shared))?
            }
            (None, Some(texts)) => {
                self.check_takes_texts(py)?;
                let texts = TextInput::of(texts)?;
                run(py, &reporter, |shared| counting.of_texts(&texts, shared))?
            }
            _ => {
                let message = "documents are inputs or texts: give one of them";
                return Err(input_error(py, message));
            }
        };
        if builder.document_count() == 0 && !allow_empty {
            let message =
                "no document has features, so there is no table; allow_empty=True makes one";
            return Err(input_error(py, message));
        }
        run(py, &Reporter::default(), |_| Ok(DfTable::of(&builder.finish(least))))
    }
}
