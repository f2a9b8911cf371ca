//! Tests `pairs`, `cluster` and `dedup`: columns, exit statuses, and output files, which are
//! complete or absent.

use serde_json::Value;

use crate::common::program::TestDir;
#[cfg(unix)]
use crate::common::program::signal;

const PAGES: &str = "\
0000000000000000\ta
0000000000000007\tb
0000000000000007\tcopy of b
00000000000000ff\tc,d
ffffffffffffffff\tlonely
000000000000001f\te
";

/// A folder that contains `pages.tsv`.
fn dir() -> TestDir {
    TestDir::with("pages.tsv", PAGES)
}

const PAIRS: &str = "\
0000000000000000\t0000000000000007\t3\ta\tb
0000000000000000\t0000000000000007\t3\ta\tcopy of b
0000000000000007\t0000000000000007\t0\tb\tcopy of b
0000000000000007\t000000000000001f\t2\tb\te
0000000000000007\t000000000000001f\t2\tcopy of b\te
000000000000001f\t00000000000000ff\t3\te\tc,d
";

#[test]
fn pairs_come_from_files_from_input_and_from_stores_alike() {
    let dir = dir();
    let (out, err) = dir.run(&["pairs", "pages.tsv"], 0);
    assert_eq!((out.as_str(), err.as_str()), (PAIRS, "fpstore: 6 pairs within 3 bits\n"));
    assert_eq!(dir.run_on(&["pairs", "-", "-q"], PAGES, 0), (PAIRS.into(), String::new()));
    dir.run(&["build", "pages.tsv", "-q"], 0);
    assert_eq!(dir.run(&["pairs"], 0).0, PAIRS);
    assert_eq!(dir.run(&["pairs", "store.fps", "--threads", "1"], 0).0, PAIRS);
    let distinct = dir.run(&["pairs", "-s", "store.fps", "--distinct"], 0).0;
    assert!(!distinct.contains("\t0\t") && distinct.lines().count() == 5);
    let (out, _) = dir.run(&["pairs", "-k", "2", "--format", "json"], 0);
    let first: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert_eq!(first["first_id"], "b");
    assert_eq!(first["second_id"], "copy of b");
    assert_eq!(first["distance"], 0);
    dir.assert_files(&["pages.tsv", "store.fps"]);
}

#[test]
fn results_are_files_that_are_whole_or_not_there() {
    let dir = dir();
    dir.run(&["pairs", "pages.tsv", "-o", "pairs.tsv"], 0);
    assert_eq!(dir.read("pairs.tsv"), PAIRS);
    let (_, err) = dir.run(&["pairs", "pages.tsv", "-k", "0", "-o", "pairs.tsv"], 2);
    assert!(err.contains("--force"), "{err}");
    dir.run(&["pairs", "pages.tsv", "-k", "0", "-o", "pairs.tsv", "--force"], 0);
    assert_eq!(dir.read("pairs.tsv").lines().count(), 1);
    // Too many pairs, a bad line or a missing store: no output or temporary file is left.
    let (_, err) = dir.run(&["pairs", "pages.tsv", "--max-pairs", "5", "-o", "x"], 2);
    assert!(err.contains("more than 5 near pairs") && err.contains("--max-pairs"), "{err}");
    let far =
        "0000000000000000\ta\nffffffffffffffff\tb\n00000000ffffffff\tc\nffffffff00000000\td\n";
    dir.write("bad.tsv", format!("{far}xyz\n"));
    dir.run(&["cluster", "bad.tsv", "-o", "x"], 2);
    dir.run(&["cluster", "-s", "missing.fps", "-o", "x"], 2);
    dir.run(&["dedup", "bad.tsv", "-o", "x", "--removed", "y"], 2);
    dir.run(&["pairs", "pages.tsv", "-o", "missing/x"], 2);
    dir.assert_files(&["bad.tsv", "pages.tsv", "pairs.tsv"]);
    assert_eq!(dir.run(&["cluster", "bad.tsv", "--skip-bad", "-q"], 1).0, "");
}

#[cfg(unix)]
#[test]
fn an_interrupted_join_leaves_nothing_behind() {
    let dir = dir();
    let mut lines = String::new();
    for value in 0..400_000_u64 {
        lines.push_str(&format!("{:016x}\n", value * 7));
    }
    dir.write("many.tsv", &lines);
    dir.write("before.tsv", "untouched\n");
    let pairs = ["pairs", "many.tsv", "-k", "6", "-o", "before.tsv", "--force", "--temp-dir", "."];
    let mut child = dir.command(&pairs).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(dir.read("before.tsv"), "untouched\n");
    dir.assert_files(&["before.tsv", "many.tsv", "pages.tsv"]);
}

