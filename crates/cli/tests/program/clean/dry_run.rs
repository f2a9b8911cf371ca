//! Tests `clean --dry-run`, which prints the effects of a cleaning and changes nothing.

use crate::common::program::{TestDir, names_in};

#[test]
fn a_dry_run_tells_what_would_go_and_copies_and_adds_nothing() {
    let dir =
        TestDir::with("old.jsonl", "{\"id\":\"old\",\"text\":\"a page that was seen before\"}\n");
    let lines = ["one two three four", "five six seven", "a page that was seen before"];
    let record = |at: usize| format!("{{\"id\":\"{at}\",\"text\":\"{}\"}}\n", lines[at % 3]);
    dir.write("new.jsonl", (0..7).map(record).collect::<String>());
    dir.ok(&["build", "--docs", "old.jsonl", "-s", "s.fps", "-q"], "");
    let (info, names) = (dir.json(&["info", "-s", "s.fps"]), names_in(&dir.path("s.fps")));
    let args = ["clean", "new.jsonl", "-s", "s.fps", "--within", "--add", "-o", "out.jsonl"];

    let dry = [&args[..], &["--dry-run", "--removed", "dry.tsv"]].concat();
    let (out, told) = dir.run(&dry, 0);
    assert_eq!(out, "");
    assert!(told.contains("7 documents: 2 documents kept, 5 documents removed"), "{told}");
    assert!(told.ends_with("--dry-run: nothing was copied or added\n"), "{told}");
    assert!(!dir.path("out.jsonl").exists());
    assert_eq!(dir.json(&["info", "-s", "s.fps"]), info);
    assert_eq!(names_in(&dir.path("s.fps")), names, "not even a file of work is left");

    let (_, told) = dir.run(&[&args[..], &["--removed", "real.tsv"]].concat(), 0);
    assert!(
        told.contains("7 documents: 2 documents kept and added, 5 documents removed"),
        "{told}"
    );
    assert_eq!(dir.read("dry.tsv"), dir.read("real.tsv"));

    let refused =
        String::from_utf8(dir.output(&["dedup", "a.tsv", "--dry-run"], "").stderr).unwrap();
    assert!(refused.contains("'fpstore clean' cleans documents, and has --dry-run"), "{refused}");
}
