//! All that is stored: as an array, or as a stream of records.

use std::sync::Arc;

use arrow_array::UInt64Array;
use arrow_schema::DataType;
use fpstore::Error;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::Store;
use crate::columns::{BATCH_ROWS, IdColumn, batch_of, id_kind, plain, schema_of};
use crate::errors::Failure;
use crate::rows::array;
use crate::stream::RowStream;
use crate::work::{Reporter, run};

#[pymethods]
impl Store {
    /// All stored fingerprints, each once, ascending.
    fn fingerprints<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let store = self.get()?;
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
        let store = self.get()?;
        let mut ids = IdColumn::new(id_kind(&store));
        let schema = schema_of([plain("fingerprint", DataType::UInt64), ids.field("id")]);
        let of_thread = Arc::clone(&schema);
        RowStream::start(schema, Reporter::default(), move |shared, sink| {
            let mut values: Vec<u64> = Vec::new();
            let mut flush = |values: &mut Vec<u64>, ids: &mut IdColumn| {
                let column = array(UInt64Array::from(std::mem::take(values)));
                sink.send(batch_of(&of_thread, [Some(column), ids.take()])?)
            };
            store.for_each(|hit| -> Result<(), Failure> {
                let value = hit.fingerprint().value();
                let mut is_bare = true;
                if !matches!(ids, IdColumn::None) {
                    for id in hit.ids() {
                        is_bare = false;
                        values.push(value);
                        ids.push(Some(id?))?;
                    }
                }
                if is_bare {
                    values.push(value);
                    ids.push(None)?;
                }
                if values.len() >= BATCH_ROWS || ids.is_full() {
                    if shared.is_stopped() {
                        return Err(Error::Interrupted.into());
                    }
                    flush(&mut values, &mut ids)?;
                }
                Ok(())
            })?;
            flush(&mut values, &mut ids)
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
