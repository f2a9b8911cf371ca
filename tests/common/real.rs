//! Real fingerprints, and lists of their near-duplicates found without fpstore.
//!
//! `tests/data` contains an extract of the collection; the environment variable `FPSTORE_DATA` can
//! name the folder of the whole collection.

use std::env;
use std::fs::File;
use std::path::{Path, PathBuf};

use fpstore::Error;
use fpstore::input::{InputOptions, read_records};

use super::Record;

pub fn extract() -> PathBuf {
    super::root().join("tests").join("data")
}

pub fn full_collection() -> Option<PathBuf> {
    env::var_os("FPSTORE_DATA").map(|data| Path::new(&data).join("fingerprints"))
}

pub fn records(path: &Path) -> Vec<Record> {
    let mut records = Vec::new();
    read_records(path, &InputOptions::default(), |record| {
        records.push((record.fingerprint.value(), record.id.map(|id| id.to_id())));
        Ok::<(), Error>(())
    })
    .unwrap();
    records
}

/// The rows of a file with three columns, whose first line must be `header`.
pub fn table(path: &Path, header: &str) -> Vec<[String; 3]> {
    let bytes = zstd::decode_all(File::open(path).unwrap()).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(header), "{}", path.display());
    lines
        .map(|line| {
            let columns: Vec<String> = line.split('\t').map(String::from).collect();
            columns.try_into().unwrap_or_else(|_| panic!("{}: '{line}'", path.display()))
        })
        .collect()
}
