//! Tests the output, exit statuses and messages of the commands that change a store.

use std::fs;
use std::io::{BufRead, BufReader, Write};

use serde_json::Value;

use crate::common::names_of;
use crate::common::program::TestDir;

/// A folder with the store `pages.fps` of three records.
fn dir() -> TestDir {
    let dir = TestDir::new();
    dir.ok(
        &["build", "-", "-s", "pages.fps", "--scheme", "2"],
        "00000000000000ff\ta\n00000000000000ff\tb\n000000000000ff00\tc\n",
    );
    dir
}

/// Prints the records of `pages.fps`.
fn dump(dir: &TestDir) -> String {
    dir.ok(&["dump", "-s", "pages.fps"], "")
}

fn info_of(dir: &TestDir) -> Value {
    dir.json(&["info", "-s", "pages.fps"])
}

#[test]
fn records_come_and_go() {
    let dir = dir();
    let (_, err) = dir.run_on(
        &["add", "-s", "pages.fps", "--label", "2026-11"],
        "00000000000000ff\td\n0000000000000001\t7\n",
        0,
    );
    assert!(err.starts_with("fpstore: pages.fps: 2 records added, 2 fingerprints, in "), "{err}");
    let all = "0000000000000001\t7\n00000000000000ff\ta\n00000000000000ff\tb\n00000000000000ff\td\n\
               000000000000ff00\tc\n";
    assert_eq!(dump(&dir), all);
    let info = info_of(&dir);
    assert_eq!(info["segments"][1]["label"], "2026-11");
    assert!(info["segments"][1]["written"].is_u64());

    let delete = ["delete", "--ids", "-", "-s", "pages.fps"];
    let (_, err) = dir.run_on(&delete, "a\r\n7\n\nabsent\n", 0);
    assert_eq!(
        err,
        "fpstore: 2 ids found; 1 was not found\nfpstore: 1 fingerprint and 2 ids deleted\n"
    );
    let out = dir.ok(&["query", "ff", "-k", "8", "-s", "pages.fps"], "");
    assert_eq!(out.lines().filter(|line| line.ends_with("\ta")).count(), 0);
    let (_, err) = dir.run_on(&delete, "a\n", 1);
    assert!(err.starts_with("fpstore: 0 ids found; 1 was not found\n"), "{err}");
    dir.run(&["delete", "--fingerprint", "ff00", "-s", "pages.fps", "-q"], 0);
    assert_eq!(dump(&dir), "00000000000000ff\tb\n00000000000000ff\td\n");
    let info = info_of(&dir);
    assert_eq!((&info["fingerprints"], &info["ids"]), (&2.into(), &2.into()));
    assert_eq!(info["segments"][0]["deleted_fingerprints"], 1);
    assert_eq!(info["segments"][0]["deleted_ids"], 2);
    dir.ok(&["verify", "-s", "pages.fps"], "");

    let names = names_of(&dir.path("pages.fps"));
    let (_, err) = dir.run(&["compact", "--one", "--dry-run", "-s", "pages.fps"], 0);
    assert!(err.contains("would be merged into one, without 2 deleted fingerprints"), "{err}");
    assert_eq!(names_of(&dir.path("pages.fps")), names, "nothing was changed");
    let (_, err) = dir.run(&["compact", "--one", "-s", "pages.fps"], 0);
    assert!(err.contains("2 labels became one segment with no label, so it does not expire"));
    assert!(err.contains("removed 2 deleted fingerprints and 3 deleted ids"), "{err}");
    assert_eq!(dump(&dir), "00000000000000ff\tb\n00000000000000ff\td\n");
    for args in [&["compact", "--all", "-n"][..], &["compact", "--all"]] {
        let (_, err) = dir.run(&[args, &["-s", "pages.fps"]].concat(), 0);
        assert!(err.starts_with("fpstore: nothing to do: 1 segment, "), "{err}");
    }
    assert_eq!(names_of(&dir.path("pages.fps")).len(), 2, "the manifest and one segment");
}