#[test]
fn clusters_have_columns_or_objects() {
    let dir = dir();
    let expected = "\
1\t5\t8\t0\t0000000000000007\tb
1\t5\t8\t0\t0000000000000007\tcopy of b
1\t5\t8\t2\t000000000000001f\te
1\t5\t8\t3\t0000000000000000\ta
1\t5\t8\t5\t00000000000000ff\tc,d
";
    let (out, err) = dir.run(&["cluster", "pages.tsv"], 0);
    assert_eq!(
        (out.as_str(), err.as_str()),
        (expected, "fpstore: 1 cluster of 5 documents within 3 bits\n")
    );
    let (out, _) = dir.run(&["cluster", "pages.tsv", "--method", "star", "--format", "json"], 0);
    let star: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((star["size"].as_u64(), star["diameter"].as_u64()), (Some(4), Some(5)));
    assert_eq!(star["members"][0]["ids"][1], "copy of b");
    assert_eq!(
        dir.run(&["cluster", "pages.tsv", "-k", "1", "--keep", "first", "--drop"], 0).0,
        "0000000000000007\tcopy of b\n"
    );
    let (out, err) = dir.run(&["cluster", "pages.tsv", "--keep", "smallest-id"], 0);
    assert_eq!(out, "0000000000000000\ta\nffffffffffffffff\tlonely\n");
    assert_eq!(err, "fpstore: 2 documents kept, 4 documents dropped\n");
    let (out, _) =
        dir.run(&["cluster", "pages.tsv", "--keep", "representative", "--method", "leader"], 0);
    assert_eq!(out, "0000000000000000\ta\n00000000000000ff\tc,d\nffffffffffffffff\tlonely\n");
    dir.run(&["build", "pages.tsv", "-q"], 0);
    let (_, err) = dir.run(&["cluster", "--keep", "first"], 2);
    assert!(err.contains("name files"), "{err}");
    assert_eq!(dir.run(&["cluster", "--keep", "largest-cluster"], 0).0.lines().count(), 5);
}

#[test]
fn numbers_of_clusters_are_kept() {
    let dir = dir();
    dir.write(
        "old.tsv",
        "7\t2\t0\t0\t0000000000000007\tb\n7\t2\t0\t0\t0000000000000007\tcopy of b\n",
    );
    dir.write("more.tsv", "f000000000000000\tx\nf000000000000001\ty\nf000000000000001\tz\n");
    let args = ["cluster", "more.tsv", "pages.tsv", "--stable", "old.tsv"];
    let (out, _) = dir.run(&args, 0);
    let numbers: Vec<&str> = out.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(numbers, ["7", "7", "7", "7", "7", "8", "8", "8"]);
    dir.run(&[&args[..], &["--format", "json", "-o", "new.json"]].concat(), 0);
    let (again, _) = dir.run(&["cluster", "pages.tsv", "more.tsv", "--stable", "new.json"], 0);
    assert_eq!(again, out);
    dir.write("old.tsv", "0000000000000007\t2\n");
    let (_, err) = dir.run(&args, 2);
    assert!(err.contains("old.tsv: line 1: the line has 2 columns"), "{err}");
}

