//! A failed change leaves nothing in the writer and the store, unless the error reports that the
//! change took effect. So callers can decide from the error whether to repeat it.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::*;
use fpstore_base::IoError;
use fpstore_base::watch::{Observer, Phase};
use fpstore_disk::FailPoint;
use fpstore_disk::fail_points::{self, Fault};

/// Pushes records; one replaces a stored record.
fn push_all(writer: &mut Writer) {
    writer.push(Fingerprint::new(1), "page 8").unwrap();
    writer.push(Fingerprint::new(2), "new").unwrap();
}

/// The segment and deletion files that no manifest lists.
fn orphans(path: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in read_manifest(path).unwrap().segments {
        names.push(entry.file_name());
        names.extend(entry.deletions.map(|of| deletions::file_name(of.number)));
    }
    let all = fs::read_dir(path).unwrap().map(|file| file.unwrap().file_name());
    all.filter_map(|name| name.into_string().ok())
        .filter(|name| name.starts_with("segment-") || name.starts_with("deletion-"))
        .filter(|name| !names.contains(name))
        .collect()
}

#[test]
fn a_commit_that_failed_can_be_done_again() {
    let pristine = pristine();
    let mut before = all_records(&pristine.path().join("store.fps"));
    let night = || options().replace(true).run(Some("night".into()));
    let mut effects = 0;
    for fails_at in 1.. {
        let folder = site(pristine.path());
        let path = folder.path().join("store.fps");
        let mut writer = Writer::with_options(&path, night()).unwrap();
        push_all(&mut writer);
        fail_points::plan(folder.path(), fails_at, Fault::Full);
        let done = writer.commit();
        let steps = fail_points::forget(folder.path());
        let (passed, failed) = (steps.len() as u64, steps.get(fails_at as usize - 1));
        let case = format!("operation {fails_at}: {done:?}");
        assert_eq!(writer.pending_count(), 0, "{case}");
        let is_rename = matches!(failed, Some(FailPoint::Rename | FailPoint::RenameReport));
        // A rename that reported an error may have happened, so its file is kept for now.
        if matches!(&done, Err(error) if !is_rename && !matches!(error, Error::InEffect { .. })) {
            assert_eq!(orphans(&path), Vec::<String>::new(), "{case}");
        }
        let store = writer.store().clone();
        match &done {
            Ok(_) => {}
            Err(Error::InEffect { generation, .. }) => {
                assert_eq!(*generation, store.generation(), "{case}");
                effects += 1;
            }
            Err(_) => {
                assert!(records_of(&store) == before, "{case}");
                assert!(!store.has_run("night"), "{case}");
                push_all(&mut writer);
                writer.commit().unwrap();
            }
        }
        let now = all_records(&path);
        assert_eq!((&now[&1], &now[&2]), (&vec!["page 8".into()], &vec!["new".into()]), "{case}");
        let holders = now.values().flatten().filter(|id| *id == "page 8").count();
        assert_eq!(holders, 1, "{case}");
        assert!(Store::open(&path).unwrap().has_run("night"), "{case}");
        if passed < fails_at {
            before.clear();
            break;
        }
    }
    assert!(effects >= 2, "the rename and the last sync report errors after the effect");
}