#[test]
fn labels_expire() {
    let dir = dir();
    dir.ok(&["build", "-", "-s", "first.fps", "--label", "2026-08", "-q"], "0000000000000001\ta\n");
    let (_, err) = dir.run(&["expire", "--before", "2026-09", "-s", "first.fps"], 2);
    let all = "first.fps: the only segment has a label before '2026-09', so no records would be left; \
               --all allows that";
    assert!(err.contains(all), "{err}");
    dir.run(&["expire", "--before", "2026-09", "-s", "first.fps", "-q", "--all"], 0);
    dir.run(&["query", "1", "-s", "first.fps"], 1);
    for label in ["2026-09", "2026-10", "2026-11"] {
        dir.ok(
            &["add", "-s", "pages.fps", "--label", label, "-q"],
            &format!("0000000000000001\t{label}\n"),
        );
    }
    let dry = ["expire", "--before", "2026-11", "--dry-run", "-s", "pages.fps"];
    let (_, err) = dir.run(&dry, 0);
    assert!(err.starts_with("fpstore: segment 2, '2026-09', 1 fingerprint, would be removed\n"));
    assert_eq!(info_of(&dir)["segments"].as_array().unwrap().len(), 4);
    dir.run(&["expire", "--before", "2026-11", "-s", "pages.fps"], 0);
    assert_eq!(
        dir.ok(&["query", "1", "-k", "0", "-s", "pages.fps"], ""),
        "0000000000000001\t0000000000000001\t0\t2026-11\n"
    );
    let (_, err) = dir.run(&["expire", "--before", "2026-11", "-s", "pages.fps"], 0);
    let nothing = "fpstore: no segment has a label before '2026-11'\n\
                   fpstore: skipped: 1 segment without a label\n";
    assert_eq!(err, nothing);
}

/// A label of another form is refused, because its segment would silently never expire.
#[test]
fn a_store_of_dates_takes_no_label_of_another_form() {
    let dir = TestDir::with("b.tsv", "00000000000000ff\ta\n");
    dir.write("c.tsv", "0000000000000f0f\tc\n");
    for day in ["2026-11-04", "2026-11-05"] {
        dir.ok(&["add", "b.tsv", "day.fps", "--create", "--label", day, "-q"], "");
    }
    dir.ok(&["build", "c.tsv", "other.fps", "--label", "foo", "-q"], "");
    dir.run(&["build", "c.tsv", "--segment-file", "part.fps", "-q"], 0);
    let before = fs::read(dir.path("day.fps/MANIFEST")).unwrap();
    for label in ["foo", "30d", "2026-13-45", "2026/11/05", "20261105", "2026-W45"] {
        for command in [
            &["add", "b.tsv", "day.fps"][..],
            &["import", "other.fps", "-s", "day.fps"],
            &["commit", "part.fps", "-s", "day.fps"],
        ] {
            let (_, err) = dir.run(&[command, &["--label", label]].concat(), 2);
            let says = format!(
                "the label '{label}' is not a date in the form of the labels of the store, such as \
                                '2026-11-05', so its records would never expire; give a date in that form"
            );
            assert!(err.contains(&says), "{command:?}: {err}");
        }
    }
    let (_, err) = dir.run(&["import", "other.fps", "-s", "day.fps"], 2);
    assert!(
        err.contains("'foo'") && err.contains("as the label of all imported segments"),
        "{err}"
    );
    assert_eq!(fs::read(dir.path("day.fps/MANIFEST")).unwrap(), before);
    for label in ["today", "yesterday", "2026-11-05T10:00", ""] {
        dir.ok(&["add", "b.tsv", "day.fps", "--no-compact", "--label", label, "-q"], "");
    }
    dir.ok(&["import", "other.fps", "-s", "day.fps", "--label", "2026-11-06", "-q"], "");
    // Stores whose labels are no dates, or have several forms, accept any label.
    for label in ["x", "2026-11-05", "30d"] {
        dir.ok(&["add", "b.tsv", "other.fps", "--no-compact", "--label", label, "-q"], "");
    }
    let (_, err) = dir.run(&["expire", "other.fps", "--older-than", "1d", "--dry-run"], 0);
    let says = "skipped: 3 segments with a label of another form, such as 'foo'\n";
    assert!(err.ends_with(says), "{err}");
}

