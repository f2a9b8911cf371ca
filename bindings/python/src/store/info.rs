//! Methods that describe and verify a store, and the function `verify`.

use fpstore::VerifyOptions;
use fpstore::info::{SegmentInfo, StoreInfo, TableInfo};
use fpstore::options::{MAX_RATE, SAMPLES};
use fpstore::profile::profile_with;
use pyo3::prelude::*;
use pyo3::types::{PyDateTime, PyList, PyTuple, PyTzInfo};

use super::{StatisticsView, Store};
use crate::errors::Failure;
use crate::input::whole::{Bytes, wide};
use crate::notebook::escaped;
use crate::options::{checked, count};
use crate::tuple_class::answer;
use crate::work::{Reporter, run};

#[pymethods]
impl Store {
    /// Describes the store: its counts, lengths, segments and tables.
    ///
    /// Returns
    /// -------
    /// fpstore.types.StoreInfo
    ///
    /// Examples
    /// --------
    /// >>> store.info().ids
    /// 3
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        store_info(py, &self.one()?.info())
    }

    /// Checks every byte of the files, and compares answers with those of a scan, see
    /// `fpstore.verify`.
    ///
    /// Parameters
    /// ----------
    #[doc = parameters!(samples max_rate progress)]
    ///
    /// Returns
    /// -------
    /// fpstore.types.VerifyReport
    #[pyo3(signature = (samples=100, *, max_rate=None, progress=None))]
    fn verify<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = wide)] samples: i128,
        max_rate: Option<Bytes>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.one()?;
        verify(py, self.one_path()?.to_owned(), samples, max_rate, progress)
    }

    /// Statistics of the fingerprints: the distribution of their bits, duplicates, and problems.
    ///
    /// >>> store.stats().fingerprints
    /// 3
    fn stats(&self, py: Python<'_>) -> PyResult<StatisticsView> {
        let store = self.one()?;
        let name = self.title();
        let statistics = run(py, &Reporter::default(), |shared| {
            Ok(profile_with(&store, Some(shared.observer()))?)
        })?;
        Ok(StatisticsView { name, statistics })
    }

    /// An HTML table of the segments.
    fn _repr_html_(&self) -> PyResult<String> {
        let Ok(store) = self.one() else { return Ok(escaped(&self.__repr__())) };
        let info = store.info();
        let mut rows = String::new();
        for segment in &info.segments {
            rows.push_str(&format!(
                "<tr><td>{}</td><td style=\"text-align:left\">{}</td><td>{}</td><td>{}</td>\
                 <td>{}</td><td>{:.1} MiB</td><td>{}</td></tr>",
                segment.number,
                escaped(&segment.label),
                grouped(segment.fingerprint_count - segment.deleted_fingerprints),
                grouped(segment.id_count - segment.deleted_ids),
                segment.tables.len(),
                segment.file_len as f64 / f64::from(1 << 20),
                segment.tuned_k
            ));
        }
        Ok(format!(
            "<table><caption>{}: {} fingerprints, {} ids, {:.1} MiB</caption><thead><tr>\
             <th>segment</th><th>label</th><th>fingerprints</th><th>ids</th><th>tables</th>\
             <th>file</th><th>k</th></tr></thead><tbody>{rows}</tbody></table>",
            escaped(&self.one_path()?.to_string_lossy()),
            grouped(info.fingerprint_count()),
            grouped(info.id_count()),
            info.file_len() as f64 / f64::from(1 << 20)
        ))
    }
}

fn grouped(count: u64) -> String {
    fpstore_plot::numbers::grouped(count)
}

/// Checks every byte of the store at a path, even if the store is too damaged to be opened, and
/// compares answers with those of a scan. Damage is listed in the report and raises no exception.
///
/// Parameters
/// ----------
/// path : path
#[doc = parameters!(samples max_rate progress)]
///
/// Returns
/// -------
/// fpstore.types.VerifyReport
///
/// Examples
/// --------
/// >>> fpstore.verify(store.path).is_sound
/// True
#[pyfunction]
#[pyo3(signature = (path, samples=100, *, max_rate=None, progress=None))]
pub(crate) fn verify<'py>(
    py: Python<'py>,
    path: std::path::PathBuf,
    #[pyo3(from_py_with = wide)] samples: i128,
    max_rate: Option<Bytes>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let samples = checked(py, &SAMPLES, samples)?;
    let max_rate = count(py, &MAX_RATE, max_rate)?;
    let reporter = Reporter::new(progress)?;
    let report = run(py, &reporter, |shared| {
        let options = VerifyOptions::default().samples(samples).max_rate(max_rate);
        Ok(fpstore::verify(&path, &options.observer(shared.observer()))?)
    })?;
    let faults = PyList::empty(py);
    for fault in report.faults {
        faults.append(PyErr::from(Failure::from(fault)).value(py))?;
    }
    answer!(
        py,
        "VerifyReport",
        report.segment_count,
        report.page_count,
        report.value_count,
        report.sample_count,
        faults,
    )
}

fn store_info<'py>(py: Python<'py>, info: &StoreInfo) -> PyResult<Bound<'py, PyAny>> {
    let segments: PyResult<Vec<_>> =
        info.segments.iter().map(|segment| segment_info(py, segment)).collect();
    let hex = |bytes: [u8; 16]| format!("{:032x}", u128::from_be_bytes(bytes));
    answer!(
        py,
        "StoreInfo",
        info.path.as_os_str(),
        hex(info.store_id),
        info.generation,
        hex(info.manifest_digest),
        info.fingerprint_count(),
        info.id_count(),
        info.file_len(),
        info.sketch_len,
        info.width.bits(),
        info.tuned_k,
        info.recipe.as_ref().map(|recipe| recipe.text()),
        PyTuple::new(py, segments?)?
    )
}

/// Converts information about a segment to the Python class `SegmentInfo`.
pub(crate) fn segment_info<'py>(
    py: Python<'py>,
    segment: &SegmentInfo,
) -> PyResult<Bound<'py, PyAny>> {
    let tables: PyResult<Vec<_>> = segment
        .tables
        .iter()
        .map(|table| {
            let bits = table.bits_per_fingerprint;
            let TableInfo { mask, prefix_bits, block_bits, tail_bits, syndrome_bits, .. } = *table;
            answer!(py, "TableInfo", mask, prefix_bits, block_bits, tail_bits, bits, syndrome_bits)
        })
        .collect();
    let written = segment.written.and_then(|time| {
        let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
        let utc = PyTzInfo::utc(py).ok()?;
        PyDateTime::from_timestamp(py, since.as_secs_f64(), Some(&utc)).ok()
    });
    answer!(
        py,
        "SegmentInfo",
        segment.path.as_os_str(),
        segment.number,
        segment.label.as_str(),
        segment.fingerprint_count,
        segment.id_count,
        segment.deleted_fingerprints,
        segment.deleted_ids,
        segment.id_kind.name(),
        segment.sketch_len,
        segment.file_len,
        segment.tuned_k,
        segment.recipe.text(),
        written,
        PyTuple::new(py, tables?)?.into_any(),
        segment.format_version,
    )
}
