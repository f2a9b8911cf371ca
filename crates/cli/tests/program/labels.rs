//! Tests `query --labels`, which prints labels, and `query --label`, which searches only records
//! with a label.

use crate::common::program::TestDir;

/// A folder with a store that contains one fingerprint with two labels and also without a label,
/// and another fingerprint with one label.
fn dir() -> TestDir {
    let dir = TestDir::with("old.tsv", "00000000000000ff\ta\n0000000000000f0f\tb\n");
    dir.write("new.tsv", "00000000000000ff\tc\n");
    dir.write("bare.tsv", "00fe\n");
    dir.ok(&["build", "old.tsv", "-s", "store.fps", "-q", "--label", "2026-10"], "");
    dir.ok(&["add", "new.tsv", "-s", "store.fps", "-q", "--label", "2026-11"], "");
    dir.ok(&["add", "bare.tsv", "-s", "store.fps", "-q", "--no-compact"], "");
    dir
}

const ASK: [&str; 6] = ["query", "-s", "store.fps", "-k", "1", "00ff"];

#[test]
fn labels_stand_before_the_ids() {
    let dir = dir();
    let found = dir.ok(&[&ASK[..], &["--labels"]].concat(), "");
    let (hit, near) =
        ("00000000000000ff\t00000000000000ff\t0", "00000000000000ff\t00000000000000fe\t1");
    let expected = format!("{hit}\t2026-10\ta\n{hit}\t2026-11\tc\n{near}\t\t\n");
    assert_eq!(found, expected);
    let json = dir.json(&[&ASK[..], &["--labels", "--format", "json"]].concat());
    assert_eq!(json["matches"][0]["ids"], serde_json::json!(["a", "c"]));
    assert_eq!(json["matches"][0]["labels"], serde_json::json!(["2026-10", "2026-11"]));
    assert_eq!(json["matches"][1]["labels"], serde_json::json!([""]));
    dir.write("queries.tsv", "00000000000000ff\tq\n");
    let from = ["query", "-s", "store.fps", "-k", "1", "--from", "queries.tsv", "--labels"];
    let expected: String = expected.lines().map(|line| format!("q\t{line}\n")).collect();
    assert_eq!(dir.ok(&from, ""), expected);
    assert_eq!(dir.ok(&[&from[..], &["--nearest", "2"]].concat(), ""), expected);
}

/// The printed age of a segment comes from its label, because a merged file is newer than its
/// records.
#[test]
fn info_shows_the_age_by_labels_that_are_dates() {
    let dir = dir();
    let line = |label: &str| {
        let info = dir.ok(&["info", "store.fps"], "");
        info.lines()
            .find(|line| line.contains(label))
            .unwrap_or_else(|| panic!("{info}"))
            .to_string()
    };
    dir.write("day.tsv", "0000000000001234\td\n");
    dir.ok(&["add", "day.tsv", "store.fps", "-q", "--label", "yesterday"], "");
    dir.ok(&["add", "day.tsv", "store.fps", "-q", "--label", "2020-02-29", "--no-compact"], "");
    assert!(line("  2020-02-29  ").ends_with(" d") && !line("  2020-02-29  ").ends_with(" 0 d"));
    assert!(line("  -  ").ends_with(" s"));
    let info = dir.ok(&["info", "store.fps"], "");
    assert!(info.lines().any(|line| line.ends_with("  1 d")), "{info}");
}

#[test]
fn only_what_has_the_label_is_searched() {
    let dir = dir();
    let ids = |labels: &[&str]| -> Vec<String> {
        let found = dir.ok(&[&ASK[..], labels].concat(), "");
        found.lines().map(|line| line.rsplit('\t').next().unwrap().to_string()).collect()
    };
    assert_eq!(ids(&["--label", "2026-11"]), ["c"]);
    assert_eq!(ids(&["--label", "2026-10"]), ["a"]);
    assert_eq!(ids(&["--label", "2026-10", "--label", "2026-11"]), ["a", "c"]);
    assert_eq!(ids(&["--label", ""]), [""]);
    let (_, err) = dir.run(&[&ASK[..], &["--label", "2026"]].concat(), 2);
    assert!(err.contains("no segment with the label '2026'; labels: 2026-10, 2026-11"), "{err}");
}
