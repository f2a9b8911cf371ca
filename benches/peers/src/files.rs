//! Writes a case to files, for contenders in other languages.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::data::count_name;
use crate::machine::Machine;
use crate::set::Set;
use crate::truth::Truth;

/// The description of a case, `case.json`.
#[derive(Serialize)]
struct Case<'a> {
    data: &'a str,
    n: usize,
    distinct: usize,
    k: u32,
    machine: &'a str,
    sample_count: usize,
}

/// Writes a folder such as `DIR/uniform-n1e6`: distinct `fingerprints.u64le` in random order,
/// `queries.u64le`, and `truth.u64le`: for each of the first queries the number of its answers,
/// followed by the answers in ascending order.
pub fn write(
    folder: &Path,
    set: &Set,
    queries: &[u64],
    truth: &Truth<'_>,
    machine: &Machine,
) -> Result<()> {
    let folder = folder.join(format!("{}-{}", set.source.name(), count_name(set.drawn)));
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let put = |name: &str, bytes: Vec<u8>| {
        let path = folder.join(name);
        fs::write(&path, bytes).with_context(|| path.display().to_string())
    };
    let bytes = |values: &[u64]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    put("fingerprints.u64le", bytes(&set.values))?;
    put("queries.u64le", bytes(queries))?;
    let answers = truth.answers.iter();
    let flat: Vec<u64> =
        answers.flat_map(|a| std::iter::once(a.len() as u64).chain(a.iter().copied())).collect();
    put("truth.u64le", bytes(&flat))?;
    let case = Case {
        data: set.source.name(),
        n: set.drawn,
        distinct: set.values.len(),
        k: truth.k,
        machine: &machine.name,
        sample_count: truth.sample.len(),
    };
    put("case.json", serde_json::to_vec_pretty(&case)?)
}