/// `expire` with a date in another form removes nothing: compared as texts, all labels could sort
/// before it.
#[test]
fn what_expires_is_a_label_of_the_same_form() {
    let dir = dir();
    for label in ["2026-11-04", "2026-11-05", "2026-11-06"] {
        dir.ok(
            &["add", "-s", "pages.fps", "--label", label, "-q"],
            &format!("0000000000000001\t{label}\n"),
        );
    }
    let all = dump(&dir);
    for wrong in ["30d", "today", "yesterday", "2026/11/06", "20261106", "6 Nov", "2026-11-6"] {
        for dry in [&["--dry-run"][..], &[]] {
            let command = [&["expire", "--before", wrong, "-s", "pages.fps"][..], dry].concat();
            let (_, err) = dir.run(&command, 2);
            let expected = format!(
                "fpstore: pages.fps: segment 2 has the label '2026-11-04', which is not in the form \
                 of '{wrong}'\n"
            );
            assert!(err.starts_with(&expected), "{err}");
        }
    }
    assert_eq!(dump(&dir), all);
    let (_, err) = dir.run(&["expire", "--older-than", "3m", "-s", "pages.fps"], 2);
    assert!(err.contains("age is '3m', expected an age such as 30d, 6w, 3mo or 1y"), "{err}");
    dir.ok(&["add", "-s", "pages.fps", "--label", "today", "-q"], "0000000000000002\tnew\n");
    let (_, err) = dir.run(&["expire", "--older-than", "1000y", "-s", "pages.fps"], 0);
    assert!(err.starts_with("fpstore: no segment has a label older than 1000y (before "), "{err}");
    let label = info_of(&dir)["segments"][4]["label"].as_str().unwrap().to_string();
    assert!(label.len() == 10 && label.starts_with("2"), "{label}");
    let (_, err) = dir.run(&["expire", "--before", "2026-11-06", "-s", "pages.fps"], 0);
    assert!(err.contains("2 segments removed"), "{err}");
    assert!(err.ends_with("skipped: 1 segment without a label\n"), "{err}");
}

#[test]
fn what_does_not_fit_changes_nothing() {
    let dir = dir();
    let before = fs::read(dir.path("pages.fps/MANIFEST")).unwrap();
    let (_, err) = dir.run_on(&["add", "-s", "no.fps"], "ff\n", 2);
    assert_eq!(
        err,
        "fpstore: there is no store at no.fps\n\
         fpstore: make one with 'fpstore build FILE -s no.fps'\n"
    );
    let add = ["add", "-s", "pages.fps", "--recipe", "minhash"];
    let (_, err) = dir.run_on(&add, "ff\n", 2);
    assert!(err.starts_with("fpstore: recipes differ: "), "{err}");
    let (_, err) = dir.run_on(&["add", "-s", "pages.fps"], "1\nxyz\n", 2);
    assert!(err.contains("standard input: line 2: 'xyz' is not a fingerprint"), "{err}");
    let (_, err) = dir.run(&["add", "-s", "pages.fps"], 0);
    assert_eq!(err, "fpstore: the input has no fingerprints; nothing was changed\n");
    dir.run(&["delete", "--fingerprint", "xyz", "-s", "pages.fps"], 2);
    let both = ["delete", "--fingerprint", "ff", "--id", "a", "-s", "pages.fps"];
    dir.run(&both, 2);
    assert_eq!(dir.output(&["delete", "-s", "pages.fps"], "").status.code(), Some(2));
    dir.run(&["import", "pages.fps/MANIFEST", "-s", "pages.fps"], 2);
    let (_, err) = dir.run(&["import", "pages.fps", "-s", "pages.fps"], 2);
    assert!(err.contains("has the same contents as"), "{err}");
    let (_, err) = dir.run(&["export", "-o", "pages.fps", "-s", "pages.fps"], 2);
    assert_eq!(err, "fpstore: there is a store at pages.fps already\n");
    let (_, err) =
        dir.run(&["export", "-o", "x.fps", "--segment-number", "9", "-s", "pages.fps"], 2);
    assert_eq!(err, "fpstore: there is no segment 9; existing segments: 1\n");
    assert_eq!(fs::read(dir.path("pages.fps/MANIFEST")).unwrap(), before);
}

