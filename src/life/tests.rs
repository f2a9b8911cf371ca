//! Every step on the file system fails once, in every act: the store is as it was or as it was to become, and the next
//! writer leaves nothing behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;
use crate::disk::Step;
use crate::disk::faults::{self, Fault};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::deletions;
use crate::id::IdRef;
use crate::scheme::Scheme;
use crate::store::{Store, read_manifest};
use crate::{BuildOptions, Builder};

type Records = BTreeMap<u64, Vec<String>>;

fn all_records(path: &Path) -> Records {
    let mut all = Records::new();
    let listed = Store::open(path).unwrap().for_each(|hit| {
        let ids: Result<Vec<String>> = hit.ids().map(|id| Ok(id?.to_string())).collect();
        all.insert(hit.fingerprint().value(), ids?);
        Ok::<(), Error>(())
    });
    listed.unwrap();
    all
}

fn options() -> WriterOptions {
    let mut options = WriterOptions::default().scheme(Scheme::named("2", 3).unwrap());
    // Small memory, so that merges go by temporary files.
    options.memory = Some(BuildOptions::memory_min(1));
    options.threads = Some(1);
    options.label("2026-11").compact(false)
}

fn value(i: u64) -> u64 {
    (i / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A store with labels, numbers, texts, records without ids, and deletions.
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

type Act = fn(&Path) -> Result<()>;

/// What may be done to a store in `folder`.
const ACTS: [(&str, Act); 10] = [
    ("add", |folder| {
        let mut writer = Writer::with_options(folder.join("store.fps"), options())?;
        for i in 1000..3000 {
            writer.push(Fingerprint::new(value(i)), i)?;
        }
        writer.commit()?;
        Ok(())
    }),
    ("delete ids", |folder| {
        let mut writer = Writer::with_options(folder.join("store.fps"), options())?;
        writer.delete_ids((0..200).map(IdRef::U64)).map(drop)
    }),
    ("delete fingerprints", |folder| {
        let mut writer = Writer::with_options(folder.join("store.fps"), options())?;
        let wanted: Vec<Fingerprint> = (0..160).map(|i| Fingerprint::new(value(i))).collect();
        writer.delete_fingerprints(&wanted).map(drop)
    }),
    ("expire", |folder| {
        let mut writer = Writer::with_options(folder.join("store.fps"), options())?;
        writer.expire_before("2026-10").map(drop)
    }),
    ("compact", |folder| {
        let mut writer = Writer::with_options(folder.join("store.fps"), options())?;
        writer.compact(&Compaction::All).map(drop)
    }),
    ("compact beside", |folder| {
        let mut compactor = Compactor::with_options(folder.join("store.fps"), options())?;
        compactor.compact(&Compaction::One).map(drop)
    }),
    ("expire all", |folder| {
        let mut writer = Writer::with_options(folder.join("store.fps"), options())?;
        writer.expire_before("2027").map(drop)
    }),
    ("export", |folder| {
        let store = Store::open(folder.join("store.fps"))?;
        let shipped = folder.join("shipped.fps");
        let done = export(&store, &shipped, None);
        // All of it, or nothing.
        match shipped.exists() {
            true => assert!(all_records(&shipped) == all_records(&folder.join("store.fps"))),
            false => assert!(done.is_err()),
        }
        done.map(drop)
    }),
    ("import", |folder| {
        let mut writer = Writer::with_options(folder.join("store.fps"), options())?;
        writer.import(&[folder.join("other.fps")]).map(drop)
    }),
    ("all", |folder| {
        let options = options().compact(true);
        let mut writer = Writer::with_options(folder.join("store.fps"), options)?;
        writer.push(Fingerprint::new(1), 1)?;
        writer.commit()?;
        writer.push(Fingerprint::new(2), 2)?;
        writer.delete_fingerprints(&[Fingerprint::new(1)])?;
        writer.compact(&Compaction::One)?;
        writer.finish().map(drop)
    }),
];

/// A folder with a store to change and one to take in.
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

/// The states that a store goes through in an act that nothing disturbs.
fn states(pristine: &Path, act: Act) -> Vec<Records> {
    let folder = site(pristine);
    let path = folder.path().join("store.fps");
    let mut states = vec![all_records(&path)];
    act(folder.path()).unwrap();
    states.push(all_records(&path));
    states
}

/// After the next writer there are the files that the manifest names, itself and the lock.
fn assert_tidy(path: &Path, case: &str) {
    drop(Writer::with_options(path, options()).unwrap());
    let mut expected: Vec<String> = vec!["LOCK".into(), "MANIFEST".into()];
    for entry in read_manifest(path).unwrap().segments {
        expected.push(entry.file_name());
        expected.extend(entry.deletions.map(|of| deletions::file_name(of.number)));
    }
    expected.sort();
    let names = fs::read_dir(path).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != "COMPACT" && name != "PUBLISH");
    names.sort();
    assert_eq!(names, expected, "{case}");
}

fn assert_whole(path: &Path, states: &[Records], done: bool, case: &str) {
    let found = all_records(path);
    match done {
        true => assert!(found == states[states.len() - 1], "{case}: it said it was done"),
        false => assert!(states.contains(&found), "{case}: neither before nor after"),
    }
    let report = crate::verify(path, 2).unwrap();
    assert!(report.is_sound(), "{case}: {:?}", report.faults);
    assert_tidy(path, case);
    assert!(all_records(path) == found, "{case}: the next writer changed it");
}

/// What an export left is whole, and the next one takes away what it did not finish.
fn assert_shipped(folder: &Path, states: &[Records], case: &str) {
    let shipped = folder.join("shipped.fps");
    if shipped.exists() {
        assert!(all_records(&shipped) == states[0], "{case}");
        assert!(crate::verify(&shipped, 2).unwrap().is_sound(), "{case}");
        fs::remove_dir_all(&shipped).unwrap();
    }
    export(&Store::open(folder.join("other.fps")).unwrap(), &shipped, None).unwrap();
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["other.fps", "shipped.fps", "store.fps"], "{case}");
}