#[test]
fn new_records_are_compared_with_stored_ones() {
    let dir = dir();
    dir.run(&["build", "pages.tsv", "-q"], 0);
    let new =
        "f0f0f0f0f0f0f0f0\tn1\n0000000000000001\tn2\nf0f0f0f0f0f0f0f1\tn3\nf0f0f0f0f0f0f0f0\n";
    dir.write("new.tsv", new);
    let args = ["dedup", "-s", "store.fps", "new.tsv"];
    let (out, err) = dir.run(&[&args[..], &["--removed", "m.tsv"]].concat(), 0);
    assert_eq!(out, "f0f0f0f0f0f0f0f0\tn1\nf0f0f0f0f0f0f0f1\tn3\nf0f0f0f0f0f0f0f0\n");
    assert_eq!(err, "fpstore: 4 new records: 3 records kept, 1 record removed\n");
    assert_eq!(
        dir.read("m.tsv"),
        "\
0000000000000001\t0000000000000000\t1\t\tn2\ta\tstored\tnear
"
    );
    let within =
        [&args[..], &["--within", "--removed", "m.tsv", "--force", "-o", "kept.tsv"]].concat();
    dir.run(&within, 0);
    assert_eq!(dir.read("kept.tsv"), "f0f0f0f0f0f0f0f0\tn1\n");
    assert_eq!(
        dir.read("m.tsv").lines().skip(1).collect::<Vec<_>>(),
        [
            "f0f0f0f0f0f0f0f0\tf0f0f0f0f0f0f0f0\t0\t\t\tn1\tnew\tnear",
            "f0f0f0f0f0f0f0f1\tf0f0f0f0f0f0f0f0\t1\t\tn3\tn1\tnew\tnear",
        ]
    );
    let (out, _) = dir.run_on(&["dedup", "--within", "-"], new, 0);
    assert_eq!(out, "f0f0f0f0f0f0f0f0\tn1\n0000000000000001\tn2\n");
    // Without a store the new records are compared with one another.
    assert_eq!(dir.run(&["dedup", "new.tsv", "-q"], 0).0, out);
    let (last, _) = dir.run_on(&["dedup", "-", "--keep", "last", "-q"], new, 0);
    assert_eq!(last, "0000000000000001\tn2\nf0f0f0f0f0f0f0f0\n");
    dir.run(&["dedup", "-s", "missing.fps", "new.tsv"], 2);
    assert_eq!(
        dir.run_on(&["dedup", "--within", "-", "-q"], "", 0),
        (String::new(), String::new())
    );
}

/// `pairs` and `cluster` count a repeated line once; `dedup` counts each line of its input.
#[test]
fn a_repeated_line_is_one_document_and_two_records_of_the_input() {
    let lines = "0000000000000007\tb\n0000000000000007\tb\n0000000000000007\tcopy\n";
    let dir = TestDir::with("twice.tsv", lines);
    dir.run(&["build", "twice.tsv", "-q"], 0);
    for input in ["twice.tsv", "store.fps"] {
        let (out, err) = dir.run(&["pairs", input], 0);
        assert_eq!(out, "0000000000000007\t0000000000000007\t0\tb\tcopy\n");
        assert_eq!(err, "fpstore: 1 pair within 3 bits\n");
        let (_, err) = dir.run(&["cluster", input], 0);
        assert_eq!(err, "fpstore: 1 cluster of 2 documents within 3 bits\n");
        let (_, err) = dir.run(&["cluster", input, "--keep", "smallest-id"], 0);
        assert_eq!(err, "fpstore: 1 document kept, 1 document dropped\n");
    }
    let once = "0000000000000007\tb\n0000000000000007\tcopy\n";
    assert_eq!(dir.run(&["dump"], 0).0, once);
    assert!(dir.run(&["info"], 0).0.contains("\nids            3\n"));
    let (out, err) = dir.run(&["dedup", "twice.tsv", "--removed", "removed.tsv"], 0);
    assert_eq!(out, "0000000000000007\tb\n");
    assert_eq!(err, "fpstore: 3 new records: 1 record kept, 2 records removed\n");
    assert_eq!(dir.read("removed.tsv").lines().count(), 2);
}

#[test]
fn many_queries_are_answered_as_each_is() {
    let dir = dir();
    dir.run(&["build", "pages.tsv", "-q"], 0);
    let queries = "0000000000000003\tq1\n0f0f000000000000\tnone\nffffffffffffffff\n";
    dir.write("queries.tsv", queries);
    let one_by_one = dir.run(&["query", "3", "0f0f000000000000", "ffffffffffffffff"], 0).0;
    let (out, _) = dir.run(&["query", "--from", "queries.tsv"], 0);
    let expected: String = one_by_one
        .lines()
        .map(|line| {
            let id = if line.starts_with("0000000000000003") { "q1\t" } else { "" };
            format!("{id}{line}\n")
        })
        .collect();
    assert_eq!(out, expected);
    assert_eq!(dir.run_on(&["query", "--from", "-"], queries, 0).0, out);
    let (out, _) = dir.run(&["query", "--from", "queries.tsv", "--format", "json"], 0);
    let answers: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 3);
    assert_eq!(
        (&answers[0]["id"], answers[1]["matches"].as_array().unwrap().len()),
        (&"q1".into(), 0)
    );
    let (_, err) = dir.run(&["query", "--from", "queries.tsv", "--limit", "1"], 0);
    assert!(err.contains("1 answer was cut"), "{err}");
    dir.run(&["query", "--from", "queries.tsv", "-k", "0", "--radix", "dec"], 2);
    dir.run(&["query", "--from", "missing.tsv"], 2);
    let both = dir.output(&["query", "3", "--from", "queries.tsv"], "");
    assert_eq!(both.status.code(), Some(2));
    dir.write("far.tsv", "00ff00ff00ff00ff\n");
    assert_eq!(dir.run(&["query", "--from", "far.tsv"], 1).0, "");
}