/// The records are durable before merging starts, so an observer that ends the merge loses nothing,
/// and replaced records stay replaced.
#[test]
fn a_merge_that_is_stopped_undoes_no_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    let mut builder = Builder::with_options(&path, BuildOptions::default()).unwrap();
    builder.push(Fingerprint::new(7), "old").unwrap();
    builder.finish().unwrap();
    for round in 0..2_u64 {
        let mut writer = Writer::with_options(&path, options().label("")).unwrap();
        writer.push(Fingerprint::new(100 + round), "more").unwrap();
        writer.commit().unwrap();
    }
    let (is_published, breaks) = (AtomicBool::new(false), AtomicU32::new(0));
    let observer = Observer::new(move |progress| {
        is_published.fetch_or(progress.phase == Phase::Publish, Ordering::Relaxed);
        let is_merge = is_published.load(Ordering::Relaxed) && progress.phase == Phase::Read;
        if is_merge && breaks.fetch_add(1, Ordering::Relaxed) == 0 {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    let options = options().label("").compact(true).replace(true).observer(observer);
    let mut writer = Writer::with_options(&path, options).unwrap();
    writer.push(Fingerprint::new(9), "old").unwrap();
    let committed = writer.commit().unwrap();
    assert!(matches!(committed.unmerged.as_deref(), Some(Error::Interrupted)), "{committed:?}");
    assert_eq!((committed.replaced.found, writer.pending_count()), (1, 0));
    let records = all_records(&path);
    assert_eq!(records.get(&9), Some(&vec!["old".into()]));
    assert_eq!(records.get(&7), None);
    // The next commit merges.
    writer.push(Fingerprint::new(10), "next").unwrap();
    assert!(writer.commit().unwrap().unmerged.is_none());
    assert_eq!(Store::open(&path).unwrap().info().segments.len(), 1);
}

/// Existing damage must not prevent additions.
#[test]
fn records_are_added_to_a_store_whose_segments_cannot_be_merged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    drop(Builder::with_options(&path, BuildOptions::default()).unwrap().finish().unwrap());
    for round in 0..3 {
        let mut writer = Writer::with_options(&path, options().label("")).unwrap();
        writer.push(Fingerprint::new(round), "damaged").unwrap();
        writer.commit().unwrap();
    }
    let damaged =
        path.join(Store::open(&path).unwrap().info().segments[1].path.file_name().unwrap());
    let mut bytes = fs::read(&damaged).unwrap();
    // Damage the tails and heads of the first table.
    bytes[0x3000] ^= 1;
    bytes[0x4000] ^= 1;
    fs::remove_file(&damaged).unwrap();
    fs::write(&damaged, bytes).unwrap();
    let mut writer = Writer::with_options(&path, options().label("").compact(true)).unwrap();
    for round in 0..4_u64 {
        writer.push(Fingerprint::new(50 + round), "new").unwrap();
        let committed = writer.commit().unwrap();
        let unmerged = committed.unmerged.as_deref();
        assert!(matches!(unmerged, Some(Error::Corrupt { .. })), "{round}: {committed:?}");
    }
    let store = Store::open(&path).unwrap();
    assert_eq!(store.info().fingerprint_count(), 3 + 4);
    writer.push(Fingerprint::new(60), "last").unwrap();
    assert!(matches!(writer.finish(), Err(Error::Unmerged { .. })));
    assert_eq!(Store::open(&path).unwrap().info().fingerprint_count(), 3 + 5);
}

/// A directory with the name of a repaired manifest is harmless.
#[test]
fn a_directory_named_as_a_repaired_manifest_is_left_alone() {
    let pristine = pristine();
    let path = pristine.path().join("store.fps");
    fs::create_dir(path.join("MANIFEST.repaired")).unwrap();
    let mut writer = Writer::with_options(&path, options()).unwrap();
    writer.push(Fingerprint::new(1), "new").unwrap();
    writer.commit().unwrap();
    assert!(path.join("MANIFEST.repaired").is_dir());
}

/// An unused repaired manifest is kept while the store is unchanged.
#[test]
fn a_change_that_fails_before_its_last_step_keeps_a_repaired_manifest() {
    let pristine = pristine();
    for fails_at in 1.. {
        let folder = site(pristine.path());
        let path = folder.path().join("store.fps");
        let repaired = path.join("MANIFEST.repaired");
        fs::copy(path.join("MANIFEST"), &repaired).unwrap();
        let mut writer = Writer::with_options(&path, options()).unwrap();
        writer.push(Fingerprint::new(1), "new").unwrap();
        fail_points::plan(folder.path(), fails_at, Fault::Full);
        let done = writer.commit();
        let passed = fail_points::forget(folder.path());
        let failed = passed.get(fails_at as usize - 1).copied();
        let case = format!("{failed:?} at {fails_at}: {done:?}");
        match &done {
            Ok(_) | Err(Error::InEffect { .. }) => assert!(!repaired.exists(), "{case}"),
            // The repaired manifest is removed just before the new manifest is renamed.
            Err(Error::Io(IoError { doing: "replace", .. })) => {}
            Err(_) => assert!(repaired.exists(), "{case}"),
        }
        if failed.is_none() {
            assert!(fails_at > 5, "{case}");
            return;
        }
    }
}

/// If the last file operation of a commit fails and the manifest cannot be read, it is unknown
/// whether the commit took effect. The next commit of the checked writer finds out, and adds no
/// record twice.
#[test]
fn a_change_that_may_have_taken_effect_is_told_as_such_and_added_once() {
    let mut doubts = 0;
    for fails_at in 1.. {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.fps");
        drop(Builder::new(&path).unwrap().finish().unwrap());
        let mut writer = CheckedWriter::new(&path, options());
        let record = NewRecord::new(Fingerprint::new(0xff), fpstore_base::Id::U64(1));
        assert!(matches!(writer.check_and_add(&record, 3).unwrap(), Verdict::Added));
        fail_points::plan(folder.path(), fails_at, Fault::Broken);
        fail_points::let_read(folder.path(), false);
        let committed = writer.commit();
        fail_points::let_read(folder.path(), true);
        let passed = fail_points::forget(folder.path()).len() as u64;
        let case = format!("operation {fails_at}: {committed:?}");
        doubts += u32::from(matches!(committed, Err(Error::InDoubt { .. })));
        let is_added = matches!(committed, Ok(_) | Err(Error::InEffect { .. }));
        assert_eq!(writer.pending().is_empty(), is_added, "{case}");
        writer.commit().unwrap();
        assert_eq!(all_records(&path).get(&0xff), Some(&vec!["1".into()]), "{case}");
        if passed < fails_at {
            break;
        }
    }
    assert!(doubts >= 2, "{doubts}");
}

/// Each file operation of a backup fails once: the folder contains the store before or after the
/// backup, and the next backup continues.
#[test]
fn a_backup_that_failed_leaves_the_state_of_before_and_the_next_one_goes_on() {
    let pristine = pristine();
    for is_first in [true, false] {
        for fault in [Fault::Full, Fault::Broken] {
            for fails_at in 1.. {
                let folder = site(pristine.path());
                let (path, to) =
                    (folder.path().join("store.fps"), folder.path().join("backup.fps"));
                let take = || backup(&Store::open(&path).unwrap(), &to, &Default::default());
                let mut before = None;
                if !is_first {
                    take().unwrap();
                    before = Some(all_records(&to));
                    let mut writer = Writer::with_options(&path, options()).unwrap();
                    writer.push(Fingerprint::new(1), "new").unwrap();
                    writer.commit().unwrap();
                    writer.delete_ids([IdRef::Text("page 8")]).unwrap();
                    writer.compact(&Compaction::All).unwrap();
                }
                let after = all_records(&path);
                fail_points::plan(folder.path(), fails_at, fault);
                let done = take();
                let passed = fail_points::forget(folder.path()).len() as u64;
                let case = format!("{fault:?} at operation {fails_at}: {done:?}");
                let found = to.join("MANIFEST").exists().then(|| all_records(&to));
                match &done {
                    Ok(_) | Err(Error::InEffect { .. }) => assert!(found == Some(after), "{case}"),
                    Err(_) => assert!(found == before, "{case}"),
                }
                take().unwrap();
                assert!(all_records(&to) == all_records(&path), "{case}");
                let names = |path: &Path| {
                    let all = fs::read_dir(path).unwrap().map(|file| file.unwrap().file_name());
                    all.collect::<std::collections::BTreeSet<_>>()
                };
                assert_eq!(names(&to), names(&path), "{case}");
                if passed < fails_at {
                    assert!(fails_at > 10, "{case}");
                    break;
                }
            }
        }
    }
}

/// A change by an open writer.
type OpenChange = fn(&mut Writer, &Path) -> Result<()>;

/// The changes of a store that need no pushed records.
const CHANGES: [(&str, OpenChange); 6] = [
    ("delete ids", |writer, _| writer.delete_ids((0..200).map(IdRef::U64)).map(drop)),
    ("delete fingerprints", |writer, _| {
        let wanted: Vec<Fingerprint> = (0..160).map(|i| Fingerprint::new(value(i))).collect();
        writer.delete_fingerprints(&wanted).map(drop)
    }),
    ("expire", |writer, _| {
        writer.expire(&crate::writing::writer::Expiry::before("2026-10").all(true)).map(drop)
    }),
    ("import", |writer, folder| writer.import(&[folder.join("other.fps")]).map(drop)),
    ("compact", |writer, _| writer.compact(&Compaction::All).map(drop)),
    ("replace", |writer, _| {
        let record = NewRecord::new(Fingerprint::new(5), fpstore_base::Id::Text("page 8".into()));
        writer.replace(&[record]).map(drop)
    }),
];

/// Each operation of each change fails once: the store is in the state before the change, or in the
/// state after it if the error reports that, and the same writer can repeat it.
#[test]
fn each_change_that_failed_can_be_done_again_by_the_same_writer() {
    let pristine = pristine();
    let before = all_records(&pristine.path().join("store.fps"));
    for (name, change) in CHANGES {
        let whole = site(pristine.path());
        let path = whole.path().join("store.fps");
        change(&mut Writer::with_options(&path, options()).unwrap(), whole.path()).unwrap();
        let expected = all_records(&path);
        let mut effects = 0;
        for fault in [Fault::Full, Fault::Broken] {
            for fails_at in 1.. {
                let folder = site(pristine.path());
                let path = folder.path().join("store.fps");
                let mut writer = Writer::with_options(&path, options()).unwrap();
                fail_points::plan(folder.path(), fails_at, fault);
                let done = change(&mut writer, folder.path());
                let passed = fail_points::forget(folder.path()).len() as u64;
                let case = format!("{name}, {fault:?} at operation {fails_at}: {done:?}");
                let is_done = matches!(done, Ok(()) | Err(Error::InEffect { .. }));
                effects += u32::from(done.is_err() && is_done);
                let now = all_records(&path);
                assert!(now == if is_done { expected.clone() } else { before.clone() }, "{case}");
                if !is_done {
                    change(&mut writer, folder.path()).unwrap_or_else(|e| panic!("{case}: {e}"));
                    assert!(all_records(&path) == expected, "{case}");
                }
                assert!(records_of(writer.store()) == expected, "{case}");
                if passed < fails_at {
                    assert!(fails_at > 5, "{case}");
                    break;
                }
            }
        }
        assert!(effects >= 2, "{name}: {effects}");
    }
}
