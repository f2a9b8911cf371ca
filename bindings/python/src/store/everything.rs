//! The whole contents of a store: as an array, or as a stream of records.

use std::sync::Arc;

use fpstore::Error;
use fpstore::rows::RecordRow;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::Store;
use crate::answer_columns::{IdColumn, each_id, id_kind};
use crate::columns::{BATCH_ROWS, RowsBuilder, U64, names_of};
use crate::errors::Failure;
use crate::stream::RowStream;
use crate::work::{Reporter, run};

#[pymethods]
impl Store {
    /// All stored fingerprints, each once, ascending.
    fn fingerprints<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let store = self.one()?;
        let values = run(py, &Reporter::default(), |shared| {
            let mut values = Vec::new();
            store.for_each(|hit| {
                if values.len() % BATCH_ROWS == 0 && shared.is_stopped() {
                    return Err(Failure::from(Error::Interrupted));
                }
                values.push(hit.fingerprint().value());
                Ok(())
            })?;
            Ok(values)
        })?;
        Ok(PyArray1::from_vec(py, values))
    }

    /// All records, by ascending fingerprint, as a stream of `fingerprint` and `id`.
    fn records(&self) -> PyResult<RowStream> {
        let store = self.one()?;
        let columns = (U64::default(), IdColumn::new(id_kind(&store)));
        let rows = RowsBuilder::new(names_of::<RecordRow<'_>>(), columns);
        let mut rows = rows.made_by(store.recipe());
        RowStream::start(Arc::clone(&rows.schema), Reporter::default(), move |_, sink| {
            let has_ids = rows.columns.1.is_there();
            store.for_each(|hit| {
                let value = hit.fingerprint().value();
                each_id(&hit, has_ids, |id| rows.send((value, id), sink))
            })?;
            rows.flush(sink)
        })
    }

    #[pyo3(signature = (requested_schema=None, /))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.records()?.__arrow_c_stream__(py, requested_schema)
    }
}
