//! Tests `cluster --pairs`, which takes judgements of people into account.

use crate::common::program::TestDir;

const RECORDS: &str = "0000000000000000\ta\n0000000000000001\tb\n0000000000000003\tc\n000000000000ff00\td\n000000000000ff00\te\n000000000000ff01\tf\n00000000ff0000ff\tg\n";

fn dir(pairs: &str) -> TestDir {
    let dir = TestDir::with("in.tsv", RECORDS);
    dir.write("labels.tsv", pairs);
    dir.ok(&["build", "in.tsv", "in.fps", "-q"], "");
    dir
}

/// The ids in each cluster.
fn clusters(dir: &TestDir, more: &[&str]) -> Vec<String> {
    let args = ["cluster", "-k", "1", "--pairs", "labels.tsv", "-q", "--format", "json"];
    let out = dir.ok(&[&args[..], more].concat(), "");
    let ids = |line: &str| {
        let cluster: serde_json::Value = serde_json::from_str(line).unwrap();
        let members = cluster["members"].as_array().unwrap();
        let ids = members.iter().flat_map(|member| member["ids"].as_array().unwrap());
        let mut ids: Vec<&str> = ids.map(|id| id.as_str().unwrap()).collect();
        ids.sort_unstable();
        ids.concat()
    };
    out.lines().map(ids).collect()
}

#[test]
fn judged_pairs_are_obeyed_in_files_and_in_stores() {
    let dir = dir("id\tid\tlabel\na\tc\t0\nd\te\t0\ng\tf\t1\nx\ta\t1\na\tf\t-1\n");
    for input in ["in.tsv", "in.fps"] {
        assert_eq!(clusters(&dir, &[input]), ["ab", "dfg"], "{input}");
        let (_, err) = dir.run(&["cluster", "-k", "1", input, "--pairs", "labels.tsv"], 0);
        let said = "applied 3 judged pairs, 1 of the same document and 2 of different documents; 1 \
                    with unknown ids";
        assert!(err.contains(said), "{err}");
    }
    // --keep uses the same clusters.
    for (rule, kept) in [("first", "aced"), ("smallest-id", "aced"), ("largest-cluster", "dfg")] {
        let args = ["cluster", "-k", "1", "in.tsv", "--pairs", "labels.tsv", "--keep", rule, "-q"];
        let out = dir.ok(&args, "");
        let mut ids: Vec<&str> = out.lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
        let mut kept: Vec<String> = kept.chars().map(String::from).collect();
        ids.sort_unstable();
        kept.sort_unstable();
        assert_eq!(ids, kept, "{rule}");
    }
    let out = dir.ok(&["cluster", "-k", "1", "in.tsv", "-q", "--format", "json"], "");
    assert_eq!(out.lines().count(), 2);
}

#[test]
fn judgements_that_contradict_are_refused_with_ids_and_file() {
    let dir = dir("a\tc\t1\n");
    for (pairs, ids) in [
        ("a\tb\t0\nb\ta\t1\n", "labels.tsv: line 1: 'a' and 'b'"),
        ("a\tb\t1\nx\tb\t1\nx\tc\t1\nc\ta\t0\n", "labels.tsv: line 4: 'c' and 'a'"),
        ("a\ta\t0\n", "labels.tsv: line 1: 'a' is paired with itself"),
        ("a\tb\n", "labels.tsv: line 1: expected two ids and a label"),
    ] {
        dir.write("labels.tsv", pairs);
        let (_, err) = dir.run(&["cluster", "in.fps", "--pairs", "labels.tsv"], 2);
        assert!(err.contains(ids), "{err}");
    }
    dir.write("labels.tsv", "a\tc\t1\n");
    dir.write("twice.tsv", "0000000000000000\ta\n0000000000000001\tc\n00000000000000ff\ta\n");
    let (_, err) = dir.run(&["cluster", "twice.tsv", "--pairs", "labels.tsv"], 2);
    assert!(err.contains("several records have the id 'a'"), "{err}");
    for more in [&["--method", "star"][..], &["--method", "leader"], &["--confirm", "0.8"]] {
        let (_, err) =
            dir.run(&[&["cluster", "in.fps", "--pairs", "labels.tsv"], more].concat(), 2);
        assert!(err.contains("--pairs") && err.contains(more[0]), "{err}");
    }
}