#[test]
fn documents_are_added_by_the_recipe_of_the_store() {
    let dir = dir();
    let one = "{\"id\":\"one\",\"text\":\"the quick brown fox\"}\n";
    dir.ok(&["build", "-", "--docs", "--shingle", "3", "-s", "texts.fps", "-q"], one);
    let two = "{\"id\":\"two\",\"text\":\"the quick brown fox\"}\n";
    dir.ok(&["add", "-", "--docs", "-s", "texts.fps", "-q"], two);
    let out = dir.ok(&["query", "--text", "the quick brown fox", "-k", "0", "-s", "texts.fps"], "");
    assert_eq!(out.lines().count(), 2, "{out}");
    let other = ["add", "-", "--docs", "--shingle", "2", "-s", "texts.fps"];
    let (_, err) = dir.run_on(&other, two, 2);
    assert!(err.contains("the recipe of the store sets"), "{err}");
    let (_, err) = dir.run_on(&["add", "-s", "texts.fps"], "ff\n", 2);
    assert!(err.starts_with("fpstore: recipes differ: "), "{err}");
}

#[test]
fn a_stream_is_acknowledged_batch_by_batch() {
    let dir = dir();
    let follow = ["add", "--follow", "--batch-count", "2", "-s", "pages.fps"];
    let (out, err) = dir.run_on(&follow, "1\n2\n3\n4\n5\n", 0);
    let counts: Vec<&str> = out.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(counts, ["2", "4", "5"]);
    assert_eq!(err, "fpstore: 5 records added\n");
    // If records come slowly, they are committed after --batch-seconds.
    let slow = ["add", "--follow", "--batch-seconds", "0.01", "-s", "pages.fps"];
    let mut child = dir.command(&slow).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for number in 1..=3 {
        writeln!(input, "aa0000000000000{number}\tslow {number}").unwrap();
        let line = lines.next().unwrap().unwrap();
        assert!(line.starts_with(&format!("{number}\t")), "{line}");
        assert!(dump(&dir).contains(&format!("slow {number}\n")));
    }
    // Between two batches another process can write to the store.
    dir.run(&["delete", "--id", "a", "-s", "pages.fps"], 0);
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn what_is_new_is_remembered_and_answered_as_it_comes() {
    let dir = dir();
    let dedup = ["dedup", "-s", "pages.fps", "--add", "-", "--batch-count", "3"];
    let mut child = dir.command(&dedup).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for (line, answer) in [
        ("00000000000000fe\tx", "near\t00000000000000fe\tx\t00000000000000ff\t1\ta"),
        ("00000000f0f0f0f0\ty", "new\t00000000f0f0f0f0\ty"),
        ("00000000f0f0f0f1\tz", "near\t00000000f0f0f0f1\tz\t00000000f0f0f0f0\t1\ty"),
        ("f0f0f0f0", "near\t00000000f0f0f0f0\t\t00000000f0f0f0f0\t0\ty"),
        ("f0f0f0f000000000", "new\tf0f0f0f000000000\t"),
        ("0f0f0f0f00000000\t1", "new\t0f0f0f0f00000000\t1"),
        ("f0f0f0f7", "near\t00000000f0f0f0f7\t\t00000000f0f0f0f0\t3\ty"),
    ] {
        writeln!(input, "{line}").unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), answer);
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    assert_eq!(info_of(&dir)["fingerprints"], 5);
    // With files in place of a stream, the kept records are printed and then added together.
    dir.write("new.tsv", "00000000000000fd\tp\n0000000000abcdef\tq\n0000000000abcdee\tr\n");
    let files = ["dedup", "-s", "pages.fps", "--within", "--add", "new.tsv"];
    let (out, err) = dir.run(&files, 0);
    assert_eq!(out, "0000000000abcdef\tq\n");
    assert_eq!(err, "fpstore: 3 new records: 1 record kept and added, 2 records removed\n");
    assert_eq!(info_of(&dir)["fingerprints"], 6);
    let (out, _) = dir.run(&files, 0);
    assert_eq!(out, "");
    let alone = dir.output(&["dedup", "--add", "new.tsv"], "");
    assert_eq!(alone.status.code(), Some(2));
}

