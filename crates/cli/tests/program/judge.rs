//! Tests `pairs --html`: the page on which people judge pairs.

use crate::common::program::TestDir;

const RECORDS: &str = "0000000000000000\ta\n0000000000000001\tb\n0000000000000003\tc\n000000000000ff00\td\n000000000000ff00\te\n000000000000ff01\tf\tg\n";

#[test]
fn pairs_are_shown_to_be_judged() {
    let dir = TestDir::with("in.tsv", RECORDS);
    let (out, err) = dir.run(&["pairs", "in.tsv", "--html", "judge.html"], 0);
    assert_eq!(out, "", "a page, and no rows");
    assert!(err.contains("wrote judge.html with ") && err.contains("fpstore evaluate"), "{err}");
    let page = dir.read("judge.html");
    assert!(page.contains("Save labels.tsv") && page.contains("0 to 24 bits"));
    assert!(page.contains("\"id\":\"d\"") && page.contains("\"id\":\"e\""));
    assert!(!page.contains("\"id\":\"f"), "an id with a tab makes no label");
    let (_, err) = dir.run(&["pairs", "in.tsv", "--html", "judge.html"], 2);
    assert!(err.contains("judge.html"), "it is there: {err}");
    let args = ["pairs", "in.tsv", "-k", "0", "--html", "judge.html", "--html-pairs", "1", "-fq"];
    dir.ok(&args, "");
    assert!(dir.read("judge.html").contains("0 to 0 bits"));
}

#[test]
fn what_says_nothing_about_such_a_page_is_refused() {
    let dir = TestDir::with("in.tsv", RECORDS);
    for more in [
        &["--confirm", "0.8"][..],
        &["--distinct"],
        &["--max-pairs", "3"],
        &["-o", "pairs.tsv"],
        &["--share", "0/2"],
        &["--format", "json"],
        &["--header"],
    ] {
        let (_, err) = dir.run(&[&["pairs", "in.tsv", "--html", "judge.html"], more].concat(), 2);
        assert!(err.contains("leave out "), "{more:?}: {err}");
        assert!(!dir.path("judge.html").exists());
    }
    dir.write("bare.tsv", "00\n01\n");
    let (_, err) = dir.run(&["pairs", "bare.tsv", "--html", "judge.html"], 2);
    assert!(err.contains("it has no ids"), "{err}");
    let (_, err) = dir.run(&["pairs", "in.tsv", "--html", "-"], 2);
    assert!(err.contains("--html needs the name of a file"), "{err}");
}

/// `evaluate` accepts the labels of a page for the store or the files from which it was made.
#[test]
fn a_store_is_measured_as_its_files_are() {
    let dir = TestDir::with(
        "in.tsv",
        "0000000000000000\ta\n0000000000000001\tb\n0000000000000003\tc\n000000000000ff00\td\n0000000000000001\te\n",
    );
    dir.write("labels.tsv", "a\tb\t1\na\td\t0\nb\te\t1\n");
    dir.ok(&["build", "in.tsv", "photos.fps", "-q"], "");
    let of_files = dir.ok(&["evaluate", "in.tsv", "--pairs", "labels.tsv"], "");
    let of_store = dir.ok(&["evaluate", "photos.fps", "--pairs", "labels.tsv"], "");
    assert_eq!(of_store, of_files);
    // A repeated record is not another document.
    dir.ok(&["add", "in.tsv", "photos.fps", "--no-compact", "-q"], "");
    assert_eq!(dir.ok(&["evaluate", "photos.fps", "--pairs", "labels.tsv"], ""), of_files);
    dir.write("other.tsv", "000000000000000f\ta\n");
    dir.ok(&["add", "other.tsv", "photos.fps", "-q"], "");
    let (_, err) = dir.run(&["evaluate", "photos.fps", "--pairs", "labels.tsv"], 2);
    assert!(err.contains("two documents have the id 'a'"), "{err}");
    dir.write("bare.tsv", "00\n");
    dir.ok(&["build", "bare.tsv", "bare.fps", "-q"], "");
    let (_, err) = dir.run(&["evaluate", "bare.fps", "--pairs", "labels.tsv"], 2);
    assert!(err.contains("bare.fps: a fingerprint without an id has no labels"), "{err}");
    dir.run(&["pairs", "photos.fps", "--html", "judge.html", "-q"], 0);
    assert!(dir.read("judge.html").contains("where INPUT is the store or the files of this page"));
}
