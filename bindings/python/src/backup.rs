//! Backups of a store, and its history.

use std::path::PathBuf;
use std::sync::Arc;

use fpstore::options::MAX_RATE;
use fpstore::writer::{BackupOptions, backup as backup_store};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::{Failure, input_error, named};
use crate::http::Client;
use crate::input::arguments::{is_one_path, path};
use crate::input::whole::Bytes;
use crate::options::{count, wait_of};
use crate::store::{Store, if_store, one_store};
use crate::tuple_class::{TYPES, answer};
use crate::work::{Reporter, Shared, run, run_change};

/// Copies a store into a folder, or updates an earlier copy there. Only missing segments are
/// copied, and each copy is checked; readers of the folder always see a complete snapshot.
///
/// Parameters
/// ----------
/// source : Store, path or Client
///     A store, or a client of the server whose store is copied.
/// path : path
///     The folder of the copy.
/// verify : bool, default False
///     Whether segments that the folder already contains are read and checked, too.
#[doc = parameters!(max_rate wait progress)]
///
/// Returns
/// -------
/// fpstore.types.BackedUp
///
/// Examples
/// --------
/// >>> done = fpstore.backup(store, folder / "copy.fps")
/// >>> done.is_new, done.copied, fpstore.backup(store, folder / "copy.fps").copied
/// (True, 1, 0)
#[pyfunction]
#[pyo3(signature = (source, path, *, verify=false, max_rate=None, wait=0.0, progress=None))]
pub(crate) fn backup<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = path)] path: PathBuf,
    verify: bool,
    max_rate: Option<Bytes>,
    wait: Option<f64>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = BackupOptions::default()
        .verify(verify)
        .max_rate(count(py, &MAX_RATE, max_rate)?)
        .wait(wait_of(py, wait)?);
    let reporter = Reporter::new(progress)?;
    let of_shared = |shared: &Arc<Shared>| options.observer(shared.observer());
    let shared = Arc::new(Shared::default());
    let store = match is_one_path(source)? {
        true => Some(one_store(source)?),
        false => if_store(source, "source")?,
    };
    let done = if let Some(store) = store {
        run_change(py, &reporter, &shared, move |shared| {
            Ok(backup_store(&store, path, &of_shared(shared))?)
        })?
    } else if let Ok(client) = source.cast::<Client>() {
        let mut asked = client.get().connections.client()?;
        run_change(py, &reporter, &shared, move |shared| {
            Ok(fpstore_client::backup(&mut asked, path, &of_shared(shared))?)
        })?
    } else {
        let kind = source.get_type().qualname()?;
        return Err(input_error(py, format!("source must be a Store or a Client, not {kind}")));
    };
    let path = done.path.as_os_str();
    answer!(
        py,
        "BackedUp",
        path,
        done.generation,
        done.is_new,
        done.copied,
        done.copied_len,
        done.kept
    )
}

/// The history of a store, derived from several snapshots of it.
///
/// Parameters
/// ----------
/// states : Store, path, or list of these
///     Snapshots of one store, such as backups and the store itself.
///
/// Returns
/// -------
/// list of fpstore.types.Change
///     The additions, deletions, merges and expiries, in order.
///
/// Examples
/// --------
/// >>> [(change.generation, change.act, change.ids) for change in fpstore.log([store])]
/// [(1, 'added', 3)]
#[pyfunction]
#[pyo3(signature = (states, /))]
pub(crate) fn log<'py>(states: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let py = states.py();
    let is_one = states.is_instance_of::<Store>() || is_one_path(states)?;
    let states: PyResult<Vec<_>> = match is_one {
        true => Ok(vec![one_store(states)?]),
        false => states.try_iter()?.map(|state| one_store(&state?)).collect(),
    };
    let states: Vec<fpstore::Store> = states.map_err(|error| named(error, "states"))?;
    let changes = run(py, &Reporter::default(), move |_| Ok(fpstore::Store::log(&states)?))?;
    let class = py.import(TYPES)?.getattr("Change")?;
    let made = changes.iter().map(|change| {
        let json = serde_json::to_string(change);
        let json = json.map_err(|error| Failure::Panic(error.to_string()))?;
        let fields = py.import("json")?.call_method1("loads", (json,))?.cast_into::<PyDict>()?;
        // `from` is a keyword of Python, so the field is named `from_`.
        fields.set_item("from_", fields.get_item("from")?)?;
        fields.del_item("from")?;
        class.call((), Some(&fields))
    });
    PyList::new(py, made.collect::<PyResult<Vec<_>>>()?)
}
