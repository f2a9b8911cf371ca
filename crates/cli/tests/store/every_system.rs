//! Tests that results are the same on all systems, although file names, line ends, locks, and the
//! removal or replacement of mapped files differ between them.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::common::program::{TestDir, names_in};
use crate::common::{clustered, needles, number, record_lines, scan, scheme_named, store_of};
use fpstore::writer::Compaction;
use fpstore::{Error, Fingerprint, Store, Writer, WriterOptions};

/// Adds a record as a new segment, so that there are segments to merge.
fn add(path: &Path, value: u64, id: u64) {
    let mut writer = Writer::open(path).unwrap();
    writer.push(Fingerprint::new(value), id).unwrap();
    writer.finish().unwrap();
}

/// A reader that does not refresh reads segment files that were replaced and are no longer in the
/// manifest.
#[test]
fn a_reader_answers_from_segments_that_a_compaction_replaced() {
    let mut records = clustered(2000, 4_100);
    let temp = store_of(&records, scheme_named("2"));
    let needles = needles(&records, 60, 3, 4_101);
    let mut held = temp.store.searcher();
    for round in 0..3 {
        let (value, id) = (round << 40 | 0xabcd, 10_000 + round);
        add(&temp.path(), value, id);
        records.push((value, number(id)));
        let mut writer = Writer::open(temp.path()).unwrap();
        writer.compact(&Compaction::All).unwrap();
        let now = writer.finish().unwrap();
        let mut fresh = now.searcher();
        for &needle in &needles {
            let of = |searcher: &mut fpstore::Searcher| {
                searcher.search(Fingerprint::new(needle), 3).unwrap().to_matches().unwrap()
            };
            assert_eq!(of(&mut held), scan(&records[..2000], needle, 3), "{needle:016x}, held");
            assert_eq!(of(&mut fresh), scan(&records, needle, 3), "{needle:016x}, fresh");
        }
    }
    // Closes the old files, so that the next writer can remove them.
    drop((held, temp.store));
    drop(Writer::open(temp.folder.path().join("store.fps")).unwrap());
    assert_eq!(fs::read_dir(temp.folder.path().join("store.fps")).unwrap().count(), 2);
}

#[test]
fn a_store_that_is_open_can_be_replaced() {
    let dir = TestDir::with("one.tsv", &record_lines(&clustered(500, 4_110)));
    dir.write("two.tsv", record_lines(&clustered(500, 4_111)));
    dir.ok(&["build", "one.tsv", "-q"], "");
    let store = Store::open(dir.path("store.fps")).unwrap();
    let mut searcher = store.searcher();
    let (old, new) = (clustered(500, 4_110)[9].0, clustered(500, 4_111)[9].0);
    let mut count = |value| searcher.search(Fingerprint::new(value), 0).unwrap().len();
    assert_eq!((count(old), count(new)), (1, 0));
    dir.ok(&["build", "two.tsv", "--force", "-q"], "");
    assert_eq!((count(old), count(new)), (1, 0), "the open state does not change");
    let again = Store::open(dir.path("store.fps")).unwrap();
    assert_eq!(again.query(Fingerprint::new(new), 0).unwrap().len(), 1);
    assert!(again.query(Fingerprint::new(old), 0).unwrap().is_empty());
}

#[test]
fn a_second_writer_is_refused_by_name_in_this_process_and_in_others() {
    let dir = TestDir::with("one.tsv", "0000000000000001\ta\n");
    dir.ok(&["build", "one.tsv", "-q"], "");
    let path = dir.path("store.fps");
    let writer = Writer::open(&path).unwrap();
    assert!(matches!(Writer::open(&path), Err(Error::Locked { .. })));
    let (_, told) = dir.run(&["add", "one.tsv"], 2);
    // The message names the process that holds the lock, except on Windows, where a locked file
    // cannot be read.
    assert!(cfg!(windows) || told.contains(&std::process::id().to_string()), "{told}");
    // Readers do not need the lock.
    assert_eq!(dir.ok(&["query", "1", "-k", "0"], "").lines().count(), 1);
    drop(writer);
    dir.ok(&["add", "one.tsv", "-q"], "");
}

