//! Tests that options have their documented effect, and that options without an effect are
//! rejected.

use std::fs;

use crate::common::program::TestDir;

const ARTICLE: &str = "{\"id\":\"a\",\"text\":\"a quick brown fox jumps over the lazy dog\"}\n";

fn dir() -> TestDir {
    let dir = TestDir::with(
        "pages.tsv",
        "00000000000000ff\ta\n00000000000000fe\tb\nff00000000000000\tc\n",
    );
    dir.ok(&["build", "pages.tsv", "-s", "pages.fps", "-q"], "");
    dir.write("docs.jsonl", ARTICLE);
    dir.ok(&["build", "--docs", "docs.jsonl", "-s", "docs.fps", "-q"], "");
    dir
}

/// The contents of all files of a store.
fn content(dir: &TestDir, store: &str) -> Vec<(String, Vec<u8>)> {
    let names = crate::common::names_of(&dir.path(store));
    names
        .into_iter()
        .map(|name| {
            let bytes = fs::read(dir.path(store).join(&name)).unwrap();
            (name, bytes)
        })
        .collect()
}

#[test]
fn a_full_store_is_not_replaced_by_an_empty_one() {
    let dir = dir();
    let before = content(&dir, "pages.fps");
    let empty = "{\"id\":\"a\",\"text\":\"\"}\n";
    for (args, input, expected) in [
        (&["-"][..], "", "the input is empty"),
        (&["-"], "# nothing\n\n", "the input is empty"),
        (&["-", "--skip-bad"], "nonsense\nzz\n", "none of 2 records"),
        (&["-", "--docs"], "", "the input is empty"),
        (&["-", "--docs"], empty, "none of 1 record"),
        (&["-", "--docs", "--skip-bad"], "nonsense\n", "none of 1 record"),
    ] {
        let build = [&["build", "-s", "pages.fps", "-f"], args].concat();
        let (_, err) = dir.run_on(&build, input, 2);
        assert!(err.contains(expected) && err.contains("--allow-empty"), "{args:?}: {err}");
        assert_eq!(content(&dir, "pages.fps"), before, "{args:?}");
        // With only bad records no store is made, but with an empty input an empty store.
        let (_, err) = dir.run_on(&[&["build", "-s", "new.fps"], args].concat(), input, {
            if expected == "the input is empty" { 0 } else { 2 }
        });
        assert_eq!(dir.path("new.fps").exists(), err.contains("so the store is empty"));
        let _ = fs::remove_dir_all(dir.path("new.fps"));
    }
    dir.run_on(&["build", "-", "-s", "new.fps"], "", 0);
    dir.run_on(&["build", "-", "-s", "new.fps", "-f"], "", 0);
    let (_, err) = dir.run_on(&["build", "-", "-s", "pages.fps", "-f", "--allow-empty"], "", 0);
    assert!(err.contains("so the store is empty"), "{err}");
    dir.write("good.df", "precious");
    let (_, err) = dir.run_on(&["df", "-", "-o", "good.df", "-f"], "", 2);
    assert!(err.contains("no document was read"), "{err}");
    assert_eq!(dir.read("good.df"), "precious");
}

#[test]
fn each_removed_record_has_one_line_however_many_are_near() {
    let dir = dir();
    let equal: String = (0..300).map(|id| format!("0000000000abcdef\t{id}\n")).collect();
    dir.write("equal.tsv", &equal);
    dir.ok(&["build", "equal.tsv", "-s", "equal.fps", "-q"], "");
    dir.run(&["dedup", "-s", "equal.fps", "equal.tsv", "--removed", "m.tsv"], 0);
    let removed = dir.read("m.tsv");
    assert_eq!(removed.lines().count(), 300);
    assert!(removed.lines().all(|line| line.ends_with("\t0\tstored\tnear")));
    dir.run(&["dedup", "equal.tsv", "--removed", "n.tsv"], 0);
    assert_eq!(dir.read("n.tsv").lines().count(), 299);
}

#[test]
fn fingerprints_of_another_recipe_are_not_compared() {
    let dir = dir();
    let fingerprints = dir.ok(&["fingerprint", "docs.jsonl", "-q"], "");
    dir.write("new.tsv", &fingerprints);
    let before = content(&dir, "docs.fps");
    for args in [
        &["-s", "docs.fps", "new.tsv"][..],
        &["-s", "docs.fps", "--add", "new.tsv"],
        &["-s", "docs.fps", "--add", "-"],
        &["-s", "docs.fps", "--add", "-", "--recipe", "1e0ng"],
        &["-s", "pages.fps", "new.tsv", "--recipe", "minhash"],
        &["-s", "pages.fps", "--add", "-", "--recipe", "minhash"],
    ] {
        let (out, err) = dir.run_on(&[&["dedup"], args].concat(), &fingerprints, 2);
        assert!(err.contains("recipes differ") && out.is_empty(), "{args:?}: {err}");
        let is_external = !args.contains(&"--recipe");
        assert_eq!(err.contains("give --recipe with its name"), is_external, "{args:?}: {err}");
    }
    assert_eq!(content(&dir, "docs.fps"), before);
    for files in [&["new.tsv"][..], &["--add", "new.tsv"], &["--add", "-"]] {
        let args = [&["dedup", "--recipe", "minhash", "-s", "docs.fps"], files].concat();
        let (out, _) = dir.run_on(&args, &fingerprints, 0);
        assert_eq!(
            out.lines().filter(|line| line.starts_with("near")).count(),
            out.lines().count()
        );
    }
}

