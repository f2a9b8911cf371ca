//! A backup equals the store at one generation, even if the store changes during the backup.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use fpstore::writer::{
    BackupOptions, Compaction, Compactor, Expiry, SharedWriter, backup, promote,
};
use fpstore::{BuildOptions, Builder, Error, Fingerprint, IdRef, Store, Writer, WriterOptions};

use crate::common::{Ends, Random, records_of};

type Records = BTreeMap<u64, Vec<String>>;

fn take(from: &Path, to: &Path) -> fpstore::Result<fpstore::writer::BackedUp> {
    backup(&Store::open(from)?, to, &BackupOptions::default())
}

fn build(path: &Path, values: std::ops::Range<u64>) {
    let mut builder =
        Builder::with_options(path, BuildOptions::default().label("2026-01")).unwrap();
    for value in values {
        let spread = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        builder.push(Fingerprint::new(spread), format!("old {value}").as_str()).unwrap();
    }
    builder.finish().unwrap();
}

/// The names and lengths of the files in a directory.
fn files_in(path: &Path) -> Vec<(String, u64)> {
    let mut files: Vec<(String, u64)> = fs::read_dir(path)
        .unwrap()
        .map(|file| file.unwrap())
        .map(|file| (file.file_name().into_string().unwrap(), file.metadata().unwrap().len()))
        .collect();
    files.sort();
    files
}

/// Changes the store: additions, deletions, expiries or compactions, chosen at random.
pub fn change(path: &Path, step: u64, random: &mut Random) {
    let options = WriterOptions::default().label(format!("2026-{:02}", 1 + step % 9));
    let mut writer = Writer::with_options(path, options.compact(step.is_multiple_of(3))).unwrap();
    match step % 5 {
        0 => {
            let wanted = format!("old {}", random.below(500));
            writer.delete_ids([IdRef::Text(&wanted)]).unwrap();
        }
        1 if step.is_multiple_of(2) => drop(writer.compact(&Compaction::All).unwrap()),
        2 if step > 20 && step.is_multiple_of(4) => {
            drop(writer.expire(&Expiry::before("2026-02").all(true)).unwrap());
        }
        _ => {
            for at in 0..1 + random.below(30) {
                let id = format!("new {step} {at}");
                writer.push(Fingerprint::new(random.next()), id.as_str()).unwrap();
            }
            writer.commit().unwrap();
        }
    }
}

#[test]
fn a_backup_takes_what_it_lacks_and_removes_what_no_state_needs() {
    let folder = tempfile::tempdir().unwrap();
    let (path, to) = (folder.path().join("store.fps"), folder.path().join("backup.fps"));
    build(&path, 0..500);
    let first = take(&path, &to).unwrap();
    assert_eq!((first.is_new, first.copied, first.kept), (true, 1, 0));
    let mut random = Random::new(5);
    for step in 0..40 {
        change(&path, step, &mut random);
        let before: Vec<String> = files_in(&to).into_iter().map(|(name, _)| name).collect();
        let done = take(&path, &to).unwrap();
        let store = Store::open(&path).unwrap();
        // The files are equal byte for byte, and so are store id, generation, labels and runs.
        assert_eq!(files_in(&to), files_in(&path), "step {step}");
        for (name, _) in files_in(&path) {
            let is_same = fs::read(path.join(&name)).unwrap() == fs::read(to.join(&name)).unwrap();
            assert!(is_same, "step {step}: {name}");
        }
        let copied = files_in(&to).iter().filter(|(name, _)| !before.contains(name)).count();
        let copied_segments = done.copied as usize;
        assert!(copied >= copied_segments, "step {step}: {done:?}");
        assert_eq!(done.copied + done.kept, store.info().segments.len() as u64, "step {step}");
        assert_eq!(done.generation, store.generation(), "step {step}");
        let again = take(&path, &to).unwrap();
        assert_eq!((again.is_new, again.copied), (false, 0), "step {step}");
    }
    // A copy of the backup folder is a restored store, which accepts changes.
    let restored = folder.path().join("restored.fps");
    fs::create_dir(&restored).unwrap();
    for (name, _) in files_in(&to) {
        fs::copy(to.join(&name), restored.join(&name)).unwrap();
    }
    assert_eq!(
        records_of(&Store::open(&restored).unwrap()),
        records_of(&Store::open(&path).unwrap())
    );
    change(&restored, 3, &mut random);
    assert!(fpstore::verify(&restored, &Default::default()).unwrap().is_sound());
}

