//! Tests the log of changes that is computed from saved copies of a store.

use std::path::Path;

use fpstore::info::{Act, Change};
use fpstore::writer::{BackupOptions, Compaction, Expiry, backup};
use fpstore::{BuildOptions, Builder, Error, Fingerprint, IdRef, Store, Writer, WriterOptions};

use crate::common::program::TestDir;

fn build(path: &Path, values: std::ops::Range<u64>) {
    let mut builder = Builder::with_options(path, BuildOptions::default().label("old")).unwrap();
    values.for_each(|value| builder.push(Fingerprint::new(value << 20), value).unwrap());
    builder.finish().unwrap();
}

fn short(change: &Change) -> String {
    let Change { generation, since, act, segments, from, label, .. } = change;
    let since = since.map_or(0, |since| since);
    format!(
        "{since}>{generation} {} {from:?}>{segments:?} '{label}' {}>{} {}>{}",
        act.name(),
        change.fingerprints_before,
        change.fingerprints,
        change.ids_before,
        change.ids
    )
}

#[test]
fn each_change_between_kept_generations_is_told_as_what_it_was() {
    let dir = TestDir::new();
    let path = dir.path("store.fps");
    build(&path, 0..100);
    let mut kept = Vec::new();
    let mut keep = || {
        let store = Store::open(&path).unwrap();
        let to = dir.path(&format!("kept-{}.fps", store.generation()));
        backup(&store, &to, &BackupOptions::default()).unwrap();
        kept.push(to);
    };
    keep();
    let writer = |label: &str| {
        Writer::with_options(&path, WriterOptions::default().label(label).compact(false)).unwrap()
    };
    for (label, start) in [("2026-10", 200), ("2026-11", 300), ("2026-11", 400)] {
        let mut writer = writer(label);
        (start..start + 10).for_each(|at| writer.push(Fingerprint::new(at << 20), at).unwrap());
        writer.commit().unwrap();
        drop(writer);
        keep();
    }
    writer("").delete_ids([IdRef::U64(5), IdRef::U64(6), IdRef::U64(301)]).unwrap();
    keep();
    writer("").compact(&Compaction::All).unwrap();
    keep();
    writer("").expire(&Expiry::before("2026-11")).unwrap();
    keep();
    let mut run = Writer::with_options(
        &path,
        WriterOptions::default().run("night".to_string()).compact(false),
    )
    .unwrap();
    run.push(Fingerprint::new(7), 7).unwrap();
    run.commit().unwrap();
    drop(run);
    let mut states: Vec<Store> = kept.iter().map(|path| Store::open(path).unwrap()).collect();
    states.push(Store::open(&path).unwrap());
    states.reverse();
    let told: Vec<String> = Store::log(&states).unwrap().iter().map(short).collect();
    println!("{told:#?}");
    assert_eq!(told[0], "0>1 added []>[1] 'old' 0>100 0>100");
    assert_eq!(told[1], "1>2 added []>[2] '2026-10' 0>10 0>10");
    assert_eq!(told[2], "2>3 added []>[3] '2026-11' 0>10 0>10");
    assert_eq!(told[3], "3>4 added []>[4] '2026-11' 0>10 0>10");
    assert_eq!(told[4], "4>5 deleted [1]>[1] 'old' 100>98 100>98");
    assert_eq!(told[5], "4>5 deleted [3]>[3] '2026-11' 10>9 10>9");
    // Compares each change in the log with the copies before and after it.
    let changes = Store::log(&states).unwrap();
    let mut live = 0;
    states.reverse();
    for state in &states {
        for change in changes.iter().filter(|change| change.generation == state.generation()) {
            live = live + change.fingerprints - change.fingerprints_before;
        }
        assert_eq!(live, state.info().fingerprint_count(), "{}", state.generation());
    }
    let acts: Vec<Act> = changes.iter().map(|change| change.act).collect();
    for act in [Act::Merged, Act::Expired, Act::Run] {
        assert!(acts.contains(&act), "{act:?} of {told:#?}");
    }
    // `fpstore log` prints the same changes. Between two copies, all changes are one step.
    let all: Vec<&str> = ["log", "--format", "json", "-s", "store.fps"].into();
    let rows = dir.ok(&[&all[..], &["--kept", "kept-1.fps"]].concat(), "");
    let rows: Vec<serde_json::Value> =
        rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected = Store::log(&[states[0].clone(), states[states.len() - 1].clone()]).unwrap();
    assert_eq!(rows.len(), expected.len());
    for (row, change) in rows.iter().zip(&expected) {
        assert_eq!(*row, serde_json::to_value(change).unwrap());
    }
    let lines = dir.ok(&["log", "-s", "kept-2.fps", "--header"], "");
    assert_eq!(
        lines,
        "generation\tsince\tact\tsegments\tfrom\tlabel\tfingerprints\tfingerprints_before\tids\t\
         ids_before\trecords_added\trecords_removed\n2\t\tadded\t1\t\told\t100\t0\t100\t0\t\t\n\
         2\t\tadded\t2\t\t2026-10\t10\t0\t10\t0\t\t\n"
    );
}

/// A merge between two copies does not hide that a record was removed and another was added: the
/// log compares the records.
#[test]
fn a_merge_hides_neither_a_deletion_nor_an_addition() {
    let folder = tempfile::tempdir().unwrap();
    let (path, kept) = (folder.path().join("a.fps"), folder.path().join("kept.fps"));
    build(&path, 0..10);
    backup(&Store::open(&path).unwrap(), &kept, &BackupOptions::default()).unwrap();
    let mut writer =
        Writer::with_options(&path, WriterOptions::default().label("old").compact(false)).unwrap();
    writer.delete_ids([IdRef::U64(3), IdRef::U64(4)]).unwrap();
    writer.push(Fingerprint::new(77), "text").unwrap();
    writer.push_bare(Fingerprint::new(78)).unwrap();
    writer.commit().unwrap();
    writer.compact(&Compaction::All).unwrap();
    drop(writer);
    let states = [Store::open(&kept).unwrap(), Store::open(&path).unwrap()];
    let changes = Store::log(&states).unwrap();
    let merged = changes.iter().find(|change| change.act == Act::Merged).unwrap();
    assert_eq!((merged.records_added, merged.records_removed), (Some(2), Some(2)));
    assert_eq!((merged.fingerprints_before, merged.fingerprints), (10, 10));
}

#[test]
fn states_of_other_stores_or_histories_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    build(&at("a.fps"), 0..10);
    build(&at("b.fps"), 0..10);
    let open = |name: &str| Store::open(at(name)).unwrap();
    let refusal = |states: &[Store]| match Store::log(states).unwrap_err() {
        Error::InvalidOptions { reason } => reason,
        other => panic!("{other}"),
    };
    assert!(refusal(&[open("a.fps"), open("b.fps")]).contains("different stores"));
    backup(&open("a.fps"), at("c.fps"), &BackupOptions::default()).unwrap();
    for (name, value) in [("a.fps", 1), ("c.fps", 2)] {
        let mut writer = Writer::open(at(name)).unwrap();
        writer.push(Fingerprint::new(value), value).unwrap();
        writer.commit().unwrap();
    }
    assert!(refusal(&[open("a.fps"), open("c.fps")]).contains("their histories differ"));
    assert_eq!(Store::log(&[]).unwrap(), []);
    assert!(open("a.fps").expect_generation(2).is_ok());
    let refused = open("a.fps").expect_generation(1).unwrap_err().to_string();
    assert!(refused.contains("is at generation 2, not 1"), "{refused}");
}
