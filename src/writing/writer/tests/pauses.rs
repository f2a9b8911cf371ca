//! Readers that hold files, interrupted and throttled merges, and file systems without room or
//! locks.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use fpstore_base::IoError;
use fpstore_base::watch::{Observer, Phase};
use fpstore_disk::{fail_points, system};

/// A store made by [`make`], and the folder that contains it; dropping the folder removes both.
fn made() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    make(&path);
    (folder, path)
}

/// An observer that ends the work after `times` reports.
fn goes_on(times: u32) -> Observer {
    let count = AtomicU32::new(0);
    Observer::new(move |_| {
        if count.fetch_add(1, Ordering::Relaxed) < times {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })
}

/// A reader keeps using the files that it has open; the first writer after its refresh removes
/// them.
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
    assert!(records_of(&reader) == expected);
    assert!(reader.refresh().unwrap());
    assert_clean(&path, "after the reader let go");
    assert!(held.iter().all(|file| !file.exists()));
}

/// An interrupted merge leaves the store unchanged.
#[test]
fn an_interrupted_compaction_changes_nothing() {
    let pristine = pristine();
    let folder = site(pristine.path());
    let path = folder.path().join("store.fps");
    let before = all_records(&path);
    for ends_at in 0..8 {
        let options = options().observer(goes_on(ends_at));
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

/// At a byte a second the merge would take a day, but the observer can end it during a pause.
#[test]
fn a_slow_compaction_ends_when_it_is_told_to() {
    let (_folder, path) = made();
    let before = all_records(&path);
    for ends_at in [1, 3, 9] {
        let options = options().max_rate(1).observer(goes_on(ends_at));
        let done = Compactor::with_options(&path, options).unwrap().compact(&Compaction::One);
        assert!(matches!(done, Err(Error::Interrupted)), "{done:?}");
        assert_whole(&path, std::slice::from_ref(&before), false, &format!("{ends_at}"));
    }
}

/// A rate limit makes a merge take the corresponding time.
#[test]
fn a_compaction_keeps_to_its_rate() {
    let (_folder, path) = made();
    let len = Store::open(&path).unwrap().info().file_len();
    let options = options().max_rate(len * 5);
    let start = std::time::Instant::now();
    let done = Writer::with_options(&path, options).unwrap().compact(&Compaction::One).unwrap();
    let seconds = (done.read_len + done.written_len) as f64 / (len * 5) as f64;
    // The rate limit pauses after each run of values except the last.
    assert!(start.elapsed().as_secs_f64() > 0.8 * seconds, "{seconds}");
}

#[test]
fn a_disk_without_room_is_named_before_anything_is_written() {
    let (_folder, path) = made();
    let mut writer = Writer::with_options(&path, options()).unwrap();
    let input =
        crate::writing::input::InputEstimate { record_count: 1 << 50, ..Default::default() };
    assert!(matches!(writer.expect(&input, true), Err(Error::NoSpace { .. })));
    assert!(writer.expect(&input, false).is_ok());
}

/// New records need little space and are added; a merge waits until there is enough space.
#[test]
fn records_are_added_where_there_is_no_room_for_a_merge_that_is_due() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    drop(Builder::with_options(&path, BuildOptions::default()).unwrap().finish().unwrap());
    fail_points::limit_space(folder.path(), Some(0));
    let with_merges = || options().label("").compact(true);
    let mut writer = Writer::with_options(&path, with_merges()).unwrap();
    for round in 0..5_u64 {
        writer.push(Fingerprint::new(50 + round), "new").unwrap();
        let committed = writer.commit().unwrap();
        assert!(committed.unmerged.is_none(), "{round}: {committed:?}");
    }
    let count = writer.store().info().segments.len();
    assert_eq!(count, 1 + 5, "nothing is merged");
    assert!(matches!(writer.compact(&Compaction::All), Err(Error::NoSpace { .. })));
    assert_eq!(writer.finish().unwrap().info().segments.len(), count);
    fail_points::limit_space(folder.path(), None);
    Writer::with_options(&path, with_merges()).unwrap().merge_due().unwrap();
    let info = Store::open(&path).unwrap().info();
    assert_eq!((info.segments.len(), info.fingerprint_count()), (1, 5));
}

/// On a file system without locks readers work, and writers report an error and change nothing.
#[test]
fn without_locks_there_are_readers_and_no_writers() {
    use std::io::ErrorKind;

    let (folder, path) = made();
    let expected = all_records(&path);
    let names = || fs::read_dir(&path).unwrap().count();
    let before = names();
    for kind in [ErrorKind::Unsupported, ErrorKind::PermissionDenied] {
        fail_points::refuse_locks(folder.path(), kind, u64::MAX);
        assert!(all_records(&path) == expected);
        assert!(!Store::open(&path).unwrap().refresh().unwrap());
        let refused = Writer::with_options(&path, options()).unwrap_err();
        assert!(
            matches!(&refused, Error::Io(IoError { doing: "lock", path, .. }) if path.ends_with("LOCK"))
        );
        assert!(matches!(Compactor::open(&path), Err(Error::Io(IoError { doing: "lock", .. }))));
        fail_points::allow_locks(folder.path());
    }
    // A reader without locks keeps its mapped files when a writer, which has locks, removes them.
    fail_points::refuse_locks(folder.path(), ErrorKind::Unsupported, u64::MAX);
    let reader = Store::open(&path).unwrap();
    fail_points::allow_locks(folder.path());
    // Two lock files remain, because the writer and the compactor could not acquire the locks.
    assert_eq!(names(), before + 2);
    // A signal that interrupts the lock call is not an error.
    fail_points::refuse_locks(folder.path(), ErrorKind::Interrupted, 3);
    let mut writer = Writer::with_options(&path, options()).unwrap();
    fail_points::refuse_locks(folder.path(), ErrorKind::Interrupted, 3);
    writer.compact(&Compaction::One).unwrap();
    drop(writer);
    if system::REMOVES_OPEN_FILES {
        assert_clean(&path, "no reader holds a file");
    }
    assert!(records_of(&reader) == expected);
    drop(reader);
    assert_clean(&path, "nobody has a file open");
    fail_points::allow_locks(folder.path());
}

/// A merge checks deletions before it waits for the lock. Records deleted by the lock holder are
/// deleted from the merged segment, too.
#[test]
fn a_deletion_that_is_published_while_a_merge_waits_for_its_turn_is_kept() {
    let (_folder, path) = made();
    let mut expected = all_records(&path);
    let mut writer = Writer::with_options(&path, options()).unwrap();
    let mut transaction = writer.directory.begin().unwrap();
    let (waits, is_waiting) = std::sync::mpsc::channel();
    let observer = Observer::new(move |progress| {
        if progress.phase == Phase::Wait {
            let _ = waits.send(());
        }
        ControlFlow::Continue(())
    });
    let compactor = Compactor::with_options(&path, options().observer(observer)).unwrap();
    let merging = std::thread::spawn(move || {
        let mut compactor = compactor;
        compactor.compact(&Compaction::One)
    });
    is_waiting.recv().expect("the merge waits for the transaction");
    let mut change = IdChange::delete(["page 8", "page 19", "page 102"].map(IdRef::Text));
    let watch = writer.watch_ids();
    let delete = delete::Mode::Delete;
    let (segments, deleted, _) = writer
        .with_deletions(&mut transaction, delete, |open, sets| change.apply(open, sets, &watch))
        .unwrap();
    assert_eq!(deleted.found, 3);
    writer.commit_segments(transaction, segments).unwrap();
    let done = merging.join().unwrap().unwrap();
    assert_eq!((done.made, done.conflicted), (1, 0));
    for ids in expected.values_mut() {
        ids.retain(|id| !["page 8", "page 19", "page 102"].contains(&id.as_str()));
    }
    let found = all_records(&path);
    assert!(found.values().flatten().eq(expected.values().flatten()), "{done:?}");
}