/// A writer is killed while it waits for more input: it holds the lock and has not committed.
#[test]
fn a_writer_that_is_killed_leaves_the_store_as_it_was_and_the_next_one_tidies_up() {
    let dir = TestDir::with("one.tsv", "0000000000000001\ta\n");
    dir.ok(&["build", "one.tsv", "-q"], "");
    let lock = dir.path("store.fps").join("LOCK");
    for added in 1..4 {
        let mut child = dir.command(&["add", "-", "-q"]).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"0000000000000002\tb\n0000000000000003\tc\n").unwrap();
        while !lock.exists() {
            assert!(child.try_wait().unwrap().is_none(), "it waits for more");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        drop(input);
        assert!(lock.exists(), "it was killed with the lock");
        assert_eq!(dir.json(&["info"])["ids"], added);
        assert!(dir.run(&["query", "2", "-k", "0"], 1).0.is_empty());
        dir.ok(&["add", "one.tsv", "-q"], "");
    }
    dir.ok(&["verify"], "");
    let names = names_in(&dir.path("store.fps"));
    let is_live = |name: &String| name == "MANIFEST" || name.starts_with("segment-");
    assert!(names.iter().all(is_live), "{names:?}");
}

/// Long paths work, although Windows limits paths without a prefix to 260 characters.
#[test]
fn long_names_and_names_in_other_scripts_are_names() {
    let folder = tempfile::tempdir().unwrap();
    let mut path = folder.path().to_path_buf();
    for name in ["\u{43f}\u{440}\u{430}\u{432}\u{434}\u{430}", "\u{5199}\u{771f}", "a b", "\u{e9}"]
    {
        path.push(name.repeat(16));
        path.push("directory ".repeat(6).trim());
    }
    assert!(path.as_os_str().len() > 260);
    fs::create_dir_all(&path).unwrap();
    let input = path.join("\u{e4}.tsv");
    fs::write(&input, "0000000000000001\t\u{4e2d}\n").unwrap();
    let dir = TestDir::new();
    let store = path.join("\u{6f22}.fps");
    let (input, store) = (input.to_str().unwrap(), store.to_str().unwrap());
    dir.ok(&["build", input, "-s", store, "-q"], "");
    dir.ok(&["add", input, "-s", store, "-q"], "");
    dir.ok(&["compact", "-s", store, "-q"], "");
    let found = dir.ok(&["query", "1", "-k", "0", "-s", store], "");
    assert!(found.contains('\u{4e2d}'), "{found}");
    dir.ok(&["export", "-s", store, "-o", path.join("copy.fps").to_str().unwrap()], "");
    let mut writer = Writer::with_options(store, WriterOptions::default()).unwrap();
    writer.push(Fingerprint::new(2), 2).unwrap();
    assert_eq!(writer.finish().unwrap().info().fingerprint_count(), 2);
}

#[test]
fn lines_may_end_as_on_windows_and_answers_end_as_elsewhere() {
    let dir = TestDir::with("dos.tsv", "0000000000000001\ta\r\n0000000000000002\tb c\r\n\r\n3\r\n");
    dir.write("unix.tsv", "0000000000000001\ta\n0000000000000002\tb c\n\n3\n");
    dir.ok(&["build", "dos.tsv", "-s", "dos.fps", "-q"], "");
    dir.ok(&["build", "unix.tsv", "-s", "unix.fps", "-q"], "");
    let files = |store: &str| {
        let segment = dir.path(store).join("segment-0000000000000001.fps");
        fs::read(segment).unwrap()
    };
    assert!(files("dos.fps") == files("unix.fps"), "the same records give the same bytes");
    let mut child = dir.command(&["query", "-k", "0", "-s", "dos.fps"]);
    let mut child = child.args(["-"]).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"1\r\n2\r\n").unwrap();
    let out = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(out.contains("a\n") && out.contains("b c\n") && !out.contains('\r'), "{out:?}");
}
