//! The file with the measured unit costs of this machine, in the user's cache folder.

use std::path::{Path, PathBuf};

use anyhow::Context;
use etcetera::BaseStrategy;
use fpstore::plan::UnitCosts;
use fpstore_corpus::NewFile;

/// The measured costs, or the shipped ones if none were measured.
pub(crate) fn of_this_machine() -> UnitCosts {
    path().map_or(UnitCosts::SHIPPED, UnitCosts::of_this_machine)
}

/// Saves costs for later commands and returns the path of the file.
pub(crate) fn keep(costs: &UnitCosts) -> anyhow::Result<PathBuf> {
    let path = path()?;
    let folder = path.parent().unwrap_or(Path::new("."));
    NewFile::make_folder(folder)
        .with_context(|| format!("cannot keep unit costs in {}", path.display()))?;
    costs.keep_in(&path)?;
    Ok(path)
}

fn path() -> anyhow::Result<PathBuf> {
    let strategy = etcetera::choose_base_strategy().context("cannot find the cache folder")?;
    Ok(strategy.cache_dir().join("fpstore").join("unit-costs.txt"))
}