/// A writer changes the store as fast as it can. Each backup equals one generation of the store.
#[test]
fn a_backup_of_a_living_store_is_one_of_its_states() {
    let folder = tempfile::tempdir().unwrap();
    let (path, to) = (folder.path().join("store.fps"), folder.path().join("backup.fps"));
    build(&path, 0..500);
    let states: Mutex<BTreeMap<u64, Records>> = Mutex::default();
    let note = || {
        let store = Store::open(&path).unwrap();
        states.lock().unwrap().insert(store.generation(), records_of(&store));
    };
    note();
    let is_over = AtomicBool::new(false);
    let mut found = Vec::new();
    std::thread::scope(|scope| {
        let _ends = Ends(&is_over);
        scope.spawn(|| {
            let mut random = Random::new(7);
            for step in 0.. {
                change(&path, step, &mut random);
                note();
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        while found.len() < 25 {
            match take(&path, &to) {
                Ok(done) => {
                    let report = fpstore::verify(&to, &Default::default()).unwrap();
                    assert!(report.is_sound(), "{:?}", report.faults);
                    found.push((done.generation, records_of(&Store::open(&to).unwrap())));
                }
                Err(error) => panic!("{error}"),
            }
        }
    });
    let states = states.into_inner().unwrap();
    let mut compared = 0;
    for (generation, records) in &found {
        // A commit with a merge makes two generations, and `note` inserts only the second.
        if let Some(state) = states.get(generation) {
            assert!(state == records, "generation {generation}");
            compared += 1;
        }
    }
    assert!(compared > 5, "{compared} of {}", found.len());
}

#[test]
fn a_folder_with_anything_else_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    build(&at("store.fps"), 0..50);
    build(&at("other.fps"), 0..50);
    fs::create_dir(at("files")).unwrap();
    fs::write(at("files/letter.txt"), "precious").unwrap();
    fs::write(at("file"), "precious").unwrap();
    let refusal = |to: &str| take(&at("store.fps"), &at(to)).unwrap_err();
    assert!(matches!(refusal("files"), Error::NotAStore { .. }));
    assert!(matches!(refusal("file"), Error::Io { .. } | Error::NotAStore { .. }));
    assert!(refusal("other.fps").to_string().contains("holds another store"));
    assert!(refusal("store.fps").to_string().contains("is the store itself"));
    assert_eq!(files_in(&at("files")), [("letter.txt".to_string(), 8)]);
    // The backup is newer than `old.fps`, which is an earlier backup.
    take(&at("store.fps"), &at("backup.fps")).unwrap();
    take(&at("backup.fps"), &at("old.fps")).unwrap();
    change(&at("store.fps"), 3, &mut Random::new(1));
    take(&at("store.fps"), &at("backup.fps")).unwrap();
    let later = take(&at("old.fps"), &at("backup.fps")).unwrap_err();
    assert!(later.to_string().contains("holds generation 2 and the store has 1"), "{later}");
    // From now on, the store and the old copy have different histories.
    change(&at("old.fps"), 3, &mut Random::new(2));
    for (from, to) in [("old.fps", "backup.fps"), ("backup.fps", "old.fps")] {
        let other = take(&at(from), &at(to)).unwrap_err().to_string();
        assert!(other.contains("outside the history"), "{other}");
    }
    change(&at("old.fps"), 3, &mut Random::new(3));
    let other = take(&at("old.fps"), &at("backup.fps")).unwrap_err().to_string();
    assert!(other.contains("outside the history"), "{other}");
    assert!(fpstore::verify(at("backup.fps"), &Default::default()).unwrap().is_sound());
}

#[cfg_attr(windows, ignore = "no mapped file can be changed there")]
#[test]
fn damage_is_not_copied_and_a_damaged_copy_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let (path, to) = (folder.path().join("store.fps"), folder.path().join("backup.fps"));
    build(&path, 0..500);
    take(&path, &to).unwrap();
    let damage = |path: &Path| {
        let segment = Store::open(path).unwrap().info().segments[0].path.clone();
        let mut bytes = fs::read(&segment).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::remove_file(&segment).unwrap();
        fs::write(&segment, bytes).unwrap();
    };
    damage(&to);
    assert_eq!(take(&path, &to).unwrap().copied, 0, "nobody looked");
    let store = Store::open(&path).unwrap();
    let done = backup(&store, &to, &BackupOptions::default().verify(true)).unwrap();
    assert_eq!((done.is_new, done.copied, done.kept), (false, 1, 0));
    assert!(fpstore::verify(&to, &Default::default()).unwrap().is_sound());
    damage(&path);
    let elsewhere = folder.path().join("elsewhere.fps");
    assert!(matches!(take(&path, &elsewhere), Err(Error::Corrupt { .. })));
    assert!(matches!(Store::open(&elsewhere), Err(Error::NotAStore { .. })));
    assert!(take(&path, &to).is_ok(), "nothing is to be copied");
}

/// If two copies of a store change independently, different deletion files can get the same number.
#[test]
fn deletions_of_both_copies_are_another_history() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    build(&at("store.fps"), 0..50);
    take(&at("store.fps"), &at("copy.fps")).unwrap();
    let delete = |name: &str, ids: &[&str]| {
        let mut writer = Writer::open(at(name)).unwrap();
        for id in ids {
            assert_eq!(writer.delete_ids([IdRef::Text(id)]).unwrap().found, 1);
        }
    };
    delete("copy.fps", &["old 1"]);
    delete("store.fps", &["old 2", "old 3"]);
    // The store has a later generation than the copy, but its deletions differ from those of the
    // copy.
    let before = records_of(&Store::open(at("copy.fps")).unwrap());
    let refused = take(&at("store.fps"), &at("copy.fps")).unwrap_err().to_string();
    assert!(refused.contains("outside the history"), "{refused}");
    assert_eq!(records_of(&Store::open(at("copy.fps")).unwrap()), before);
    // A backup accepts a copy from which the store differs only by further deletions.
    take(&at("store.fps"), &at("third.fps")).unwrap();
    delete("store.fps", &["old 4"]);
    take(&at("store.fps"), &at("third.fps")).unwrap();
    assert_eq!(
        records_of(&Store::open(at("third.fps")).unwrap()),
        records_of(&Store::open(at("store.fps")).unwrap())
    );
}

