//! Reads labelled pairs of documents from files and tables.

use fpstore::IoError;
use fpstore::input::open_input;
use fpstore::join::{ClusterMethod, JudgedPairs, LabelFile};
use fpstore_base::lists;
use pyo3::prelude::*;

use crate::errors::{Failure, input_error, named};
use crate::input::arguments::{is_one_path, path};
use crate::tuple_class::FRAMES;

/// The judged pairs of an argument: a file, or a table of two ids and a label.
pub(crate) fn labels_of(given: &Bound<'_, PyAny>) -> PyResult<LabelFile> {
    let py = given.py();
    if !is_one_path(given)? {
        let lines: String = py.import(FRAMES)?.call_method1("label_lines", (given,))?.extract()?;
        return LabelFile::parse(&lines)
            .map_err(|fault| input_error(py, format!("pairs: {fault}")));
    }
    let path = &path(given).map_err(|error| named(error, "pairs"))?;
    let refused = |reason: String| input_error(py, format!("{}: {reason}", path.display()));
    if path.as_os_str() == "-" {
        return Err(refused("pairs must be a file, not standard input (-)".into()));
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
    let name = path.to_string_lossy().to_lowercase();
    let text = match name.trim_end_matches(".gz").trim_end_matches(".zst").ends_with(".csv") {
        true => py.import(FRAMES)?.call_method1("csv_lines", (text,))?.extract()?,
        false => text,
    };
    LabelFile::parse(&text).map_err(|fault| refused(fault.to_string()))
}

/// The judged pairs of an argument, for clusters. Fails unless the method is `components`, the only
/// method that obeys judged pairs.
pub(crate) fn judged_of(
    pairs: Option<&Bound<'_, PyAny>>,
    method: ClusterMethod,
) -> PyResult<Option<JudgedPairs>> {
    let Some(pairs) = pairs else { return Ok(None) };
    if method != ClusterMethod::Components {
        let message = "pairs are for method 'components'; leave out one of pairs and method";
        return Err(input_error(pairs.py(), message));
    }
    let judged = JudgedPairs::new(&labels_of(pairs)?);
    Ok(Some(judged.map_err(|fault| input_error(pairs.py(), format!("{pairs}: {fault}")))?))
}
