//! Every operation on the file system fails once, in every change of a store: the store is in the
//! state before or after the change, and the next writer removes all other files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;
use crate::writing::writer::Expiry;
use fpstore_disk::FailPoint;
use fpstore_disk::fail_points::{self, Fault};

type Act = fn(&Path) -> Result<()>;

/// The tested changes: functions that change stores in a folder, by name.
const ACTS: [(&str, Act); 13] = [
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
        writer.expire(&Expiry::before("2026-10").all(true)).map(drop)
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
        writer.expire(&Expiry::before("2027").all(true)).map(drop)
    }),
    ("export", |folder| {
        let store = Store::open(folder.join("store.fps"))?;
        let shipped = folder.join("shipped.fps");
        let done = export(&store, &shipped, None);
        assert_new(&shipped, done.as_ref().err());
        // The exported store is complete or missing.
        if shipped.exists() {
            assert!(all_records(&shipped) == all_records(&folder.join("store.fps")));
        }
        done.map(drop)
    }),
    ("append", |folder| {
        let options = BuildOptions::default().scheme(Scheme::named("2", 3)?).threads(1);
        let mut builder = Builder::append(folder.join("store.fps"), options)?;
        builder.push(Fingerprint::new(1), "appended")?;
        builder.finish().map(drop)
    }),
    ("commit to a new store", |folder| {
        let options = BuildOptions::default().scheme(Scheme::named("2", 3)?).threads(1);
        let mut builder = Builder::segment_file(folder.join("part-9.fps"), options.replace(true))?;
        builder.push(Fingerprint::new(9), 9)?;
        let receipts = [builder.finish_segment()?];
        let shipped = folder.join("shipped.fps");
        let done = commit(&shipped, &receipts, &CommitOptions::default());
        assert_new(&shipped, done.as_ref().err());
        // `assert_new` checked the new store. The tests compare only `store.fps`.
        let _ = fs::remove_dir_all(&shipped);
        done.map(drop)
    }),
    ("import", |folder| {
        let mut writer = Writer::with_options(folder.join("store.fps"), options())?;
        writer.import(&[folder.join("other.fps")]).map(drop)
    }),
    ("commit", |folder| {
        let mut receipts = Vec::new();
        for part in 0..2 {
            let options = BuildOptions::default().scheme(Scheme::named("2", 3)?).threads(1);
            let path = folder.join(format!("part-{part}.fps"));
            let mut builder = Builder::segment_file(path, options.replace(true))?;
            for i in 4000 + 100 * part..4150 + 100 * part {
                builder.push(Fingerprint::new(value(i)), i)?;
            }
            receipts.push(builder.finish_segment()?);
        }
        commit(folder.join("store.fps"), &receipts, &CommitOptions::default()).map(drop)
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

/// Checks that a new store exists, unless there was an error other than [`Error::InEffect`].
fn assert_new(path: &Path, error: Option<&Error>) {
    let is_said = error.is_none_or(|error| matches!(error, Error::InEffect { generation: 1, .. }));
    assert_eq!(path.exists(), is_said, "{}: {error:?}", path.display());
}

/// The records of a store before and after a successful change.
fn states(pristine: &Path, act: Act) -> Vec<Records> {
    let folder = site(pristine);
    let path = folder.path().join("store.fps");
    let mut states = vec![all_records(&path)];
    act(folder.path()).unwrap();
    states.push(all_records(&path));
    states
}

/// Checks that an exported store is complete, and that the next export removes unfinished files.
fn assert_shipped(folder: &Path, states: &[Records], case: &str) {
    let shipped = folder.join("shipped.fps");
    if shipped.exists() {
        assert!(all_records(&shipped) == states[0], "{case}");
        assert!(
            crate::verify(&shipped, &crate::VerifyOptions::default().samples(2))
                .unwrap()
                .is_sound(),
            "{case}"
        );
        fs::remove_dir_all(&shipped).unwrap();
    }
    export(&Store::open(folder.join("other.fps")).unwrap(), &shipped, None).unwrap();
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    // The files of tasks that write segments are in no store.
    let of_task = |name: &str| name.starts_with("part-") || name.starts_with(".tmp-");
    let mut names: Vec<_> = names.filter(|name| !of_task(&name.to_string_lossy())).collect();
    names.sort();
    assert_eq!(names, ["other.fps", "shipped.fps", "store.fps"], "{case}");
}

#[test]
fn a_store_is_whole_whichever_operation_fails() {
    let pristine = pristine();
    let mut kinds = std::collections::BTreeSet::new();
    for (name, act) in ACTS {
        let mut states = states(pristine.path(), act);
        if name == "all" {
            // Between its changes, the act `all` has added a record, and then deleted it.
            let mut between = states[0].clone();
            between.insert(1, vec!["1".into()]);
            states.insert(1, between);
            states.insert(2, states[0].clone());
        }
        for fault in [Fault::Full, Fault::Broken] {
            for fails_at in 1.. {
                let folder = site(pristine.path());
                let path = folder.path().join("store.fps");
                fail_points::plan(folder.path(), fails_at, fault);
                let done = act(folder.path());
                let steps = fail_points::forget(folder.path());
                let case = format!("{name}, {fault:?} at operation {fails_at}: {done:?}");
                let found = all_records(&path);
                // The error shows whether the act took effect; `all` consists of several changes.
                match &done {
                    _ if name == "all" => {}
                    Err(Error::InEffect { .. }) => assert!(found == states[1], "{case}"),
                    Err(_) => assert!(found == states[0], "{case}"),
                    Ok(()) => {}
                }
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
    use FailPoint::{
        Create, Lock, Protect, Remove, Rename, RenameReport, Sync, SyncDirectory, Write,
    };
    let all = [Create, Lock, Write, Protect, Sync, Rename, RenameReport, Remove, SyncDirectory];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), all);
}

/// A rename of the manifest that happens and reports an error: the new segment is live, so it is
/// kept.
#[test]
fn files_of_a_manifest_in_doubt_are_not_removed() {
    for fails_at in 1.. {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.fps");
        make(&path);
        let mut writer = Writer::with_options(&path, options()).unwrap();
        writer.push(Fingerprint::new(1), "in doubt").unwrap();
        fail_points::plan(folder.path(), fails_at as u64, Fault::Broken);
        let done = writer.commit();
        let passed = fail_points::forget(folder.path());
        let last = passed.get(fails_at - 1).copied();
        let renames = passed.iter().filter(|&&point| point == FailPoint::RenameReport).count();
        let case = format!("{last:?} at {fails_at}: {done:?}");
        assert!(done.is_err(), "{case}");
        // The first rename gives the segment its name, the second one the manifest.
        if last == Some(FailPoint::RenameReport) && renames == 2 {
            assert_eq!(all_records(&path)[&1], ["in doubt"], "{case}");
            assert_eq!(writer.store().query(Fingerprint::new(1), 0).unwrap().len(), 1, "{case}");
            writer.push(Fingerprint::new(2), "next").unwrap();
            writer.commit().unwrap();
            let all = all_records(&path);
            assert!(all.contains_key(&1) && all.contains_key(&2), "{case}");
            drop(writer);
            assert_clean(&path, &case);
            return;
        }
    }
}

/// The name of [`child_that_dies_at_a_fail_point`] in the test harness.
fn child() -> String {
    let module = module_path!().split_once("::").unwrap().1;
    format!("{module}::child_that_dies_at_a_fail_point")
}

/// Runs each change in a separate process that dies at one operation, as from kill -9.
#[test]
fn a_writer_that_dies_at_any_operation_leaves_a_whole_store() {
    let pristine = pristine();
    let is_one_change = |(_, (name, _)): &(usize, (&str, Act))| {
        // `all` makes several changes, so the store can be in more than two states. `commit to a
        // new store`, if killed, can leave a `shipped.fps` with other records than `store.fps`,
        // which `assert_shipped` would reject.
        !["all", "commit to a new store"].contains(name)
    };
    for (number, (name, act)) in ACTS.into_iter().enumerate().filter(is_one_change) {
        let states = states(pristine.path(), act);
        for fails_at in 1.. {
            let folder = site(pristine.path());
            let status = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", &child(), "--ignored", "--nocapture"])
                .env("FPSTORE_TEST_SITE", folder.path())
                .env("FPSTORE_TEST_ACT", number.to_string())
                .env("FPSTORE_TEST_STEP", fails_at.to_string())
                .output()
                .unwrap()
                .status;
            let case = format!("{name} died at operation {fails_at}");
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
fn child_that_dies_at_a_fail_point() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let folder = PathBuf::from(variable("FPSTORE_TEST_SITE"));
    fail_points::plan(&folder, variable("FPSTORE_TEST_STEP").parse().unwrap(), Fault::Abort);
    let (_, act) = ACTS[variable("FPSTORE_TEST_ACT").parse::<usize>().unwrap()];
    act(&folder).unwrap();
}
