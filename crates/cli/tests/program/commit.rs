//! Tests `build --segment-file` and `--share`, with which many tasks divide a job, and `commit`.

use crate::common::program::TestDir;

fn dir() -> TestDir {
    let dir = TestDir::with("part-0.tsv", "0000000000000000\ta\n0000000000000007\tb\n");
    dir.write("part-1.tsv", "0000000000000007\tcopy of b\nffffffffffffffff\tlonely\n");
    dir.write("part-2.tsv", "");
    dir
}

#[test]
fn tasks_build_segments_that_are_committed_together() {
    let dir = dir();
    let mut receipts = String::new();
    for part in ["0", "1", "2"] {
        let (input, segment) = (format!("part-{part}.tsv"), format!("{part}.fps"));
        let args = ["build", &input, "--segment-file", &segment, "--scheme", "blocks-5"];
        let (receipt, err) = dir.run(&args, 0);
        assert!(receipt.starts_with("segment 1 digest=") && receipt.lines().count() == 1);
        assert!(err.contains(&format!("fpstore: {segment}: ")), "{err}");
        let (_, err) = dir.run(&args, 2);
        assert!(err.contains("exists; to replace it once"), "{err}");
        let (again, _) = dir.run(&[&args[..], &["--force", "-q"]].concat(), 0);
        assert_eq!(again, receipt, "the same work gives the same receipt");
        receipts.push_str(&receipt);
    }
    dir.write("receipts", &receipts);
    let (_, err) = dir.run(&["commit", "receipts", "-s", "pages.fps", "--run", "one"], 0);
    assert!(err.contains("2 segments added, 4 fingerprints"), "{err}");
    assert!(err.contains("1 segment without fingerprints left out"), "{err}");
    let (_, err) = dir.run(&["commit", "0.fps", "1.fps", "-s", "pages.fps"], 0);
    assert!(err.contains("0 segments added") && err.contains("2 segments already there"), "{err}");
    let (_, err) = dir.run(&["commit", "receipts", "-s", "pages.fps", "--run", "one"], 0);
    assert!(err.contains("run one was committed before, nothing was changed"), "{err}");
    let (out, _) = dir.run(&["query", "0000000000000007", "-s", "pages.fps"], 0);
    assert_eq!(out.lines().count(), 3, "{out}");
    dir.run(&["commit", "receipts", "-s", "pages.fps", "-q", "--remove"], 0);

    let (_, err) = dir.run(&["export", "--hard-link", "-o", "tonight.fps", "-s", "pages.fps"], 0);
    assert!(err.contains("2 segments linked"), "{err}");
    let join = |share: &str| {
        let args = ["pairs", "tonight.fps", "-k", "3", "-q", "--generation", "1", "--share", share];
        dir.run(&args, 0).0
    };
    let mut lines: Vec<String> = ["0/3", "1/3", "2/3"].iter().map(|share| join(share)).collect();
    lines.sort();
    assert_eq!(lines.concat(), dir.run(&["pairs", "pages.fps", "-k", "3", "-q"], 0).0);
    dir.assert_files(&[
        "pages.fps",
        "part-0.tsv",
        "part-1.tsv",
        "part-2.tsv",
        "receipts",
        "tonight.fps",
    ]);
}

#[test]
fn what_cannot_be_committed_is_refused_and_nothing_is_placed() {
    let dir = dir();
    dir.run(&["build", "part-0.tsv", "--segment-file", "0.fps", "-q"], 0);
    let refused = |args: &[&str]| dir.run(&[&["commit"], args].concat(), 2).1;
    assert!(refused(&["missing.fps"]).contains("missing.fps"));
    assert!(refused(&["part-0.tsv"]).contains("part-0.tsv"));
    dir.write("bad", "segment 1 digest=12\n");
    assert!(refused(&["bad"]).contains("bad: line 1"));
    dir.write("empty", "");
    assert!(refused(&["0.fps", "empty"]).contains("empty holds no receipt"));
    let args = ["build", "part-0.tsv", "--segment-file", "1.fps", "--label", "x"];
    assert_eq!(dir.output(&args, "").status.code(), Some(2));
    dir.assert_files(&["0.fps", "bad", "empty", "part-0.tsv", "part-1.tsv", "part-2.tsv"]);
}
