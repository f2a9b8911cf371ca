//! Tests that outputs are rejected if they would replace an input, or lie in a folder of inputs or
//! in a store.

use std::fs;

use crate::common::program::{TestDir, text};

#[test]
fn a_folder_that_is_no_store_is_told_as_such() {
    let dir = TestDir::with("in.tsv", "0000000000000001\ta\n");
    fs::create_dir(dir.path("folder")).unwrap();
    let (_, err) = dir.run(&["add", "in.tsv", "-s", "folder"], 2);
    assert!(err.contains("a directory without a manifest"), "{err}");
}

/// An output never replaces an input, for all options that name inputs and outputs.
#[test]
fn no_output_takes_the_place_of_an_input() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("in")).unwrap();
    let words = |number: u32| (0..30).map(|at| format!("w{} ", at * number)).collect::<String>();
    let docs: String = (1..9)
        .map(|number| format!("{{\"id\":\"d{number}\",\"text\":\"{}\"}}\n", words(number)))
        .collect();
    dir.write("in/a.jsonl", &docs);
    dir.write("b.tsv", "0000000000000001\ta\n0000000000000002\tb\n");
    dir.write("pairs.tsv", "d1\td2\t1\nd3\td4\t0\n");
    dir.ok(&["build", "b.tsv", "-q"], "");
    dir.write("words.txt", "w1\nw2\n");
    dir.write("weights.tsv", "w1\t2\n");
    dir.write("old.tsv", dir.ok(&["cluster", "b.tsv", "-k", "2", "-q"], ""));
    dir.ok(&["df", "in/a.jsonl", "--recipe", "simhash", "-o", "df.tsv", "-q"], "");
    dir.ok(&["build", "--docs", "in", "-s", "docs.fps", "-q"], "");
    let recipe = dir.json(&["info", "docs.fps"])["recipe"].as_str().unwrap().to_owned();
    dir.write("my.recipe", &recipe);
    let files = ["words.txt", "weights.tsv", "old.tsv", "df.tsv", "my.recipe"];
    let contents = || files.map(|name| fs::read(dir.path(name)).unwrap());
    let others = contents();
    let before = fs::read(dir.path("store.fps/MANIFEST")).unwrap();
    for (args, input) in [
        (&["clean", "in/a.jsonl", "-o", "o.jsonl", "--removed", "in/../in/a.jsonl"][..], true),
        (&["clean", "in/a.jsonl", "--list", "-o", "in/a.jsonl"], true),
        (&["clean", "in", "--list", "-o", "in/new.tsv"], false),
        (&["dedup", "b.tsv", "-o", "b.tsv"], true),
        (&["dedup", "b.tsv", "--removed", "b.tsv"], true),
        (&["cluster", "--docs", "in/a.jsonl", "-o", "in/a.jsonl"], true),
        (&["cluster", "--docs", "in/a.jsonl", "--html", "in/a.jsonl"], true),
        (&["cluster", "b.tsv", "-o", "b.tsv"], true),
        (&["pairs", "--docs", "in", "-k", "9", "-o", "in/a.jsonl"], false),
        (&["pairs", "b.tsv", "-o", "b.tsv"], true),
        (&["fingerprint", "in/a.jsonl", "-o", "in/a.jsonl"], true),
        (&["df", "in/a.jsonl", "-o", "in/a.jsonl"], true),
        (&["query", "--from", "b.tsv", "-o", "b.tsv"], true),
        (&["stats", "b.tsv", "--html", "b.tsv"], true),
        (&["evaluate", "--docs", "in/a.jsonl", "--pairs", "pairs.tsv", "--svg", "pairs.tsv"], true),
        (&["fingerprint", "in/a.jsonl", "--stop-words", "words.txt", "-o", "words.txt"], true),
        (
            &[
                "fingerprint",
                "in/a.jsonl",
                "--recipe",
                "simhash",
                "--weights",
                "weights.tsv",
                "-o",
                "weights.tsv",
            ],
            true,
        ),
        (
            &["fingerprint", "in/a.jsonl", "--recipe", "simhash", "--df", "df.tsv", "-o", "df.tsv"],
            true,
        ),
        (&["fingerprint", "in/a.jsonl", "--recipe", "my.recipe", "-o", "my.recipe"], true),
        (&["cluster", "b.tsv", "--stable", "old.tsv", "-o", "old.tsv"], true),
        (
            &["clean", "in/a.jsonl", "-o", "o", "--pairs", "pairs.tsv", "--removed", "pairs.tsv"],
            true,
        ),
        (&["build", "b.tsv", "--segment-file", "b.tsv"], true),
        (&["build", "--docs", "in", "--segment-file", "in/a.jsonl"], false),
        (&["build", "--docs", "in", "--segment-file", "in/new.fps"], false),
        (&["build", "b.tsv", "--segment-file", "store.fps/MANIFEST"], false),
        (&["build", "b.tsv", "--segment-file", "store.fps/new"], false),
        (&["build", "--docs", "in", "-s", "in/new.fps"], false),
        (&["build", "b.tsv", "-s", "store.fps/new"], false),
        (&["dump", "-o", "store.fps/MANIFEST"], false),
        (&["dump", "-o", "store.fps/new"], false),
    ] {
        let (_, err) = dir.run(&[args, &["-f"]].concat(), 2);
        let why = if input { "is an input" } else { "lies in" };
        assert!(err.contains(why) && err.contains("name an"), "{args:?}: {err}");
        assert_eq!(dir.read("in/a.jsonl"), docs, "{args:?}");
        assert_eq!(dir.read("b.tsv"), "0000000000000001\ta\n0000000000000002\tb\n", "{args:?}");
        assert_eq!(dir.read("pairs.tsv"), "d1\td2\t1\nd3\td4\t0\n", "{args:?}");
        assert!(fs::read(dir.path("store.fps/MANIFEST")).unwrap() == before, "{args:?}");
        assert!(contents() == others, "{args:?}");
        for new in ["in/new.tsv", "in/new.fps", "store.fps/new"] {
            assert!(!dir.path(new).exists(), "{args:?}: {new}");
        }
    }
    for args in [
        &["export", "--output", "store.fps/new"][..],
        &["backup", "store.fps/new"],
        &["commit", "x.seg", "-s", "store.fps/new"],
    ] {
        dir.ok(&["build", "b.tsv", "--segment-file", "x.seg", "-f", "-q"], "");
        let (_, err) = dir.run(args, 2);
        assert!(err.contains("lies in a store"), "{args:?}: {err}");
        assert!(!dir.path("store.fps/new").exists());
    }
    // A file redirected to standard input is an input, too.
    let stdin = fs::File::open(dir.path("in/a.jsonl")).unwrap();
    let mut command = dir.command(&["fingerprint", "-", "-o", "in/a.jsonl", "-f"]);
    let done = command.stdin(stdin).output().unwrap();
    assert!(text(done.stderr).contains("is an input") && done.status.code() == Some(2));
    assert_eq!(dir.read("in/a.jsonl"), docs);
}
