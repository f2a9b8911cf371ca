//! Tests of every change of a store with labels, ids of both kinds and deletions.
//!
//! `fail_points` makes each file operation of each change fail once; `growth` counts steps of
//! stores with many segments; `places` deletes ids whose positions were read before; `pauses` tests
//! readers that hold files, interrupted merges, and file systems without room or locks;
//! `power_loss` replays possible disk states after a loss of power; `retry` repeats failed changes;
//! `threads` merges on several threads.

mod fail_points;
mod growth;
mod pauses;
mod places;
mod power_loss;
mod retry;
mod threads;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::*;
use crate::base::error::{Error, Result};
use crate::format::deletions;
use crate::scheme::Scheme;
use crate::search::snapshot::read_manifest;
use crate::store::Store;
use crate::{BuildOptions, Builder};
use fpstore_base::{Fingerprint, IdRef};

type Records = BTreeMap<u64, Vec<String>>;

fn all_records(path: &Path) -> Records {
    records_of(&Store::open(path).unwrap())
}

fn records_of(store: &Store) -> Records {
    let mut all = Records::new();
    let listed = store.for_each(|hit| {
        let ids: Result<Vec<String>> = hit.ids().map(|id| Ok(id?.to_string())).collect();
        all.insert(hit.fingerprint().value(), ids?);
        Ok::<(), Error>(())
    });
    listed.unwrap();
    all
}

fn options() -> WriterOptions {
    // The memory is small, so that merges use temporary files.
    WriterOptions::default()
        .scheme(Scheme::named("2", 3).unwrap())
        .memory(BuildOptions::memory_min(1))
        .threads(1)
        .label("2026-11")
        .compact(false)
}

fn value(i: u64) -> u64 {
    (i / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Makes a store with labels, ids of both kinds, records without ids, and deletions.
fn make(path: &Path) {
    let build = BuildOptions::default().scheme(Scheme::named("2", 3).unwrap()).label("2026-09");
    let mut builder = Builder::with_options(path, build).unwrap();
    (0..200).for_each(|i| builder.push(Fingerprint::new(value(i)), i).unwrap());
    builder.finish().unwrap();
    let mut writer = Writer::with_options(path, options()).unwrap();
    for round in 0..3 {
        for i in 100 * round..100 * round + 150 {
            let text = format!("page {i}");
            match i % 5 {
                0 => writer.push_bare(Fingerprint::new(value(i))).unwrap(),
                1 => writer.push(Fingerprint::new(value(i)), i).unwrap(),
                _ => writer.push(Fingerprint::new(value(i)), text.as_str()).unwrap(),
            }
        }
        writer.commit().unwrap();
    }
    writer.delete_ids([IdRef::Text("page 7"), IdRef::U64(12)]).unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

/// A folder with a store to change and a store to import.
fn site(pristine: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["store.fps", "other.fps"] {
        copy(&pristine.join(name), &folder.path().join(name));
    }
    folder
}

fn pristine() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    make(&folder.path().join("store.fps"));
    let options = BuildOptions::default().scheme(Scheme::named("4", 3).unwrap());
    let mut builder = Builder::with_options(folder.path().join("other.fps"), options).unwrap();
    (5000..5050).for_each(|i| builder.push(Fingerprint::new(value(i)), i).unwrap());
    builder.finish().unwrap();
    folder
}

/// Checks that the next writer leaves only the manifest and the files that it lists.
fn assert_clean(path: &Path, case: &str) {
    drop(Writer::with_options(path, options()).unwrap());
    let mut expected: Vec<String> = vec!["MANIFEST".into()];
    for entry in read_manifest(path).unwrap().segments {
        expected.push(entry.file_name());
        expected.extend(entry.deletions.map(|of| deletions::file_name(of.number)));
    }
    expected.sort();
    let names = fs::read_dir(path).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, expected, "{case}");
}

fn assert_whole(path: &Path, states: &[Records], done: bool, case: &str) {
    let found = all_records(path);
    if done {
        assert!(found == states[states.len() - 1], "{case}: it said it was done");
    } else {
        assert!(states.contains(&found), "{case}: neither before nor after");
    }
    let report = crate::verify(path, &crate::VerifyOptions::default().samples(2)).unwrap();
    assert!(report.is_sound(), "{case}: {:?}", report.faults);
    assert_clean(path, case);
    assert!(all_records(path) == found, "{case}: the next writer changed it");
}
