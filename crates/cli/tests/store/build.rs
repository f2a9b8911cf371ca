//! Tests that a build writes the same bytes for the same records, and never damages an existing
//! store.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::program::program;
#[cfg(unix)]
use crate::common::program::{signal, text};
use crate::common::{
    Ends, Random, Record, clustered, samples, scheme_named, skewed, store_of, uniform,
};
use fpstore::{BuildOptions, Builder, Error, Fingerprint, Store, verify};

const SEGMENT: &str = "segment-0000000000000001.fps";

fn segment_of(records: &[Record], scheme: &str) -> Vec<u8> {
    let temp = store_of(records, scheme_named(scheme));
    fs::read(temp.path().join(SEGMENT)).unwrap()
}

#[test]
fn the_order_of_the_input_does_not_change_the_file() {
    let mut random = Random::new(61);
    for mut records in [clustered(5000, 62), skewed(5000, 63)] {
        // The records can be reordered, because each fingerprint has one id; the order of several
        // ids would be kept.
        records.sort();
        records.dedup_by_key(|(value, _)| *value);
        let sorted = segment_of(&records, "4");
        for at in (1..records.len()).rev() {
            records.swap(at, random.below(at as u64 + 1) as usize);
        }
        assert!(sorted == segment_of(&records, "4"));
        // A record without an id adds nothing if another record has the same fingerprint and an id.
        let mut repeated = records.clone();
        repeated.extend(records.iter().map(|(value, _)| (*value, None)));
        assert!(sorted == segment_of(&repeated, "4"));
    }
}

/// The guaranteed maximum size of a table, for the smallest number of fingerprints to which the
/// guarantee applies.
#[test]
fn ten_million_random_fingerprints_take_at_most_the_limit_and_three_bits() {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = Builder::new(folder.path().join("store.fps")).unwrap();
    let mut random = Random::new(64);
    for _ in 0..10_000_000 {
        builder.push_bare(Fingerprint::new(random.next())).unwrap();
    }
    let info = builder.finish().unwrap().info();
    let segment = &info.segments[0];
    let limit = segment.information_limit.unwrap();
    for table in &segment.tables {
        let bits = table.bits_per_fingerprint.unwrap();
        assert!(bits <= limit + 3.0, "{bits} bits, limit {limit}");
    }
    let all = segment.file_len as f64 * 8.0 / segment.fingerprint_count as f64 / 2.0;
    assert!(all <= limit + 3.0, "{all} bits with header and checksums, limit {limit}");
}

#[test]
fn one_builder_at_a_time_replaces_a_store_and_readers_keep_theirs() {
    let old = uniform(1000, 65);
    let temp = store_of(&old, scheme_named("2"));
    let path = temp.path();
    let options = || BuildOptions::default().replace(true);
    let mut first = Builder::with_options(&path, options()).unwrap();
    assert!(matches!(Builder::with_options(&path, options()), Err(Error::Locked { .. })));
    assert!(matches!(Builder::new(&path), Err(Error::StoreExists { .. })));
    first.push(Fingerprint::new(7), "new").unwrap();
    let new = first.finish().unwrap();
    assert_eq!(new.info().generation, 2);
    assert_eq!(new.query(Fingerprint::new(7), 0).unwrap().len(), 1);
    // A reader that opened the old store still answers from it.
    let stored = Fingerprint::new(old[3].0);
    assert_eq!(temp.store.query(stored, 0).unwrap().len(), 1);
    assert!(temp.store.query(stored, 64).unwrap().len() > 900);
    assert!(Store::open(&path).unwrap().query(stored, 0).unwrap().is_empty());
    drop(Builder::with_options(&path, options()).unwrap());
}