#[test]
fn a_follower_accepts_changes_after_its_promotion_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    build(&at("store.fps"), 0..50);
    let store = Store::open(at("store.fps")).unwrap();
    let options = BackupOptions::default().follows("the store".to_string());
    backup(&store, at("copy.fps"), &options).unwrap();
    let copy = Store::open(at("copy.fps")).unwrap();
    for refused in [
        Writer::open(at("copy.fps")).map(drop),
        Compactor::open(at("copy.fps")).map(drop),
        SharedWriter::new(at("copy.fps"), WriterOptions::default()).writer().map(drop),
        Builder::with_options(at("copy.fps"), BuildOptions::default().replace(true)).map(drop),
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(&error, Error::Follower { followed, .. } if followed == "the store"));
    }
    // A backup can still update the copy, which remains a follower.
    change(&at("store.fps"), 3, &mut Random::new(1));
    store.refresh().unwrap();
    assert_eq!(take(&at("store.fps"), &at("copy.fps")).unwrap().generation, 2);
    assert!(matches!(Writer::open(at("copy.fps")), Err(Error::Follower { .. })));
    let before = (copy.refresh().unwrap(), records_of(&copy), copy.state_id());
    assert_eq!(promote(at("copy.fps")).unwrap(), before.2.generation + 1);
    copy.refresh().unwrap();
    assert_eq!(records_of(&copy), before.1);
    assert_ne!(copy.state_id().store_id, before.2.store_id);
    let again = promote(at("copy.fps")).unwrap_err();
    assert!(again.to_string().contains("follows no other store"), "{again}");
    change(&at("copy.fps"), 3, &mut Random::new(2));
    for (from, to) in [("store.fps", "copy.fps"), ("copy.fps", "store.fps")] {
        let other = take(&at(from), &at(to)).unwrap_err().to_string();
        assert!(other.contains("holds another store"), "{other}");
    }
    assert!(fpstore::verify(at("copy.fps"), &Default::default()).unwrap().is_sound());
}
