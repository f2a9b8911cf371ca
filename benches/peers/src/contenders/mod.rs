//! The contenders: their names, their settings, and the cases that they do not support.

mod fpstore;
mod gaoya;
mod mih;
pub mod plain;

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::memory;
use crate::raw;
use crate::set::Set;

/// All contenders. Ratios are relative to the first one.
pub const NAMES: [&str; 13] = [
    "fpstore-2",
    "fpstore-syndrome",
    "fpstore-auto",
    "mih-2",
    "mih-3",
    "mih-4",
    "raw-ahead",
    "raw-baseline",
    "raw-plain",
    "raw-search",
    "gaoya-5",
    "gaoya-6",
    "scan",
];

/// A built index of any kind.
pub trait Index {
    /// Makes the buffers of one thread that queries the index, reused from query to query.
    fn session(&self) -> Box<dyn Session + '_>;
}

/// Queries to an index. The timed part leaves the answer in the index's own format.
pub trait Session {
    /// Answers one query and returns the number of matches.
    fn ask(&mut self, needle: u64) -> usize;

    /// Answers many queries with the batch interface of the library, on one thread; `None` if the
    /// library has no such interface.
    fn ask_many(&mut self, _needles: &[u64]) -> Option<usize> {
        None
    }

    /// Appends the fingerprints found to `found`, in any order; not timed.
    fn values(&mut self, needle: u64, found: &mut Vec<u64>);
}

/// An index and the cost of building it.
pub struct Built {
    pub name: &'static str,
    pub settings: String,
    pub index: Box<dyn Index>,
    /// The heap that the index keeps, plus its file if queries read a mapping of the file.
    pub bytes: u64,
    /// The resident memory of the index, where the system reports it separately.
    pub resident_bytes: Option<u64>,
    pub build_seconds: f64,
    /// The time to open the index from a file in the page cache, up to the first query.
    pub open_seconds: Option<f64>,
}

/// A rough estimate of the peak memory of a contender during its build, in bytes a fingerprint. It
/// prevents the machine from swapping and is never printed as a result.
fn expected_bytes(name: &str, count: usize) -> f64 {
    let n = count as f64;
    // The sparse hash tables of mih: a bitmap and counts for all keys of a block, and all ids.
    let mih = |blocks: i32| f64::from(blocks) * 2_f64.powi(64 / blocks) / 2.0 + 60.0 * n;
    match name {
        "fpstore-2" | "fpstore-syndrome" | "fpstore-auto" => 40.0 * n,
        "mih-2" => mih(2),
        "mih-3" => mih(3),
        "mih-4" => mih(4),
        "raw-ahead" | "raw-baseline" | "raw-plain" | "raw-search" => 40.0 * n,
        "gaoya-5" => 250.0 * n,
        "gaoya-6" => 1500.0 * n,
        _ => 8.0 * n,
    }
}

/// The reason why a contender cannot take part.
pub fn obstacle(name: &str, set: &Set, k: u32, memory_gib: f64) -> Option<String> {
    if name.starts_with("raw-") && k != raw::K {
        return Some(format!("four blocks of 16 bits answer k = {} only", raw::K));
    }
    let blocks = name.strip_prefix("gaoya-").and_then(|number| number.parse::<u32>().ok());
    if blocks.is_some_and(|blocks| blocks < k + 2) {
        return Some(format!("k = {k} takes at least {} blocks", k + 2));
    }
    let gib = |bytes: f64| bytes / f64::from(1 << 30);
    let expected = gib(expected_bytes(name, set.values.len()));
    let taken = gib(memory::allocated() as f64);
    (taken + expected > memory_gib).then(|| {
        format!("it may take {expected:.1} GiB more than the {taken:.1} in use, --memory is {memory_gib}")
    })
}

/// Builds a contender.
///
/// # Errors
///
/// If the library or the disk reports an error.
pub fn build(
    name: &str,
    set: &Set,
    k: u32,
    folder: &Path,
    shared: &mut plain::Shared,
) -> Result<Built> {
    match name {
        "fpstore-2" => fpstore::build("fpstore-2", Some("2"), set, k, folder),
        "fpstore-syndrome" => {
            fpstore::build("fpstore-syndrome", Some("halves-syndrome"), set, k, folder)
        }
        "fpstore-auto" => fpstore::build("fpstore-auto", None, set, k, folder),
        "mih-2" => mih::build("mih-2", 2, set, k, folder),
        "mih-3" => mih::build("mih-3", 3, set, k, folder),
        "mih-4" => mih::build("mih-4", 4, set, k, folder),
        "raw-baseline" => plain::baseline(set),
        "raw-ahead" => plain::raw("raw-ahead", set, shared, true, true),
        "raw-plain" => plain::raw("raw-plain", set, shared, true, false),
        "raw-search" => plain::raw("raw-search", set, shared, false, false),
        "gaoya-5" => gaoya::build("gaoya-5", 5, set, k),
        "gaoya-6" => gaoya::build("gaoya-6", 6, set, k),
        "scan" => plain::scan(set, k),
        _ => bail!("no contender is called '{name}'"),
    }
}

/// The cost of building an index or tables.
#[derive(Clone, Copy, Debug)]
struct Cost {
    seconds: f64,
    /// The heap bytes that the result keeps.
    bytes: u64,
    /// The growth of the process memory; too small if the build reused freed memory.
    resident: Option<u64>,
}

/// Runs `make` and returns its result and its cost.
fn timed<T>(make: impl FnOnce() -> Result<T>) -> Result<(T, Cost)> {
    let resident_before = memory::resident();
    let start = Instant::now();
    let (made, bytes) = memory::kept(make);
    let seconds = start.elapsed().as_secs_f64();
    let resident = memory::resident().zip(resident_before).map(|(now, b)| now.saturating_sub(b));
    Ok((made?, Cost { seconds, bytes, resident }))
}
