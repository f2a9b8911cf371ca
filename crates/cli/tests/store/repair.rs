//! Tests `verify --repair`: it saves what is readable in a damaged store, and reports what is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::common::{clustered, records_of, samples, scheme_named, store_of, take_away};
use fpstore::info::SegmentInfo;
use fpstore::writer::{Compaction, repair};
use fpstore::{
    BuildOptions, Builder, Error, Fingerprint, IdRef, Observer, Phase, Store, VerifyOptions,
    Writer, WriterOptions, verify,
};
use tempfile::TempDir;

/// A store to damage. It has three segments with the labels `old`, `mid` and `new` and 100
/// fingerprints each; the ids 100 to 109 of `mid` are deleted.
struct Patient {
    folder: TempDir,
}

impl Patient {
    fn new() -> Self {
        let patient = Patient { folder: tempfile::tempdir().unwrap() };
        let scheme = scheme_named("2");
        let options = BuildOptions::default().scheme(scheme).label("old");
        let mut builder = Builder::with_options(patient.path(), options).unwrap();
        (0..100).for_each(|id| builder.push(value(id), id).unwrap());
        builder.finish().unwrap();
        for (number, label) in (1..).zip(["mid", "new"]) {
            let options = WriterOptions::default().label(label).compact(false);
            let mut writer = Writer::with_options(patient.path(), options).unwrap();
            for id in number * 100..number * 100 + 100 {
                writer.push(value(id), id).unwrap();
            }
            writer.commit().unwrap();
            if label == "mid" {
                let deleted = writer.delete_ids((100..110).map(IdRef::U64)).unwrap();
                assert_eq!(deleted.found, 10);
            }
        }
        patient
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("store.fps")
    }

    fn file(&self, label: &str) -> PathBuf {
        let info = Store::open(self.path()).unwrap().info();
        info.segments.iter().find(|segment| segment.label == label).unwrap().path.clone()
    }

    /// The number of fingerprints that are found in the segment of each label.
    fn found(&self) -> [usize; 3] {
        let store = Store::open(self.path()).unwrap();
        [0, 1, 2].map(|number| {
            let ids = number * 100..number * 100 + 100;
            ids.filter(|&id| !store.query(value(id), 0).unwrap().is_empty()).count()
        })
    }

    /// Replaces the manifest by the repaired one, as the program tells the user.
    fn use_repaired(&self) {
        fs::rename(self.path().join("MANIFEST.repaired"), self.path().join("MANIFEST")).unwrap();
    }
}