#[test]
fn segments_travel() {
    let dir = dir();
    dir.ok(
        &["add", "-s", "pages.fps", "--label", "l", "-q"],
        "0000000000000001\tx\n0000000000000002\ty\n",
    );
    dir.ok(&["delete", "--id", "x", "-s", "pages.fps", "-q"], "");
    let (out, err) = dir.run(&["export", "-o", "out.fps", "-s", "pages.fps"], 0);
    assert_eq!(out.lines().count(), 2);
    assert!(err.contains("1 segment with deletions: import the directory"), "{err}");
    dir.ok(&["build", "-", "-s", "other.fps", "--scheme", "4", "-q"], "0000000000000003\tz\n");
    dir.ok(&["import", "out.fps", "-s", "other.fps"], "");
    let mut all: Vec<String> = dump(&dir).lines().map(str::to_string).collect();
    all.push("0000000000000003\tz".into());
    all.sort();
    let out = dir.ok(&["dump", "-s", "other.fps"], "");
    assert_eq!(out.lines().collect::<Vec<_>>(), all);
    dir.ok(&["verify", "-s", "other.fps"], "");
    // A damaged file is refused.
    let file = dir.path("out.fps/segment-0000000000000001.fps");
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    dir.write("damaged.fps", bytes);
    dir.ok(&["build", "-", "-s", "third.fps", "-q"], "0000000000000003\tz\n");
    let (_, err) = dir.run(&["import", "damaged.fps", "-s", "third.fps"], 2);
    assert!(err.starts_with("fpstore: damaged.fps: ") && err.contains("checksum"), "{err}");
    assert_eq!(names_of(&dir.path("third.fps")).len(), 2);
}

#[test]
fn a_dry_run_says_what_would_be_deleted_and_deletes_nothing() {
    let dir = TestDir::with(
        "pages.tsv",
        "00000000000000ff\ta\n00000000000000ff\tb\n0000000000000f0f\tb\n000000000000ffff\tc\nabcd\n",
    );
    dir.ok(&["build", "pages.tsv", "-s", "pages.fps", "-q"], "");
    let before = dir.ok(&["dump", "-s", "pages.fps"], "");
    let generation = || info_of(&dir)["generation"].clone();
    let first = generation();
    for what in [&["--id", "b", "--id", "x"][..], &["--fingerprint", "00ff"]] {
        let delete = [&["delete", "-s", "pages.fps"], what].concat();
        let (_, would) = dir.run(&[&delete[..], &["--dry-run"]].concat(), 0);
        assert!(would.contains("would be deleted; nothing was changed"), "{would}");
        assert_eq!(dir.ok(&["dump", "-s", "pages.fps"], ""), before);
        assert_eq!(generation(), first);
        // --dry-run prints the same message as the deletion.
        dir.ok(&["build", "pages.tsv", "-s", "copy.fps", "-qf"], "");
        let (_, done) = dir.run(&[&["delete", "-s", "copy.fps"], what].concat(), 0);
        assert_eq!(would.replace("would be deleted; nothing was changed", "deleted"), done);
    }
}

#[test]
fn a_stored_document_is_searched_for_by_its_id() {
    let dir = TestDir::with(
        "pages.tsv",
        "00000000000000ff\ta\n00000000000000fe\t7\nff00000000000000\ta\n0000000000001234\tc\n",
    );
    dir.ok(&["build", "pages.tsv", "-s", "pages.fps", "-q"], "");
    let out = dir.ok(&["query", "--id", "7", "-s", "pages.fps"], "");
    let by_value = dir.ok(&["query", "00fe", "-s", "pages.fps"], "");
    assert_eq!(out, by_value);
    assert_eq!(out.lines().count(), 2);
    // For an id with two fingerprints, both are searched; queries are in the order of the ids.
    let out = dir.ok(&["query", "--id", "a", "--id", "c", "-k", "0", "-s", "pages.fps"], "");
    let ids: Vec<&str> = out.lines().map(|line| line.rsplit('\t').next().unwrap()).collect();
    assert_eq!(ids, ["a", "a", "c"]);
    let (_, err) = dir.run(&["query", "--id", "b", "-s", "pages.fps"], 1);
    assert!(err.contains("no record of pages.fps has the id 'b'"), "{err}");
}