#[test]
fn the_distance_is_that_of_the_store() {
    let dir = dir();
    dir.write("far.tsv", "00000000000000ff\ta\n0000000000000000\tb\n");
    dir.ok(&["build", "far.tsv", "-k", "8", "-s", "far.fps", "-q"], "");
    for command in ["pairs", "cluster"] {
        let (_, err) = dir.run(&[command, "far.fps"], 0);
        assert!(err.contains("within 8 bits"), "{err}");
        dir.run(&[command, "-s", "far.fps"], 0);
        dir.run(&[command, "-s", "far.fps", "-k", "7"], 1);
        let (_, err) = dir.run(&[command, "far.tsv"], 1);
        assert!(err.contains("within 3 bits"), "{err}");
        // A file and a store together are an error, because one would be ignored.
        let both = dir.output(&[command, "far.tsv", "-s", "far.fps"], "");
        assert_eq!(both.status.code(), Some(2));
        // A file takes precedence over the store in $FPSTORE, which is only a default.
        let mut with_default = dir.command(&[command, "far.tsv", "-k", "8"]);
        assert!(with_default.env("FPSTORE", "missing.fps").output().unwrap().status.success());
    }
}

#[test]
fn any_number_of_threads_works_or_is_refused() {
    let dir = dir();
    for threads in ["0", "1025", "100000", "99999999999999999999", "many", "-1"] {
        let threads = format!("--threads={threads}");
        let output = dir.output(&["pairs", "pages.tsv", &threads], "");
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains("a number of threads from 1 to 1024"), "{err}");
    }
    for args in [
        &["pairs", "pages.tsv"][..],
        &["cluster", "pages.tsv"],
        &["dedup", "--within", "pages.tsv"],
        &["build", "pages.tsv", "-s", "new.fps"],
        &["add", "pages.tsv", "-s", "new.fps"],
        &["query", "--from", "pages.tsv", "-s", "pages.fps"],
    ] {
        dir.run(&[args, &["--threads", "1024"]].concat(), 0);
    }
}

#[test]
fn empty_variables_count_as_none() {
    let dir = dir();
    dir.ok(&["build", "pages.tsv", "-q"], "");
    for args in [&["info"][..], &["pairs"], &["query", "ff", "--format", "json"], &["dump"]] {
        let mut command = dir.command(args);
        let output = command.env("FPSTORE", "").env("FPSTORE_THREADS", "").output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
    }
    let mut command = dir.command(&["pairs"]);
    let output = command.env("FPSTORE_THREADS", "some").output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("FPSTORE_THREADS: expected a number of threads"), "{err}");
}

#[test]
fn options_are_not_ignored() {
    let dir = dir();
    let query = ["query", "-", "-s", "pages.fps"];
    let (out, err) = dir.run_on(&[&query[..], &["--skip-bad"]].concat(), "zz\nff\n", 0);
    assert!(out.starts_with("00000000000000ff\t"), "{out}");
    assert!(err.contains("standard input: 1 bad record skipped"), "{err}");
    let binary = [&query[..], &["--input-format", "u64le", "-k", "0"]].concat();
    let output = dir.output(&binary, 0xff_u64.to_le_bytes());
    assert_eq!(output.stdout, b"00000000000000ff\t00000000000000ff\t0\ta\n");
    let keep = ["cluster", "pages.tsv", "--keep", "representative", "--format", "json"];
    let (_, err) = dir.run(&keep, 2);
    assert!(err.contains("leave out --format"), "{err}");
    // A store can be given as an argument or with -s, but two stores are an error.
    for command in [&["info", "--format", "json"][..], &["dump"], &["verify"], &["stats"]] {
        let of = |store: &[&str]| dir.ok(&[command, store].concat(), "");
        assert_eq!(of(&["pages.fps"]), of(&["-s", "pages.fps"]));
        let twice = dir.output(&[command, &["-s", "docs.fps", "-s", "pages.fps"]].concat(), "");
        assert_eq!(twice.status.code(), Some(2));
        let both = dir.output(&[command, &["pages.fps", "-s", "docs.fps"]].concat(), "");
        assert_eq!(both.status.code(), Some(2));
    }
    // Repeating a flag has no further effect.
    dir.ok(&["build", "pages.tsv", "-q", "-q", "-f", "-f", "-s", "pages.fps"], "");
    let (out, _) = dir.run(&["query", "ff", "-s", "pages.fps", "--limit", "1", "-q"], 0);
    assert_eq!(out, "00000000000000ff\t00000000000000ff\t0\ta\n");
}