fn value(id: u64) -> Fingerprint {
    Fingerprint::new((id + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Flips a byte in the middle of a read-only file.
fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    take_away(path);
    fs::write(path, bytes).unwrap();
}

/// Flips a byte in the header of a read-only file; the file cannot be opened without it.
fn behead(path: &Path) {
    flip(path, 20);
}

fn flip(path: &Path, at: u64) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at as usize] ^= 0x10;
    take_away(path);
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_segment_without_its_head_is_left_out_and_the_others_answer() {
    for label in ["old", "mid", "new"] {
        let patient = Patient::new();
        assert_eq!(patient.found(), [100, 90, 100]);
        let old = Store::open(patient.path()).unwrap();
        behead(&patient.file(label));
        let before = fs::read(patient.path().join("MANIFEST")).unwrap();
        let report = verify(patient.path(), &samples(5)).unwrap();
        let [damaged] = report.damaged.as_slice() else { panic!("{:?}", report.damaged) };
        assert_eq!((damaged.label.as_str(), damaged.fingerprint_count), (label, 100));
        assert_eq!(damaged.deletions_only, None);
        let done = repair(&report, Duration::ZERO).unwrap();
        assert_eq!((done.kept.len(), done.fingerprint_count), (2, 200));
        assert_eq!(done.salvaged, []);
        // The repair does not change the store itself.
        assert_eq!(fs::read(patient.path().join("MANIFEST")).unwrap(), before);
        assert!(!verify(patient.path(), &samples(0)).unwrap().is_sound());
        patient.use_repaired();
        assert!(old.refresh().unwrap());
        assert!(verify(patient.path(), &samples(20)).unwrap().is_sound());
        let mut expected = [100, 90, 100];
        expected[["old", "mid", "new"].iter().position(|&of| of == label).unwrap()] = 0;
        assert_eq!(patient.found(), expected, "{label}");
        // With the repaired manifest the store can be changed again.
        let mut writer = Writer::open(patient.path()).unwrap();
        writer.push(value(1000), 1000).unwrap();
        writer.finish().unwrap();
        assert_eq!(patient.found(), expected, "{label}");
    }
}

#[test]
fn damaged_deletions_leave_their_segment() {
    let patient = Patient::new();
    let is_deletions = |path: &PathBuf| path.to_string_lossy().contains("deletion-");
    let names = fs::read_dir(patient.path()).unwrap().map(|entry| entry.unwrap().path());
    damage(&names.into_iter().find(is_deletions).unwrap());
    let report = verify(patient.path(), &samples(5)).unwrap();
    assert_eq!(report.damaged.len(), 1);
    assert_eq!(report.damaged[0].deletions_only, Some((10, 10)));
    let done = repair(&report, Duration::ZERO).unwrap();
    assert_eq!((done.kept.len(), done.fingerprint_count), (3, 300));
    patient.use_repaired();
    assert_eq!(patient.found(), [100, 100, 100]);
    assert!(verify(patient.path(), &samples(20)).unwrap().is_sound());
}

#[test]
fn a_repair_never_undoes_a_change() {
    let patient = Patient::new();
    damage(&patient.file("new"));
    let report = verify(patient.path(), &samples(0)).unwrap();
    // While a writer holds the lock, the repair fails.
    let mut writer = Writer::open(patient.path()).unwrap();
    assert!(matches!(repair(&report, Duration::ZERO), Err(Error::Locked { .. })));
    writer.push(value(1000), 1000).unwrap();
    drop(writer.finish().unwrap());
    // The store has changed since it was verified, so the repair is refused.
    let refused = repair(&report, Duration::ZERO).unwrap_err().to_string();
    assert!(refused.contains("verify again"), "{refused}");
    assert!(!patient.path().join("MANIFEST.repaired").exists());
    // The next change of the store removes a repaired manifest that was not used.
    let report = verify(patient.path(), &samples(0)).unwrap();
    let repaired = repair(&report, Duration::ZERO).unwrap().manifest.unwrap();
    assert!(repaired.exists());
    let mut writer = Writer::open(patient.path()).unwrap();
    writer.push(value(2000), 2000).unwrap();
    writer.commit().unwrap();
    assert!(!repaired.exists());
}

#[test]
fn a_store_that_is_sound_or_lost_gets_no_manifest() {
    let patient = Patient::new();
    let report = verify(patient.path(), &samples(5)).unwrap();
    let done = repair(&report, Duration::ZERO).unwrap();
    assert_eq!((done.manifest, done.kept.len()), (None, 3));
    let files = ["old", "mid", "new"].map(|label| patient.file(label));
    files.iter().for_each(|path| behead(path));
    let report = verify(patient.path(), &samples(5)).unwrap();
    assert_eq!(report.damaged.len(), 3);
    let done = repair(&report, Duration::ZERO).unwrap();
    assert_eq!((done.manifest, done.kept.len()), (None, 0));
    // Without the manifest it is unknown which segments are live, but their files are found.
    let patient = Patient::new();
    damage(&patient.file("mid"));
    damage(&patient.path().join("MANIFEST"));
    let report = verify(patient.path(), &samples(5)).unwrap();
    assert_eq!((report.faults.len(), report.damaged.len()), (1, 0));
    let done = repair(&report, Duration::ZERO).unwrap();
    assert_eq!((done.manifest, done.kept.len(), done.fingerprint_count), (None, 2, 200));
}

/// The printed commands are run in a shell exactly as the program prints them.
#[cfg(unix)]
#[test]
fn the_program_says_what_is_missing_and_how_to_go_on() {
    let dir = crate::common::program::TestDir::with("new.tsv", "0000000000000007\ta\n");
    let records = |range: std::ops::Range<u64>| {
        range.map(|id| format!("{}\t{id}\n", value(id))).collect::<String>()
    };
    dir.write("one.tsv", records(0..100));
    dir.write("two.tsv", records(100..150));
    dir.ok(&["build", "one.tsv", "-s", "my store.fps", "--label", "2026-10", "-q"], "");
    dir.ok(&["add", "two.tsv", "-s", "my store.fps", "--label", "2026-11", "-q"], "");
    let info = dir.json(&["info", "-s", "my store.fps", "--format", "json"]);
    let file = |number: usize| dir.path(info["segments"][number]["path"].as_str().unwrap());
    let run = |line: &str| {
        let bin = assert_cmd::cargo::cargo_bin("fpstore");
        let path = format!("{}:/usr/bin:/bin", bin.parent().unwrap().display());
        let mut shell = std::process::Command::new("sh");
        let done = shell.args(["-c", line]).env("PATH", path).current_dir(dir.folder());
        assert!(done.status().unwrap().success(), "{line}");
    };
    behead(&file(0));
    let (_, told) = dir.run(&["verify", "my store.fps"], 1);
    assert!(told.contains("to save the readable records, use --repair"), "{told}");
    let (_, told) = dir.run(&["verify", "my store.fps", "--repair", "-q"], 1);
    assert!(told.contains("lost: segment"), "{told}");
    assert!(told.contains("'2026-10': 100 fingerprints with all ids"), "{told}");
    assert!(told.contains("kept: 1 segment with 50 fingerprints"), "{told}");
    run(told.lines().find(|line| line.contains("mv ")).unwrap().split("  ").last().unwrap());
    dir.ok(&["verify", "my store.fps", "--repair"], "");
    assert_eq!(dir.ok(&["dump", "-s", "my store.fps"], "").lines().count(), 50);
    // A damaged manifest: other commands are printed.
    damage(&dir.path("my store.fps/MANIFEST"));
    let (_, told) = dir.run(&["verify", "my store.fps", "--repair"], 1);
    assert!(told.contains("the manifest is lost"), "{told}");
    for command in ["fpstore build", "fpstore import"] {
        let line = told.lines().find(|line| line.contains(command)).unwrap();
        run(line.split("  ").last().unwrap());
    }
    assert_eq!(dir.ok(&["dump", "-s", "NEW"], "").lines().count(), 50);
    dir.run(&["verify", "NEW", "--wait"], 2);
}

#[test]
fn a_rate_makes_verification_wait_and_an_observer_ends_it() {
    let patient = Patient::new();
    let len = Store::open(patient.path()).unwrap().info().file_len();
    let seen = Arc::new(AtomicU64::new(0));
    let observer = |ends_at: u64| {
        let seen = seen.clone();
        Observer::new(move |progress| {
            assert_eq!(progress.phase, Phase::Verify);
            assert!(progress.done <= progress.total.unwrap(), "{progress:?}");
            if seen.fetch_add(1, Ordering::Relaxed) + 1 >= ends_at {
                return std::ops::ControlFlow::Break(());
            }
            std::ops::ControlFlow::Continue(())
        })
    };
    // The rate limit counts repeated reads: `verify` reads most bytes four times.
    let start = Instant::now();
    let options = samples(0).max_rate(len * 10).observer(observer(u64::MAX));
    assert!(verify(patient.path(), &options).unwrap().is_sound());
    assert!(start.elapsed() >= Duration::from_millis(150), "{:?}", start.elapsed());
    assert!(seen.load(Ordering::Relaxed) > 0);
    seen.store(0, Ordering::Relaxed);
    let options = VerifyOptions::default().max_rate(1).observer(observer(3));
    assert!(matches!(verify(patient.path(), &options), Err(Error::Interrupted)));
}

/// If one table of a segment is damaged, and another one contains the same values, the damaged
/// table is built again and nothing is lost.
#[test]
fn damaged_tables_are_made_again_from_another_one() {
    let records = clustered(3000, 71);
    for (scheme, bits) in [("2", 0), ("2", 12), ("4", 0)] {
        let scheme = scheme_named(scheme).with_syndromes(bits).unwrap();
        let names = ["prefix index", "tails", "heads"];
        let sections = (0..scheme.masks().len()).flat_map(|at| names.map(|name| (name, at)));
        for (name, at) in sections {
            let case = format!("{name} of table {at}, {bits} bits");
            let temp = store_of(&records, scheme.clone());
            let mut writer = Writer::open(temp.path()).unwrap();
            let some: Vec<Fingerprint> =
                records[..40].iter().map(|(value, _)| (*value).into()).collect();
            writer.delete_fingerprints(&some).unwrap();
            drop(writer);
            let whole = records_of(&Store::open(temp.path()).unwrap());
            let segment = temp.store.info().segments[0].clone();
            flip_a_byte(&segment, &format!("{name} of table {at}"));
            let report = verify(temp.path(), &samples(0)).unwrap();
            // A table with syndromes contains no complete values, so no table can be built from it.
            let has_values = at > 0 || bits == 0;
            assert_eq!(report.is_rebuildable(), has_values, "{case}");
            let rewritten = Writer::open(temp.path()).unwrap().compact(&Compaction::Rewrite);
            assert_eq!(rewritten.is_ok(), has_values, "{case}: {rewritten:?}");
            if !has_values {
                continue;
            }
            assert!(verify(temp.path(), &samples(20)).unwrap().is_sound(), "{case}");
            let store = Store::open(temp.path()).unwrap();
            assert_eq!(records_of(&store), whole, "{case}");
            if bits > 0 {
                assert_eq!(store.info().segments[0].tables[1].syndrome_bits, bits);
            }
        }
    }
}

/// If no table has all values, or ids are damaged, tables are not built again: it is an error.
#[test]
fn what_no_table_holds_is_not_made_again() {
    let records = clustered(3000, 71);
    for second in ["tails of table 1", "id records"] {
        let temp = store_of(&records, scheme_named("2"));
        let segment = temp.store.info().segments[0].clone();
        flip_a_byte(&segment, "heads of table 0");
        flip_a_byte(&segment, second);
        let report = verify(temp.path(), &samples(0)).unwrap();
        assert!(!report.is_rebuildable());
        let before = fs::read(temp.path().join("MANIFEST")).unwrap();
        assert!(Writer::open(temp.path()).unwrap().compact(&Compaction::Rewrite).is_err());
        assert_eq!(fs::read(temp.path().join("MANIFEST")).unwrap(), before);
        if second == "id records" {
            // The ids on undamaged pages are still listed.
            let mut found = 0;
            let unread = report.damaged[0].for_each_id(|_| {
                found += 1;
                Ok::<(), Error>(())
            });
            let unread = unread.unwrap();
            assert!(found > 1000 && unread > 0 && unread < 2000, "{found} found, {unread} not");
        }
    }
}

fn flip_a_byte(segment: &SegmentInfo, section: &str) {
    let place = segment.sections.iter().find(|of| of.section.to_string() == section).unwrap();
    let mut bytes = fs::read(&segment.path).unwrap();
    bytes[place.offset as usize + 9] ^= 4;
    take_away(&segment.path);
    fs::write(&segment.path, &bytes).unwrap();
}