#[test]
fn a_store_whose_manifest_is_lost_to_damage_can_be_replaced() {
    let temp = store_of(&uniform(100, 66), scheme_named("2"));
    let path = temp.path();
    fs::write(path.join("MANIFEST"), "rubbish").unwrap();
    let mut builder = Builder::with_options(&path, BuildOptions::default().replace(true)).unwrap();
    builder.push_bare(Fingerprint::new(9)).unwrap();
    builder.finish().unwrap();
    assert!(verify(&path, &samples(10)).unwrap().is_sound());
    // The new store does not use the segment number of the old one again.
    assert!(path.join("segment-0000000000000002.fps").exists());
}

/// While builds replace the store, readers and `verify` that open it see a complete store each
/// time.
#[test]
fn readers_beside_a_writer_never_see_half_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.fps");
    let build = |round: u64| {
        let mut builder =
            Builder::with_options(&path, BuildOptions::default().replace(true)).unwrap();
        for value in 0..200 {
            builder.push(Fingerprint::new(value << 40 | round), round).unwrap();
        }
        builder.finish().unwrap();
    };
    build(0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let ends = Ends(&done);
        for reader in 0..2 {
            let (path, done) = (&path, &done);
            scope.spawn(move || {
                let mut last = 0;
                while !done.load(Ordering::Relaxed) {
                    if reader == 0 {
                        let report = verify(path, &samples(3)).unwrap();
                        assert!(report.is_sound(), "{:?}", report.faults);
                        continue;
                    }
                    let store = Store::open(path).unwrap();
                    let hits = store.query(Fingerprint::new(7 << 40), 8).unwrap();
                    let round = hits[0].fingerprint.value() & 0xff;
                    assert!(
                        round >= last
                            && hits.iter().all(|hit| hit.fingerprint.value() & 0xff == round)
                    );
                    last = round;
                }
            });
        }
        (1..=100).for_each(build);
        drop(ends);
    });
}

/// If a manifest contains the greatest possible numbers, a change is an error.
#[test]
fn a_store_that_has_used_up_its_numbers_is_not_harmed() {
    let records = uniform(100, 69);
    let temp = store_of(&records, scheme_named("2"));
    let path = temp.path();
    for (number, opens) in [(1_u64 << 62, true), (u64::MAX, false)] {
        let mut manifest = fs::read(path.join("MANIFEST")).unwrap();
        manifest[24..32].copy_from_slice(&number.to_le_bytes());
        let crc = crc32fast::hash(&manifest[..136]).to_le_bytes();
        manifest[136..].copy_from_slice(&crc);
        fs::write(path.join("MANIFEST"), &manifest).unwrap();
        assert_eq!(Store::open(&path).is_ok(), opens);
        let options = BuildOptions::default().replace(true);
        let mut builder = Builder::with_options(&path, options).unwrap();
        builder.push_bare(Fingerprint::new(1)).unwrap();
        let built = builder.finish();
        if opens {
            assert!(matches!(built, Err(Error::TooLarge { .. })), "{built:?}");
            let found = Store::open(&path).unwrap().query(Fingerprint::new(records[0].0), 0);
            assert_eq!(found.unwrap().len(), 1);
        } else {
            // A build with --force can replace a store that cannot be opened.
            assert!(built.is_ok(), "{built:?}");
        }
    }
}

/// With this number of lines and the minimum memory, a build needs temporary files.
const LINE_COUNT: u64 = 500_000;

/// Writes an input of [`LINE_COUNT`] lines. Its build takes some tenths of a second.
fn many_lines(path: &Path) {
    let mut random = Random::new(67);
    let lines: String =
        (0..LINE_COUNT).map(|id| format!("{:016x}\t{id}\n", random.next())).collect();
    fs::write(path, lines).unwrap();
}

/// Runs a build, and fails unless its status is 0.
fn build(args: &[&str], folder: &Path) {
    let output = program(&[&["build"], args].concat(), folder).output().unwrap();
    assert!(output.status.success(), "{args:?}");
}

