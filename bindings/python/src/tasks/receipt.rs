//! Receipts of segment files, converted to and from the Python named tuple `Receipt`.

use std::path::PathBuf;

use fpstore::SegmentReceipt;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};

use crate::errors::{Failure, input_error};
use crate::input::arguments::{path, text};
use crate::tuple_class::TupleClass;

/// Converts a receipt to the Python named tuple.
pub(super) fn to_python(py: Python<'_>, receipt: SegmentReceipt) -> PyResult<Bound<'_, PyAny>> {
    let class = py.import("fpstore.tasks")?.getattr("Receipt")?.cast_into::<PyType>()?;
    let fields = (
        receipt.path.into_os_string(),
        format!("{:032x}", u128::from_be_bytes(receipt.digest)),
        receipt.file_len,
        receipt.fingerprint_count,
        receipt.id_count,
        receipt.sketch_len,
        receipt.masks.iter().map(|mask| format!("{mask:016x}")).collect::<Vec<String>>(),
        receipt.recipe.text(),
    );
    TupleClass::new(class)?.make(&fields.into_pyobject(py)?)
}

/// Converts a `Receipt`, a row of a data frame with the same fields, or a text form.
pub(super) fn of_python(given: &Bound<'_, PyAny>) -> PyResult<SegmentReceipt> {
    let py = given.py();
    let text: String = if given.is_instance_of::<PyString>() {
        text(given)?
    } else if let Ok(row) = given.cast::<PyTuple>()
        && row.len() == 8
    {
        let made = py.import("fpstore.tasks")?.getattr("Receipt")?.call_method1("_make", (row,))?;
        made.str()?.to_string()
    } else {
        let kind = given.get_type().qualname()?;
        return Err(input_error(py, format!("expected a Receipt or its text, not {kind}")));
    };
    Ok(text.parse::<SegmentReceipt>().map_err(Failure::from)?)
}

/// Reads a receipt from its text form.
#[pyfunction]
pub(crate) fn _receipt_of_text(
    py: Python<'_>,
    #[pyo3(from_py_with = text)] text: &str,
) -> PyResult<Py<PyAny>> {
    let receipt = text.parse::<SegmentReceipt>().map_err(Failure::from)?;
    Ok(to_python(py, receipt)?.unbind())
}

/// Reads the receipt from the header of a segment file.
#[pyfunction]
pub(crate) fn _receipt_of_file(
    py: Python<'_>,
    #[pyo3(from_py_with = path)] path: PathBuf,
) -> PyResult<Py<PyAny>> {
    let path = std::path::absolute(&path).unwrap_or(path);
    let receipt = SegmentReceipt::of(path).map_err(Failure::from)?;
    Ok(to_python(py, receipt)?.unbind())
}
