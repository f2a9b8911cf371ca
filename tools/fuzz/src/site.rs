//! A folder for the files of a target, and a check of stores in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use fpstore::{Error, Fingerprint, Store, verify};
use tempfile::TempDir;

/// A folder of this process. libFuzzer ends the process without running destructors, so
/// tools/fuzz.sh removes the parent folder.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    FOLDER.get_or_init(|| tempfile::tempdir().unwrap()).path()
}

/// Writes an input to a file and returns its path.
pub fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// Checks that the error for a hostile file is one of the types for damaged or unknown files.
fn assert_typed(error: &Error) {
    assert!(matches!(error, Error::Corrupt { .. } | Error::UnsupportedVersion { .. }), "{error:?}");
}

/// Opens a store and reads all of it. If `verify` finds no problem, all answers must equal a linear
/// scan.
pub fn check_store(path: &Path) {
    let report = match verify(path, &fpstore::VerifyOptions::default().samples(2)) {
        Ok(report) => report,
        Err(error) => return assert_typed(&error),
    };
    report.faults.iter().for_each(assert_typed);
    let store = match Store::open(path) {
        Ok(store) => store,
        Err(error) => {
            assert!(!report.is_sound(), "verify finds nothing, and open says {error}");
            return assert_typed(&error);
        }
    };
    let mut records: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let read = store.for_each(|hit| {
        let ids: Result<Vec<String>, Error> = hit.ids().map(|id| Ok(id?.to_string())).collect();
        records.entry(hit.fingerprint().value()).or_default().extend(ids?);
        Ok::<(), Error>(())
    });
    if let Err(error) = &read {
        assert!(!report.is_sound(), "verify finds nothing, and reading says {error}");
        assert_typed(error);
    }
    let mut needles = vec![0, u64::MAX, 0x0123_4567_89ab_cdef, 0xabcd_0000_0000_0001];
    needles.extend(records.keys().step_by(records.len() / 4 + 1).map(|value| value ^ 1 << 40));
    for needle in needles {
        for k in [0, 3, 7, 64] {
            let matches = match store.query(Fingerprint::new(needle), k) {
                Ok(matches) => matches,
                Err(error) => {
                    assert!(!report.is_sound(), "verify finds nothing, and a query says {error}");
                    assert_typed(&error);
                    continue;
                }
            };
            if !report.is_sound() {
                continue;
            }
            let near = records.iter().filter(|(value, _)| (*value ^ needle).count_ones() <= k);
            let mut expected: Vec<(u32, u64, &Vec<String>)> =
                near.map(|(value, ids)| ((value ^ needle).count_ones(), *value, ids)).collect();
            expected.sort();
            assert_eq!(matches.len(), expected.len(), "{needle:016x}, k={k}");
            for (found, (distance, value, ids)) in matches.iter().zip(expected) {
                assert_eq!((found.distance, found.fingerprint.value()), (distance, value));
                let found: Vec<String> =
                    found.ids.iter().map(|id| id.as_ref().to_string()).collect();
                assert_eq!(found, *ids, "{value:016x}");
            }
        }
    }
}