#[test]
fn whatever_step_fails_in_the_life_of_a_store_it_is_whole() {
    let pristine = pristine();
    let mut kinds = std::collections::BTreeSet::new();
    for (name, act) in ACTS {
        let mut states = states(pristine.path(), act);
        if name == "all" {
            // Between its acts the first record is there alone.
            let mut between = states[0].clone();
            between.insert(1, vec!["1".into()]);
            states.insert(1, between);
            states.insert(2, states[0].clone());
        }
        for fault in [Fault::Full, Fault::Broken] {
            for fails_at in 1.. {
                let folder = site(pristine.path());
                let path = folder.path().join("store.fps");
                faults::plan(folder.path(), fails_at, fault);
                let done = act(folder.path());
                let steps = faults::forget(folder.path());
                let case = format!("{name}, {fault:?} at step {fails_at}: {done:?}");
                assert_whole(&path, &states, done.is_ok(), &case);
                if name == "export" {
                    assert_shipped(folder.path(), &states, &case);
                }
                kinds.extend(steps.iter().copied());
                if (steps.len() as u64) < fails_at {
                    assert!(done.is_ok() && fails_at > 5, "{case}");
                    break;
                }
            }
        }
    }
    use Step::{Create, Lock, Protect, Remove, Rename, Sync, SyncDirectory, Write};
    let all = [Create, Lock, Write, Protect, Sync, Rename, Remove, SyncDirectory];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), all);
}

const CHILD: &str = "life::tests::child_that_dies_at_a_step";

/// Each act in a process of its own that ends at the step in question, as by kill -9.
#[test]
fn a_writer_that_dies_at_any_step_leaves_a_whole_store() {
    let pristine = pristine();
    for (number, (name, act)) in ACTS.into_iter().enumerate().filter(|(_, of)| of.0 != "all") {
        let states = states(pristine.path(), act);
        for fails_at in 1.. {
            let folder = site(pristine.path());
            let status = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", CHILD, "--ignored", "--nocapture"])
                .env("FPSTORE_TEST_SITE", folder.path())
                .env("FPSTORE_TEST_ACT", number.to_string())
                .env("FPSTORE_TEST_STEP", fails_at.to_string())
                .output()
                .unwrap()
                .status;
            let case = format!("{name} died at step {fails_at}");
            assert_whole(&folder.path().join("store.fps"), &states, status.success(), &case);
            assert_shipped(folder.path(), &states, &case);
            if status.success() {
                assert!(fails_at > 5, "{case}");
                break;
            }
        }
    }
}

#[test]
#[ignore = "is run by the test above, in a process of its own"]
fn child_that_dies_at_a_step() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let folder = PathBuf::from(variable("FPSTORE_TEST_SITE"));
    faults::plan(&folder, variable("FPSTORE_TEST_STEP").parse().unwrap(), Fault::Abort);
    let (_, act) = ACTS[variable("FPSTORE_TEST_ACT").parse::<usize>().unwrap()];
    act(&folder).unwrap();
}

/// A reader that holds the files of a state goes on, and they are removed by the first writer after it.
#[test]
fn files_that_a_reader_holds_stay_until_it_lets_go() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    make(&path);
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
    use std::ops::ControlFlow;

    use crate::watch::Observer;

    let pristine = pristine();
    let folder = site(pristine.path());
    let path = folder.path().join("store.fps");
    let before = all_records(&path);
    for ends_at in 0..8 {
        let count = std::sync::atomic::AtomicU32::new(0);
        let observer = Observer::new(move |_| {
            match count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= ends_at {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        let mut options = options();
        options.observer = Some(observer);
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
    use std::ops::ControlFlow;

    use crate::watch::Observer;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    make(&path);
    let before = all_records(&path);
    for ends_at in [1, 3, 9] {
        let count = std::sync::atomic::AtomicU32::new(0);
        let mut options = options();
        options.max_rate = Some(1);
        options.observer = Some(Observer::new(move |_| {
            match count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= ends_at {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }));
        let done = Compactor::with_options(&path, options).unwrap().compact(&Compaction::One);
        assert!(matches!(done, Err(Error::Interrupted)), "{done:?}");
        assert_whole(&path, std::slice::from_ref(&before), false, &format!("{ends_at}"));
    }
}

/// A limit on the rate makes it take as long as it says.
#[test]
fn a_compaction_keeps_to_its_rate() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    make(&path);
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
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    make(&path);
    let mut writer = Writer::with_options(&path, options()).unwrap();
    let input = crate::InputEstimate { record_count: 1 << 50, ..Default::default() };
    assert!(matches!(writer.expect(&input, true), Err(Error::NoSpace { .. })));
    assert!(writer.expect(&input, false).is_ok());
}

/// As on file systems without such locks: who reads goes without, who would write says so and changes nothing.
#[test]
fn without_locks_there_are_readers_and_no_writers() {
    use std::io::ErrorKind;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    make(&path);
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