#[test]
fn a_night_that_is_run_twice_changes_nothing_and_a_page_is_replaced() {
    let dir = dir();
    let add = ["add", "-", "-s", "pages.fps", "--run", "2026-11-22", "--replace"];
    let (_, err) =
        dir.run_on(&add, "00000000ffff0000\ta\n0000000000001234\tnew\n0000000000012345\tnew\n", 0);
    assert!(err.contains("2 records added") && err.contains("1 record replaced"), "{err}");
    let found = dir.ok(&["query", "--id", "new", "-s", "pages.fps"], "");
    assert!(found.contains("0000000000012345"), "{found}");
    let before = dir.ok(&["dump", "-s", "pages.fps"], "");
    let (_, err) = dir.run_on(&add, "0000000000000077\tx\n", 0);
    assert!(
        err.contains("run 2026-11-22 has added its records before; nothing was changed"),
        "{err}"
    );
    dir.write("new.tsv", "777700000000000f\tx\n");
    let dedup = ["dedup", "-s", "pages.fps", "--add", "new.tsv", "--run"];
    // A repeated run is refused, because its list was printed and cannot be printed again.
    let (_, err) = dir.run(&[&dedup[..], &["2026-11-22"]].concat(), 2);
    assert!(err.contains("nothing was changed"), "{err}");
    assert_eq!(dir.ok(&["dump", "-s", "pages.fps"], ""), before);
    dir.run(&[&dedup[..], &["2026-11-23", "-q"]].concat(), 0);
    let (_, err) = dir.run(&[&dedup[..], &["2026-11-23"]].concat(), 2);
    assert!(err.contains("nothing was changed"), "{err}");
    assert_ne!(dir.ok(&["dump", "-s", "pages.fps"], ""), before);
}

/// A message reports records that are added a second time, because they take room twice.
#[test]
fn records_that_were_added_before_are_told() {
    let dir = TestDir::new();
    dir.write("a.tsv", "0123456789abcdef\ta\nfedcba9876543210\tb\n00000000000000ff\t3\n");
    dir.write("b.tsv", "0123456789abcdef\tother\n");
    dir.ok(&["build", "a.tsv", "-s", "s.fps", "-q"], "");
    let (_, err) = dir.run(&["add", "a.tsv", "-s", "s.fps"], 0);
    let said = "3 records of the input were already in the store: answers give such a record once";
    assert!(err.contains(said) && err.contains("--replace"), "{err}");
    // A repeated input is also reported if it comes from a pipe, which can be read only once.
    dir.ok(&["build", "a.tsv", "-s", "piped.fps", "-q"], "");
    let (_, err) = dir.run_on(&["add", "-", "-s", "piped.fps"], dir.read("a.tsv"), 0);
    assert!(err.contains(said) && err.contains("--replace"), "{err}");
    // A record with a stored fingerprint and another id is not a repetition.
    let (_, err) = dir.run(&["add", "b.tsv", "-s", "s.fps"], 0);
    assert!(!err.contains("before"), "{err}");
    for option in [&["--replace"][..], &["--run", "night"]] {
        let args = [&["add", "a.tsv", "-s", "s.fps"], option].concat();
        let (_, err) = dir.run(&args, 0);
        assert!(!err.contains("twice"), "{option:?}: {err}");
    }
    // Of many records only the first are checked.
    let many: String = (0..2200).map(|i| format!("{:016x}\tn{i}\n", i << 20)).collect();
    dir.write("many.tsv", many);
    dir.ok(&["build", "many.tsv", "-s", "m.fps", "-q"], "");
    let (_, err) = dir.run(&["add", "many.tsv", "-s", "m.fps"], 0);
    assert!(err.contains("at least 1 000 records of the input were already in the store"), "{err}");
}

#[test]
fn documents_that_were_added_before_are_told() {
    let dir = TestDir::new();
    let line =
        |id: &str| format!("{{\"id\":\"{id}\",\"text\":\"one two three {id} four five\"}}\n");
    dir.write("a.jsonl", ["a", "b", "c"].map(line).concat());
    dir.write("b.jsonl", ["d", "e", "f"].map(line).concat());
    dir.ok(&["build", "--docs", "a.jsonl", "-s", "s.fps", "-q"], "");
    let (_, err) = dir.run(&["add", "--docs", "b.jsonl", "-s", "s.fps"], 0);
    assert!(!err.contains("twice"), "{err}");
    let again = ["add", "--docs", "a.jsonl", "-s", "s.fps"];
    let (_, err) = dir.run(&again, 0);
    let said =
        "  3 records of the input were already in the store: answers give such a record once";
    assert!(err.contains(said), "{err}");
    for option in ["--replace", "-q"] {
        let (_, err) = dir.run(&[&again[..], &[option]].concat(), 0);
        assert!(!err.contains("twice"), "{option}: {err}");
    }
}

