//! The function `open`, which opens one store, or several as one.

use std::path::{Path, PathBuf};

use fpstore::{Access, OpenOptions, Warm, Warmed};
use pyo3::prelude::*;

use super::Store;
use crate::errors::{Failure, input_error, warn_of_memory};
use crate::input::arguments::{Paths, paths as many_paths, text, text_or_none};
use crate::options::choice;
use crate::work::{Reporter, run};

/// Opens a store, or several stores that are queried as one, see `Store`. Opening only reads
/// headers, however large the store is. Pages are read and checked when a query first needs them.
///
/// Parameters
/// ----------
/// path : path, or iterable of paths
///     The directory of the store. The paths of several stores are their names in answers.
/// generation : int, optional
///     The expected generation. Another generation raises `StaleStoreError`; `refresh` keeps the
///     expected one. A path contains only the newest generation: `backup`, or `export` with
///     `hard_link`, keeps older ones.
/// access : str, default "auto"
///     `"map"` for a memory map, `"memory"` to read the files into memory, or `"auto"`: memory on
///     network file systems if the files fit, a map elsewhere.
/// warm : str, optional
///     Reads pages now: `"hot"` for the pages that every query reads, `"all"` for all pages.
///
/// Returns
/// -------
/// Store
///
/// Raises
/// ------
/// NoStoreError
///     There is no store at the path.
///
/// Examples
/// --------
/// >>> with fpstore.open(store.path) as again:
/// ...     len(again)
/// 3
#[pyfunction]
#[pyo3(signature = (path, *, generation=None, access="auto", warm=None))]
pub(crate) fn open(
    py: Python<'_>,
    path: Paths,
    generation: Option<u64>,
    #[pyo3(from_py_with = text)] access: &str,
    #[pyo3(from_py_with = text_or_none)] warm: Option<&str>,
) -> PyResult<Store> {
    match path {
        Paths::One(path) => open_one(py, &path, generation, access, warm),
        Paths::Several(_) if generation.is_some() => Err(input_error(
            py,
            "each store has its own generation; leave generation out for \
                                 several stores",
        )),
        Paths::Several(paths) => open_several(py, &paths, access, warm),
    }
}

/// Opens the store in a directory.
pub(crate) fn open_one(
    py: Python<'_>,
    path: &Path,
    generation: Option<u64>,
    access: &str,
    warm: Option<&str>,
) -> PyResult<Store> {
    let store = opened(py, access, warm, |options| {
        let store = fpstore::Store::with_options(path, options.generation(generation))?;
        Ok((store.clone(), store))
    })?;
    Ok(Store::new(store))
}

fn open_several(
    py: Python<'_>,
    paths: &[PathBuf],
    access: &str,
    warm: Option<&str>,
) -> PyResult<Store> {
    let stores = opened(py, access, warm, |options| {
        let stores = fpstore::Stores::with_options(paths, options)?;
        Ok((stores.as_store().clone(), stores))
    })?;
    Ok(Store::several(stores, paths))
}

/// Calls `open` with the options, warms the returned store, and returns the other result of `open`.
fn opened<T: Send>(
    py: Python<'_>,
    access: &str,
    warm: Option<&str>,
    open: impl FnOnce(OpenOptions) -> fpstore::Result<(fpstore::Store, T)> + Send,
) -> PyResult<T> {
    let access: Access = choice(py, "access", access)?;
    let warm: Option<Warm> = warm.map(|what| choice(py, "warm", what)).transpose()?;
    // Releases the interpreter: opening can read pages, as on network file systems.
    let (opened, warmed) = run(py, &Reporter::default(), |_| {
        let (store, opened) = open(OpenOptions::default().access(access))?;
        let warmed = warm.map_or(Ok(Warmed::default()), |warm| store.warm(warm))?;
        Ok((opened, warmed))
    })?;
    warn_of_memory(py, warmed)?;
    Ok(opened)
}

/// Opens pickled stores at their generations: one store, or several as one with their names.
#[pyfunction]
pub(crate) fn _reopen(
    py: Python<'_>,
    #[pyo3(from_py_with = many_paths)] paths: Vec<PathBuf>,
    generations: Vec<u64>,
    names: Option<Vec<PathBuf>>,
) -> PyResult<Store> {
    run(py, &Reporter::default(), |_| {
        let mut stores = Vec::new();
        for (path, generation) in paths.iter().zip(generations) {
            let store = fpstore::Store::open(path)?;
            store.expect_generation(generation)?;
            stores.push(store);
        }
        if let Some(names) = names {
            return Ok(Store::several(fpstore::Stores::of(&stores)?, &names));
        }
        stores.pop().map(Store::new).ok_or_else(|| Failure::Input("no store is named".into()))
    })
}
