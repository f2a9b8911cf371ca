//! Readers that hold files, merges that are interrupted or slowed down, and file systems without room or locks.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::disk::faults;
use crate::watch::Observer;

/// The store of [`make`] in a folder of its own, which goes with the first.
fn made() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    make(&path);
    (folder, path)
}

/// Lets what it watches go on so many times, and then ends it.
fn goes_on(times: u32) -> Observer {
    let count = AtomicU32::new(0);
    Observer::new(move |_| match count.fetch_add(1, Ordering::Relaxed) >= times {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    })
}

/// A reader that holds the files of a state goes on, and they are removed by the first writer after it.
#[test]
fn files_that_a_reader_holds_stay_until_it_lets_go() {
    let (_folder, path) = made();
    let expected = all_records(&path);
    let reader = Store::open(&path).unwrap();
    let held: Vec<PathBuf> = reader.info().segments.iter().map(|of| of.path.clone()).collect();
    let mut writer = Writer::with_options(&path, options()).unwrap();
    writer.compact(&Compaction::One).unwrap();
    drop(writer);
    assert!(held.iter().all(|file| file.exists()));
    drop(Writer::with_options(&path, options()).unwrap());
    assert!(held.iter().all(|file| file.exists()));
    let mut found = Records::new();
    let listed = reader.for_each(|hit| {
        let ids: Result<Vec<String>> = hit.ids().map(|id| Ok(id?.to_string())).collect();
        found.insert(hit.fingerprint().value(), ids?);
        Ok::<(), Error>(())
    });
    listed.unwrap();
    assert!(found == expected);
    assert!(reader.refresh().unwrap());
    assert_tidy(&path, "after the reader let go");
    assert!(held.iter().all(|file| !file.exists()));
}

/// An interrupted merge leaves the store as it was, with what was merged before.
#[test]
fn an_interrupted_compaction_changes_nothing() {
    let pristine = pristine();
    let folder = site(pristine.path());
    let path = folder.path().join("store.fps");
    let before = all_records(&path);
    for ends_at in 0..8 {
        let mut options = options();
        options.observer = Some(goes_on(ends_at));
        let mut writer = Writer::with_options(&path, options).unwrap();
        let done = writer.compact(&Compaction::One);
        drop(writer);
        assert_whole(&path, std::slice::from_ref(&before), done.is_ok(), &format!("{ends_at}"));
        if done.is_ok() {
            assert!(ends_at > 1);
            return;
        }
        assert!(matches!(done, Err(Error::Interrupted)), "{done:?}");
    }
    panic!("it never ended");
}

/// At a byte a second it would take a day; but it asks in its pauses whether to go on.
#[test]
fn a_slow_compaction_ends_when_it_is_told_to() {
    let (_folder, path) = made();
    let before = all_records(&path);
    for ends_at in [1, 3, 9] {
        let mut options = options();
        options.max_rate = Some(1);
        options.observer = Some(goes_on(ends_at));
        let done = Compactor::with_options(&path, options).unwrap().compact(&Compaction::One);
        assert!(matches!(done, Err(Error::Interrupted)), "{done:?}");
        assert_whole(&path, std::slice::from_ref(&before), false, &format!("{ends_at}"));
    }
}

/// A limit on the rate makes it take as long as it says.
#[test]
fn a_compaction_keeps_to_its_rate() {
    let (_folder, path) = made();
    let len = Store::open(&path).unwrap().info().file_len();
    let mut options = options();
    options.max_rate = Some(len * 5);
    let start = std::time::Instant::now();
    let done = Writer::with_options(&path, options).unwrap().compact(&Compaction::One).unwrap();
    let seconds = (done.read_len + done.written_len) as f64 / (len * 5) as f64;
    // Values are read a run at a time, so the last of them may come for nothing.
    assert!(start.elapsed().as_secs_f64() > 0.8 * seconds, "{seconds}");
}

#[test]
fn a_disk_without_room_is_named_before_anything_is_written() {
    let (_folder, path) = made();
    let mut writer = Writer::with_options(&path, options()).unwrap();
    let input = crate::InputEstimate { record_count: 1 << 50, ..Default::default() };
    assert!(matches!(writer.expect(&input, true), Err(Error::NoSpace { .. })));
    assert!(writer.expect(&input, false).is_ok());
}

/// As on file systems without such locks: who reads goes without, who would write says so and changes nothing.
#[test]
fn without_locks_there_are_readers_and_no_writers() {
    use std::io::ErrorKind;

    let (folder, path) = made();
    let expected = all_records(&path);
    let names = || fs::read_dir(&path).unwrap().count();
    let before = names();
    for kind in [ErrorKind::Unsupported, ErrorKind::PermissionDenied] {
        faults::refuse_locks(folder.path(), kind, u64::MAX);
        assert!(all_records(&path) == expected);
        assert!(!Store::open(&path).unwrap().refresh().unwrap());
        let refused = Writer::with_options(&path, options()).unwrap_err();
        assert!(
            matches!(&refused, Error::Io { doing: "lock", path, .. } if path.ends_with("LOCK"))
        );
        assert!(matches!(Compactor::open(&path), Err(Error::Io { doing: "lock", .. })));
        faults::allow_locks(folder.path());
    }
    // A reader that could not lock its files has them still when a writer, which can, takes them away.
    faults::refuse_locks(folder.path(), ErrorKind::Unsupported, u64::MAX);
    let reader = Store::open(&path).unwrap();
    faults::allow_locks(folder.path());
    assert!(names() <= before + 1);
    // A signal that comes in between is no refusal.
    faults::refuse_locks(folder.path(), ErrorKind::Interrupted, 3);
    let mut writer = Writer::with_options(&path, options()).unwrap();
    faults::refuse_locks(folder.path(), ErrorKind::Interrupted, 3);
    writer.compact(&Compaction::One).unwrap();
    drop(writer);
    assert_tidy(&path, "no one holds a file");
    let mut found = Records::new();
    let listed = reader.for_each(|hit| {
        let ids: Result<Vec<String>> = hit.ids().map(|id| Ok(id?.to_string())).collect();
        found.insert(hit.fingerprint().value(), ids?);
        Ok::<(), Error>(())
    });
    listed.unwrap();
    assert!(found == expected);
    faults::allow_locks(folder.path());
}