#[test]
fn a_file_that_is_named_twice_is_told() {
    let dir = TestDir::with("a.tsv", "0123456789abcdef\ta\n0123456789abcdee\tb\n");
    let said = "fpstore: a.tsv is named twice, so each of its records is read twice\n";
    for args in [
        &["build", "a.tsv", "a.tsv", "-s", "s.fps"][..],
        &["add", "a.tsv", "a.tsv", "-s", "s.fps"],
        &["pairs", "a.tsv", "a.tsv"],
        &["dedup", "a.tsv", "a.tsv"],
        &["query", "-s", "s.fps", "--from", "a.tsv", "a.tsv"],
    ] {
        let (_, err) = dir.run(args, 0);
        assert!(err.starts_with(said) && err.matches("twice,").count() == 1, "{args:?}: {err}");
    }
    let (_, err) = dir.run(&["build", "a.tsv", "./a.tsv", "-s", "s.fps", "-f"], 0);
    assert!(err.contains("./a.tsv and a.tsv are one file"), "{err}");
}

/// With `add --create`, the first run of a nightly job can use the same command as all later runs.
#[test]
fn add_makes_the_store_on_demand_and_tunes_it_as_build_does() {
    let dir = TestDir::with("one.tsv", "00ff00ff00ff00ff\ta\n");
    dir.write("docs.jsonl", "{\"id\":\"d\",\"text\":\"one two three four five\"}\n");
    let (_, err) = dir.run(&["add", "one.tsv", "-s", "new.fps"], 2);
    assert!(err.contains("there is no store at new.fps"), "{err}");
    let (_, err) = dir.run(&["add", "--create", "one.tsv", "-s", "new.fps"], 0);
    assert!(err.contains("new.fps: created, because there was no store"), "{err}");
    dir.ok(&["add", "--create", "one.tsv", "-s", "new.fps", "--replace", "-q"], "");
    assert_eq!(dir.ok(&["dump", "new.fps"], ""), "00ff00ff00ff00ff\ta\n");
    for (k, args) in [
        ("3", &["one.tsv"][..]),
        ("9", &["one.tsv", "-k", "9"]),
        ("7", &["--docs", "docs.jsonl"]),
        ("7", &["--docs", "docs.jsonl", "--budget", "1MB"]),
    ] {
        for command in [&["add", "--create"][..], &["build"]] {
            let store = format!("{}-{k}-{}.fps", command[0], args.len());
            dir.ok(&[command, args, &["-s", &store, "-q"]].concat(), "");
            let info: Value = dir.json(&["info", &store, "--format", "json"]);
            assert_eq!(info["segments"][0]["tuned_k"].to_string(), k, "{command:?} {args:?}");
        }
    }
}

/// `add --create` with a missing input makes no store, also if the store is given as an argument
/// without -s.
#[test]
fn add_makes_no_store_before_its_inputs_open() {
    let dir = TestDir::with("one.tsv", "00ff00ff00ff00ff\ta\n");
    fs::create_dir(dir.path("folder")).unwrap();
    dir.ok(&["add", "one.tsv", "new.fps", "--create", "-q"], "");
    assert_eq!(dir.ok(&["dump", "new.fps"], ""), "00ff00ff00ff00ff\ta\n");
    fs::remove_dir_all(dir.path("new.fps")).unwrap();
    for args in [
        &["nofile.tsv", "-s", "s2.fps"][..],
        &["one.tsv", "nofile.tsv"],
        &["one.tsv", "new"],
        &["folder", "--radix", "dec"],
        &["--docs", "nofolder", "-s", "s2.fps"],
        &["--images", "nofolder", "-s", "s2.fps"],
        &["--images", "folder", "nofile", "-s", "s2.fps"],
        &["one.tsv", "--follow"],
    ] {
        let (_, err) = dir.run(&[&["add", "--create"][..], args].concat(), 2);
        assert!(!err.contains("created, because"), "{args:?}: {err}");
        dir.assert_files(&["folder", "one.tsv"]);
    }
    let (_, err) = dir.run(&["add", "one.tsv", "new", "--create"], 2);
    assert!(err.contains("a name that ends in .fps: cannot open new"), "{err}");
    let (_, err) = dir.run(&["add", "one.tsv", "new.fps"], 2);
    assert!(err.contains("there is no store at new.fps"), "{err}");
}
