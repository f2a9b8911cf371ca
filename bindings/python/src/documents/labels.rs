//! Files of labelled pairs.

use std::path::Path;

use fpstore::IoError;
use fpstore::input::open_input;
use fpstore::join::{ClusterMethod, JudgedPairs, LabelFile};
use fpstore_base::lists;
use pyo3::prelude::*;

use crate::errors::{Failure, input_error};

/// The judged pairs of a file.
pub(crate) fn labels_of(py: Python<'_>, path: &Path) -> PyResult<LabelFile> {
    let refused = |reason: String| input_error(py, format!("{}: {reason}", path.display()));
    if path.as_os_str() == "-" {
        return Err(refused("pairs are a file, and '-' names none".into()));
    }
    let read = open_input(path).map(lists::text_of);
    let text =
        read.map_err(fpstore::Error::Io).map_err(Failure::from)?.map_err(|error| {
            match error.raw_os_error() {
                Some(_) => {
                    let refused = IoError { doing: "read", path: path.into(), source: error };
                    Failure::from(fpstore::Error::Io(refused)).into()
                }
                None => refused(error.to_string()),
            }
        })?;
    LabelFile::parse(&text).map_err(|fault| refused(fault.to_string()))
}

/// The judged pairs of a file, for clusters. Only `components` obey them.
pub(crate) fn judged_of(
    py: Python<'_>,
    path: Option<&Path>,
    method: ClusterMethod,
) -> PyResult<Option<JudgedPairs>> {
    let Some(path) = path else { return Ok(None) };
    if method != ClusterMethod::Components {
        let message = "pairs are for method 'components'; leave out one of pairs and method";
        return Err(input_error(py, message));
    }
    let judged = JudgedPairs::new(&labels_of(py, path)?);
    let refused = |fault| input_error(py, format!("{}: {fault}", path.display()));
    Ok(Some(judged.map_err(refused)?))
}
