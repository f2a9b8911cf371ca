//! Opening a store, and several as one.

use std::path::PathBuf;

use fpstore::{Access, OpenOptions, Warm};
use pyo3::prelude::*;

use super::{Store, Stores};
use crate::errors::{Failure, input_error};
use crate::input::arguments::{is_one_path, path, paths as many_paths, text, text_or_none};
use crate::options::choice;
use crate::work::{Reporter, run};

/// Opens a store.
///
/// Opening reads a header, whatever the size; pages are read and checked when a query first needs
/// them, or at once with `warm`: `"hot"` for what every query reads, `"all"` for everything. With
/// `generation` any other state of the store is refused with `StaleStoreError`, and `refresh` keeps
/// this one. A store shows its newest state alone; an older one is opened where it was kept, by
/// `backup` or by `export` with `hard_link`: `open(copy, generation=N)`. `access` is `"map"`
/// for a memory map, `"memory"` to read the files into memory, or `"auto"`: memory on network file
/// systems if it fits, a map elsewhere.
///
/// >>> with fpstore.open(store.path) as again:
/// ...     len(again)
/// 3
#[pyfunction]
#[pyo3(signature = (path, *, generation=None, access="auto", warm=None))]
pub(crate) fn open(
    py: Python<'_>,
    #[pyo3(from_py_with = path)] path: PathBuf,
    generation: Option<u64>,
    #[pyo3(from_py_with = text)] access: &str,
    #[pyo3(from_py_with = text_or_none)] warm: Option<&str>,
) -> PyResult<Store> {
    let store = opened(py, access, warm, |options| {
        let store = fpstore::Store::with_options(&path, options.generation(generation))?;
        Ok((store.clone(), store))
    })?;
    Ok(Store::new(store))
}

/// Opens several stores, to ask them as one: `paths` are their directories, by which answers name
/// them. See `Stores`; `access` and `warm` are as for `open`.
///
/// Stores may differ in scheme, tuned `k` and kind of ids, but not in recipe, and no two may be copies
/// of one store.
///
/// >>> other = fpstore.build(folder / "more.fps", [0xC0F1789BED2EB9BA], ["d.html"])
/// >>> with fpstore.open_all([store.path, other.path]) as stores:
/// ...     len(stores)
/// 4
#[pyfunction]
#[pyo3(signature = (paths, *, access="auto", warm=None))]
pub(crate) fn open_all(
    py: Python<'_>,
    paths: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = text)] access: &str,
    #[pyo3(from_py_with = text_or_none)] warm: Option<&str>,
) -> PyResult<Stores> {
    if is_one_path(paths)? {
        return Err(input_error(py, "paths is one path: open opens one store, open_all a list"));
    }
    let paths = many_paths(paths)?;
    let stores = opened(py, access, warm, |options| {
        let stores = fpstore::Stores::with_options(&paths, options)?;
        Ok((stores.as_store().clone(), stores))
    })?;
    Ok(Stores::new(stores, &paths))
}

/// Opens with these options, and warms the store that comes beside what was opened.
fn opened<T: Send>(
    py: Python<'_>,
    access: &str,
    warm: Option<&str>,
    open: impl FnOnce(OpenOptions) -> fpstore::Result<(fpstore::Store, T)> + Send,
) -> PyResult<T> {
    let access: Access = choice(py, "access", access)?;
    let warm: Option<Warm> = warm.map(|what| choice(py, "warm", what)).transpose()?;
    // To open takes microseconds, unless pages are read, as on network file systems.
    run(py, &Reporter::default(), |_| {
        let (store, opened) = open(OpenOptions::default().access(access))?;
        if let Some(warm) = warm {
            store.warm(warm)?;
        }
        Ok(opened)
    })
}

/// Opens a store at the generation at which it was pickled.
#[pyfunction]
pub(crate) fn _reopen(
    py: Python<'_>,
    #[pyo3(from_py_with = path)] path: PathBuf,
    generation: u64,
) -> PyResult<Store> {
    let store = open(py, path, None, "auto", None)?;
    store.get()?.expect_generation(generation).map_err(Failure::from)?;
    Ok(store)
}

/// Opens stores at the generations at which they were pickled, and names them as they were named.
#[pyfunction]
pub(crate) fn _reopen_all(
    py: Python<'_>,
    #[pyo3(from_py_with = many_paths)] names: Vec<PathBuf>,
    #[pyo3(from_py_with = many_paths)] paths: Vec<PathBuf>,
    generations: Vec<u64>,
) -> PyResult<Stores> {
    let stores = run(py, &Reporter::default(), |_| {
        let mut stores = Vec::new();
        for (path, generation) in paths.iter().zip(generations) {
            let store = fpstore::Store::open(path)?;
            store.expect_generation(generation)?;
            stores.push(store);
        }
        Ok(fpstore::Stores::of(&stores)?)
    })?;
    Ok(Stores::new(stores, &names))
}
