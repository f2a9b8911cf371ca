//! Opening a store, or several as one.

use std::path::{Path, PathBuf};

use fpstore::{Access, OpenOptions, Warm};
use pyo3::prelude::*;

use super::Store;
use crate::errors::{Failure, input_error};
use crate::input::arguments::{Paths, is_one_path, paths as many_paths, text, text_or_none};
use crate::options::choice;
use crate::work::{Reporter, run};

/// Opens a store, or a list of stores as `open_all` does.
///
/// Opening reads a header, whatever the size of the store. Pages are read and checked when a query
/// first needs them.
///
/// - `generation` is the expected state. Any other state is refused with `StaleStoreError`, also by
///   `refresh`. A path opens the newest state; older ones are kept by `backup`, or by `export` with
///   `hard_link`: `open(copy, generation=N)`.
/// - `access` is `"map"` for a memory map, `"memory"` to read the files into memory, or `"auto"`:
///   memory on network file systems if it fits, a map elsewhere.
/// - `warm` reads pages now: `"hot"` for the pages that every query reads, `"all"` for all.
///
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
        Paths::Several(_) if generation.is_some() => {
            Err(input_error(py, "generation is that of one store; leave it out for several"))
        }
        Paths::Several(paths) => open_several(py, &paths, access, warm),
    }
}

/// Opens several stores, to query them as one. `paths` are their directories, which are also their
/// names in answers. See `Store`; `access` and `warm` are as for `open`.
///
/// Stores may differ in scheme, tuned `k` and kind of ids, but not in recipe, and no two may be copies
/// of one store.
///
/// >>> other = fpstore.build(folder / "more.fps", [0xC0F1789BED2EB9BA], ["d.html"])
/// >>> with fpstore.open([store.path, other.path]) as stores:
/// ...     len(stores)
/// 4
#[pyfunction]
#[pyo3(signature = (paths, *, access="auto", warm=None))]
pub(crate) fn open_all(
    py: Python<'_>,
    paths: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = text)] access: &str,
    #[pyo3(from_py_with = text_or_none)] warm: Option<&str>,
) -> PyResult<Store> {
    if is_one_path(paths)? {
        return Err(input_error(py, "paths is one path: open opens one store, open_all a list"));
    }
    open_several(py, &many_paths(paths)?, access, warm)
}

/// Opens the store of one directory.
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

/// Opens with these options. `open` returns the store to warm, and the result.
fn opened<T: Send>(
    py: Python<'_>,
    access: &str,
    warm: Option<&str>,
    open: impl FnOnce(OpenOptions) -> fpstore::Result<(fpstore::Store, T)> + Send,
) -> PyResult<T> {
    let access: Access = choice(py, "access", access)?;
    let warm: Option<Warm> = warm.map(|what| choice(py, "warm", what)).transpose()?;
    // Opening takes microseconds, unless pages are read, as on network file systems.
    run(py, &Reporter::default(), |_| {
        let (store, opened) = open(OpenOptions::default().access(access))?;
        if let Some(warm) = warm {
            store.warm(warm)?;
        }
        Ok(opened)
    })
}

/// Opens pickled stores at their generations: one store, or several with their names.
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
