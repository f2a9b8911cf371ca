//! A cleaning that adds to a store, on a disk that loses power at each change: all documents added
//! to the store are in the outputs, complete.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Cleaner, cleaner, site};
use fpstore::Store;
use fpstore_disk::change::{Change, recorder};
use fpstore_disk::power_loss::{Disk, Replayed};
use fpstore_disk::tree::Tree;

/// Maximum number of disk states tested after a loss of power at each change.
const STATES: usize = 60;
const OUTPUT: &str = "deep/er/out";

/// The paths affected by a change.
fn paths(change: &Change) -> Vec<&Path> {
    match change {
        Change::CreateFile(path)
        | Change::CreateDirectory(path)
        | Change::Write { path, .. }
        | Change::Sync(path)
        | Change::SyncDirectory(path)
        | Change::Remove(path) => vec![path],
        Change::Rename { from, to } => vec![from, to],
        Change::Acknowledge => Vec::new(),
    }
}

/// The files below a folder; empty if the folder is missing.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(one) = folders.pop() {
        for entry in fs::read_dir(one).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.strip_prefix(folder).unwrap().into(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Replays changes; the error names a change after which a loss of power left documents in the
/// store but not in the outputs.
fn replay(
    before: &Tree,
    root: &Path,
    changes: &[Change],
    expected: &BTreeMap<PathBuf, Vec<u8>>,
) -> Result<(u64, u64), String> {
    let mut state = 7_u64;
    let mut pick = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    };
    let (mut disk, mut replayed) = (Disk::of(before, root), Replayed::default());
    let (mut tried, mut with_documents) = (0, 0);
    for (number, change) in changes.iter().enumerate() {
        disk.change(change);
        let is_done = disk.acknowledged > 0;
        disk.lose_power(STATES, &mut pick, &mut replayed, |tree| {
            tried += 1;
            let left = tempfile::tempdir().unwrap();
            tree.write_to(left.path());
            let case = || format!("after change {number}, {change:?}: {:?}", tree.names());
            let store = Store::open(left.path().join("store.fps"))
                .map_err(|error| format!("{}: {error}", case()))?;
            let has_added = store.info().segments.len() > 1;
            with_documents += u64::from(has_added);
            if is_done && !has_added {
                return Err(format!("{}: the documents are not in the store", case()));
            }
            if has_added && files(&left.path().join(OUTPUT)) != *expected {
                return Err(format!("{}: the store has what no output has", case()));
            }
            Ok(())
        })?;
    }
    Ok((tried, with_documents))
}

#[test]
fn what_a_store_has_added_is_in_the_outputs_after_a_loss_of_power() {
    let folder = site();
    let root = folder.path();
    let before = Tree::read(root, |name| ["LOCK", "COMPACT", "PUBLISH"].contains(&name));
    recorder::start(root);
    let output = Some(root.join(format!("{OUTPUT}/")));
    let account = Cleaner { output, ..cleaner(root) }.run().unwrap();
    recorder::acknowledge(root);
    // The files of the job folder matter only for the next job; the tests of the job cover them.
    let is_of_work =
        |path: &&Path| path.components().any(|part| part.as_os_str() == ".fpstore-dedup");
    let mut changes = recorder::stop(root);
    changes.retain(|change| !paths(change).iter().any(is_of_work));
    let expected = files(&root.join(OUTPUT));
    assert!(account.added_count > 10 && expected.len() == 3, "{account:?}");
    let (tried, with_documents) = replay(&before, root, &changes, &expected).unwrap();
    println!("{} changes, {tried} states, {with_documents} with documents", changes.len());
    assert!(tried > 100 && with_documents > 5, "{tried}, {with_documents}");

    // If one of the needed syncs of folders is left out, a loss of power can leave stored documents
    // without outputs.
    let is_sync = |at: &usize| match &changes[*at] {
        Change::SyncDirectory(path) => !path.ends_with("store.fps"),
        _ => false,
    };
    let syncs: Vec<usize> = (0..changes.len()).filter(is_sync).collect();
    let is_noticed = |at: &usize| {
        let without = [&changes[..*at], &changes[at + 1..]].concat();
        replay(&before, root, &without, &expected).is_err()
    };
    let noticed = syncs.iter().filter(|at| is_noticed(at)).count();
    println!("{noticed} of {} syncs of folders are missed if they are left out", syncs.len());
    assert!(noticed >= 4, "{noticed} of {}", syncs.len());
}