#[test]
fn clusters_can_be_a_parquet_file() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let dir = dir();
    dir.write("bare.tsv", "f0000000000000ff\nf0000000000000fe\n");
    let args = ["cluster", "pages.tsv", "bare.tsv", "--format", "parquet"];
    let (_, err) = dir.run(&args, 2);
    assert!(err.contains("-o"), "{err}");
    dir.run(&[&args[..], &["-o", "clusters.parquet"]].concat(), 0);
    let file = std::fs::File::open(dir.path("clusters.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let rows: Vec<String> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| {
            let columns = row.unwrap().into_columns();
            columns.iter().map(|(_, field)| field.to_string()).collect::<Vec<_>>().join(" ")
        })
        .collect();
    assert_eq!(rows.len(), 7);
    assert_eq!(rows[0], "1 5 8 true 0 7 \"b\"");
    assert_eq!(rows[1], "1 5 8 true 0 7 \"copy of b\"");
    assert_eq!(rows[6], format!("2 2 1 true 1 {} null", 0xf000_0000_0000_00ff_u64));
}

#[test]
fn shares_of_pairs_are_whole_files_that_fit_together() {
    let dir = dir();
    dir.run(&["build", "pages.tsv", "-q", "--scheme", "blocks-5", "-s", "ranges.fps"], 0);
    dir.run(&["build", "pages.tsv", "-q", "--scheme", "2", "-s", "halves.fps"], 0);
    for (store, reads, warned) in
        [("ranges.fps", "ranges", false), ("halves.fps", "everything", true)]
    {
        let (plan, words) = dir.run(&["pairs", store, "--explain", "-k", "3"], 0);
        assert!(plan.starts_with(&format!("join-plan 1 k=3 reads={reads} groups=4 ")), "{plan}");
        assert!(words.contains(reads) || words.contains("range of 4 tables"), "{words}");
        for count in ["1", "3", "40"] {
            let mut lines: Vec<String> = Vec::new();
            for number in 0..count.parse::<u32>().unwrap() {
                let share = format!("{number}/{count}");
                let args = ["pairs", store, "-k", "3", "--share", &share, "-o", "share.tsv", "-f"];
                let (_, err) = dir.run(&args, 0);
                let says = err.contains("reads everything") && err.contains("--scheme blocks-4");
                assert_eq!(says, warned && count != "1", "{err}");
                lines.extend(dir.read("share.tsv").lines().map(str::to_owned));
            }
            lines.sort();
            let mut expected: Vec<String> = PAIRS.lines().map(str::to_owned).collect();
            expected.sort();
            assert_eq!(lines, expected, "{store}, {count} shares");
        }
    }
    let none = ["pairs", "ranges.fps", "-k", "0", "--distinct", "-q"];
    dir.run(&none, 1);
    dir.run(&[&none[..], &["--share", "0/2", "--generation", "1"]].concat(), 0);
    dir.assert_files(&["halves.fps", "pages.tsv", "ranges.fps", "share.tsv"]);
}

#[test]
fn shares_that_cannot_fit_together_are_refused() {
    let dir = dir();
    dir.run(&["build", "pages.tsv", "-q"], 0);
    for share in ["2/2", "1", "-1/2", "0/0", "0/2000", "a/b", "0/1/2"] {
        let output = dir.output(&["pairs", &format!("--share={share}")], "");
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && err.contains("I/N"), "{share}: {err}");
    }
    let refused = |args: &[&str]| dir.run(&[&["pairs"], args].concat(), 2).1;
    let err = refused(&["pages.tsv", "--share", "0/2"]);
    assert!(err.contains("--share is for a store") && err.contains("blocks-4"), "{err}");
    let err = refused(&["--share", "0/2", "--confirm", "0.5"]);
    assert!(err.contains("--confirm"), "{err}");
    let err = refused(&["--share", "0/2", "--generation", "7"]);
    assert!(err.contains("at generation 1, not 7"), "{err}");
    assert!(refused(&["--explain", "-k", "64"]).contains("64 bits"));
}
