//! Options that many functions share: distances, limits, schemes, paths.

use std::path::PathBuf;
use std::sync::Arc;

use fpstore::join::JoinOptions;
use fpstore::plan::{Budget, UnitCosts};
use fpstore::{BuildOptions, Scheme, SchemeChoice, Store};
use pyo3::prelude::*;

use crate::errors::{Failure, input_error};
use crate::work::{Shared, cores};

/// Memory of a small batch if none is given: asking the system for its memory takes longer than the
/// batch.
const SMALL_MEMORY: u64 = 256 << 20;
/// Queries of a batch that [`SMALL_MEMORY`] is enough for.
const SMALL: usize = 1 << 16;

/// A distance from 0 to 64; the default is the one that the store is tuned for.
pub(crate) fn distance(py: Python<'_>, k: Option<i64>, store: &Store) -> PyResult<u32> {
    match k {
        None => Ok(store.tuned_k()),
        Some(k) => distance_of(py, k),
    }
}

/// A distance from 0 to 64.
pub(crate) fn distance_of(py: Python<'_>, k: i64) -> PyResult<u32> {
    match u32::try_from(k) {
        Ok(k) if k <= 64 => Ok(k),
        _ => Err(input_error(py, format!("k is {k}, expected 0 to 64 bits"))),
    }
}

/// A count that is not negative.
pub(crate) fn count(py: Python<'_>, name: &str, count: Option<i64>) -> PyResult<Option<u64>> {
    let Some(count) = count else { return Ok(None) };
    match u64::try_from(count) {
        Ok(count) => Ok(Some(count)),
        Err(_) => Err(input_error(py, format!("{name} is {count}, expected 0 or more"))),
    }
}

/// What work may take.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) threads: Option<usize>,
    pub(crate) memory: Option<u64>,
    pub(crate) temp_dir: Option<PathBuf>,
}

impl Limits {
    pub(crate) fn new(
        py: Python<'_>,
        threads: Option<i64>,
        memory: Option<i64>,
        temp_dir: Option<PathBuf>,
    ) -> PyResult<Self> {
        let threads = match threads {
            Some(threads) if threads < 1 => {
                let message = format!("threads is {threads}, expected 1 or more, or None for all");
                return Err(input_error(py, message));
            }
            Some(threads) => Some(usize::try_from(threads)?),
            None => Some(cores()),
        };
        Ok(Limits { threads, memory: count(py, "memory", memory)?, temp_dir })
    }

    /// The limits for a batch of `count` queries.
    pub(crate) fn for_queries(mut self, count: usize) -> Self {
        if self.memory.is_none() && count <= SMALL {
            let least = BuildOptions::memory_min(self.threads.unwrap_or(1));
            self.memory = Some(least.max(SMALL_MEMORY));
        }
        self
    }

    /// Options of a join within `k` bits.
    pub(crate) fn join(&self, k: u32, shared: &Arc<Shared>) -> JoinOptions {
        JoinOptions::new(k)
            .threads(self.threads)
            .memory(self.memory)
            .temp_dir(self.temp_dir.clone())
            .observer(shared.observer())
    }
}

/// The tables of a store: `auto` or nothing for the fastest within the budget, or a scheme.
pub(crate) fn scheme(
    k: u32,
    scheme: Option<&str>,
    budget: Option<&str>,
) -> Result<SchemeChoice, Failure> {
    let budget = budget.map(budget_of).transpose()?;
    match scheme {
        None | Some("auto") => {
            let (budget, costs) = (budget.unwrap_or(Budget::Default), UnitCosts::default());
            Ok(SchemeChoice::Auto { k, budget, costs })
        }
        Some(name) if budget.is_some() => {
            let message = format!("budget is for the scheme 'auto', not for '{name}'");
            Err(Failure::Input(message))
        }
        Some(list) if list.contains('\n') => Ok(Scheme::from_mask_list(list, k)?.into()),
        Some(name) => Ok(SchemeChoice::named(name, k)?),
    }
}

/// Space for tables, such as `12GB`, `500MiB` or `16B/fp`.
fn budget_of(text: &str) -> Result<Budget, Failure> {
    let wrong = || {
        let message =
            format!("'{text}' is no amount of bytes, expected one such as 12GB or 16B/fp");
        Failure::Input(message)
    };
    let (amount, is_each) = match text.strip_suffix("/fp") {
        Some(amount) => (amount, true),
        None => (text, false),
    };
    let split = amount.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(amount.len());
    let (number, unit) = amount.split_at(split);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let unit = unit.trim_start();
    let unit = unit.strip_suffix(['B', 'b']).unwrap_or(unit).to_ascii_lowercase();
    let (prefix, base) = match unit.strip_suffix('i') {
        Some(prefix) => (prefix, 1024_f64),
        None => (unit.as_str(), 1000_f64),
    };
    let power = match prefix {
        "" if base == 1000.0 => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return Err(wrong()),
    };
    let bytes = number * base.powi(power);
    if !bytes.is_finite() || bytes <= 0.0 || bytes >= 2_f64.powi(63) {
        return Err(wrong());
    }
    Ok(if is_each { Budget::BytesPerFingerprint(bytes) } else { Budget::Bytes(bytes as u64) })
}