#[test]
fn a_killed_build_leaves_the_old_store_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    many_lines(&folder.join("many.tsv"));
    fs::write(folder.join("few.tsv"), "00000000000000ff old\n").unwrap();
    build(&["few.tsv"], folder);
    let mut random = Random::new(68);
    let spills = ["--threads", "1", "--memory", "48MiB"];
    let replacing = [&["build", "many.tsv", "--force"][..], &spills].concat();
    let new = [&["build", "many.tsv", "-s", "new.fps"][..], &spills].concat();
    for _ in 0..100 {
        for args in [&replacing, &new] {
            let mut child = program(args, folder).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(random.below(400)));
            // On Unix this is kill -9.
            child.kill().unwrap();
            child.wait().unwrap();
        }
        for store in ["store.fps", "new.fps"] {
            if folder.join(store).exists() {
                let count = Store::open(folder.join(store)).unwrap().info().fingerprint_count();
                assert!(count == 1 || count == LINE_COUNT, "{store} has {count}");
                assert!(verify(folder.join(store), &samples(0)).unwrap().is_sound());
            }
        }
        let _ = fs::remove_dir_all(folder.join("new.fps"));
    }
    // The next builds remove the files of the killed builds.
    build(&["few.tsv", "--force"], folder);
    build(&["few.tsv", "-s", "new.fps"], folder);
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .chain(fs::read_dir(folder.join("store.fps")).unwrap())
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("segment-"))
        .collect();
    names.sort();
    assert_eq!(names, ["MANIFEST", "few.tsv", "many.tsv", "new.fps", "store.fps"]);
}

/// The first signal ends a build, which removes its files.
#[cfg(unix)]
#[test]
fn an_interrupted_build_tidies_up_and_says_so() {
    use std::io::Write;

    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("few.tsv"), "00000000000000ff old\n").unwrap();
    build(&["few.tsv"], folder);
    let before = fs::read(folder.join("store.fps/MANIFEST")).unwrap();
    for name in ["INT", "TERM", "HUP"] {
        // The input never ends, so the build waits.
        let mut build = program(&["build", "-", "--force"], folder);
        let mut child = build.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        // A hundred lines, after which the program has detected the columns.
        let lines: String = (1..=100).map(|value| format!("{value:016x}\n")).collect();
        input.write_all(lines.as_bytes()).unwrap();
        while !folder.join("store.fps/LOCK").exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(300));
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{name}");
        let err = text(output.stderr);
        assert_eq!(
            err,
            "fpstore: 100 records were read before this; nothing was written\n\
             fpstore: interrupted; nothing was changed\n"
        );
        drop(input);
        assert_eq!(fs::read(folder.join("store.fps/MANIFEST")).unwrap(), before);
        assert_eq!(fs::read_dir(folder.join("store.fps")).unwrap().count(), 2);
    }
}

/// A full disk, simulated by a file size limit: a write of the build fails.
#[cfg(target_os = "linux")]
#[test]
fn a_build_that_cannot_write_ends_with_an_error_and_the_old_store() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    many_lines(&folder.join("many.tsv"));
    fs::write(folder.join("few.tsv"), "00000000000000ff old\n").unwrap();
    build(&["few.tsv"], folder);
    let program = program(&[], folder).get_program().to_owned();
    for target in ["store.fps", "new.fps"] {
        let script = "trap '' XFSZ; ulimit -f 1000; exec \"$0\" build many.tsv --force -s \"$1\"";
        let output = std::process::Command::new("sh")
            .args(["-c", script])
            .arg(&program)
            .arg(target)
            .current_dir(folder)
            .output()
            .unwrap();
        let err = text(output.stderr);
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains("cannot write") && err.contains(target), "{err}");
    }
    let store = Store::open(folder.join("store.fps")).unwrap();
    assert_eq!(store.query(Fingerprint::new(0xff), 0).unwrap().len(), 1);
    assert!(!folder.join("new.fps").exists());
    let left: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("tmp"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
