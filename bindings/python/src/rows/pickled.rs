//! Converts answers to bytes and back, for pickle.

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::input_error;

/// Writes batches as an Arrow IPC stream.
pub(super) fn to_bytes<'py>(
    py: Python<'py>,
    schema: &SchemaRef,
    batches: &[RecordBatch],
) -> PyResult<Bound<'py, PyBytes>> {
    let write = || -> Result<Vec<u8>, ArrowError> {
        let mut writer = StreamWriter::try_new(Vec::new(), schema)?;
        batches.iter().try_for_each(|batch| writer.write(batch))?;
        writer.into_inner()
    };
    let bytes = py.detach(write).map_err(|error| input_error(py, error))?;
    Ok(PyBytes::new(py, &bytes))
}

/// Reads the schema and the batches of a stream that [`to_bytes`] wrote.
pub(super) fn of_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    let read = || -> Result<_, ArrowError> {
        let reader = StreamReader::try_new(bytes, None)?;
        let schema = reader.schema();
        Ok((schema, reader.collect::<Result<Vec<_>, _>>()?))
    };
    read().map_err(|error| {
        input_error(
            py,
            format!(
                "these are not the bytes of a pickled answer: \
                                                    {error}"
            ),
        )
    })
}
