//! The class `DfTable`: a table of document frequencies, in a file or for a recipe.

use std::io::Write;
use std::path::PathBuf;

use fpstore::IoError;
use fpstore::writer::check_output;
use fpstore_corpus::NewFile;
use fpstore_text::DfTable as Table;
use pyo3::exceptions::PyFileExistsError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::errors::{EEXIST, Failure};
use crate::input::arguments::path;
use crate::work::{Reporter, run};

/// For each feature, the number of documents of a corpus in which it occurs, to give rare features
/// more weight. A table belongs to the recipe that made the features. `Recipe.df_table` counts a
/// new table, and `Recipe("simhash", df=table)` weights features by it.
///
/// Parameters
/// ----------
/// path : path
///     A file written by `save` or by the program `fpstore df`.
///
/// Examples
/// --------
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
    /// The checked bytes of the table, in the file format.
    pub(super) bytes: Vec<u8>,
    documents: u64,
    features: usize,
}

impl DfTable {
    pub(super) fn of(table: &Table) -> Self {
        let mut bytes = Vec::new();
        table.write_to(&mut bytes).expect("a vector takes all bytes");
        DfTable { bytes, documents: table.document_count(), features: table.entry_count() as usize }
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
                let message = format!("cannot write {}: it is not a plain file", path.display());
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

#[pymethods]
impl DfTable {
    #[new]
    #[pyo3(signature = (path, /))]
    fn new(py: Python<'_>, #[pyo3(from_py_with = path)] path: PathBuf) -> PyResult<Self> {
        run(py, &Reporter::default(), |_| Ok(DfTable::of(&Table::open(&path)?)))
    }

    /// The number of counted documents. Documents without features are not counted.
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

    /// Writes the table to a file, atomically. The bytes are those that the program `fpstore df`
    /// writes.
    ///
    /// Parameters
    /// ----------
    /// path : path
    /// replace : bool, default False
    ///     Whether an existing file is replaced.
    #[pyo3(signature = (path, *, replace=false))]
    fn save(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = path)] path: PathBuf,
        replace: bool,
    ) -> PyResult<()> {
        run(py, &Reporter::default(), |_| self.write(path, replace))
    }

    /// A table is pickled as the bytes of its file.
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

/// Restores a pickled table.
#[pyfunction]
pub(crate) fn _df_table_of(bytes: &[u8]) -> PyResult<DfTable> {
    Ok(DfTable::of(&Table::from_bytes(bytes, "df").map_err(Failure::from)?))
}
