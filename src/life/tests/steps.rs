//! Every step on the file system fails once, in every act: the store is as it was or as it was to become, and the next
//! writer leaves nothing behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;
use crate::disk::Step;
use crate::disk::faults::{self, Fault};

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

/// The states that a store goes through in an act that nothing disturbs.
fn states(pristine: &Path, act: Act) -> Vec<Records> {
    let folder = site(pristine);
    let path = folder.path().join("store.fps");
    let mut states = vec![all_records(&path)];
    act(folder.path()).unwrap();
    states.push(all_records(&path));
    states
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

const CHILD: &str = "life::tests::steps::child_that_dies_at_a_step";

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
